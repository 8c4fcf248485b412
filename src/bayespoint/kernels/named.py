"""Kernels by name, with the bias that is added to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, CompoundKernel, ConstantKernel, DotProduct, Kernel, Matern, Sum

from .._core.typing import Array, Matrix
from ..exceptions import InvalidProblemError
from .objects import CallableKernel, Precomputed, amplitude
from .portfolio import table_kernel

__all__ = ["make_kernel", "takes_objects", "with_bias"]

_BIAS_BOUNDS = (1e-4, 1e4)  # of the squared bias


def make_kernel(kernel: Any, X: Matrix, weights: Array | None = None, nominal: Sequence[int] = ()) -> Kernel:
    """The kernel object that a constructor argument stands for.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "laplacian", "precomputed"}, callable, Kernel or None
        A name, a function ``kernel(X, Z)`` that returns the matrix of kernel values, or an object of
        `sklearn.gaussian_process.kernels`, taken as it is. Names and functions get an amplitude in front; the length
        scale of ``"rbf"`` and ``"laplacian"`` starts at the spread of `X`. None is a Gaussian kernel that measures each
        column in its own spread (`table_kernel`); the columns of a sparse matrix share their unit, as in ``"rbf"``.
    X : array or sparse matrix of shape (n, n_features)
        Training inputs.
    weights : ndarray of shape (n,), optional
        Weights of the rows, for the spread.
    nominal : sequence of int
        Columns whose numbers stand for names; only None takes them.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import make_kernel
    >>> make_kernel("linear", np.eye(3))
    1**2 * DotProduct(sigma_0=0)
    """
    if isinstance(kernel, CompoundKernel):
        raise InvalidProblemError(
            "kernel cannot be a CompoundKernel, which is several kernels side by side: pass one of them, or their sum."
        )
    if isinstance(kernel, Kernel):
        return kernel.clone_with_theta(kernel.theta)
    if kernel is None and not sparse.issparse(X):
        return table_kernel(X, nominal, weights)
    if kernel is None or kernel == "rbf":
        return amplitude() * RBF(*_length_scale(X, weights))
    if kernel == "laplacian":
        return amplitude() * Matern(*_length_scale(X, weights), nu=0.5)
    if kernel == "linear":
        return amplitude() * DotProduct(0.0, "fixed")
    if kernel == "poly":
        return amplitude() * DotProduct(1.0, "fixed") ** 3
    if kernel == "precomputed":
        return amplitude() * Precomputed(float(np.mean(X.diagonal())))
    if callable(kernel):
        return amplitude() * CallableKernel(kernel)
    raise InvalidProblemError(
        f"kernel must be 'rbf', 'linear', 'poly', 'laplacian', 'precomputed', a function of two matrices, or a kernel "
        f"of sklearn.gaussian_process.kernels, got {kernel!r}."
    )


def takes_objects(kernel: Any) -> bool:
    """Whether a constructor argument stands for a kernel that needs no vectors."""
    if isinstance(kernel, Kernel):
        return not isinstance(kernel, CompoundKernel) and not kernel.requires_vector_input
    return callable(kernel)


def with_bias(kernel: Kernel, bias: float, *, tuned: bool = False) -> Kernel:
    """``kernel + bias**2``: a constant function with prior standard deviation `bias` on top of the kernel's own.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    bias : float
        Prior standard deviation; 0 adds nothing, tuned or not.
    tuned : bool, default=False
        Whether the bias is a free parameter.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.kernels import with_bias
    >>> with_bias(RBF(1.0), 2.0)
    RBF(length_scale=1) + 2**2
    """
    return Sum(kernel, ConstantKernel(bias**2, _BIAS_BOUNDS if tuned and bias > 0 else "fixed"))


def _length_scale(X: Matrix, weights: Array | None) -> tuple[float, tuple[float, float]]:
    """Start and bounds of a length scale: the root of the total variance of the features."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    share = weights / weights.sum()
    first, second = share @ X, share @ (X.multiply(X) if sparse.issparse(X) else X * X)
    total = float(np.sum(second) - np.sum(first * first))
    spread = np.sqrt(total) if total > 1e-14 * float(np.sum(second)) else 1.0
    return spread, (spread / 100, spread * 100)
