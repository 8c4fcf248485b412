"""Dense coordinates of sparse rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Kernel,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from .._core.typing import Array, Matrix
from .objects import Normalized

__all__ = ["Isometry"]


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
