"""The hinge likelihood: the support vector machine as a probabilistic model (Sollich 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, expit, log_expit, log_ndtr

from .._core.typing import Array
from ._by_c import ByC, matching_site
from ._log_odds import ByLogOdds
from ._normal import hazard

__all__ = ["Hinge"]


@dataclass(frozen=True)
class Hinge(ByC, ByLogOdds):
    """Hinge likelihood ``kappa(C) exp(-C max(0, 1 - y f))`` with ``kappa = 1 / (1 + exp(-2C))``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the hinge loss, as in a support vector machine.

    Examples
    --------
    >>> from bayespoint import Hinge
    >>> Hinge(C=2.0)
    Hinge(C=2.0)
    """

    kind: ClassVar[str] = "hinge"

    @property
    def log_kappa(self) -> float:
        """Logarithm of ``kappa``, the largest factor that keeps both labels' probabilities below one (Sollich 4)."""
        return float(log_expit(2 * self.C))

    def log_likelihood(self, y: Array, f: Array) -> Array:
        """``log kappa - C max(0, 1 - y f)``."""
        return self.log_kappa - self.C * np.maximum(0.0, 1.0 - y * f)

    # -- expectation propagation ---------------------------------------------------------------------------------

    def site(self, y: Array, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array]:
        """Log-normaliser of ``likelihood**power`` under N(mean, var), and the site (precision, precision x mean)."""
        log_z, slope, curvature = self.derivatives(y, mean, var, power)
        return log_z, *matching_site(mean, var, slope, curvature)

    def derivatives(self, y: Array, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array]:
        """Log-normaliser of ``likelihood**power`` under N(mean, var), its slope and minus its curvature in the mean."""
        log_z, share, slope, deficit = self._pieces(y, mean, var, power)
        # d log Z / d(y mean) = slope p, and dp / d(y mean) = p (1 - p) slope - b with the density b at the kink. In b
        # and slope there is a large common part for steep hinges; what is left of it is negative by log-concavity.
        rest = deficit / var - (1 - y * mean) / var + slope * share
        return log_z, y * slope * share, np.maximum(slope * share * rest, 0.0)

    def log_normaliser_gradient(self, y: Array, mean: Array, var: Array, power: Array) -> dict[str, Array]:
        """Derivative of the log-normaliser in log C at a fixed cavity: minus the mean hinge energy, and kappa."""
        _, share, slope, deficit = self._pieces(y, mean, var, power)
        d_kappa = power * self.C * 2 * expit(-2 * self.C)
        return {"C": d_kappa - slope * share * deficit}

    def _pieces(self, y: Array, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array, Array]:
        """Both sides of the kink: ``t > 1`` flat, ``t < 1`` a Gaussian with its mean shifted by ``slope var``.

        Returns log Z, the share p of the sloped side, the slope, and ``E[1 - t | t < 1]``.
        """
        slope = power * self.C
        sd = np.sqrt(var)
        gap = (1 - y * mean) / sd  # the kink in standard units of the cavity
        shifted = gap - slope * sd
        log_flat = log_ndtr(-gap)
        # slope sd (slope sd / 2 - gap) + log Phi(shifted), where the squares of a steep slope cancel
        steep = shifted < 0
        log_sloped = np.where(
            steep,
            -0.5 * gap * gap + np.log(0.5 * erfcx(-np.minimum(shifted, 0.0) / sqrt(2))),
            slope * sd * (0.5 * slope * sd - gap) + log_ndtr(np.maximum(shifted, 0.0)),
        )
        log_raw = np.logaddexp(log_flat, log_sloped)
        share = np.exp(log_sloped - log_raw)
        deficit = sd * np.maximum(shifted + hazard(shifted), 0.0)
        return log_raw + power * self.log_kappa, share, slope, deficit

    # -- read-outs -----------------------------------------------------------------------------------------------

    def log_odds(self, f: Array) -> Array:
        """Log-odds of the label +1 given the latent: ``2 C f`` between the kinks, ``C (f + sign f)`` beyond them."""
        return self.C * (f + np.clip(f, -1.0, 1.0))  # Sollich (11)

    @property
    def cuts(self) -> tuple[float, ...]:
        """The kinks, and around zero, where the probability of a steep hinge changes."""
        steep = min(1.0, 6.0 / self.C)
        return (-1.0, -steep, 0.0, steep, 1.0)

    def disagreement(self, y: Array, mean: Array, var: Array) -> Array:
        """P(y f < 0) under the tilted distribution ``N(mean, var) x likelihood``."""
        sd = np.sqrt(var)
        log_z, _, slope, _ = self._pieces(y, mean, var, np.ones_like(mean))
        below = -y * mean / sd - slope * sd  # zero in standard units of the shifted Gaussian
        log_sloped = slope * (0.5 * slope * var - (1 - y * mean)) + log_ndtr(below)
        return np.exp(np.minimum(log_sloped + self.log_kappa - log_z, 0.0))
