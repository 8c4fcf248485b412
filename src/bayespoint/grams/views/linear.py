"""Views by the features of a linear kernel: all of them (`Linear`), or the leading ones of very many (`Range`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from ..._core.typing import Array
from ..._core.words import told_briefly
from ...kernels import Spectral, by_differences, kernel_values, linear_features, spectral_leaf
from ...kernels.tables import without_features
from ..factor import FeaturePoints, LowRank
from .view import GramSlope, WholeKernel, as_seen, slope_of_residuals

__all__ = ["Linear", "Range", "leading_directions", "linear_view"]

_FEW_DIRECTIONS = 100  # to climb the evidence by, of a linear kernel on wide rows


@told_briefly()
@dataclass(frozen=True, eq=False)
class Linear(WholeKernel):
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

    def spanned(self, kernel: Kernel) -> tuple[Any, Array | None]:
        """The origin and a step along each feature."""
        return _span(kernel, self.X)

    def grown(self, kernel: Kernel, **options: Any) -> Linear:
        """Nothing is left out that could be added."""
        return self

    def slope(self, kernel: Kernel, gradients: Sequence[GramSlope]) -> Array:
        """Derivative in ``kernel.theta``."""
        g = np.sum([gradient.by_factor() for gradient in gradients], axis=0)
        return by_differences(kernel, lambda varied: float(np.vdot(g, _linear(varied, self.X))))


@told_briefly()
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

    def spanned(self, kernel: Kernel) -> tuple[Any, Array | None]:
        """The origin and a step along each direction."""
        return _span(kernel, self.X, self.most)

    def grown(self, kernel: Kernel, **options: Any) -> Range:
        """The directions are those of the kernel, and stay."""
        return self

    def slope(self, kernel: Kernel, gradients: Sequence[GramSlope]) -> Array:
        """Derivative in ``kernel.theta``."""
        g = np.sum([gradient.by_factor() for gradient in gradients], axis=0)
        by_features = by_differences(kernel, lambda varied: float(np.vdot(g, _linear(varied, self.X, self.most))))
        return by_features + slope_of_residuals(kernel, self.X, gradients)


def linear_view(kernel: Kernel, X: Any) -> Linear | Range | None:
    """Features of a linear kernel; None for any other, or for points that are no array."""
    if linear_features(kernel, X[:1]) is None:
        return None
    return Linear(X) if spectral_leaf(kernel) is None else Range(X)


def leading_directions(kernel: Kernel, spectral: Spectral, X: Any, linear_from: int, rough: int | None) -> Range | None:
    """Leading directions of a kernel that has a spectral leaf: a few to climb by, else all where rows are more."""
    n = X.shape[0]
    if linear_features(kernel, X[:1]) is None:
        return None
    if rough is not None and n > _FEW_DIRECTIONS:
        return Range(X, _FEW_DIRECTIONS)
    few = len(spectral.variances) + 1 < n and (linear_from < n or spectral.beside > 0)
    return Range(X) if few else None


def _span(kernel: Kernel, X: Any, most: int | None = None) -> tuple[Any, Array | None]:
    """With ``k(z, 0) = c`` and ``k(z, e_j) - c = a_j z_j``, features are ``sqrt(a_j) z_j`` and ``sqrt(c)``."""
    plain, _ = without_features(kernel)
    width = as_seen(kernel, X[:1]).shape[1]
    count = width - 1 if spectral_leaf(plain) else width  # what is beside all directions is in no feature
    count = count if most is None else min(count, most)
    points = np.eye(count + 1, width, k=-1)
    values = kernel_values(plain, points, points)
    constant, slopes = values[0, 0], np.diagonal(values)[1:] - values[0, 0]
    change = np.vstack([-np.ones(count), np.eye(count)]) / np.sqrt(slopes)
    if constant:
        change = np.column_stack([change, np.r_[1.0, np.zeros(count)] / np.sqrt(constant)])
    return points, change


def _linear(kernel: Kernel, X: Any, most: int | None = None) -> Array:
    features = linear_features(kernel, X, most)
    assert features is not None
    return features
