"""Ratio of normalising constants along a path of distributions, from draws of each.

All draws of all levels enter one estimate (Shirts & Chodera 2008, the optimal bridge for many distributions). Most
paths are ``p_0 exp(-level U)``, where the potential U is all that is needed of a draw. The standard error is that of
the estimate's linearisation: each draw has an influence, and the mean influence of a level has a Monte Carlo error that
knows about autocorrelation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq
from scipy.special import logsumexp

from .._core.typing import Array

__all__ = ["Ratio", "bridge", "effective_share", "tempered", "variance_of_mean"]


class Ratio(NamedTuple):
    """Log-ratio of the last to the first normaliser, its variance by level, and the normalisers of all levels."""

    value: float
    variance: Array
    log_normalisers: Array


def bridge(
    statistics: Sequence[Array], levels: Array, log_density: Callable[[float, Array], Array] | None = None
) -> Ratio:
    """Combine the statistics of draws, of shape (chain, draw) or (chain, draw, k), one array a level.

    `log_density` gives the log-density of a level up to a constant from the statistics; by default these are
    potentials, see `tempered`.
    """
    log_density = tempered if log_density is None else log_density
    shapes = [u.shape[:2] for u in statistics]
    sizes = np.array([float(np.prod(shape)) for shape in shapes])
    flat = np.concatenate([u.reshape(-1, *u.shape[2:]) for u in statistics])
    inverse = np.arange(len(flat))
    if flat.ndim == 1:  # often whole numbers: look at each but once
        flat, inverse = np.unique(flat, return_inverse=True)
    counts = np.bincount(inverse).astype(np.float64)
    energy = np.stack([log_density(level, flat) for level in levels])
    free = _solve(energy, counts, sizes, _stepping_stones(statistics, levels, log_density))
    share = _shares(energy, free, sizes)
    # draws move the solution by H^+ times what they add to the gradient
    ends = np.zeros(len(levels))
    ends[-1], ends[0] = 1.0, -1.0
    influence = (lstsq(_hessian(share, counts), ends)[0] @ share)[inverse]
    variance = np.zeros(len(levels))
    start = 0
    for k, shape in enumerate(shapes):
        series = influence[start : start + int(sizes[k])].reshape(shape)
        start += int(sizes[k])
        variance[k] = sizes[k] ** 2 * variance_of_mean(series)
    return Ratio(float(free[0] - free[-1]), variance, -free)


def variance_of_mean(series: Array) -> float:
    """Variance of the mean over (chain, draw), autocorrelation included (Geyer's initial positive sequence)."""
    chains, draws = series.shape
    if np.ptp(series) <= 1e-12 * np.abs(series).max():  # rounding
        return 0.0
    centred = series - series.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * draws, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :draws].mean(axis=0) / draws
    pairs = covariance[: draws - draws % 2].reshape(-1, 2).sum(axis=1)
    last = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    total = 2 * float(np.minimum.accumulate(pairs[:last]).sum()) - float(covariance[0])
    return max(total, 0.1 * float(covariance[0])) / (chains * draws)


def tempered(level: Array | float, potential: Array) -> Array:
    """``-level * potential``, where an infinite level forbids whatever has a positive potential."""
    with np.errstate(invalid="ignore"):
        return np.where(potential == 0, 0.0, -np.asarray(level) * potential)


def effective_share(log_weights: Array) -> float:
    """Effective sample size of weights, as a share of their number."""
    return float(np.exp(2 * logsumexp(log_weights) - logsumexp(2 * log_weights)) / log_weights.size)


def _stepping_stones(statistics: Sequence[Array], levels: Array, log_density: Callable[[float, Array], Array]) -> Array:
    """Where to start: each ratio from the draws of the level before it, and back from those of the level itself."""
    free = np.zeros(len(levels))
    for k, (before, after) in enumerate(pairwise(statistics)):
        there = _log_mean(log_density(levels[k + 1], before) - log_density(levels[k], before))
        back = there
        if levels[k + 1] < np.inf:
            back = -_log_mean(log_density(levels[k], after) - log_density(levels[k + 1], after))
        free[k + 1] = free[k] - 0.5 * (there + back)
    return free


def _log_mean(log_weights: Array) -> float:
    return float(logsumexp(log_weights) - np.log(log_weights.size))


def _shares(energy: Array, free: Array, sizes: Array) -> Array:
    """Probability of each level given the potential."""
    logs = energy + (free + np.log(sizes))[:, None]
    return np.exp(logs - logsumexp(logs, axis=0))


def _hessian(share: Array, counts: Array) -> Array:
    weighted = share * counts
    return np.diag(weighted.sum(axis=1)) - weighted @ share.T


def _solve(energy: Array, counts: Array, sizes: Array, free: Array) -> Array:
    """Minimise ``sum_n log sum_k N_k exp(f_k - level_k U_n) - sum_k N_k f_k``, which is convex, by Newton's method."""
    log_sizes = np.log(sizes)[:, None]

    def objective(f: Array) -> float:
        return float(counts @ logsumexp(energy + f[:, None] + log_sizes, axis=0) - sizes @ f)

    value = objective(free)
    for _ in range(200):
        share = _shares(energy, free, sizes)
        gradient = share @ counts - sizes
        step = -lstsq(_hessian(share, counts), gradient)[0]
        step -= step[0]
        slope = float(gradient @ step)
        length = 1.0
        while (new := objective(free + length * step)) > value + 1e-4 * length * slope and length > 1e-8:
            length *= 0.5
        if new > value:
            break
        free, value = free + length * step, new
        if np.abs(length * step).max() < 1e-9:
            break
    return free
