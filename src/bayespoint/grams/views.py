"""Views of the training points: the form that their Gram matrix takes under any kernel.

A view makes the Gram matrix of its points, brings new points into the form that belongs to it, and turns the evidence's
derivative in the Gram matrix into one in the kernel's parameters. `Exact` holds all kernel values; `Linear` goes by the
features of a linear kernel, `Range` by the leading ones of very many, `Landmarks` by those of a few points that stand
for all; `Rows` computes rows when they are asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from scipy.linalg import lapack, solve_triangular
from sklearn.gaussian_process.kernels import Kernel

from .._core.memory import refuse_beyond_memory
from .._core.random import as_generator
from .._core.typing import Array
from ..exceptions import InferenceWarning
from ..kernels import by_differences, contract_gradient, kernel_values, linear_features, spectral_leaf
from .cholesky import pivoted_cholesky
from .dense import Dense, DensePoints
from .factor import FeaturePoints, LowRank
from .gram import Gram
from .rows import KernelRows, RowPoints, stacked

__all__ = [
    "SHARE",
    "Approximation",
    "Exact",
    "Landmarks",
    "Linear",
    "Range",
    "Rows",
    "View",
    "approximation",
    "as_view",
    "choose_view",
    "largest_rank",
    "linear_view",
    "may_take_landmarks",
    "view_by_features",
]

_JITTER = 1e-12  # of the prior variance, on the diagonal of the landmarks
_MANY_ROWS = 1500  # from which a thousand landmarks pay
_MUCH = 0.3  # of the prior variance that is left out, of which people should know
_MOST_LANDMARKS = 1000  # that are chosen without being asked for
_FEW_DIRECTIONS = 100  # to climb the evidence by, of a linear kernel on wide rows
_COPIES = 3  # of the Gram matrix that inference on it holds at the same time
_BEARABLE = 10_000  # rows up to which the exact Gram matrix is worth recommending
SHARE = 1e-3  # of the prior variance that may be left out


class GramSlope(Protocol):
    """The derivative of some quantity in the Gram matrix."""

    @property
    def by_residual(self) -> Array | None:
        """In each row's residual."""
        ...

    def by_gram(self) -> Array:
        """The symmetric matrix G with ``dQ = sum_ij G_ij dK_ij``."""
        ...

    def by_factor(self) -> Array:
        """``2 G M`` for a Gram matrix ``M M'``: in its factor."""
        ...

    @property
    def features(self) -> Array:
        """The factor M."""
        ...


class View(Protocol):
    """Training points, in the form in which their Gram matrix is worked on."""

    @property
    def X(self) -> Any:
        """The points."""
        ...

    is_exact: ClassVar[bool]  # whether nothing of the kernel is left out
    has_coordinates: ClassVar[bool]  # whether latents are products of few features
    saw_rows: ClassVar[bool]  # whether the view itself was chosen by looking at the points

    def gram(self, kernel: Kernel) -> Gram:
        """Gram matrix of the points."""
        ...

    def new(self, kernel: Kernel) -> Callable[[Any], Any]:
        """The map from new points to the form in which posteriors of such Gram matrices take them."""
        ...

    def over(self, X: Any) -> View:
        """The same for other points."""
        ...

    def mapped(self, function: Callable[[Any], Any], X: Any) -> View:
        """The same in other coordinates of the inputs, in which the points are `X`."""
        ...

    def slope(self, kernel: Kernel, gradients: Sequence[GramSlope]) -> Array:
        """Derivative in ``kernel.theta`` from derivatives in the Gram matrix."""
        ...


class Approximation(NamedTuple):
    """What a low-rank Gram matrix leaves out, measured.

    Attributes
    ----------
    rank : int
        Dimensions of the features.
    rows : int
        Training rows.
    left_out : float
        Share of the prior variance at the training rows that the features do not have, on average.
    largest : float
        The same at the row where it is largest.

    Examples
    --------
    >>> from bayespoint.grams import Approximation
    >>> print(Approximation(rank=300, rows=10_000, left_out=2e-5, largest=1e-3))
    rank 300 for 10,000 rows; 0.002 % of the prior variance is left out, 0.1 % at most
    """

    rank: int
    rows: int
    left_out: float
    largest: float

    def __str__(self) -> str:
        return (
            f"rank {self.rank} for {self.rows:,} rows; {100 * self.left_out:.2g} % of the prior variance is left out, "
            f"{100 * self.largest:.2g} % at most"
        )


@dataclass(frozen=True, eq=False)
class _WholeKernel:
    """What views have in common that are their points and no more: they leave nothing of the kernel out."""

    X: Any

    is_exact: ClassVar[bool] = True
    has_coordinates: ClassVar[bool] = False
    saw_rows: ClassVar[bool] = False

    def over(self, X: Any) -> Self:
        """The same for other points."""
        return replace(self, X=X)

    def mapped(self, function: Callable[[Any], Any], X: Any) -> Self:
        """The same in other coordinates of the inputs, in which the points are `X`."""
        return self.over(X)


@dataclass(frozen=True, eq=False)
class Exact(_WholeKernel):
    """All kernel values of the points with each other.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import Exact
    >>> Exact(np.zeros((2, 1))).gram(RBF(1.0)).dense
    array([[1., 1.],
           [1., 1.]])
    """

    def gram(self, kernel: Kernel) -> Dense:
        """Gram matrix of the points."""
        refuse_beyond_memory(self.X.shape[0], _COPIES, "let landmarks stand for all (max_rank), or take fewer rows")
        return Dense(kernel_values(kernel, self.X))

    def new(self, kernel: Kernel) -> Callable[[Any], DensePoints]:
        """New points by their kernel values with these."""
        return lambda Z: DensePoints(kernel_values(kernel, Z, self.X), kernel.diag(Z))

    def slope(self, kernel: Kernel, gradients: Sequence[GramSlope]) -> Array:
        """Derivative in ``kernel.theta``."""
        return contract_gradient(kernel, self.X, np.sum([gradient.by_gram() for gradient in gradients], axis=0))


@dataclass(frozen=True, eq=False)
class Linear(_WholeKernel):
    """The points themselves as features of a linear kernel; nothing is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.grams import Linear
    >>> from bayespoint.kernels import make_kernel
    >>> X = np.array([[1.0, 2.0]])
    >>> Linear(X).gram(make_kernel("linear", X)).factor
    array([[1., 2.]])
    """

    has_coordinates: ClassVar[bool] = True

    def gram(self, kernel: Kernel) -> LowRank:
        """Features of the points."""
        return LowRank(_linear(kernel, self.X))

    def new(self, kernel: Kernel) -> Callable[[Any], FeaturePoints]:
        """New points by their features."""
        return lambda Z: FeaturePoints(_linear(kernel, Z))

    def grown(self, kernel: Kernel, **options: Any) -> Linear:
        """Nothing is left out that could be added."""
        return self

    def slope(self, kernel: Kernel, gradients: Sequence[GramSlope]) -> Array:
        """Derivative in ``kernel.theta``."""
        g = np.sum([gradient.by_factor() for gradient in gradients], axis=0)
        return by_differences(kernel, lambda varied: float(np.vdot(g, _linear(varied, self.X))))


@dataclass(frozen=True, eq=False)
class Range:
    """Features of a linear kernel along leading directions; what a row has outside of them is its own.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_columns)
        Points.
    most : int, optional
        Directions at the most; all that the kernel has by default.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.grams import Range
    >>> from bayespoint.kernels import Spectral
    >>> kernel = Spectral(1.0, variances=np.array([4.0]), beside=1.0)
    >>> gram = Range(np.array([[2.0, 1.0], [-2.0, 1.0]])).gram(kernel)  # a coordinate, and the distance beside it
    >>> gram.factor.ravel(), gram.residual
    (array([ 2., -2.]), array([1., 1.]))
    """

    X: Any
    most: int | None = None

    is_exact: ClassVar[bool] = False
    has_coordinates: ClassVar[bool] = True
    saw_rows: ClassVar[bool] = True

    def gram(self, kernel: Kernel) -> LowRank:
        """Features of the points, and the variance that each point has beside them."""
        points = self.new(kernel)(self.X)
        return LowRank(points.features, residual=points.residual)

    def new(self, kernel: Kernel) -> Callable[[Any], FeaturePoints]:
        """New points by their features."""
        return lambda Z: FeaturePoints(_linear(kernel, Z, self.most), kernel.diag(Z))

    def over(self, X: Any) -> Range:
        """The same for other points."""
        return replace(self, X=X)

    def mapped(self, function: Callable[[Any], Any], X: Any) -> Range:
        """The same in other coordinates of the inputs, in which the points are `X`."""
        return self.over(X)

    def grown(self, kernel: Kernel, **options: Any) -> Range:
        """The directions are those of the kernel, and stay."""
        return self

    def slope(self, kernel: Kernel, gradients: Sequence[GramSlope]) -> Array:
        """Derivative in ``kernel.theta``."""
        g = np.sum([gradient.by_factor() for gradient in gradients], axis=0)
        by_features = by_differences(kernel, lambda varied: float(np.vdot(g, _linear(varied, self.X, self.most))))
        return by_features + _slope_of_residuals(kernel, self.X, gradients)


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Features ``k(x, landmarks) L^-T`` with ``L L' = k(landmarks, landmarks)``: the part of the prior they determine.

    Parameters
    ----------
    X : array of shape (n, n_features)
        Points.
    landmarks : array of shape (rank, n_features)
        Points that stand for all.
    keeps_residual : bool, default=True
        Whether each point keeps the variance that the landmarks leave out. The evidence is a better guide to the kernel
        without, predictions are better with it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import Landmarks
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> view = Landmarks.among(X, RBF(1.0), tolerance=1e-8, rng=0)
    >>> view.gram(RBF(1.0)).rank < 15
    True
    """

    X: Any
    landmarks: Any
    keeps_residual: bool = True

    is_exact: ClassVar[bool] = False
    has_coordinates: ClassVar[bool] = True
    saw_rows: ClassVar[bool] = True

    @classmethod
    def among(
        cls, X: Any, kernel: Kernel, *, max_rank: int | None = None, tolerance: float = 1e-6, rng: Any = None
    ) -> Landmarks:
        """Choose landmarks among the points, see `bayespoint.grams.pivoted_cholesky`."""
        return cls(X, X[pivoted_cholesky(kernel, X, max_rank=max_rank, tolerance=tolerance, rng=rng).pivots])

    def gram(self, kernel: Kernel) -> LowRank:
        """Features of the points, and the variance that each point has beside them."""
        points = self.new(kernel)(self.X)
        return LowRank(points.features, residual=points.residual if self.keeps_residual else None)

    def new(self, kernel: Kernel) -> Callable[[Any], FeaturePoints]:
        """New points by their features."""
        triangle = self._triangle(kernel)

        def points(Z: Any) -> FeaturePoints:
            values = kernel_values(kernel, Z, self.landmarks)
            solved: Array = solve_triangular(triangle, values.T, lower=True, check_finite=False, overwrite_b=True)
            return FeaturePoints(solved.T, kernel.diag(Z))

        return points

    def over(self, X: Any) -> Landmarks:
        """The same for other points."""
        return replace(self, X=X)

    def mapped(self, function: Callable[[Any], Any], X: Any) -> Landmarks:
        """The same in other coordinates of the inputs, in which the points are `X`."""
        return replace(self, X=X, landmarks=function(self.landmarks))

    def grown(
        self, kernel: Kernel, *, max_rank: int | None = None, tolerance: float = 1e-6, rng: Any = None
    ) -> Landmarks:
        """With more landmarks among the points, where those so far leave too much out; the old ones come first."""
        start = self.new(kernel)(self.X).features
        found = pivoted_cholesky(kernel, self.X, max_rank=max_rank, tolerance=tolerance, rng=rng, start=start)
        return replace(self, landmarks=stacked(self.landmarks, self.X[found.pivots]))

    def slope(self, kernel: Kernel, gradients: Sequence[GramSlope]) -> Array:
        """Derivative in ``kernel.theta``.

        With ``A = K_xz K_zz^-1`` the Gram matrix changes by ``dK_xz A' + A dK_zx - A dK_zz A'``.
        """
        triangle = self._triangle(kernel)
        features = gradients[0].features
        g = np.sum([gradient.by_factor() for gradient in gradients], axis=0)  # 2 G M
        outer = solve_triangular(triangle, g.T, lower=True, trans=1).T  # 2 G A
        inner = 0.5 * solve_triangular(triangle, features.T @ outer, lower=True, trans=1)  # A'G A
        slope = contract_gradient(kernel, self.X, outer, self.landmarks)
        slope -= contract_gradient(kernel, self.landmarks, 0.5 * (inner + inner.T))
        return slope + _slope_of_residuals(kernel, self.X, gradients)

    def _triangle(self, kernel: Kernel) -> Array:
        gram = kernel_values(kernel, self.landmarks)
        scale = float(np.mean(np.diagonal(gram)))
        for power in range(10):  # landmarks of one kernel may be next to dependent under another
            gram.flat[:: len(gram) + 1] += _JITTER * 10.0**power * scale
            lower, failed = lapack.dpotrf(gram, lower=1)
            if not failed:
                return np.asarray(lower)
        raise np.linalg.LinAlgError("The landmarks have no positive definite Gram matrix.")


@dataclass(frozen=True, eq=False)
class Rows(_WholeKernel):
    """Kernel values row by row, when an engine asks for them: the Gram matrix is never held.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from bayespoint.grams import Rows
    >>> Rows(np.array([[1.0], [2.0]])).gram(DotProduct(0.0)).block([1])
    array([[2., 4.]], dtype=float32)
    """

    def gram(self, kernel: Kernel) -> KernelRows:
        """Gram matrix of the points, not yet computed."""
        return KernelRows(kernel, self.X)

    def new(self, kernel: Kernel) -> Callable[[Any], RowPoints]:
        """New points, whose kernel values with these are computed for points that matter."""
        return KernelRows(kernel, self.X).new

    def slope(self, kernel: Kernel, gradients: Sequence[GramSlope]) -> Array:
        """Derivative in ``kernel.theta``, on the whole matrix."""
        return Exact(self.X).slope(kernel, gradients)


def choose_view(
    kernel: Kernel,
    X: Any,
    max_rank: int | str | None,
    linear_from: int = 0,
    rng: Any = None,
    *,
    rough: int | None = None,
) -> View:
    """The form of the Gram matrix that suits a kernel and a number of points.

    A linear kernel with fewer features than points goes by its features, which is exact. Beyond 1,500 points
    landmarks stand for all, as many as leave out a thousandth of the prior variance and a thousand at the most; each
    point keeps the variance that they leave out.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    X : array of shape (n, n_features)
        Points.
    max_rank : int, "auto" or None
        Landmarks at the most; "auto" decides; None is exact.
    linear_from : int, default=0
        Number of points beyond which features of a linear kernel are used; at 0 in any case.
    rng : int, Generator, RandomState or None
        For the choice of landmarks; None is a fixed seed, so that fits can be repeated.
    rough : int, optional
        So many landmarks will do, without what they leave out: to climb the evidence by.

    Returns
    -------
    View

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import choose_view
    >>> X = np.linspace(0, 1, 2000)[:, None]
    >>> len(choose_view(RBF(0.2), X, "auto").landmarks) < 30
    True
    >>> type(choose_view(RBF(0.2), X, None)).__name__
    'Exact'
    """
    n = X.shape[0]
    linear_from = linear_from if rough is None else 0
    wants_linear = linear_from == 0 or max_rank is not None
    if (leading := _leading(kernel, X, linear_from, rough)) is not None:
        return leading
    if wants_linear and linear_from < n > X.shape[1] + 1 and (linear := linear_view(kernel, X)) is not None:
        return linear
    if max_rank is None or not (may_take_landmarks(n, max_rank) or (rough is not None and n > rough)):
        return Exact(X)
    auto = max_rank == "auto"
    limit = _MOST_LANDMARKS if auto else int(max_rank)
    most = limit if rough is None else min(limit, rough)
    view = Landmarks.among(X, kernel, max_rank=most, tolerance=SHARE, rng=as_generator(0 if rng is None else rng))
    if rough is not None:
        return replace(view, keeps_residual=False)
    if not auto:
        return view
    found = approximation(view, kernel)
    if found.left_out > _MUCH:
        exact = ", or set it to None for the exact Gram matrix" if n <= _BEARABLE else ""
        warnings.warn(
            f"Low rank: {found}; raise max_rank{exact}.",
            InferenceWarning,
            stacklevel=2,
        )
    return view


def may_take_landmarks(n: int, max_rank: int | str | None) -> bool:
    """Whether landmarks may stand for n points."""
    return max_rank is not None and (max_rank != "auto" or n > _MANY_ROWS)


def largest_rank(
    kernel: Kernel, X: Any, max_rank: int | str | None, linear_from: int = 0, *, rough: int | None = None
) -> int:
    """The rank at the most that `choose_view` will give the Gram matrix, told without making it."""
    n = X.shape[0]
    linear_from = linear_from if rough is None else 0
    if n > linear_from and max_rank is not None and (features := linear_features(kernel, X[:1])) is not None:
        return min(n, features.shape[1])
    if max_rank is None or not (may_take_landmarks(n, max_rank) or (rough is not None and n > rough)):
        return n
    limit = _MOST_LANDMARKS if max_rank == "auto" else int(max_rank)
    return min(n, limit) if rough is None else min(n, limit, rough)


def view_by_features(
    kernel: Kernel, X: Any, *, max_rank: int | None = None, tolerance: float = SHARE, rng: Any = None
) -> Linear | Range | Landmarks:
    """Features of a linear kernel as they are, of any other kernel by landmarks among the points.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import view_by_features
    >>> len(view_by_features(RBF(1.0), np.linspace(0, 1, 100)[:, None], rng=0).landmarks) < 10
    True
    """
    linear = linear_view(kernel, X)
    return linear or Landmarks.among(X, kernel, max_rank=max_rank, tolerance=tolerance, rng=rng)


def linear_view(kernel: Kernel, X: Any) -> Linear | Range | None:
    """Features of a linear kernel; None for any other, or for points that are no array."""
    if linear_features(kernel, X[:1]) is None:
        return None
    return Linear(X) if spectral_leaf(kernel) is None else Range(X)


def _leading(kernel: Kernel, X: Any, linear_from: int, rough: int | None) -> Range | None:
    """Leading directions, for a kernel that has them: a few to climb by, else all where rows are more than these."""
    n, spectral = X.shape[0], spectral_leaf(kernel)
    if spectral is None or linear_features(kernel, X[:1]) is None:
        return None
    if rough is not None and n > _FEW_DIRECTIONS:
        return Range(X, _FEW_DIRECTIONS)
    few = len(spectral.variances) + 1 < n and (linear_from < n or spectral.beside > 0)
    return Range(X) if few else None


def _linear(kernel: Kernel, X: Any, most: int | None = None) -> Array:
    features = linear_features(kernel, X, most)
    assert features is not None
    return features


def _slope_of_residuals(kernel: Kernel, X: Any, gradients: Sequence[GramSlope]) -> Array:
    """Derivative in ``kernel.theta`` by the prior variance of rows that keep what features leave out of it."""
    by_residual = [gradient.by_residual for gradient in gradients if gradient.by_residual is not None]
    if not by_residual:
        return np.zeros(kernel.n_dims)
    own = np.sum(by_residual, axis=0)
    return by_differences(kernel, lambda varied: float(own @ varied.diag(X)))


def approximation(view: View, kernel: Kernel) -> Approximation:
    """What a view that is not exact leaves out at its points."""
    points = view.new(kernel)(view.X)
    prior, left = points.diag, points.residual
    safe = np.maximum(prior, np.finfo(float).tiny)
    rank, share = points.features.shape[1], float(left.sum() / max(prior.sum(), 1e-300))
    return Approximation(rank, len(prior), share, float((left / safe).max()))


def as_view(X: Any) -> Any:
    """Points as an exact view; a view as it is."""
    return X if hasattr(X, "gram") else Exact(X)
