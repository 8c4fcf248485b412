"""The logistic likelihood: the usual Gaussian process classifier, the support vector machine's nearest relative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit

from .._core.typing import Array
from ._by_c import ByC, matching_site
from ._log_odds import ByLogOdds, quadrature

__all__ = ["Logistic"]


@dataclass(frozen=True)
class Logistic(ByC, ByLogOdds):
    """Logistic likelihood ``1 / (1 + exp(-C y f))``.

    Parameters
    ----------
    C : float, default=1.0
        Slope of the log-odds. It says nothing that the amplitude of the kernel does not say: only ``C^2 k`` matters.

    Examples
    --------
    >>> from bayespoint import Logistic
    >>> Logistic(C=2.0)
    Logistic(C=2.0)
    """

    kind: ClassVar[str] = "logistic"

    def log_likelihood(self, y: Array, f: Array) -> Array:
        """``-log(1 + exp(-C y f))``."""
        log_p: Array = log_expit(self.C * y * f)
        return log_p

    def log_odds(self, f: Array) -> Array:
        """``C f``."""
        return self.C * f

    @property
    def cuts(self) -> tuple[float, ...]:
        """Around zero, where the sigmoid bends."""
        return tuple(cut / self.C for cut in (-24.0, -6.0, 0.0, 6.0, 24.0))

    # -- expectation propagation ---------------------------------------------------------------------------------

    def site(self, y: Array, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array]:
        """Log-normaliser of ``likelihood**power`` under N(mean, var), and the site (precision, precision x mean)."""

        def moments(f: Array) -> tuple[Array, ...]:
            wrong = expit(-self.C * y * f)
            score = power * self.C * y * wrong
            return score, np.square(score), power * self.C**2 * wrong * (1 - wrong), f - mean, np.square(f - mean)

        log_z, (first, square, bend, shift, spread) = self._averages(y, mean, var, power, moments)
        # minus the curvature of the log-normaliser in the mean: from derivatives where the likelihood is nearly flat
        # over the cavity, from the tilted variance where it is steep; each loses digits where the other does not
        steep = power * self.C**2 * var > 1
        curvature = np.where(steep, (1 - (spread - shift * shift) / var) / var, bend - (square - first * first))
        curvature = np.maximum(curvature, 0.0)
        first = np.where(steep, shift / var, first)
        return log_z, *matching_site(mean, var, first, curvature)

    def log_normaliser_gradient(self, y: Array, mean: Array, var: Array, power: Array) -> dict[str, Array]:
        """Derivative of the log-normaliser in log C at a fixed cavity."""
        _, (slope,) = self._averages(y, mean, var, power, lambda f: (power * self.C * y * f * expit(-self.C * y * f),))
        return {"C": slope}

    def disagreement(self, y: Array, mean: Array, var: Array) -> Array:
        """P(y f < 0) under the tilted distribution ``N(mean, var) x likelihood``."""
        _, (wrong,) = self._averages(y, mean, var, np.ones_like(mean), lambda f: (np.where(y * f < 0, 1.0, 0.0),))
        return wrong

    def _averages(
        self, y: Array, mean: Array, var: Array, power: Array, functions: Callable[[Array], tuple[Array, ...]]
    ) -> tuple[Array, list[Array]]:
        """Log-normaliser of the tilted distribution, and averages of functions of the latent under it."""
        shift = self._mode(y, mean, var, power) - mean
        stretch = 1 / np.minimum(power, 1.0)  # a power bends later
        far = [side * 24 * 5**k / self.C * stretch for k in range(3) for side in (-1, 1)]
        cuts: list[Array | float] = [*self.cuts, *far]
        nodes = list(quadrature(cuts, mean + shift, var))
        logs = [
            log_weight - (f - mean) * shift / var + 0.5 * np.square(shift) / var + power * log_expit(self.C * y * f)
            for f, log_weight in nodes
        ]
        scale = np.max(logs, axis=0)
        total, sums = np.zeros_like(mean), None
        for (f, _), value in zip(nodes, logs, strict=True):
            weight = np.exp(value - scale)
            total += weight
            parts = [weight * g for g in functions(f)]
            sums = parts if sums is None else [a + b for a, b in zip(sums, parts, strict=True)]
        assert sums is not None
        return scale + np.log(total), [part / total for part in sums]

    def _mode(self, y: Array, mean: Array, var: Array, power: Array) -> Array:
        """Where the tilted density is largest, by bisection: the likelihood pushes towards y by at most power C var."""
        low, high = mean + np.minimum(y, 0.0) * power * self.C * var, mean + np.maximum(y, 0.0) * power * self.C * var
        for _ in range(40):
            middle = 0.5 * (low + high)
            past = middle - mean > power * self.C * y * var * expit(-self.C * y * middle)
            low, high = np.where(past, low, middle), np.where(past, middle, high)
        return 0.5 * (low + high)
