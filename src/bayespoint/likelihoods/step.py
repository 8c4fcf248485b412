"""The step likelihood: version space, label noise, soft boundary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar

import numpy as np
from scipy.special import entr, log_ndtr, ndtr, owens_t

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ._fractional import FractionalStep, fractional_step
from ._normal import above_zero

__all__ = ["Step"]

_LOG_SQRT_2PI = 0.5 * log(2 * np.pi)


@dataclass(frozen=True)
class Step:
    """Step likelihood: label noise, and a soft boundary.

    With ``h = f + e``, ``e ~ N(0, softness)``, a label agrees with the sign of `h` with probability ``1 - noise``.
    Integrated over `e` this is ``noise + (1 - 2 noise) Phi(y f / sqrt(softness))``: version space for
    ``Step()``, the kernel Gibbs likelihood for ``Step(noise=q)``, the probit for ``Step(softness=1)``.

    Parameters
    ----------
    noise : float, default=0.0
        Probability q in [0, 0.5) that a label is flipped.
    softness : float, default=0.0
        Variance s >= 0 of the latent noise; the ``lambda`` that Bayes point machines add to the diagonal of the
        Gram matrix.

    Examples
    --------
    >>> from bayespoint import Step
    >>> Step(noise=0.1, softness=1.0)
    Step(noise=0.1, softness=1.0)
    >>> Step().is_hard
    True
    """

    noise: float = 0.0
    softness: float = 0.0

    BOUNDS: ClassVar[Mapping[str, tuple[float, float]]] = {"noise": (1e-6, 0.49), "softness": (1e-4, 1e4)}
    remedy: ClassVar[str] = "raise softness or noise"  # where labels and kernel are too much at odds for rounding

    def __post_init__(self) -> None:
        if not 0.0 <= self.noise < 0.5:
            raise InvalidProblemError(
                f"noise must be at least 0 and below 0.5 (a label flipped half the time says nothing), "
                f"got {self.noise!r}."
            )
        if not 0.0 <= self.softness < np.inf:
            raise InvalidProblemError(f"softness must be a finite number of at least 0, got {self.softness!r}.")

    @property
    def kind(self) -> str:
        """What engines ask for: hard, noise, soft, or soft noise."""
        parts = (("soft", self.softness), ("noise", self.noise))
        return " ".join(name for name, value in parts if value) or "hard"

    @property
    def is_hard(self) -> bool:
        """Whether a wrong sign has probability zero, so that version space may be empty."""
        return self.noise == 0.0 and self.softness == 0.0

    @property
    def is_log_concave(self) -> bool:
        """Whether every site of expectation propagation has non-negative precision."""
        return self.noise == 0.0

    def log_likelihood(self, y: Array, f: Array) -> Array:
        """``log(noise + (1 - 2 noise) Phi(y f / sqrt(softness)))``; minus infinity on the wrong side of a hard wall."""
        if self.softness > 0:
            return self.log_probability(y * f, np.zeros_like(f))
        if self.noise == 0:
            return np.where(y * f > 0, 0.0, -np.inf)
        side = np.where(y * f > 0, log(1 - self.noise), log(self.noise))
        return np.where(f == 0, log(0.5), side)  # a latent that is always zero takes no side

    # -- expectation propagation ---------------------------------------------------------------------------------

    def site(self, y: Array, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array]:
        """Log-normaliser of ``likelihood**power`` under N(mean, var), and the site (precision, precision x mean)."""
        log_z, ratio, curvature, gap = self._closed_form(y, mean, var, power)
        # Tilted variance: var * (1 - curvature * var / total) with total = var + softness; hence, free of cancellation,
        width = self.softness + gap * var
        tau = curvature / width
        nu = tau * mean + y * ratio * np.sqrt(var + self.softness) / width
        if self.softness > 0 and (i := np.flatnonzero(power < 1)).size:  # a soft step to a power has no closed form
            found = self._fractional(y[i], mean[i], var[i], power[i])
            log_z[i], tau[i] = found.log_z, found.curvature / (self.softness * found.gap)
            nu[i] = tau[i] * mean[i] + y[i] * found.slope / (sqrt(self.softness) * found.gap)
        return log_z, tau, nu

    def log_normaliser_gradient(self, y: Array, mean: Array, var: Array, power: Array) -> dict[str, Array]:
        """Derivative of the log-normaliser in log noise and log softness at a fixed cavity."""
        total = var + self.softness
        z = y * mean / np.sqrt(total)
        log_z, ratio, _, _ = self._closed_form(y, mean, var, power)
        q = self.noise
        if q > 0:  # Z = low Phi(-z) + high Phi(z) with low = q^u, high = (1-q)^u
            d_low = power * np.exp(power * log(q))
            d_high = -power * (q / (1 - q)) * np.exp(power * np.log1p(-q))
            d_noise = (d_low * ndtr(-z) + d_high * ndtr(z)) * np.exp(-log_z)
        else:
            d_noise = np.zeros_like(z)
        d_softness = -0.5 * ratio * z * self.softness / total
        if self.softness > 0 and (i := np.flatnonzero(power < 1)).size:  # a soft step to a power has no closed form
            found = self._fractional(y[i], mean[i], var[i], power[i])
            d_noise[i], d_softness[i] = found.d_noise, found.d_softness
        return {"noise": d_noise, "softness": d_softness}

    def _closed_form(self, y: Array, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array, Array]:
        """``log Z``, ``r = rise phi(z) / Z``, ``c = r (z + r)`` and ``1 - c`` for ``Z = low + rise Phi(z)``."""
        z = y * mean / np.sqrt(var + self.softness)
        if self.noise == 0:
            log_low, log_rise = np.full_like(power, -np.inf), np.zeros_like(power)
        else:  # lower level q^u of the step and its rise (1-q)^u - q^u
            log_low, log_high = power * log(self.noise), power * np.log1p(-self.noise)
            log_rise = log_high + np.log1p(-np.exp(log_low - log_high))
        log_z = np.logaddexp(log_low, log_rise + log_ndtr(z))
        if self.noise == 0:
            return log_z, *above_zero(z)
        ratio = np.exp(log_rise - 0.5 * z * z - _LOG_SQRT_2PI - log_z)
        curvature = ratio * (z + ratio)
        return log_z, ratio, curvature, 1 - curvature

    def _fractional(self, y: Array, mean: Array, var: Array, power: Array) -> FractionalStep:
        s = self.softness
        return fractional_step(self.noise, y * mean / sqrt(s), var / s, power)

    # -- read-outs -----------------------------------------------------------------------------------------------

    def score(self, mean: Array, var: Array) -> Array:
        """The z in ``P(label = +1) = noise + (1 - 2 noise) Phi(z)`` for a latent N(mean, var)."""
        return mean / np.sqrt(np.maximum(var + self.softness, np.finfo(float).tiny))

    def log_probability(self, mean: Array, var: Array) -> Array:
        """Log-probability of the label +1 for a latent N(mean, var); negate the mean for the label -1."""
        log_p: Array = log_ndtr(self.score(mean, var))
        if self.noise > 0:
            log_p = np.logaddexp(log(self.noise), log(1 - 2 * self.noise) + log_p)
        return log_p

    def conditional_entropy(self, mean: Array, var: Array) -> Array:
        """Entropy in nats of the label once the latent N(mean, var) is known: what no amount of data removes.

        Without softness it is that of the label noise. A soft boundary adds a hump around zero, integrated by
        Gauss-Legendre over where both the hump and the latent live.
        """
        q, s = self.noise, self.softness
        floor = entr(q) + entr(1 - q)
        if s == 0:
            return np.full(np.shape(mean), floor)
        sd = np.sqrt(var)
        low = np.clip(-9 * sqrt(s), mean - 8 * sd, mean + 8 * sd)
        high = np.clip(9 * sqrt(s), mean - 8 * sd, mean + 8 * sd)
        nodes, weights = np.polynomial.legendre.leggauss(40)
        total = np.zeros(np.shape(mean))
        for node, weight in zip(nodes, weights, strict=True):
            f = 0.5 * (low + high) + 0.5 * (high - low) * node
            p = q + (1 - 2 * q) * ndtr(f / sqrt(s))
            density = np.exp(-0.5 * np.square((f - mean) / sd) - _LOG_SQRT_2PI) / sd
            total += weight * 0.5 * (high - low) * density * (entr(p) + entr(1 - p) - floor)
        return floor + total

    def disagreement(self, y: Array, mean: Array, var: Array) -> Array:
        """P(y f < 0) under the tilted distribution ``N(mean, var) x likelihood``: a label on the wrong side.

        P(f < 0, h > 0) is a bivariate normal orthant, in closed form by Owen's T function.
        """
        q, s = self.noise, self.softness
        a = y * mean / np.sqrt(var)  # f > 0 has probability Phi(a)
        if s == 0:  # h = f
            return np.exp(log(q) + log_ndtr(-a) - self.log_probability(y * mean, var)) if q > 0 else np.zeros_like(a)
        z = y * mean / np.sqrt(var + s)
        both = _orthant(a, z, np.sqrt(var / (var + s)))  # P(f > 0, h > 0)
        wrong = np.clip(ndtr(z) - both, 0.0, None)
        return np.clip((q * ndtr(-a) + (1 - 2 * q) * wrong) / np.exp(self.log_probability(y * mean, var)), 0.0, 1.0)


def _orthant(a: Array, b: Array, rho: Array) -> Array:
    """P(U < a, V < b) of standard normals with correlation rho > 0, by Owen (1956); needs a b >= 0, as here."""
    root = np.sqrt((1 - rho) * (1 + rho))
    # both thresholds share a sign because they are the same mean over two standard deviations
    safe_a, safe_b = np.where(a == 0, 1.0, a), np.where(b == 0, 1.0, b)
    t_a = owens_t(a, (b - rho * a) / (safe_a * root))
    t_b = owens_t(b, (a - rho * b) / (safe_b * root))
    at_zero = 0.25 + np.arcsin(rho) / (2 * np.pi)
    return np.where((a == 0) | (b == 0), at_zero, 0.5 * (ndtr(a) + ndtr(b)) - t_a - t_b)
