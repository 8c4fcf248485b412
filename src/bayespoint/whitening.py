"""Whitened coordinates of a problem: latents as ``M w`` with ``w ~ N(0, I)`` in as many dimensions as the true rank.

A soft boundary adds one coordinate a row for the latent noise: ``h = M w + sqrt(s) e``. So the Gram matrix ``K + s I``
of the walls is never formed, and the function values ``f = M w`` of a draw are known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from ._typing import Array
from .problem import Problem

__all__ = ["Whitened", "whiten"]


@dataclass(frozen=True, eq=False)
class Whitened:
    """A factor of the Gram matrix, and the softness of the boundary.

    Attributes
    ----------
    factor : ndarray of shape (n, rank)
        ``M`` with ``M M' = K``; its rows at `pivots` are lower triangular.
    pivots : ndarray of shape (rank,) or None
        Training points that span all others; None if the problem came with its factor.
    softness : float
        Variance of the latent noise.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.whitening import whiten
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> white = whiten(Problem(X @ X.T, [1, 1, 1], Step()))
    >>> white.rank
    2
    >>> np.allclose(white.factor @ white.factor.T, X @ X.T)
    True
    """

    factor: Array
    pivots: Any
    softness: float

    @property
    def rank(self) -> int:
        """Number of coordinates of the function."""
        return self.factor.shape[1]

    @property
    def dimension(self) -> int:
        """Number of coordinates, those of the latent noise included."""
        return self.rank + (len(self.factor) if self.softness > 0 else 0)

    def latents(self, position: Array) -> Array:
        """What the walls see: ``f``, or ``h = f + noise`` under a soft boundary."""
        values: Array = position[..., : self.rank] @ self.factor.T
        if self.softness > 0:
            values += sqrt(self.softness) * position[..., self.rank :]
        return values

    def pull(self, impulse: Array, rows: Any = slice(None)) -> Array:
        """The transpose of `latents`: impulses at rows as impulses on coordinates."""
        values: Array = impulse @ self.factor[rows]
        return np.concatenate([values, sqrt(self.softness) * impulse], axis=-1) if self.softness > 0 else values

    def features(self, cross: Array) -> Array:
        """Coordinates of new points, so that the mean of the latent given a draw is ``features @ w``."""
        if self.pivots is None:
            return cross
        triangle = self.factor[self.pivots]
        coordinates: Array = solve_triangular(triangle, cross[:, self.pivots].T, lower=True, check_finite=False)
        return coordinates.T

    def weights(self, position: Array) -> Array:
        """Expansion coefficients alpha with ``f(x) = sum_i alpha_i k(x, x_i)``; zero except at the pivots.

        The coordinates themselves for a problem that came with its factor.
        """
        w = position[..., : self.rank]
        if self.pivots is None:
            return w
        flat = solve_triangular(self.factor[self.pivots], w.reshape(-1, self.rank).T, lower=True, trans=1)
        alpha = np.zeros((*w.shape[:-1], len(self.factor)))
        alpha[..., self.pivots] = flat.T.reshape(w.shape)
        return alpha


def whiten(problem: Problem) -> Whitened:
    """Pivoted Cholesky of the Gram matrix down to rounding; the factor of a low-rank one as it is.

    Parameters
    ----------
    problem : Problem
        Its Gram matrix may have any rank.

    Returns
    -------
    Whitened

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.whitening import whiten
    >>> whiten(Problem(np.ones((3, 3)), [1, 1, 1], Step(softness=0.5))).dimension
    4
    """
    if problem.root is not None:
        problem.refuse_prior()
        return Whitened(problem.root, None, problem.likelihood.softness)
    n = problem.size
    tolerance = n * np.finfo(float).eps * float(problem.diag.max())
    lower, pivots, rank, _ = lapack.dpstrf(
        problem.dense.T, tol=tolerance, lower=1
    )  # the transpose: a copy in Fortran order
    order = pivots - 1
    factor = lower[:, :rank]
    for start in range(0, rank, 64):  # rows back in their order, in place: one copy of the Gram matrix is enough
        columns = slice(start, min(start + 64, rank))
        factor[order, columns] = np.tril(factor[:, columns], -start)  # above the diagonal the Gram matrix is left over
    return Whitened(factor, order[:rank], problem.likelihood.softness)
