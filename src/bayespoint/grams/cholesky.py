"""Few points that stand for many: randomly pivoted Cholesky of a Gram matrix that is never formed.

A point becomes a landmark with a probability in proportion to the prior variance that the landmarks so far leave
unexplained (Chen, Epperly, Tropp & Webber 2025). That finds far points as well as crowded regions, and the variance
left over, which is the error made, is known at each step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.gaussian_process.kernels import Kernel

from .._core.typing import Array
from .._core.words import told_briefly
from ..kernels import kernel_values

__all__ = ["PivotedCholesky", "pivoted_cholesky"]

_BLOCK = 64  # points proposed at a time


@told_briefly()
class PivotedCholesky(NamedTuple):
    """A factor ``M M'`` of a Gram matrix, and what it leaves out."""

    pivots: Any  # rows that became landmarks, in the order in which they did
    factor: Array  # M, of shape (n, rank); its rows at the pivots are lower triangular
    residual: Array  # prior variance of each row that the landmarks leave unexplained


def pivoted_cholesky(
    kernel: Kernel,
    X: Any,
    *,
    max_rank: int | None = None,
    tolerance: float = 1e-6,
    rng: Any = None,
    start: Array | None = None,
) -> PivotedCholesky:
    """Landmarks among the rows of X until they explain all but a share `tolerance` of the prior variance.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    X : array of shape (n, n_features)
        Points.
    max_rank : int, optional
        Landmarks at the most; no limit by default.
    tolerance : float, default=1e-6
        Share of the sum of all prior variances that may be left out.
    rng : int, Generator or None
        Source of randomness.
    start : ndarray of shape (n, rank), optional
        Features by landmarks from elsewhere, which come first in the factor and count towards `max_rank`.

    Returns
    -------
    PivotedCholesky

    Examples
    --------
    A smooth kernel on a short interval has few dimensions that matter.

    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import pivoted_cholesky
    >>> found = pivoted_cholesky(RBF(1.0), np.linspace(0, 1, 1000)[:, None], tolerance=1e-8, rng=0)
    >>> bool(found.factor.shape[1] < 12 and found.residual.max() < 1e-5)
    True
    """
    rng = np.random.default_rng(rng)
    residual = np.array(kernel.diag(X), dtype=np.float64)
    n = len(residual)
    start = np.empty((n, 0)) if start is None else start
    rank = start.shape[1]
    limit = n + rank if max_rank is None else min(max_rank, n + rank)
    prior = residual.copy()
    enough = tolerance * float(prior.sum())
    rounding = 1e-13 * float(prior.max(initial=0.0)) * n  # below that, variance is noise
    factor = _widened(start, rank + min(limit, 4 * _BLOCK))
    residual = np.maximum(residual - np.einsum("ij,ij->i", start, start), 0.0)
    pivots = np.empty(0, dtype=np.intp)
    while rank < limit and (total := float(residual.sum())) > max(enough, rounding):
        size = min(_BLOCK, limit - rank, int(np.count_nonzero(residual)))
        proposed = rng.choice(n, size=size, replace=True, p=residual / total)
        have = factor[:, :rank]
        block = kernel_values(kernel, X[proposed]) - have[proposed] @ have[proposed].T
        kept, lower = _accept(block, residual[proposed], rng, 0.1 * rounding / n)
        chosen = proposed[kept]
        if not chosen.size:  # what seemed to be left there is rounding
            residual[proposed] = 0.0
            continue
        if rank + len(chosen) > factor.shape[1]:
            factor = _widened(factor, min(limit, 2 * factor.shape[1]))
        columns = kernel_values(kernel, X, X[chosen]) - factor[:, :rank] @ factor[chosen, :rank].T
        new = factor[:, rank : rank + len(chosen)]
        new[:] = solve_triangular(lower, columns.T, lower=True, check_finite=False).T
        residual = np.maximum(residual - np.einsum("ij,ij->i", new, new), 0.0)
        pivots = np.r_[pivots, chosen]
        residual[pivots] = 0.0
        new[np.ix_(chosen, range(len(chosen)))] = lower
        new[pivots[: -len(chosen)]] = 0.0  # rows at earlier pivots are explained already
        rank += len(chosen)
    return PivotedCholesky(pivots, np.ascontiguousarray(factor[:, :rank]), residual)


def _accept(block: Array, before: Array, rng: np.random.Generator, smallest: float) -> tuple[Any, Array]:
    """Which of the proposed points become landmarks one after the other, and the triangle of those.

    Each was proposed by the variance it had before; it stays with the probability of what the ones before it leave of
    that, so that landmarks are distributed as if they had been drawn one at a time.
    """
    size = len(block)
    lower = np.zeros((size, size))
    left = np.minimum(np.diagonal(block), before).copy()
    kept: list[int] = []
    chance = rng.uniform(size=size)
    for i in range(size):
        if left[i] <= smallest or chance[i] * before[i] >= left[i]:
            continue
        k = len(kept)
        column = (block[:, i] - lower[:, :k] @ lower[i, :k]) / np.sqrt(left[i])
        column[kept] = 0.0
        column[i] = np.sqrt(left[i])
        lower[:, k] = column
        left = left - np.square(column)
        kept.append(i)
    return np.array(kept, dtype=np.intp), lower[np.ix_(kept, range(len(kept)))]


def _widened(factor: Array, columns: int) -> Array:
    wider = np.empty((len(factor), columns), order="F")
    wider[:, : factor.shape[1]] = factor
    return wider
