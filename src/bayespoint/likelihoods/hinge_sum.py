"""The hinge likelihoods of both labels added up: what normalises the support vector machine's model (Sollich 28)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._core.typing import Array
from ._by_c import ByC, matching_site
from .hinge import Hinge

__all__ = ["HingeSum"]


@dataclass(frozen=True)
class HingeSum(ByC):
    """``v(f) = Q(+1|f) + Q(-1|f)`` with the hinge likelihood Q: how probable it is that a row has a label at all.

    The evidence of a problem with this likelihood is the normaliser N(X), whatever the labels. It has one mode for
    every labelling, so expectation propagation is several nats off; draws are not.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the hinge loss.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import HingeSum
    >>> HingeSum(C=2.0).log_likelihood(np.ones(2), np.array([0.0, 1.0])).round(4)  # a gap between the margins
    array([-1.325,  0.   ])
    """

    kind: ClassVar[str] = "hinge sum"
    is_log_concave: ClassVar[bool] = False

    def log_likelihood(self, y: Array, f: Array) -> Array:
        """``log(Q(+1|f) + Q(-1|f))``; labels are not looked at."""
        return self.log_sum(f)

    def log_sum(self, f: Array, power: Array | float = 1.0) -> Array:
        """``log(Q(+1|f)^power + Q(-1|f)^power)``: the sum over labels of a weighted row."""
        hinge = Hinge(self.C)
        up, down = (power * hinge.log_likelihood(label, f) for label in np.array([1.0, -1.0]))
        return np.logaddexp(up, down)

    def site(self, y: Array, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array]:
        """Log-normaliser under N(mean, var), and the site: a mixture of the tilted distributions of both labels."""
        log_z, first, curvature, _ = self._mixture(mean, var, power)
        return log_z, *matching_site(mean, var, first, curvature)

    def log_normaliser_gradient(self, y: Array, mean: Array, var: Array, power: Array) -> dict[str, Array]:
        """Derivative of the log-normaliser in log C at a fixed cavity: that of both labels, by their shares."""
        *_, shares = self._mixture(mean, var, power)
        hinge, ones = Hinge(self.C), np.ones_like(mean)
        parts = [hinge.log_normaliser_gradient(y * ones, mean, var, power)["C"] for y in (1.0, -1.0)]
        return {"C": shares[0] * parts[0] + shares[1] * parts[1]}

    def _mixture(self, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array, tuple[Array, Array]]:
        """log Z, its slope and minus its curvature in the mean, and shares of both labels; powers as in `log_sum`."""
        hinge, ones = Hinge(self.C), np.ones_like(mean)
        plus, minus = (hinge.derivatives(y * ones, mean, var, power) for y in (1.0, -1.0))
        log_z = np.logaddexp(plus[0], minus[0])
        share = np.exp(plus[0] - log_z)
        other = np.exp(minus[0] - log_z)
        first = share * plus[1] + other * minus[1]
        curvature = share * plus[2] + other * minus[2] - share * other * np.square(plus[1] - minus[1])
        return log_z, first, curvature, (share, other)
