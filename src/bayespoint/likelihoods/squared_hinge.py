"""The squared hinge: the support vector machine with quadratic slack as a probabilistic model (Gold & Sollich 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from .._core.typing import Array
from ._by_c import ByC, matching_site
from ._log_odds import ByLogOdds
from ._normal import hazard

__all__ = ["SquaredHinge"]


@dataclass(frozen=True)
class SquaredHinge(ByC, ByLogOdds):
    """Squared hinge likelihood ``kappa(C) exp(-C max(0, 1 - y f)^2 / 2)``: quadratic slack.

    Its most probable function is the machine of largest margin on ``K + I / C``, which a step of that softness has,
    too (`bayespoint.engines.svm.hard_margin`). Far on the wrong side it falls faster than the hinge, so that single
    wrong labels weigh more.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss; ``1 / C`` is a variance.

    Examples
    --------
    >>> from bayespoint.likelihoods import SquaredHinge
    >>> SquaredHinge(C=2.0)
    SquaredHinge(C=2.0)
    """

    kind: ClassVar[str] = "squared hinge"

    @cached_property
    def _fullest(self) -> float:
        """The latent at which the likelihoods of both labels add up to most: ``f = tanh(C f)``, zero up to C = 1."""
        f = 1.0
        for _ in range(200 if self.C > 1 else 0):
            f -= (f - np.tanh(self.C * f)) / (1 - self.C / np.cosh(min(self.C * f, 300.0)) ** 2)
        return float(f) if self.C > 1 else 0.0

    @property
    def log_kappa(self) -> float:
        """Logarithm of ``kappa``, the largest factor that keeps both labels' probabilities below one."""
        f = self._fullest
        return float(0.5 * self.C * (1 + f * f) - np.logaddexp(self.C * f, -self.C * f))

    @property
    def log_kappa_slope(self) -> float:
        """Derivative of `log_kappa` in log C: the latent it is taken at is stationary."""
        return 0.5 * self.C * (1 - self._fullest**2)

    def log_likelihood(self, y: Array, f: Array) -> Array:
        """``log kappa - C max(0, 1 - y f)^2 / 2``."""
        return self.log_kappa - 0.5 * self.C * np.square(np.maximum(0.0, 1.0 - y * f))

    # -- expectation propagation ---------------------------------------------------------------------------------

    def site(self, y: Array, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array]:
        """Log-normaliser of ``likelihood**power`` under N(mean, var), and the site (precision, precision x mean)."""
        log_z, share, flat, gap, bent = self._pieces(y, mean, var, power)
        c, sd = power * self.C, np.sqrt(var)
        r = c / (1 + c * var)
        # c E[1 - t; t < 1], and what is left of it beside r (1 - y mean): sums of positive terms
        slope = c * sd / np.sqrt(1 + c * var) * share * _above(bent)
        curvature = slope * r * sd * flat * _above(-gap) + r * share
        return log_z, *matching_site(mean, var, y * slope, curvature)

    def log_normaliser_gradient(self, y: Array, mean: Array, var: Array, power: Array) -> dict[str, Array]:
        """Derivative of the log-normaliser in log C at a fixed cavity: minus the mean energy, and kappa."""
        _, share, _, _, bent = self._pieces(y, mean, var, power)
        c = power * self.C
        square = var / (1 + c * var) * np.maximum(1 + bent * _above(bent), 0.0)  # E[(1 - t)^2 | t < 1]
        return {"C": power * self.log_kappa_slope - 0.5 * c * share * square}

    def _pieces(self, y: Array, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Both sides of the kink at ``t = 1``: beyond it the cavity, before it the cavity times a Gaussian.

        Returns log Z, the shares of the bent and of the flat side, and the way from either mean to the kink in its own
        standard deviations.
        """
        c = power * self.C
        gap = (1 - y * mean) / np.sqrt(var)
        bent = gap / np.sqrt(1 + c * var)
        log_flat = log_ndtr(-gap)
        log_bent = -0.5 * np.log1p(c * var) - 0.5 * c * var * np.square(bent) + log_ndtr(bent)
        log_raw = np.logaddexp(log_flat, log_bent)
        shares = np.exp(log_bent - log_raw), np.exp(log_flat - log_raw)
        return log_raw + power * self.log_kappa, *shares, gap, bent

    # -- read-outs -----------------------------------------------------------------------------------------------

    def log_odds(self, f: Array) -> Array:
        """Log-odds of the label +1 given the latent: ``2 C f`` between the kinks, a parabola beyond them."""
        return 0.5 * self.C * (np.square(np.maximum(0.0, 1 + f)) - np.square(np.maximum(0.0, 1 - f)))

    @property
    def cuts(self) -> tuple[float, ...]:
        """The kinks, and around zero, where the probability of a steep loss changes."""
        steep = min(1.0, 6.0 / self.C)
        wide = np.sqrt(80.0 / self.C)  # where it has long been one
        return (-wide, -1.0, -steep, 0.0, steep, 1.0, wide)

    def disagreement(self, y: Array, mean: Array, var: Array) -> Array:
        """P(y f < 0) under the tilted distribution ``N(mean, var) x likelihood``."""
        log_z, *_, bent = self._pieces(y, mean, var, np.ones_like(mean))
        spread = np.sqrt(var / (1 + self.C * var))
        below = bent - 1 / spread  # zero in standard units of the bent side
        log_bent = -0.5 * np.log1p(self.C * var) - 0.5 * self.C * var * np.square(bent) + log_ndtr(below)
        return np.exp(np.minimum(log_bent + self.log_kappa - log_z, 0.0))


def _above(z: Array) -> Array:
    """``z + phi(z) / Phi(z)``, the mean of a standard normal's distance below z, which is positive."""
    return np.maximum(z + hazard(z), 0.0)
