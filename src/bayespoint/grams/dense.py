"""A Gram matrix as an array, new points beside it, and its root."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import blas, solve_triangular

from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from ._dense_gaussian import DenseGaussian, factorise
from .classes import DenseClasses, RootClasses, dense_classes, factor_classes
from .gram import ROUNDING, MadeByView, pivoted_root

__all__ = ["ByValues", "Dense", "DensePoints"]


class ByValues:
    """What a Gram matrix can do by its values, whether they are held or computed when first asked for."""

    dense: Any
    residual: ClassVar[None] = None  # no point has a variance of its own

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.dense)

    rank = size  # the work is done on the matrix itself

    def times(self, weights: Array) -> Array:
        """``K a``; rows without a weight cost nothing."""
        used = np.flatnonzero(weights)
        if 2 * len(used) > self.size:
            return self.dense @ weights
        return weights[used] @ self.dense[used]

    def root(self, most: float = 1.0) -> Array | None:
        """Pivoted Cholesky down to the rounding of each row."""
        factor = pivoted_root(self.dense, by_row=True)[0]
        return factor if factor.shape[1] <= most * self.size else None

    def whitened(self) -> PivotedRoot:
        """Pivoted Cholesky down to rounding, and its pivots."""
        return PivotedRoot(*pivoted_root(self.dense))

    def weights(self, rows: Any, alpha: Array) -> Array:
        """An expansion in all points."""
        weights = np.zeros(self.size)
        weights[rows] = alpha
        return weights

    def length(self, weights: Array) -> float:
        """``sqrt(a' K a)``."""
        return float(np.sqrt(weights @ self.times(weights)))

    def conditioned(self, tau: Array, nu: Array) -> DenseGaussian | None:
        """The prior times sites, by ``W = (K + T^-1)^-1``."""
        gram = self._lifted
        built = factorise(gram, tau)
        if built is None:
            return None
        plus, minus, log_det, variance = built
        before = blas.dsymv(1.0, gram.T, nu, lower=1)  # K nu
        alpha = nu - blas.dtrmv(plus, blas.dtrmv(plus, before, lower=1), lower=1, trans=1)
        if minus.shape[1]:
            alpha += blas.dgemv(1.0, minus, blas.dgemv(1.0, minus, before, trans=1))
        mean = blas.dsymv(1.0, gram.T, alpha, lower=1)
        return DenseGaussian(self, plus, minus, log_det, alpha, mean, variance, tau, nu)

    def conditioned_classes(self, sites: Array, nu: Array) -> DenseClasses | RootClasses | None:
        """The prior of several classes times sites; those of any form in the coordinates of a root."""
        if sites.ndim == 2:
            return dense_classes(self._lifted, sites, nu, factorise)
        root = self._class_root
        found = factor_classes(root.factor, sites, nu)
        return None if found is None else RootClasses(found, root)

    @cached_property
    def _class_root(self) -> PivotedRoot:
        return PivotedRoot(*pivoted_root(self._lifted))

    @cached_property
    def _lifted(self) -> Any:
        """The matrix, where latents that are always zero move by next to nothing, so that they have a marginal."""
        diag = np.diagonal(self.dense)
        if diag.all():
            return self.dense
        lifted = self.dense.copy()
        lifted.flat[:: self.size + 1] = np.where(diag == 0, ROUNDING * (diag.max() or 1.0), diag)
        return lifted


@told_briefly()
@dataclass(frozen=True, eq=False)
class Dense(MadeByView, ByValues):
    """A Gram matrix as an array of shape (n, n).

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.grams import Dense
    >>> Dense(np.eye(3)).times(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """

    dense: Array

    _values: ClassVar[str] = "dense"

    def __post_init__(self) -> None:
        gram = np.ascontiguousarray(self.dense, dtype=np.float64)  # engines read it by rows
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
            raise InvalidProblemError(f"The Gram matrix must be square, got shape {gram.shape}.")
        object.__setattr__(self, "dense", gram)

    @property
    def diag(self) -> Array:
        """Prior variances."""
        return np.diagonal(self.dense)

    @property
    def signature(self) -> Array:
        """The matrix itself."""
        return self.dense

    def part(self, rows: Any) -> Dense:
        """The same for some of the points."""
        return Dense(self.dense[np.ix_(rows, rows)])

    def expansion(self, new: DensePoints, rows: Any, weights: Array) -> Array:
        """Values at new points of functions that are expansions in some of the training points."""
        return new.cross[:, rows] @ weights

    def appended(self, new: DensePoints) -> Dense:
        """With new points as further rows."""
        return Dense(np.block([[self.dense, new.cross.T], [new.cross, new.among]]))

    def by_rows(self) -> HeldRows:
        """All rows are at hand."""
        return HeldRows(self.dense)


@told_briefly()
@dataclass(frozen=True, eq=False)
class HeldRows:
    """All rows of a matrix, in memory."""

    held: Array
    granularity: int = 1

    def write(self, rows: Any, out: Any, places: Any, run: Any = map) -> None:
        out[places] = self.held[rows]


@told_briefly()
@dataclass(frozen=True, eq=False)
class DensePoints:
    """New points by their kernel values with the training points.

    Parameters
    ----------
    cross : array-like of shape (n_points, n)
        Kernel values with the training points.
    diag : array-like of shape (n_points,)
        Kernel value of each point with itself.
    prior : ndarray of shape (n_points, n_points), optional
        Kernel values of the new points with each other, for functions drawn at all of them.
    asked : int, default=0
        How many points are asked for in all, if these are some of them: many are worth a preparation.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import EP
    >>> from bayespoint.grams import DensePoints
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step()))
    >>> posterior.at(DensePoints([[0.5, 0.0]], [1.0])).mean.round(3)
    array([0.399])
    """

    cross: Array
    diag: Array
    prior: Array | None = None
    asked: int = 0

    def __post_init__(self) -> None:
        cross, diag = np.asarray(self.cross, dtype=np.float64), np.asarray(self.diag, dtype=np.float64)
        if cross.ndim != 2 or diag.shape != cross.shape[:1]:
            raise InvalidProblemError(
                "New points are a matrix of kernel values, one row a point, and one value each with itself, got "
                f"shapes {cross.shape} and {diag.shape}."
            )
        object.__setattr__(self, "cross", cross)
        object.__setattr__(self, "diag", diag)

    def __len__(self) -> int:
        return len(self.cross)

    def together(self, prior: Array) -> DensePoints:
        """The same, with their kernel values with each other."""
        return replace(self, prior=prior)

    def among_many(self, asked: int) -> DensePoints:
        """The same as some of the points that are asked for in all."""
        return replace(self, asked=asked)

    @property
    def among(self) -> Array:
        """Kernel values of the new points with each other."""
        if self.prior is None and len(self) > 1:
            raise InvalidProblemError("These points do not say how they go together: use their marginals.")
        return self.diag[:, None] if self.prior is None else self.prior


@told_briefly()
@dataclass(frozen=True, eq=False)
class PivotedRoot:
    """A pivoted Cholesky factor: rows of `factor` at the `pivots` are lower triangular, and span all others."""

    factor: Array
    pivots: Any

    @property
    def triangle(self) -> Array:
        triangle: Array = self.factor[self.pivots]
        return triangle

    def features(self, new: Any) -> Array:
        return self._solve(new.cross[:, self.pivots].T).T

    def coordinates(self, latents: Array) -> Array:
        return self._solve(latents[self.pivots])

    def expansion(self, w: Array) -> Array:
        """Zero except at the pivots."""
        rank = self.factor.shape[1]
        flat = self._solve(w.reshape(-1, rank).T, trans=1)
        alpha = np.zeros((*w.shape[:-1], len(self.factor)))
        alpha[..., self.pivots] = flat.T.reshape(w.shape)
        return alpha

    weights = expansion

    def with_row(self, features: Array, own: float) -> PivotedRoot:
        """A point that the others do not determine becomes a pivot, and brings a coordinate of its own."""
        if own <= ROUNDING * (own + float(features @ features)):
            return PivotedRoot(np.vstack([self.factor, features]), self.pivots)
        factor = np.pad(self.factor, ((0, 1), (0, 1)))
        factor[-1] = np.r_[features, np.sqrt(own)]
        return PivotedRoot(factor, np.r_[self.pivots, len(factor) - 1])

    def _solve(self, right: Array, trans: int = 0) -> Array:
        solved: Array = solve_triangular(self.triangle, right, lower=True, trans=trans, check_finite=False)
        return solved
