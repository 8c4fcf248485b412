"""Kernel values, with less time and memory than scikit-learn takes for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Product, Sum

from .._core.typing import Array
from .tables import GroupedRBF, OnFeatures

__all__ = ["kernel_values", "length_scales"]

_ROWS = 128  # worked on at a time, so that what they need stays in the cache
_WIDE = 24  # features from which products of matrices are the faster way to distances
_FAR = 1e5  # squared distance from the centre, in length scales, up to which they are as good: to 1e-10


def kernel_values(kernel: Kernel, X: Any, Z: Any = None) -> Array:
    """``kernel(X, Z)``, with the same values but less time and memory for sums, products and Gaussian kernels.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    X : array-like of shape (n, n_features)
        Points.
    Z : array-like of shape (m, n_features), optional
        Other points; `X` itself by default.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.kernels import kernel_values
    >>> kernel_values(2.0 * RBF(1.0), np.array([[0.0], [1.0]])).round(4)
    array([[2.    , 1.2131],
           [1.2131, 2.    ]])
    """
    if isinstance(kernel, (Sum, Product)):
        combine = np.add if isinstance(kernel, Sum) else np.multiply
        first, second = kernel.k1, kernel.k2
        if isinstance(first, ConstantKernel):
            first, second = second, first
        values = kernel_values(first, X, Z)
        other = second.constant_value if isinstance(second, ConstantKernel) else kernel_values(second, X, Z)
        return np.asarray(combine(values, other, out=values))
    if isinstance(kernel, OnFeatures):
        return kernel_values(kernel.kernel, kernel.features(X), None if Z is None else kernel.features(Z))
    if (scales := length_scales(kernel, np.shape(X)[1:])) is not None:
        return _gaussian(np.asarray(X) / scales, None if Z is None else np.asarray(Z) / scales)
    return np.array(kernel(X, Z))  # a copy: what a user's kernel returns is not ours to change


def length_scales(kernel: Kernel, shape: tuple[int, ...]) -> Any:
    """One length scale, or one for each feature, of a Gaussian kernel; None for any other."""
    if type(kernel) is GroupedRBF:
        return kernel.of_features
    if type(kernel) is RBF and np.size(kernel.length_scale) in (1, *shape):
        return kernel.length_scale
    return None


def _gaussian(X: Array, Z: Array | None) -> Array:
    """``exp(-|x - z|^2 / 2)``; of rows of X with each other if there are no others: one half, the other copied."""
    others, squares = X if Z is None else Z, None
    if X.shape[1] >= _WIDE and len(X) and len(others):
        X, others, squares = _by_products(X, others)
    values = np.empty((len(X), len(others)))
    for start in range(0, len(X), _ROWS):
        stop = min(start + _ROWS, len(X))
        part = np.empty((stop - start, stop)) if Z is None else values[start:stop]
        among = others[: part.shape[1]]
        if squares is None:
            cdist(X[start:stop], among, "sqeuclidean", out=part)
            part *= -0.5
        else:
            np.matmul(X[start:stop], among.T, out=part)
            part -= squares[1][: part.shape[1]]
            part -= squares[0][start:stop, None]
            np.minimum(part, 0.0, out=part)
        np.exp(part, out=part)
        if Z is not None:
            continue
        if squares is not None:  # products need not be symmetric to the last bit
            own = part[:, start:]
            below = np.tril(own, -1)
            own[:] = below + below.T
            np.fill_diagonal(own, 1.0)
        values[start:stop, :stop] = part
        values[:start, start:stop] = part[:, :start].T
    return values


def _by_products(X: Array, Z: Array) -> tuple[Array, Array, list[Array] | None]:
    """Points around zero and halves of their squared lengths, where distances can be had from products of them.

    ``-|x - z|^2 / 2 = x'z - |x|^2 / 2 - |z|^2 / 2`` is many times faster where points have many features. It rounds
    like the squared lengths, so zero is moved to where the points are, and those still far away go by differences.
    """
    centre = Z.mean(axis=0)
    shifted = [part - centre for part in (X, Z)]
    squares = [0.5 * np.einsum("ij,ij->i", part, part) for part in shifted]
    if max(part.max() for part in squares) < 0.5 * _FAR:
        return *shifted, squares
    return X, Z, None
