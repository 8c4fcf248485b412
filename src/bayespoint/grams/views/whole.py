"""Views that have all kernel values: held (`Exact`), or computed when they are asked for (`Rows`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from ..._core.memory import refuse_beyond_memory
from ..._core.typing import Array
from ..._core.words import told_briefly
from ...kernels import contract_gradient, kernel_values
from ..dense import Dense, DensePoints
from ..rows import KernelRows, RowPoints
from .view import GramSlope, WholeKernel

__all__ = ["Exact", "Rows", "as_view"]

_COPIES = 3  # of the Gram matrix that inference on it holds at the same time


@told_briefly()
@dataclass(frozen=True, eq=False)
class Exact(WholeKernel):
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


@told_briefly()
@dataclass(frozen=True, eq=False)
class Rows(WholeKernel):
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


def as_view(X: Any) -> Any:
    """Points as an exact view; a view as it is."""
    return X if hasattr(X, "gram") else Exact(X)
