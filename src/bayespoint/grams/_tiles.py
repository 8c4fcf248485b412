"""Kernel values in single precision, in tiles: how the rows of `KernelRows` are computed.

Kernels that see inputs only through inner products cost one matrix product a block and a little elementwise work, on
tiles that stay in the processor's cache. A row has the same bits alone, among others, from any thread, and when it is
computed again; perceptrons, whose way depends on every bit, rest on that. It does not rest on the linear algebra
library, whose order of summation depends on processor, shape and place:

- dense inputs are rounded to so few bits that sums of their products are exact in double precision, in any order, and
  are rounded but once, to single precision: these inner products are the same on all machines;
- dense inputs that are mostly zeros, and sparse ones, are summed feature by feature, each row for itself;
- other kernels are as good as their own values in double precision: those of scikit-learn's stationary kernels look
  at one pair of points at a time; one that calls matrix products may differ in the last bit of one value in 10^8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Exponentiation, Kernel, Product, Sum

from .._core.objects import Objects
from .._core.typing import Array, Matrix
from ..kernels import kernel_values

__all__ = ["Nonzeros", "Products", "Single", "Sparse", "Values", "as_taken", "diagonal", "tiling"]

Single = NDArray[np.float32]

_ROWS = 256  # computed at a time
_COLUMNS = 1024  # of a tile: a megabyte of values beside the inputs that they need
_STRIP = 32  # rows of a tile worked on at a time, elementwise
_FEW, _MANY = 0.3, 1_000_000  # share of values that are not zero, among how many, for zeros to be worth leaving out
_STEEP = 1000.0  # squared distances in squared length scales, beyond which single precision is too coarse


class Tiling:
    """Columns in tiles of one width, and rows in blocks of one height: the shape of every computation."""

    def __init__(self, kernel: Kernel, X: Matrix, height: int) -> None:
        self.kernel, self.X, self.n = kernel, X, X.shape[0]
        self.count = -(-self.n // _COLUMNS)
        self.width = _round_up(-(-self.n // max(self.count, 1)), 16)
        self.height = min(height, _round_up(self.n, 16))

    def columns(self, tile: int) -> slice:
        return slice(tile * self.width, min((tile + 1) * self.width, self.n))


class Products(Tiling):
    """Tiles of a function of inner products: these by exact matrix products, the function in single precision."""

    granularity = 16  # a matrix product needs that many to be quick

    def __init__(self, kernel: Kernel, X: Matrix) -> None:
        super().__init__(kernel, X, _ROWS)
        self.origin = X.mean(axis=0) if self.centres(kernel) else None
        inputs, squares = self._prepared(X)
        self.right = self._arranged(inputs)
        self.squares = _padded(squares, self.count * self.width)

    @staticmethod
    def centres(kernel: Kernel) -> bool:
        """Whether inputs are moved to their mean, which saves a stationary kernel from cancellation."""
        return bool(kernel.is_stationary())

    def _prepared(self, X: Matrix) -> tuple[Any, Single]:
        """Inputs as they are multiplied, and their squared lengths."""
        X = _summable(X if self.origin is None else X - self.origin)
        return X, _squares(X).astype(np.float32)

    def _arranged(self, inputs: Any) -> Any:
        return _padded(inputs, self.count * self.width)

    def left(self, rows: Matrix) -> tuple[Any, ...]:
        inputs, squares = self._prepared(rows.toarray() if sparse.issparse(rows) else rows)
        return inputs, squares, len(squares)

    def _inner(self, rows: Any, tile: int, count: int) -> Single:
        return np.matmul(rows, self.right[tile * self.width : (tile + 1) * self.width].T).astype(np.float32)

    def values(self, left: tuple[Any, ...], tile: int) -> tuple[Single, slice]:
        rows, squares, count = left
        columns = self.columns(tile)
        inner = self._inner(rows, tile, count)
        beside = self.squares[tile * self.width : tile * self.width + inner.shape[1]]
        for start in range(0, count, _STRIP):
            some = slice(start, start + _STRIP)
            inner[some] = _function(self.kernel, inner[some], squares[some, None], beside)
        return inner[:count, : columns.stop - columns.start], columns


class Nonzeros(Products):
    """The same for dense inputs that are mostly zeros, which are left out (BPM 4.3, footnote 11)."""

    granularity = 1

    @staticmethod
    def centres(kernel: Kernel) -> bool:
        return False

    def _prepared(self, X: Matrix) -> tuple[Any, Single]:
        return X.astype(np.float32), _squares(X).astype(np.float32)

    def _arranged(self, inputs: Any) -> Any:
        right = np.zeros((self.count, inputs.shape[1], self.width), dtype=np.float32)
        for tile in range(self.count):
            columns = self.columns(tile)
            right[tile, :, : columns.stop - columns.start] = inputs[columns].T
        return right

    def left(self, rows: Matrix) -> tuple[Any, ...]:
        inputs, squares = self._prepared(sparse.csr_array(rows))
        return inputs, squares, len(squares)

    def _inner(self, rows: Any, tile: int, count: int) -> Single:
        from ._nonzeros import inner_products  # compiled

        out = np.empty((count, self.width), dtype=np.float32)
        inner_products(rows.indptr, rows.indices, rows.data, self.right[tile], out)
        return out


class Sparse(Nonzeros):
    """The same for sparse inputs."""

    granularity = _ROWS  # rows that cost no more than one

    def _arranged(self, inputs: Any) -> Any:
        return [inputs[self.columns(tile)] for tile in range(self.count)]

    def left(self, rows: Matrix) -> tuple[Any, ...]:
        inputs, squares, count = super().left(rows)
        return np.ascontiguousarray(_padded(inputs.toarray(), self.height).T), _padded(squares, self.height), count

    def _inner(self, rows: Any, tile: int, count: int) -> Single:
        return np.ascontiguousarray((self.right[tile] @ rows).T)


class Values(Tiling):
    """Tiles of any kernel, by its own values in double precision."""

    granularity = 1

    def __init__(self, kernel: Kernel, X: Matrix) -> None:
        super().__init__(kernel, X, 32)

    def left(self, rows: Matrix) -> tuple[Any, ...]:
        count = rows.shape[0]
        return as_taken(self.kernel, rows[np.minimum(np.arange(self.height), count - 1)]), count

    def values(self, left: tuple[Any, ...], tile: int) -> tuple[Single, slice]:
        rows, count = left
        columns = self.columns(tile)
        values = kernel_values(self.kernel, rows, as_taken(self.kernel, self.X[columns]))
        return values[:count].astype(np.float32), columns


def tiling(kernel: Kernel, X: Matrix) -> type[Products | Values]:
    """How to compute values of a kernel at such inputs."""
    if isinstance(X, Objects):
        return Values
    if sparse.issparse(X):
        kind: type[Products] = Sparse
    else:
        kind = Nonzeros if X.size > _MANY and np.count_nonzero(X) < _FEW * X.size else Products
    squares = _squares(X - X.mean(axis=0) if kind.centres(kernel) else X)
    return kind if _by_products(kernel, float(squares.max(initial=0.0))) else Values


def _by_products(kernel: Kernel, square: float) -> bool:
    """Whether a kernel is a function of inner products for which single precision will do."""
    if isinstance(kernel, (Sum, Product)):
        return _by_products(kernel.k1, square) and _by_products(kernel.k2, square)
    if type(kernel) is Exponentiation:
        whole = float(kernel.exponent).is_integer() and 1 <= kernel.exponent <= 64
        return whole and _by_products(kernel.kernel, square)
    if type(kernel) is RBF and np.size(kernel.length_scale) == 1:
        return square < _STEEP * float(np.squeeze(kernel.length_scale)) ** 2
    return type(kernel) in (ConstantKernel, DotProduct)


def _function(kernel: Kernel, inner: Any, left: Any, right: Any) -> Any:
    """The kernel as a function of inner products, which it may overwrite, and of squared lengths."""
    if isinstance(kernel, (Sum, Product)):
        combine = np.add if isinstance(kernel, Sum) else np.multiply
        alone = any(isinstance(part, ConstantKernel) for part in (kernel.k1, kernel.k2))  # only one looks at `inner`
        one = _function(kernel.k1, inner if alone else inner.copy(), left, right)
        return combine(one, _function(kernel.k2, inner, left, right))
    if isinstance(kernel, Exponentiation):
        return _power(_function(kernel.kernel, inner, left, right), int(kernel.exponent))
    if isinstance(kernel, DotProduct):
        inner += inner.dtype.type(kernel.sigma_0**2)
        return inner
    if isinstance(kernel, RBF):
        scale = float(np.squeeze(kernel.length_scale)) ** -2
        inner *= inner.dtype.type(scale)
        inner -= inner.dtype.type(0.5 * scale) * (left + right)
        return np.exp(np.minimum(inner, 0, out=inner), out=inner)
    return inner.dtype.type(kernel.constant_value)


def _power(base: Any, exponent: int) -> Any:
    """By repeated squaring."""
    result = None
    while True:
        exponent, odd = divmod(exponent, 2)
        if odd:
            result = base if result is None else result * base
        if not exponent:
            return result
        base = base * base


def diagonal(kernel: Kernel, X: Matrix) -> Array:
    """Kernel value of each point with itself, in double precision; inputs become dense some at a time."""
    blocks = [X]
    if sparse.issparse(X) and kernel.requires_vector_input:
        blocks = [X[start : start + _ROWS].toarray() for start in range(0, X.shape[0], _ROWS)]
    return np.concatenate([np.asarray(kernel.diag(block), dtype=np.float64) for block in blocks])


def as_taken(kernel: Kernel, X: Matrix) -> Any:
    """Inputs as a kernel takes them: dense, if it wants vectors."""
    return X.toarray() if sparse.issparse(X) and kernel.requires_vector_input else X


def _summable(X: Array) -> Array:
    """Rows rounded so that sums of products of their entries are exact in double precision, in whatever order.

    Entries are whole multiples of a unit of their row, at most 2^bits of them, and as many products as there are
    features add up to at most 2^53 products of units. Rounding costs no more than single precision does: an inner
    product is off by some ``2^-bits`` of the largest entry of one row times the length of the other.
    """
    bits = (53 - (X.shape[1] - 1).bit_length()) // 2
    largest = np.maximum(X.max(axis=1, initial=0.0), -X.min(axis=1, initial=0.0))
    exponent = np.frexp(largest)[1]  # the largest entry is below 2^exponent
    unit = np.ldexp(1.0, np.maximum(exponent - bits, np.finfo(np.float64).minexp))[:, None]
    out = X / unit
    np.rint(out, out=out)
    out *= unit
    return out


def _squares(X: Matrix) -> Array:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", X, X)


def _round_up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _padded(rows: Any, length: int) -> Any:
    """Zeros below, up to a fixed number of rows."""
    if len(rows) == length:
        return np.ascontiguousarray(rows)
    out = np.zeros((length, *rows.shape[1:]), dtype=rows.dtype)
    out[: len(rows)] = rows
    return out
