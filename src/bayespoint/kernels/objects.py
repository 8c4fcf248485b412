"""Kernel objects of our own, beside those of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ._around import AroundKernel
from .values import kernel_values

__all__ = ["CallableKernel", "Normalized", "Precomputed", "amplitude"]

_AMPLITUDE_BOUNDS = (1e-3, 1e5)  # of the prior variance, in units of softness: beyond it the boundary is hard anyway


def amplitude() -> ConstantKernel:
    """A prior variance of one in front of a kernel, free within bounds.

    Examples
    --------
    >>> from bayespoint.kernels import amplitude
    >>> amplitude()
    1**2
    """
    return ConstantKernel(1.0, _AMPLITUDE_BOUNDS)


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


class Normalized(AroundKernel):
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

    def __repr__(self) -> str:
        return f"Normalized({self.kernel})"
