"""The hinge likelihood: the support vector machine as a probabilistic model (Sollich 2002)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log, sqrt
from typing import ClassVar

import numpy as np
from scipy.special import entr, erfcx, expit, log_expit, log_ndtr

from .._typing import Array
from ..exceptions import InvalidProblemError

__all__ = ["Hinge"]

_LOG_SQRT_2PI = 0.5 * log(2 * np.pi)


@dataclass(frozen=True)
class Hinge:
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

    C: float = 1.0

    BOUNDS: ClassVar[Mapping[str, tuple[float, float]]] = {"C": (1e-3, 1e3)}
    is_hard: ClassVar[bool] = False
    is_log_concave: ClassVar[bool] = True
    softness: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.C < np.inf:
            raise InvalidProblemError(f"C must be a finite number above 0, got {self.C!r}.")

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
        log_z, share, boundary, slope, _ = self._pieces(y, mean, var, power)
        # d log Z / d(y mean) = slope p; its derivative slope^2 p (1 - p) - slope boundary is negative by log-concavity
        curvature = np.maximum(slope * (boundary - slope * share * (1 - share)), 0.0)
        shrink = np.maximum(1 - var * curvature, 1e-12)
        tau = curvature / shrink
        nu = tau * mean + y * slope * share / shrink
        return log_z, tau, nu

    def log_normaliser_gradient(self, y: Array, mean: Array, var: Array, power: Array) -> dict[str, Array]:
        """Derivative of the log-normaliser in log C at a fixed cavity: minus the mean hinge energy, and kappa."""
        _, share, _, slope, deficit = self._pieces(y, mean, var, power)
        d_kappa = power * self.C * 2 * expit(-2 * self.C)
        return {"C": d_kappa - slope * share * deficit}

    def _pieces(self, y: Array, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Both sides of the kink: ``t > 1`` flat, ``t < 1`` a Gaussian with its mean shifted by ``slope var``.

        Returns log Z, the share p of the sloped side, the tilted density at the kink, the slope, and
        ``E[1 - t | t < 1]``.
        """
        slope = power * self.C
        sd = np.sqrt(var)
        gap = (1 - y * mean) / sd  # the kink in standard units of the cavity
        shifted = gap - slope * sd
        log_flat = log_ndtr(-gap)
        log_sloped = slope * sd * (0.5 * slope * sd - gap) + log_ndtr(shifted)
        log_raw = np.logaddexp(log_flat, log_sloped)
        share = np.exp(log_sloped - log_raw)
        boundary = np.exp(-0.5 * gap * gap - _LOG_SQRT_2PI - log_raw) / sd
        hazard = sqrt(2 / np.pi) / erfcx(-shifted / sqrt(2))
        deficit = sd * np.maximum(shifted + hazard, 0.0)
        return log_raw + power * self.log_kappa, share, boundary, slope, deficit

    # -- read-outs -----------------------------------------------------------------------------------------------

    def score(self, mean: Array, var: Array) -> Array:
        """Log-odds of the label +1 for a latent N(mean, var)."""
        return self.log_probability(mean, var) - self.log_probability(-mean, var)

    def log_probability(self, mean: Array, var: Array) -> Array:
        """Log-probability of the label +1 for a latent N(mean, var): the mean of Sollich's (11) over the latent."""
        total = np.full(np.shape(mean), -np.inf)
        for f, log_weight in _quadrature(self.C, mean, var):
            total = np.logaddexp(total, log_weight + log_expit(self.log_odds(f)))
        return np.minimum(total, 0.0)

    def conditional_entropy(self, mean: Array, var: Array) -> Array:
        """Entropy in nats of the label once the latent N(mean, var) is known."""
        total = np.zeros(np.shape(mean))
        for f, log_weight in _quadrature(self.C, mean, var):
            p = expit(self.log_odds(f))
            total += np.exp(log_weight) * (entr(p) + entr(1 - p))
        return total

    def log_odds(self, f: Array) -> Array:
        """Log-odds of the label +1 given the latent: ``2 C f`` between the kinks, ``C (f + sign f)`` beyond them."""
        return self.C * (f + np.clip(f, -1.0, 1.0))

    def disagreement(self, y: Array, mean: Array, var: Array) -> Array:
        """P(y f < 0) under the tilted distribution ``N(mean, var) x likelihood``."""
        sd = np.sqrt(var)
        log_z, _, _, slope, _ = self._pieces(y, mean, var, np.ones_like(mean))
        below = -y * mean / sd - slope * sd  # zero in standard units of the shifted Gaussian
        log_sloped = slope * (0.5 * slope * var - (1 - y * mean)) + log_ndtr(below)
        return np.exp(np.minimum(log_sloped + self.log_kappa - log_z, 0.0))


def _quadrature(C: float, mean: Array, var: Array) -> Iterator[tuple[Array, Array]]:
    """Nodes and log-weights for N(mean, var), cut at eight deviations.

    Gauss-Legendre between the kinks at -1 and +1 and around zero, where the probability of a steep hinge changes. A
    latent that is known leaves pieces of no width; its whole weight is then on the last node.
    """
    mean, var = np.asarray(mean, dtype=np.float64), np.asarray(var, dtype=np.float64)
    sd = np.sqrt(np.maximum(var, np.finfo(float).tiny))
    low, high = mean - 8 * sd, mean + 8 * sd
    known = high - low <= 1e-12 * (1 + np.abs(mean))
    steep = min(1.0, 6.0 / C)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    with np.errstate(divide="ignore"):
        for left, right in pairwise([low, *(np.clip(cut, low, high) for cut in (-1, -steep, 0, steep, 1)), high]):
            half, middle = 0.5 * (right - left), 0.5 * (right + left)
            log_scale = np.where(known, -np.inf, np.log(half) - np.log(sd) - _LOG_SQRT_2PI)
            for node, weight in zip(nodes, weights, strict=True):
                f = middle + half * node
                yield f, log(weight) + log_scale - 0.5 * np.square((f - mean) / sd)
    if known.any():
        yield mean, np.where(known, 0.0, -np.inf)
