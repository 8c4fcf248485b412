"""Explicit features of kernels that have few of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Kernel, Product, Sum

from .._core.typing import Array
from .directions import Spectral
from .tables import OnFeatures, without_features

__all__ = ["linear_features", "spectral_leaf"]


def linear_features(kernel: Kernel, X: Any, most: int | None = None) -> Array | None:
    """Features whose products are the values of a linear kernel, a bias included; None for any other kernel.

    Parameters
    ----------
    kernel : Kernel
        Sums and multiples of `DotProduct` or `Spectral`, and `ConstantKernel`.
    X : ndarray of shape (n, n_features)
        Inputs; sparse ones for a kernel that makes features of them.

    most : int, optional
        Directions of a `Spectral` kernel at the most, the leading ones; all by default.

    Returns
    -------
    ndarray of shape (n, rank) or None
        The inputs, scaled, are the first columns. What rows have outside of the directions of a `Spectral` kernel is
        in none of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import linear_features
    >>> from bayespoint.kernels import make_kernel, with_bias
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> linear_features(with_bias(4.0 * make_kernel("linear", X), 3.0), X)
    array([[2., 4., 3.],
           [6., 8., 3.]])
    >>> linear_features(make_kernel("rbf", X), X) is None
    True
    """
    kernel, features = without_features(kernel)
    X = X if features is None else features(X)
    parts = _parts(kernel)
    if parts is None or not isinstance(X, np.ndarray):
        return None
    slope, constant = parts
    if spectral := spectral_leaf(kernel):
        X = (X[:, :-1] * np.sqrt(spectral.scales()[:-1]))[:, :most]
    columns = [np.sqrt(slope) * X] + ([np.full((len(X), 1), np.sqrt(constant))] if constant else [])
    return np.concatenate(columns, axis=1)


def _parts(kernel: Kernel) -> tuple[float, float] | None:
    """Factors of the inner product and of the constant one in ``a <x, z> + c``."""
    if isinstance(kernel, ConstantKernel):
        return 0.0, kernel.constant_value
    if isinstance(kernel, Spectral):
        return 1.0, 0.0
    if type(kernel) is DotProduct:
        return 1.0, kernel.sigma_0**2
    if not isinstance(kernel, Sum | Product):
        return None
    one, other = _parts(kernel.k1), _parts(kernel.k2)
    if one is None or other is None:
        return None
    if isinstance(kernel, Sum):
        if one[0] and other[0] and (spectral_leaf(kernel.k1) or spectral_leaf(kernel.k2)):  # two kinds of products
            return None
        return one[0] + other[0], one[1] + other[1]
    if one[0] and other[0]:  # a square of the inner product
        return None
    return one[0] * other[1] + one[1] * other[0], one[1] * other[1]


def spectral_leaf(kernel: Kernel) -> Spectral | None:
    """The kernel on directions within sums, products and features, if there is one.

    Examples
    --------
    >>> from bayespoint.kernels import Spectral, spectral_leaf
    >>> spectral_leaf(2.0 * Spectral(0.5) + 1.0)
    Spectral(power=0.5)
    """
    if isinstance(kernel, Sum | Product):
        return spectral_leaf(kernel.k1) or spectral_leaf(kernel.k2)
    if isinstance(kernel, OnFeatures):
        return spectral_leaf(kernel.kernel)
    return kernel if isinstance(kernel, Spectral) else None
