"""The step likelihood of several classes: the largest latent is the label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from .largest import largest_probabilities

__all__ = ["Choice"]


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
        high, low = self.levels(mean.shape[-1])
        return low + (high - low) * largest(mean, np.broadcast_to(variance + self.softness, mean.shape))


def largest(mean: Array, variance: Array) -> Array:
    """`largest_probabilities` of arrays of any shape (..., C), a variance of zero included."""
    flat, spread = mean.reshape(-1, mean.shape[-1]), variance.reshape(-1, mean.shape[-1])
    shares = (flat == flat.max(axis=1, keepdims=True)).astype(np.float64)
    shares /= shares.sum(axis=1, keepdims=True)
    if (rows := np.flatnonzero(spread.any(axis=1))).size:
        shares[rows] = largest_probabilities(flat[rows], spread[rows])
    return shares.reshape(mean.shape)
