"""Whitened coordinates of a problem: latents as ``M w`` with ``w ~ N(0, I)`` in as many dimensions as the true rank.

A soft boundary adds one coordinate a row for the latent noise, and so does a residual of the row:
``h = M w + sqrt(s) e``. So the Gram matrix ``K + s I`` of the walls is never formed, and the function values
``f = M w`` of a draw are known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack, pinv, solve_triangular

from .._core.typing import Array
from ..problem import Problem
from .rows import CrossRows, as_values

__all__ = ["Whitened", "whiten"]


@dataclass(frozen=True, eq=False)
class Whitened:
    """A factor of the Gram matrix, and the softness of the boundary at each row.

    Attributes
    ----------
    factor : ndarray of shape (n, rank)
        ``M`` with ``M M' = K``; its rows at `pivots` are lower triangular.
    pivots : ndarray of shape (rank,) or None
        Training points that span all others; None if the problem came with its factor.
    softness : ndarray of shape (n,)
        Variance of what each row has of its own: latent noise, and its residual.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.grams import whiten
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> white = whiten(Problem(X @ X.T, [1, 1, 1], Step()))
    >>> white.rank
    2
    >>> np.allclose(white.factor @ white.factor.T, X @ X.T)
    True
    """

    factor: Array
    pivots: Any
    softness: Array

    @property
    def rank(self) -> int:
        """Number of coordinates of the function."""
        return self.factor.shape[1]

    @cached_property
    def is_soft(self) -> bool:
        """Whether some row has a variance of its own."""
        return bool(self.softness.any())

    @cached_property
    def _own(self) -> Array:
        return np.sqrt(self.softness)

    @property
    def dimension(self) -> int:
        """Number of coordinates, those of the rows' own included."""
        return self.rank + (len(self.factor) if self.is_soft else 0)

    @property
    def whole_factor(self) -> Array:
        """The matrix that takes all coordinates to what the walls see."""
        return np.c_[self.factor, np.diag(self._own)] if self.is_soft else self.factor

    def spelt_out(self) -> Whitened:
        """The same with what rows have of their own as part of the function."""
        return (
            replace(self, factor=self.whole_factor, pivots=None, softness=0 * self.softness) if self.is_soft else self
        )

    def latents(self, position: Array) -> Array:
        """What the walls see: ``f``, or ``h = f + noise`` under a soft boundary."""
        values: Array = position[..., : self.rank] @ self.factor.T
        if self.is_soft:
            values += self._own * position[..., self.rank :]
        return values

    def pull(self, impulse: Array, rows: Any = slice(None)) -> Array:
        """The transpose of `latents`: impulses at rows as impulses on coordinates."""
        values: Array = impulse @ self.factor[rows]
        if not self.is_soft:
            return values
        noise = np.zeros((*impulse.shape[:-1], len(self.factor)))
        noise[..., rows] = self._own[rows] * impulse
        return np.concatenate([values, noise], axis=-1)

    def features(self, cross: Array | CrossRows) -> Array:
        """Coordinates of new points, so that the mean of the latent given a draw is ``features @ w``."""
        cross = as_values(cross)
        if self.pivots is None:
            return cross
        triangle = self.factor[self.pivots]
        coordinates: Array = solve_triangular(triangle, cross[:, self.pivots].T, lower=True, check_finite=False)
        return coordinates.T

    def coordinates(self, latents: Array) -> Array:
        """Coordinates of the function, given its values at the training points; the nearest one if there is none."""
        if self.pivots is None:
            nearest: Array = self._inverse @ latents
            return nearest
        solved: Array = solve_triangular(self.factor[self.pivots], latents[self.pivots], lower=True)
        return solved

    @cached_property
    def _inverse(self) -> Array:
        inverse: Array = pinv(self.factor)
        return inverse

    def weights(self, position: Array) -> Array:
        """What turns `cross` into values of the function: `expansion`, or coordinates where the problem has them."""
        return position[..., : self.rank] if self.pivots is None else self.expansion(position)

    def expansion(self, position: Array) -> Array:
        """Coefficients alpha with ``f(x) = sum_i alpha_i k(x, x_i)``; zero except at the pivots, where there are such.

        A problem that came with its factor may have fewer rows than coordinates: then the expansion is that of the
        part of the function that is in their span, with the same values at the training points.
        """
        w = position[..., : self.rank]
        if self.pivots is None:
            spanned: Array = w @ self._inverse
            return spanned
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
    >>> from bayespoint.grams import whiten
    >>> whiten(Problem(np.ones((3, 3)), [1, 1, 1], Step(softness=0.5))).dimension
    4
    """
    if problem.root is not None:
        problem.refuse_prior()
        return Whitened(problem.root, None, problem.own)
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
    return Whitened(factor, order[:rank], problem.own)
