"""Moments of the latent function, and draws of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.typing import Array

__all__ = ["ByMoments", "Latent", "correlated", "spread_out"]


class Latent(NamedTuple):
    """Posterior mean and variance of the latent function, one entry a point.

    Examples
    --------
    >>> from bayespoint.posteriors import Latent
    >>> Latent(mean=0.3, variance=1.2).variance
    1.2
    """

    mean: Array
    variance: Array


class ByMoments:
    """Moments of the latent one by one; what else there is at new points is told by `At`."""

    latent: Any

    @property
    def mean(self) -> Array:
        """Of each latent."""
        return self.latent.mean

    @property
    def variance(self) -> Array:
        """Of each latent."""
        return self.latent.variance


def correlated(covariance: Array, size: int, rng: np.random.Generator) -> Array:
    """Normal vectors of mean zero, one a row; the covariance may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draws: Array = rng.standard_normal((size, len(values)))[:, ::-1] @ root.T
    return draws


def spread_out(total: int, size: int) -> Any:
    """`size` of `total` draws, as far apart as can be; some more than once if there are not enough."""
    return np.arange(size) * total // size
