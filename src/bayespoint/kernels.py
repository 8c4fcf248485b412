"""Kernels: whatever a user names becomes one `sklearn.gaussian_process.kernels.Kernel`.

Hyper-parameters, bounds and gradients are scikit-learn's; this module adds the four kernels that have a name,
callables, precomputed Gram matrices, normalisation in feature space, sparse inputs, and a faster way to the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Hyperparameter,
    Kernel,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from ._typing import Array, Matrix
from .exceptions import InvalidProblemError

__all__ = ["CallableKernel", "Isometry", "Normalized", "Precomputed", "kernel_values", "make_kernel", "with_bias"]

_AMPLITUDE_BOUNDS = (1e-3, 1e5)  # of the prior variance, in units of softness: beyond it the boundary is hard anyway
_BIAS_BOUNDS = (1e-4, 1e4)  # of the squared bias
_ROWS = 128  # worked on at a time, so that what they need stays in the cache


def make_kernel(kernel: Any, X: Matrix, weights: Array | None = None) -> Kernel:
    """The kernel object that a constructor argument stands for.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "laplacian", "precomputed"}, callable, Kernel or None
        A name, a function ``kernel(X, Z)`` that returns the matrix of kernel values, or an object of
        `sklearn.gaussian_process.kernels`, taken as it is. Names and functions get an amplitude in front; the length
        scale of ``"rbf"`` and ``"laplacian"`` starts at the spread of `X`. None means ``"rbf"``.
    X : array or sparse matrix of shape (n, n_features)
        Training inputs.
    weights : ndarray of shape (n,), optional
        Weights of the rows, for the spread.

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
    if isinstance(kernel, Kernel):
        return kernel.clone_with_theta(kernel.theta)
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


def amplitude() -> ConstantKernel:
    """A prior variance of one in front of a kernel, free within bounds."""
    return ConstantKernel(1.0, _AMPLITUDE_BOUNDS)


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
    if type(kernel) is RBF and np.size(kernel.length_scale) in (1, np.shape(X)[1]):
        X = np.asarray(X) / kernel.length_scale
        return _gaussian_gram(X) if Z is None else _gaussian(X, np.asarray(Z) / kernel.length_scale)
    return np.array(kernel(X, Z))  # a copy: what a user's kernel returns is not ours to change


def _gaussian(X: Array, Z: Array) -> Array:
    """``exp(-|x - z|^2 / 2)``."""
    values = np.empty((len(X), len(Z)))
    for start in range(0, len(X), _ROWS):
        part = values[start : start + _ROWS]
        cdist(X[start : start + _ROWS], Z, "sqeuclidean", out=part)
        part *= -0.5
        np.exp(part, out=part)
    return values


def _gaussian_gram(X: Array) -> Array:
    """The same of all pairs of rows: one half computed, the other copied."""
    values = np.empty((len(X), len(X)))
    for start in range(0, len(X), _ROWS):
        stop = min(start + _ROWS, len(X))
        part = _gaussian(X[start:stop], X[:stop])
        values[start:stop, :stop] = part
        values[:start, start:stop] = part[:, :start].T
    return values


def _length_scale(X: Matrix, weights: Array | None) -> tuple[float, tuple[float, float]]:
    """Start and bounds of a length scale: the root of the total variance of the features."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    share = weights / weights.sum()
    first, second = share @ X, share @ (X.multiply(X) if sparse.issparse(X) else X * X)
    total = float(np.sum(second) - np.sum(first * first))
    spread = np.sqrt(total) if total > 1e-14 * float(np.sum(second)) else 1.0
    return spread, (spread / 100, spread * 100)


class _NoHyperparameters(Kernel):
    """A kernel without parameters: its gradient is empty."""

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        values = self._values(X, Y)
        return (values, np.empty((*values.shape, 0))) if eval_gradient else values

    def _values(self, X: Any, Y: Any) -> Array:
        raise NotImplementedError

    def is_stationary(self) -> bool:
        """Not known to be."""
        return False


class CallableKernel(_NoHyperparameters):
    """A plain function ``k(X, Z)`` that returns the matrix of kernel values.

    Parameters
    ----------
    function : callable
        Takes two matrices of inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import CallableKernel
    >>> CallableKernel(lambda X, Z: X @ Z.T)(np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """

    requires_vector_input = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def _values(self, X: Any, Y: Any) -> Array:
        Y = X if Y is None else Y
        values = self.function(X, Y)
        values = np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64)
        if values.shape != (X.shape[0], Y.shape[0]):
            raise InvalidProblemError(
                f"The kernel function returned shape {values.shape} for {X.shape[0]} and {Y.shape[0]} points: "
                "it must return one value for each pair."
            )
        return values

    def diag(self, X: Any) -> Array:
        """Kernel value of each point with itself, in blocks of 64 points."""
        blocks = [X[i : i + 64] for i in range(0, X.shape[0], 64)]
        return np.concatenate([np.diagonal(self._values(block, block)) for block in blocks])


class Precomputed(_NoHyperparameters):
    """Kernel values computed beforehand: the "inputs" are rows of kernel values with the training points.

    Parameters
    ----------
    self_similarity : float
        Kernel value of a new point with itself, which rows of cross-values do not tell; an estimator takes the mean of
        the training diagonal, which is exact for normalised and for stationary kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import Precomputed
    >>> Precomputed(1.0)(np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, self_similarity: float = 1.0) -> None:
        self.self_similarity = self_similarity

    def _values(self, X: Any, Y: Any) -> Array:
        return np.array(X, dtype=np.float64)

    def diag(self, X: Any) -> Array:
        """The same self-similarity for every point."""
        return np.full(len(X), self.self_similarity)


class Normalized(Kernel):
    """``k(x, z) / sqrt(k(x, x) k(z, z))``: every point has unit length in feature space.

    Parameters
    ----------
    kernel : Kernel
        The kernel to normalise.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from bayespoint.kernels import Normalized
    >>> Normalized(DotProduct(0.0, "fixed"))(np.array([[3.0, 0.0], [1.0, 1.0]])).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this kernel and, with `deep`, of the inner one."""
        params = {"kernel": self.kernel}
        if deep:
            params.update((f"kernel__{name}", value) for name, value in self.kernel.get_params().items())
        return params

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Those of the inner kernel."""
        return [
            Hyperparameter(f"kernel__{h.name}", h.value_type, h.bounds, h.n_elements)
            for h in self.kernel.hyperparameters
        ]

    @property
    def theta(self) -> Array:
        """Log-parameters of the inner kernel."""
        theta: Array = self.kernel.theta
        return theta

    @theta.setter
    def theta(self, theta: Array) -> None:
        self.kernel.theta = theta

    @property
    def bounds(self) -> Array:
        """Log-bounds of the inner kernel."""
        bounds: Array = self.kernel.bounds
        return bounds

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and bool(self.kernel == other.kernel)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Kernel values, and their gradient in `theta` if asked for."""
        left = self._norms(X)
        right = left if Y is None else self._norms(Y)
        scale = np.multiply.outer(1 / left, 1 / right)
        if not eval_gradient:
            return np.multiply(kernel_values(self.kernel, X, Y), scale, out=scale)
        values, gradient = self.kernel(X, eval_gradient=True)
        values = values * scale
        # d (k_ij / sqrt(k_ii k_jj)) = scale dk_ij - value_ij (dk_ii / k_ii + dk_jj / k_jj) / 2
        relative = np.einsum("iip->ip", gradient) / np.square(left)[:, None]
        gradient = gradient * scale[:, :, None]
        gradient -= 0.5 * values[:, :, None] * (relative[:, None, :] + relative[None, :, :])
        return values, gradient

    def _norms(self, X: Any) -> Array:
        diag = self.kernel.diag(X)
        if not np.all(diag > 0):
            raise InvalidProblemError(
                f"Row {int(np.argmin(diag))} has length zero in feature space and cannot be normalised: "
                "drop it, or add a constant to the kernel."
            )
        return np.sqrt(diag)

    def diag(self, X: Any) -> Array:
        """One for every point."""
        return np.ones(len(X))

    def is_stationary(self) -> bool:
        """Whether the inner kernel is."""
        return bool(self.kernel.is_stationary())

    def __repr__(self) -> str:
        return f"Normalized({self.kernel})"


class Isometry:
    """Dense coordinates of sparse rows that keep all inner products with the training rows, and all lengths.

    Kernels of scikit-learn want dense arrays. Those that see inputs only through inner products and Euclidean distances
    (all named ones) give the same values on any isometric copy: n coordinates in the span of the training rows and one
    for the distance from it, instead of one for each word of a vocabulary.

    Parameters
    ----------
    X : sparse matrix of shape (n, n_features)
        Training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from bayespoint.kernels import Isometry
    >>> X = sparse.csr_array(np.array([[1.0, 2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 3.0, 0.0]]))
    >>> Z = Isometry(X).transform(X)
    >>> bool(np.allclose(Z @ Z.T, (X @ X.T).toarray()))
    True
    """

    def __init__(self, X: Matrix) -> None:
        self.X = sparse.csr_array(X)
        values, vectors = eigh((self.X @ self.X.T).toarray())
        keep = values > len(values) * np.finfo(float).eps * max(values[-1], 1e-300)
        self.axes = vectors[:, keep] / np.sqrt(values[keep])

    def transform(self, X: Matrix) -> Array:
        """Coordinates of the rows of `X`: in the span of the training rows, then the distance from it."""
        X = sparse.csr_array(X)
        inside = (X @ self.X.T).toarray() @ self.axes
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        outside = squares - np.square(inside).sum(axis=1)
        outside = np.where(outside > 1e-12 * squares, np.maximum(outside, 0.0), 0.0)  # rounding is not distance
        return np.c_[inside, np.sqrt(outside)]

    def inverse(self, Z: Array) -> Array:
        """Rows in the span of the training rows, from their coordinates."""
        directions = np.asarray(self.X.T @ self.axes)  # orthonormal
        rows: Array = Z[:, :-1] @ directions.T
        return rows

    @staticmethod
    def suits(kernel: Kernel) -> bool:
        """Whether a kernel sees inputs only through inner products and Euclidean distances."""
        if isinstance(kernel, (RBF, Matern)):
            return not kernel.anisotropic
        if isinstance(kernel, (ConstantKernel, DotProduct, RationalQuadratic, WhiteKernel)):
            return True
        if isinstance(kernel, (Exponentiation, Normalized)):
            return Isometry.suits(kernel.kernel)
        parts = [getattr(kernel, name, None) for name in ("k1", "k2")]
        return all(part is not None and Isometry.suits(part) for part in parts)
