"""The step likelihood of several classes: the largest latent is the label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from .comparisons import SETTLED, Compared, above_all, others_of
from .largest import largest_probabilities

__all__ = ["Choice", "ChoiceSite"]

_ROWS = 4096  # points whose comparisons are in memory at a time


class ChoiceSite(NamedTuple):
    """What moment matching finds of rows: log-normalisers, and sites on the differences of latents.

    Without label noise sites are ``exp(nu_c (v - f_c) - tau_c (v - f_c)^2 / 2)`` for the other classes c, with
    ``v = f_y + e_y``: of shape (n, C - 1). With it they are Gaussian in all ``f_y - f_c`` together: `tau` is
    (n, C - 1, C - 1). `noise` is the derivative of the log-normaliser in log noise, `own` that in the variance of all
    e. `walls` are the comparisons without label noise.
    """

    log_z: Array
    tau: Array
    nu: Array
    noise: Array
    own: Array
    walls: Compared


@dataclass(frozen=True)
class Choice:
    """The label is the class with the largest latent: label noise, and soft boundaries.

    There are C latents a row, one for each class, with one kernel and independent a priori. With ``h_c = f_c + e_c``,
    ``e_c ~ N(0, softness)``, the label is the class of the largest `h` with probability ``1 - noise``, and any other
    class with probability ``noise / (C - 1)``. Two classes are `Step` on the difference of the two latents, whose
    kernel and softness are twice as large: the same evidence, the same probabilities.

    Parameters
    ----------
    noise : float, default=0.0
        Probability in [0, 0.5) that a label is not that of the largest latent.
    softness : float, default=0.0
        Variance of the latent noise of each class.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Choice, Problem
    >>> Problem(np.eye(3), [0, 2, 1], Choice(noise=0.1)).n_classes
    3
    """

    noise: float = 0.0
    softness: float = 0.0

    BOUNDS: ClassVar[Mapping[str, tuple[float, float]]] = {"noise": (1e-6, 0.49), "softness": (1e-4, 1e4)}
    remedy: ClassVar[str] = "raise softness or noise"

    def __post_init__(self) -> None:
        if not 0.0 <= self.noise < 0.5:
            raise InvalidProblemError(f"noise must be at least 0 and below 0.5, got {self.noise!r}.")
        if not 0.0 <= self.softness < np.inf:
            raise InvalidProblemError(f"softness must be a finite number of at least 0, got {self.softness!r}.")

    @property
    def kind(self) -> str:
        """What engines ask for: choice hard, choice noise, choice soft, or choice soft noise."""
        parts = (("soft", self.softness), ("noise", self.noise))
        return "choice " + (" ".join(name for name, value in parts if value) or "hard")

    @property
    def is_hard(self) -> bool:
        """Whether a label that is not that of the largest latent has probability zero."""
        return self.noise == 0.0 and self.softness == 0.0

    @property
    def is_log_concave(self) -> bool:
        """Whether every site of expectation propagation has non-negative precision."""
        return self.noise == 0.0

    def levels(self, n_classes: int) -> tuple[float, float]:
        """Probability of the label where its class has the largest latent, and where another one has."""
        return 1 - self.noise, self.noise / (n_classes - 1)

    def log_likelihood(self, y: Array, f: Array) -> Array:
        """Of class numbers `y` of shape (n,) at latents of shape (..., n, C): of shape (..., n)."""
        return self.log_average(y, f, np.zeros(len(y)), np.ones(len(y)))

    def log_average(self, y: Array, mean: Array, variance: Array, power: Array) -> Array:
        """The same to a power, averaged over independent latents of one variance a row; powers only without softness.

        A power of a hard step is a hard step between powers of its levels.
        """
        high, low = (level**power for level in self.levels(mean.shape[-1]))
        spread = np.broadcast_to((variance + self.softness)[:, None], mean.shape)
        chosen = np.broadcast_to(np.asarray(y, dtype=np.intp)[:, None], (*mean.shape[:-1], 1))
        share = np.take_along_axis(largest(mean, spread), chosen, axis=-1)[..., 0]
        with np.errstate(divide="ignore"):
            return np.log(low + (high - low) * share)

    def probabilities(self, mean: Array, variance: Array) -> Array:
        """Of all labels, for latents of shape (..., C) that are Gaussian and independent of each other."""
        return self.of_leaders(largest(mean, np.broadcast_to(variance + self.softness, mean.shape)))

    def of_leaders(self, leading: Array) -> Array:
        """Probabilities of all labels, given those of each class to have the largest latent, noise included."""
        high, low = self.levels(leading.shape[-1])
        return low + (high - low) * leading

    # -- expectation propagation ---------------------------------------------------------------------------------

    def site(
        self,
        y: Array,
        mean: Array,
        cov: Array,
        own: Array,
        power: Array,
        start: tuple[Array, Array] | None = None,
        settled: float = SETTLED,
    ) -> ChoiceSite:
        """Of ``likelihood**power`` at latents N(mean, cov) of shapes (n, C) and (n, C, C), with noise of variance own.

        `own` is softness and residual; `start` are walls of similar rows, and walls move until they do so by no more
        than `settled`. Label noise makes a mixture of two Gaussians of the differences, with the moments of which the
        walls have no more to do: see `_flipped`.
        """
        high, low = (level**power for level in self.levels(mean.shape[1]))
        at, spread = differences(y, mean, cov, own)
        walls = above_all(at, spread, start, settled)
        with np.errstate(divide="ignore"):
            log_z = np.logaddexp(np.log(low), np.log(high - low) + walls.log_z)
        share = np.exp(np.log(high - low) + walls.log_z - log_z)  # of the part inside the walls
        push = walls.nu - walls.tau * walls.mean  # cov^-1 (mean inside the walls - mean)
        change = walls.tau[:, :, None] * (np.eye(push.shape[1]) - walls.cov * walls.tau[:, None, :])  # T - T S T
        by_own = (push**2).sum(axis=1) + push.sum(axis=1) ** 2 - np.einsum("icc->i", change) - change.sum(axis=(1, 2))
        if self.noise == 0:
            shrink = 1 + own[:, None] * walls.tau
            tau, nu = walls.tau / shrink, walls.nu / shrink
        else:
            tau, nu = _flipped(at, spread, own, share, (walls.mean, push, change))
        by_noise = self._by_noise(walls, log_z, power, mean)
        return ChoiceSite(log_z, tau, nu, by_noise, 0.5 * share * by_own, walls)

    def _by_noise(self, walls: Compared, log_z: Array, power: Array, mean: Array) -> Array:
        """Of ``Z = low + (high - low) Z0``, with ``high = (1 - q)^u`` and ``low = (q / (C - 1))^u``."""
        if self.noise == 0:
            return np.zeros(len(mean))
        high, low = (level**power for level in self.levels(mean.shape[1]))
        d_low, d_high = power * low, -power * high * self.noise / (1 - self.noise)
        return (d_low + (d_high - d_low) * np.exp(walls.log_z)) * np.exp(-log_z)

    # -- read-outs -----------------------------------------------------------------------------------------------

    def label_probabilities(self, mean: Array, cov: Array, own: Array | float = 0.0) -> Array:
        """Of all labels at latents N(mean, cov), beyond the softness with noise of variance `own`; rows sum to one."""
        high, low = self.levels(mean.shape[1])
        shares = largest_of(mean, cov, self.softness + np.broadcast_to(own, len(mean)))
        return low + (high - low) * shares


def _flipped(
    at: Array, spread: Array, own: Array, share: Array, inside: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """Sites on the differences of f that match a mixture: N(at, spread), and a share of it that is inside the walls.

    Its covariance is ``S - S A S`` for ``A = share W - share (1 - share) g g'`` with the push g and the change of
    precision W inside the walls, so the site has precision ``T = (I - A S)^-1 A``, not that of single comparisons.
    """
    mean, push, change = inside
    k, part = at.shape[1], share[:, None, None]
    a = part * change - part * (1 - part) * push[:, :, None] * push[:, None, :]
    tau: Any = np.linalg.solve(np.eye(k) - a @ spread, a)
    tau = 0.5 * (tau + np.swapaxes(tau, 1, 2))
    nu = share[:, None] * push + np.einsum("icd,id->ic", tau, at + share[:, None] * (mean - at))
    # what each h has of its own is integrated out: of a difference twice, once of it shared by all of a row
    shrink = np.eye(k) + tau @ (own[:, None, None] * (np.eye(k) + 1))
    tau = np.linalg.solve(shrink, tau)
    return 0.5 * (tau + np.swapaxes(tau, 1, 2)), np.linalg.solve(shrink, nu[:, :, None])[:, :, 0]


def differences(y: Any, mean: Array, cov: Array, own: Array) -> tuple[Array, Array]:
    """Mean and covariance of ``h_y - h_c`` for all other classes c, with noise of variance `own` on each h."""
    rows, other = np.arange(len(y)), others_of(y, mean.shape[1])
    at = mean[rows, y][:, None] - np.take_along_axis(mean, other, axis=1)
    cross = cov[rows[:, None], y[:, None], other]
    spread = cov[rows[:, None, None], other[:, :, None], other[:, None, :]] - cross[:, :, None] - cross[:, None, :]
    spread += (cov[rows, y, y] + own)[:, None, None]
    spread += own[:, None, None] * np.eye(other.shape[1])
    return at, spread


def largest_of(mean: Array, cov: Array, own: Array) -> Array:
    """Probability of each of several correlated Gaussians to be the largest, row by row; they sum to one."""
    n, n_classes = mean.shape
    shares = np.empty((n, n_classes))
    block = max(1, _ROWS // n_classes)
    for start in range(0, n, block):
        rows = np.arange(start, min(start + block, n)).repeat(n_classes)
        y = np.tile(np.arange(n_classes), len(rows) // n_classes)
        at, spread = differences(y, mean[rows], cov[rows], own[rows])
        logs = above_all(at, spread).log_z.reshape(-1, n_classes)
        shares[start : start + block] = np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def largest(mean: Array, variance: Array) -> Array:
    """`largest_probabilities` of arrays of any shape (..., C), a variance of zero included."""
    flat, spread = mean.reshape(-1, mean.shape[-1]), variance.reshape(-1, mean.shape[-1])
    shares = (flat == flat.max(axis=1, keepdims=True)).astype(np.float64)
    shares /= shares.sum(axis=1, keepdims=True)
    if (rows := np.flatnonzero(spread.any(axis=1))).size:
        shares[rows] = largest_probabilities(flat[rows], spread[rows])
    return shares.reshape(mean.shape)
