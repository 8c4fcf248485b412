"""A likelihood from outside the package: labels with the heavy tail of a Cauchy distribution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import entr

from bayespoint.exceptions import InvalidProblemError

# [declared]


@dataclass(frozen=True)
class Cauchit:
    """``P(y | f) = 1/2 + arctan(y f / scale) / pi``: a label far on the wrong side is rare, not absurd."""

    scale: float = 1.0

    kind: ClassVar[str] = "cauchit"  # no engine knows it by name; those that take any likelihood take this one
    BOUNDS: ClassVar[Mapping[str, tuple[float, float]]] = {"scale": (1e-3, 1e3)}
    is_hard: ClassVar[bool] = False  # no wrong side has probability zero
    is_log_concave: ClassVar[bool] = False  # so sites may have a negative precision
    softness: ClassVar[float] = 0.0  # no latent noise that samplers would have to draw
    remedy: ClassVar[str] = "raise scale"

    def __post_init__(self) -> None:
        if not 0.0 < self.scale < np.inf:
            raise InvalidProblemError(f"scale must be a finite number above 0, got {self.scale!r}.")

    def log_likelihood(self, y, f):
        """Logarithm of the probability of a label, given the latent."""
        return np.log(np.arctan2(self.scale, -y * f) / np.pi)  # the same angle, without cancellation for y f << 0

    # [expectation propagation]

    def site(self, y, mean, var, power):
        """Log-normaliser of ``likelihood**power`` under N(mean, var), and the site (precision, precision x mean)."""
        z, (shift, square) = self._tilted(y, mean, var, power, lambda f: (f - mean, np.square(f - mean)))
        tilted_var = square - np.square(shift)
        return np.log(z), 1 / tilted_var - 1 / var, (mean + shift) / tilted_var - mean / var

    def log_normaliser_gradient(self, y, mean, var, power):
        """Derivative of that log-normaliser in the logarithm of each parameter, at a fixed cavity."""

        def slope(f):
            t = y * f / self.scale
            return (-power * t / (1 + t * t) / np.arctan2(self.scale, -y * f),)

        return {"scale": self._tilted(y, mean, var, power, slope)[1][0]}

    # [read-outs]

    def log_probability(self, mean, var):
        """Log-probability of the label +1 for a latent N(mean, var)."""
        return np.log(self._tilted(1.0, mean, var, 1.0, lambda f: ())[0])

    def score(self, mean, var):
        """What decisions go by: zero where both labels are as likely, here the log-odds."""
        return self.log_probability(mean, var) - self.log_probability(-mean, var)

    def conditional_entropy(self, mean, var):
        """Entropy in nats of the label once the latent N(mean, var) is known."""
        p = [(weight, np.exp(self.log_likelihood(1.0, f))) for f, weight in _nodes(mean, var)]
        return sum(weight * (entr(q) + entr(1 - q)) for weight, q in p)

    def disagreement(self, y, mean, var):
        """P(y f < 0) under the tilted distribution ``N(mean, var) x likelihood``."""
        return self._tilted(y, mean, var, 1.0, lambda f: ((y * f < 0).astype(float),))[1][0]

    # [one quadrature for all]

    def _tilted(self, y, mean, var, power, functions):
        """Normaliser of ``N(mean, var) x likelihood**power``, and averages of functions of the latent under it."""
        total, sums = 0.0, None
        for f, weight in _nodes(mean, var):
            mass = weight * np.exp(power * self.log_likelihood(y, f))
            total = total + mass
            parts = [mass * value for value in functions(f)]
            sums = parts if sums is None else [a + b for a, b in zip(sums, parts, strict=True)]
        return total, [part / total for part in sums]


def _nodes(mean, var, size=48) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Nodes and weights for N(mean, var) out to 8 deviations, Gauss-Legendre on either side of zero.

    Nodes crowd at the ends of a piece, so at zero, where the likelihood is steepest. One node at a time: there
    may be as many latents as draws.
    """
    sd = np.sqrt(var)
    low, high = mean - 8 * sd, mean + 8 * sd
    middle = np.clip(0.0, low, high)
    for left, right in ((low, middle), (middle, high)):
        for node, weight in zip(*np.polynomial.legendre.leggauss(size), strict=True):
            f = 0.5 * (left + right) + 0.5 * (right - left) * node
            density = np.exp(-0.5 * np.square((f - mean) / sd)) / (sd * np.sqrt(2 * np.pi))
            yield f, 0.5 * (right - left) * weight * density
