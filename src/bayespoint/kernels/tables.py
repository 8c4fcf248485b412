"""Kernels on the columns of a table: another kernel seen through `Features`, and length scales in groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Hyperparameter, Kernel, Sum

from .._core.typing import Array
from ._around import AroundKernel

__all__ = ["GroupedRBF", "OnFeatures", "with_features", "without_features"]


class GroupedRBF(RBF):
    """Gaussian kernel with one length scale for each group of features.

    On the categories of a nominal column it is ``exp(-1 / l^2)`` where the values differ and one where they do not.

    Parameters
    ----------
    length_scale : ndarray of shape (n_groups,)
        Length scales.
    length_scale_bounds : pair of floats or "fixed", default=(1e-5, 1e5)
        Bounds of all of them.
    groups : ndarray of int of shape (n_features,)
        The group of each feature.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import GroupedRBF
    >>> kernel = GroupedRBF([1.0, 2.0], groups=np.array([0, 0, 1]))
    >>> kernel(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    def __init__(self, length_scale: Any = 1.0, length_scale_bounds: Any = (1e-5, 1e5), groups: Any = ()) -> None:
        super().__init__(length_scale, length_scale_bounds)
        self.groups = groups

    @property
    def anisotropic(self) -> bool:
        """Always: as many length scales as groups."""
        return True

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        """The length scales of the groups."""
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds, len(self.length_scale))

    @property
    def of_features(self) -> Array:
        """The length scale of each feature."""
        scales: Array = np.asarray(self.length_scale, dtype=float)[self.groups]
        return scales

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Kernel values, and their gradient in `theta` if asked for."""
        by_feature = RBF(self.of_features, self.length_scale_bounds)
        if not eval_gradient:
            return by_feature(X, Y)
        values, gradient = by_feature(X, eval_gradient=True)
        if self.hyperparameter_length_scale.fixed:
            return values, gradient
        return values, gradient @ np.eye(len(self.length_scale))[self.groups]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and super().__eq__(other) and np.array_equal(self.groups, other.groups)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"GroupedRBF(length_scale=[{', '.join(f'{scale:.3g}' for scale in self.length_scale)}])"


class OnFeatures(AroundKernel):
    """A kernel of the features of a table's columns instead of the columns themselves.

    Parameters
    ----------
    kernel : Kernel
        A kernel on features.
    features : Features or Directions
        From columns to features.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.kernels import Features, OnFeatures
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> in_metres, in_miles = (OnFeatures(RBF(1.0), Features(unit * X, ["number"])) for unit in (1.0, 1609.34))
    >>> bool(np.all(in_metres(X) == in_miles(1609.34 * X)))
    True
    """

    requires_vector_input = True

    def __init__(self, kernel: Kernel, features: Any) -> None:
        self.kernel = kernel
        self.features = features

    def clone_with_theta(self, theta: Any) -> OnFeatures:
        """The same with other log-parameters; the features are shared."""
        return OnFeatures(self.kernel.clone_with_theta(theta), self.features)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Kernel values, and their gradient in `theta` if asked for."""
        return self.kernel(self.features(X), None if Y is None else self.features(Y), eval_gradient=eval_gradient)

    def diag(self, X: Any) -> Array:
        """Kernel value of each row with itself."""
        diag: Array = self.kernel.diag(self.features(X))
        return diag

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OnFeatures) and self.features == other.features and bool(self.kernel == other.kernel)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"OnFeatures({self.kernel})"


def without_features(kernel: Kernel) -> tuple[Kernel, Any]:
    """A kernel of features, with or without a bias, and these features; None for a kernel that has no such."""
    if isinstance(kernel, OnFeatures):
        return kernel.kernel, kernel.features
    if isinstance(kernel, Sum) and isinstance(kernel.k1, OnFeatures) and isinstance(kernel.k2, ConstantKernel):
        return Sum(kernel.k1.kernel, kernel.k2), kernel.k1.features
    return kernel, None


def with_features(kernel: Kernel, features: Any) -> Kernel:
    """The other way, for a kernel with a bias."""
    return kernel if features is None else Sum(OnFeatures(kernel.k1, features), kernel.k2)
