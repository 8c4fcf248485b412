"""``sum_ij G_ij dK_ij / dtheta`` for a kernel of scikit-learn, without the (n, n, n_parameters) array of dK.

Sums and products are followed down to their leaves; for the leaves that matter the contraction is a few matrix products
(one for all length scales of an ARD kernel). Any other kernel falls back on its own gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Exponentiation, Kernel, Product, Sum

from .._core.typing import Array
from .tables import GroupedRBF, OnFeatures
from .values import kernel_values, length_scales

__all__ = ["by_differences", "contract_gradient"]

_STEP = 1e-5  # of differences in log-parameters


def contract_gradient(kernel: Kernel, X: Any, g: Array, Z: Any = None) -> Array:
    """Derivative of ``sum_ij g_ij k(x_i, z_j)`` in ``kernel.theta``, `g` held fixed.

    Parameters
    ----------
    kernel : Kernel
        Kernel with `theta`.
    X : ndarray of shape (n, n_features)
        Points.
    g : ndarray of shape (n, m)
        Any matrix; a symmetric one without `Z`.
    Z : ndarray of shape (m, n_features), optional
        Other points; `X` itself by default.

    Returns
    -------
    ndarray of shape (n_parameters,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import ConstantKernel
    >>> from bayespoint.kernels import contract_gradient
    >>> contract_gradient(ConstantKernel(2.0), np.zeros((3, 1)), np.eye(3))
    array([6.])
    """
    if kernel.n_dims == 0:
        return np.empty(0)
    if isinstance(kernel, OnFeatures):
        features = kernel.features
        return contract_gradient(kernel.kernel, features(X), g, None if Z is None else features(Z))
    if isinstance(kernel, Sum):
        return np.r_[contract_gradient(kernel.k1, X, g, Z), contract_gradient(kernel.k2, X, g, Z)]
    if isinstance(kernel, Product) and kernel.k1.n_dims and isinstance(kernel.k1, ConstantKernel):
        values, leaf = kernel_values(kernel, X, Z), kernel.k2
        if leaf.n_dims and type(leaf) in (RBF, GroupedRBF):  # whose values are known with the amplitude
            return np.r_[np.vdot(g, values), _rbf(leaf, X, g * values, Z)]
        return np.r_[np.vdot(g, values), contract_gradient(leaf, X, kernel.k1.constant_value * g, Z)]
    if isinstance(kernel, Product):
        return np.r_[_product_side(kernel.k1, kernel.k2, X, g, Z), _product_side(kernel.k2, kernel.k1, X, g, Z)]
    if isinstance(kernel, Exponentiation):
        base = kernel_values(kernel.kernel, X, Z)
        return contract_gradient(kernel.kernel, X, g * kernel.exponent * base ** (kernel.exponent - 1), Z)
    if isinstance(kernel, ConstantKernel):
        return np.array([kernel.constant_value * g.sum()])
    if type(kernel) in (RBF, GroupedRBF):
        return _rbf(kernel, X, g * kernel_values(kernel, X, Z), Z)
    if Z is not None:  # kernels of scikit-learn have a gradient between points and themselves only
        return by_differences(kernel, lambda varied: float(np.vdot(g, kernel_values(varied, X, Z))))
    _, gradient = kernel(X, eval_gradient=True)
    return np.einsum("ij,ijp->p", g, gradient)


def _product_side(varied: Kernel, other: Kernel, X: Any, g: Array, Z: Any) -> Array:
    """Derivative in the parameters of one factor of a product."""
    if varied.n_dims == 0:
        return np.empty(0)
    if isinstance(varied, ConstantKernel):  # no need of its n x n matrix
        return np.array([varied.constant_value * np.vdot(g, kernel_values(other, X, Z))])
    factor = other.constant_value if isinstance(other, ConstantKernel) else kernel_values(other, X, Z)
    return contract_gradient(varied, X, g * factor, Z)


def _rbf(kernel: RBF, X: Any, m: Array, Z: Any) -> Array:
    """d exp(-|x-z|^2 / 2 l^2) / d log l_p = k (x_p - z_p)^2 / l_p^2, summed with g as row sums and X' M Z, M = g k.

    Points are centred: distances do not change, rounding does.
    """
    scales = length_scales(kernel, np.shape(X)[1:])
    if Z is None:
        x = np.asarray(X) / scales
        x = x - x.mean(axis=0)
        np.fill_diagonal(m, 0.0)  # a point has no distance from itself; left in, it would cancel only up to rounding
        by_feature = 2 * (m.sum(axis=1) @ np.square(x) - np.einsum("ip,ip->p", x, m @ x))
    else:
        centre = np.mean(Z, axis=0)
        x, z = (np.asarray(X) - centre) / scales, (np.asarray(Z) - centre) / scales
        by_feature = m.sum(axis=1) @ np.square(x) + m.sum(axis=0) @ np.square(z) - 2 * np.einsum("ip,ip->p", x, m @ z)
    if isinstance(kernel, GroupedRBF):  # summed over the features that share a length scale
        return np.asarray(
            np.bincount(kernel.groups, weights=by_feature, minlength=len(kernel.length_scale)), dtype=float
        )
    return np.asarray(by_feature if kernel.anisotropic else [by_feature.sum()])


def by_differences(kernel: Kernel, function: Callable[[Kernel], float]) -> Array:
    """Derivative of a function of the kernel in ``kernel.theta``, by central differences.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ConstantKernel
    >>> from bayespoint.kernels import by_differences
    >>> by_differences(ConstantKernel(2.0), lambda kernel: kernel.constant_value).round(6)
    array([2.])
    """
    theta = kernel.theta
    steps = _STEP * np.eye(len(theta))
    ends = [[function(kernel.clone_with_theta(t)) for t in (theta + h, theta - h)] for h in steps]
    return np.array([(up - down) / (2 * _STEP) for up, down in ends])
