"""What the house may ask of a Gram matrix, whatever it is held as.

A `Gram` is the prior covariance ``K`` of the latents at the training points. There are three kinds: `Dense` (an array),
`LowRank` (its factor, with or without the variance that the factor leaves out) and `KernelRows` (never held, computed
row by row). Engines, posteriors and bounds use what is listed here and never ask which kind they have; what is special
about a kind stays in its file. New points meet a Gram matrix as `NewPoints`, made by the same view as the matrix.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.linalg import blas, lapack

from .._core.files import packed_triangle, parts_of, unpacked_triangle
from .._core.typing import Array
from ..exceptions import InvalidProblemError

__all__ = [
    "ROUNDING",
    "Conditioned",
    "Gram",
    "MadeByView",
    "NewPoints",
    "OneByOne",
    "Root",
    "RowSource",
    "WithTriangle",
    "above_rounding",
    "conditioned_on",
    "pivoted_root",
    "remember",
]

ROUNDING = 1e-12  # of a variance that is zero in exact arithmetic, beside the prior's: it must have a marginal


class Gram(Protocol):
    """Prior covariance ``K`` of the latents at the training points."""

    @property
    def size(self) -> int:
        """Number of training points."""
        ...

    @property
    def rank(self) -> int:
        """Dimensions in which the work is done: the number of points, or that of the coordinates of a factor."""
        ...

    @property
    def diag(self) -> Array:
        """Prior variances."""
        ...

    @property
    def dense(self) -> Array:
        """``K`` itself."""
        ...

    @property
    def residual(self) -> Array | None:
        """Prior variance of each point that is its own, independent of all others, and not in ``K``; None for none."""
        ...

    @property
    def signature(self) -> Array:
        """Rows that are equal where points are the same."""
        ...

    def part(self, rows: Any) -> Gram:
        """The same for some of the points."""
        ...

    def times(self, weights: Array) -> Array:
        """``K a``: the function ``sum_i a_i k(., x_i)`` at the training points."""
        ...

    def root(self, most: float = 1.0) -> Array | None:
        """``M`` with ``M M' = K``; None if it has more than a share `most` of n columns and has to be worked out."""
        ...

    def whitened(self) -> Root:
        """``M`` with ``M M' = K``, and the coordinates of new points in which their latents are ``features @ w``."""
        ...

    def weights(self, rows: Any, alpha: Array) -> Array:
        """``sum_i alpha_i k(., x_i)`` over some points as this matrix has functions: an expansion, or coordinates."""
        ...

    def length(self, weights: Array) -> float:
        """Norm in feature space of a function given by an expansion, or by the coordinates of a factor."""
        ...

    def conditioned(self, tau: Array, nu: Array) -> Conditioned | None:
        """The prior times sites ``exp(nu_i f_i - tau_i f_i^2 / 2)``; None if that is no proper Gaussian."""
        ...

    def conditioned_classes(self, sites: Array, nu: Array) -> Any:
        """Latents of several classes times a site a row, see `bayespoint.grams.classes`; None if that is not proper.

        Sites are ``pi`` of shape (n, C), or precisions of any form (n, C, C).
        """
        ...

    def expansion(self, new: Any, rows: Any, weights: Array) -> Array:
        """``sum_i weights_i k(z, x_i)`` over training points `rows`, of shape (n_points, n_functions)."""
        ...

    def appended(self, new: Any) -> Gram:
        """With new points as further rows."""
        ...

    def by_rows(self) -> RowSource:
        """The matrix one row at a time."""
        ...


class NewPoints(Protocol):
    """Points at which posteriors are read, in the form that belongs to the Gram matrix of the training points."""

    @property
    def diag(self) -> Array:
        """Kernel value of each point with itself."""
        ...

    def __len__(self) -> int: ...

    def among_many(self, asked: int) -> NewPoints:
        """The same as some of the points that are asked for in all: many may be worth a preparation."""
        ...

    @property
    def among(self) -> Array:
        """Kernel values of the new points with each other."""
        ...


class Conditioned(Protocol):
    """The Gaussian that sites make of the prior."""

    @property
    def alpha(self) -> Array:
        """Weights of the mean in ``sum_i alpha_i k(., x_i)``."""
        ...

    @property
    def mean(self) -> Array:
        """Mean of the latents at the training points."""
        ...

    @property
    def variance(self) -> Array:
        """Their variances."""
        ...

    @property
    def log_det(self) -> float:
        """Of ``I + K T``."""
        ...

    @property
    def weights(self) -> Array:
        """The mean as one function: `alpha`, or the coordinates of a factor."""
        ...

    @property
    def log_ratio(self) -> float:
        """Logarithm of the integral of the prior times the sites."""
        ...

    def at(self, new: Any) -> tuple[Array, Array]:
        """Mean and variance of the latent at each new point."""
        ...

    def jointly_at(self, new: Any) -> tuple[Array, Array]:
        """Mean and covariance matrix of the latents at the new points."""
        ...

    def with_training(self, new: Any) -> Array:
        """Posterior covariance of the latents at new points with those at training points."""
        ...

    @property
    def covariance(self) -> Array:
        """Posterior covariance of the latents at the training points."""
        ...

    def precision_change(self) -> Array:
        """``W = (K + T^-1)^-1``."""
        ...

    def explained(self) -> tuple[Array | None, Array | None]:
        """Matrices A and B with the variance ``k(z, z) - |A'r|^2 + |B'r|^2`` at a point; r as for `View.spanned`."""
        ...

    @property
    def coordinates(self) -> Any:
        """The Gaussian over the coordinates of a factor; a matrix as such has none and says so."""
        ...

    def one_by_one(self) -> OneByOne:
        """For sites that move one at a time, see `OneByOne`."""
        ...


class Root(Protocol):
    """A factor ``M`` of a Gram matrix, ``M M' = K``: latents are ``M w`` with ``w ~ N(0, I)``."""

    @property
    def factor(self) -> Array:
        """``M``."""
        ...

    def features(self, new: Any) -> Array:
        """Coordinates of new points."""
        ...

    def coordinates(self, latents: Array) -> Array:
        """Coordinates w of latents at the training points."""
        ...

    def expansion(self, w: Array) -> Array:
        """Coefficients alpha with ``f(x) = sum_i alpha_i k(x, x_i)``; of the part of f in the span of the points."""
        ...

    def weights(self, w: Array) -> Array:
        """The function as the Gram matrix has it: the expansion, or the coordinates of a factor."""
        ...

    def with_row(self, features: Array, own: float) -> Root:
        """With one more training point, that has variance `own` beside its features."""
        ...


class RowSource(Protocol):
    """Rows of a Gram matrix."""

    @property
    def held(self) -> Array | None:
        """All of them, if they are in memory."""
        ...

    @property
    def granularity(self) -> int:
        """Rows are cheapest in multiples of this number."""
        ...

    def write(self, rows: Any, out: Any, places: Any, run: Any = map) -> None:
        """Write rows to `places` among the rows of `out`; `run` maps a function over tiles."""
        ...


class MadeByView:
    """A matrix that is not kept in files if a view can make it again; after reading it is made when first asked for."""

    _values: ClassVar[str]  # the attribute that holds the matrix
    _origin: Any = None

    def __getstate__(self) -> dict[str, Any]:
        state = parts_of(self)
        if self._origin is not None:
            state.pop(self._values, None)
            state["_origin"] = self._origin
        return state

    def __getattr__(self, name: str) -> Any:
        if name != type(self)._values or self._origin is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        view, kernel = self._origin
        values = getattr(view.gram(kernel), name)
        object.__setattr__(self, name, values)
        return values


def remember(gram: Gram, view: Any, kernel: Any) -> None:
    """Let a Gram matrix know what makes it again, so that files need not hold it; some are no more than that anyway."""
    if isinstance(gram, MadeByView):
        object.__setattr__(gram, "_origin", (view, kernel))


class WithTriangle:
    """A Gaussian with a triangular matrix, of which files hold the half that is not zero."""

    _triangle: ClassVar[str]  # the attribute that holds it

    def __getstate__(self) -> dict[str, Any]:
        state = parts_of(self)
        return state | {self._triangle: packed_triangle(state[self._triangle])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {self._triangle: unpacked_triangle(state[self._triangle])})


class OneByOne:
    """Mean and covariance of a Gaussian that changes by one site after the other."""

    def __init__(self, mean: Array, covariance: Array, functionals: Array | None) -> None:
        self.mean, self.covariance = mean, np.asfortranarray(covariance)
        self.functionals = functionals  # rows l_i with f_i = l_i . coordinates; None for f_i = coordinate i

    def marginal(self, i: int) -> tuple[float, float, Array]:
        """Mean and variance of the i-th latent, and its covariance with all coordinates."""
        if self.functionals is None:
            column = self.covariance[:, i].copy()
            return float(self.mean[i]), float(column[i]), column
        column = self.covariance @ self.functionals[i]
        return float(self.mean @ self.functionals[i]), float(column @ self.functionals[i]), column

    def change(self, d_tau: float, d_nu: float, marginal: tuple[float, float, Array]) -> None:
        """Change the site of a marginal: ``mean += column (d_nu - d_tau m) / (1 + d_tau v)``, and the covariance."""
        m, v, column = marginal
        self.mean += column * ((d_nu - d_tau * m) / (1 + d_tau * v))
        self.covariance = blas.dger(-d_tau / (1 + d_tau * v), column, column, a=self.covariance, overwrite_a=1)


def above_rounding(variance: Array, prior: Any) -> Array:
    """Variances with a floor where rounding takes over, never zero: a latent that is always zero has a marginal too."""
    return np.maximum(variance, np.maximum(ROUNDING * np.asarray(prior), np.finfo(float).tiny))


def conditioned_on(gram: Gram, tau: Array, nu: Array) -> Conditioned:
    """The prior times sites whose precisions are not negative: in exact arithmetic that is always proper."""
    gaussian = gram.conditioned(tau, nu)
    if gaussian is None:
        raise InvalidProblemError("The posterior is lost in rounding: lower the amplitude of the kernel, or C.")
    return gaussian


def pivoted_root(gram: Array, *, by_row: bool = False, tolerance: float | None = None) -> tuple[Array, Any]:
    """Pivoted Cholesky down to rounding: ``M`` with rows in their order, and the pivots, where it is triangular.

    With `by_row` rounding is judged beside the norm of each row, else beside the largest. With a `tolerance` it ends
    as soon as no row has more than that left.
    """
    n = len(gram)
    norms = np.sqrt(np.diagonal(gram)) if by_row else np.ones(n)
    norms = np.where(norms > 0, norms, 1.0)
    scaled = gram / norms / norms[:, None] if by_row else gram
    if tolerance is None:
        tolerance = n * np.finfo(float).eps * float(np.diagonal(scaled).max(initial=0.0))
    lower, pivots, rank, _ = lapack.dpstrf(scaled.T, tol=tolerance, lower=1)  # the transpose: a copy in Fortran order
    order = pivots - 1
    factor = lower[:, :rank]
    for start in range(0, rank, 64):  # rows back in their order, in place: one copy of the Gram matrix is enough
        columns = slice(start, min(start + 64, rank))
        factor[order, columns] = np.tril(factor[:, columns], -start)  # above the diagonal the Gram matrix is left over
    if by_row:
        factor *= norms[:, None]
    return factor, order[:rank]
