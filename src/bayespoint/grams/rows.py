"""A Gram matrix that is never held: its rows in single precision, computed in blocks when they are asked for.

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

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Exponentiation, Kernel, Product, Sum

from .._core.threads import workers
from .._core.typing import Array, Matrix
from ..exceptions import InvalidProblemError
from ..kernels import kernel_values
from .dense import Dense
from .gram import Conditioned, Root

__all__ = ["KernelRows", "RowPoints", "stacked"]

Single = NDArray[np.float32]

_ROWS = 256  # computed at a time
_COLUMNS = 1024  # of a tile: a megabyte of values beside the inputs that they need
_STRIP = 32  # rows of a tile worked on at a time, elementwise
_FEW, _MANY = 0.3, 1_000_000  # share of values that are not zero, among how many, for zeros to be worth leaving out
_LARGE = 1e30  # single precision ends at 3e38, and sums of many values must fit, too
_STEEP = 1000.0  # squared distances in squared length scales, beyond which single precision is too coarse


@dataclass(frozen=True, eq=False)
class KernelRows:
    """The Gram matrix of `kernel` at `X`, lazily: a `Problem` takes it where it takes an array.

    Parameters
    ----------
    kernel : Kernel
        An object of `sklearn.gaussian_process.kernels`, bias included. Sums, products and whole powers of constants,
        inner products and isotropic Gaussians go by matrix products; all others by their own values.
    X : array-like or sparse matrix of shape (n, n_features)
        Training inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from bayespoint.grams import KernelRows
    >>> rows = KernelRows(DotProduct(1.0) ** 2, np.array([[0.0], [1.0], [2.0]]))
    >>> rows.block([2, 0])
    array([[ 1.,  9., 25.],
           [ 1.,  1.,  1.]], dtype=float32)
    """

    kernel: Kernel
    X: Matrix

    def __post_init__(self) -> None:
        X = self.X
        X = sparse.csr_array(X, dtype=np.float64) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or not np.isfinite(X.data if sparse.issparse(X) else X).all():
            raise InvalidProblemError("Inputs must be a finite matrix, one row a point.")
        object.__setattr__(self, "X", X)

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "X": self.X}  # the rest can be computed again

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @cached_property
    def diag(self) -> Array:
        """Kernel value of each point with itself."""
        return _diag(self.kernel, self.X)

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self)

    rank = size

    @property
    def residual(self) -> None:
        """No point has a variance of its own."""

    @property
    def signature(self) -> Any:
        """The inputs."""
        return self.X.toarray() if sparse.issparse(self.X) else self.X

    @cached_property
    def whole(self) -> Dense:
        """The Gram matrix itself, in double precision, for those who need all of it."""
        X = self.X.toarray() if sparse.issparse(self.X) and self.kernel.requires_vector_input else self.X
        return Dense(kernel_values(self.kernel, X))

    @property
    def dense(self) -> Array:
        """The Gram matrix as an array."""
        return self.whole.dense

    def times(self, weights: Array) -> Array:
        """``K a``, see `Dense.times`."""
        return self.whole.times(weights)

    def root(self, most: float = 1.0) -> Array | None:
        """See `Dense.root`."""
        return self.whole.root(most)

    def whitened(self) -> Root:
        """See `Dense.whitened`."""
        return self.whole.whitened()

    def weights(self, rows: Any, alpha: Array) -> Array:
        """An expansion in all points."""
        weights = np.zeros(len(self))
        weights[rows] = alpha
        return weights

    def length(self, weights: Array) -> float:
        """See `Dense.length`."""
        return self.whole.length(weights)

    def conditioned(self, tau: Array, nu: Array) -> Conditioned | None:
        """See `Dense.conditioned`."""
        return self.whole.conditioned(tau, nu)

    def part(self, rows: Any) -> KernelRows:
        """The same for some of the points."""
        return KernelRows(self.kernel, self.X[rows])

    def expansion(self, new: RowPoints, rows: Any, weights: Array) -> Array:
        """Values at new points of functions that are expansions in some of the training points."""
        values = new.columns(rows)  # a copy of them in double precision may be too large
        return (values @ weights.astype(values.dtype)).astype(np.float64)

    def appended(self, new: RowPoints) -> KernelRows:
        """With new points as further rows."""
        return KernelRows(self.kernel, stacked(self.X, new.Z))

    def by_rows(self) -> KernelRows:
        """The matrix itself."""
        return self

    @property
    def held(self) -> None:
        """Nothing is in memory."""

    def block(self, rows: Any) -> Single:
        """Some rows of the Gram matrix, of shape (len(rows), n)."""
        rows = np.asarray(rows, dtype=np.intp)
        out = np.empty((len(rows), len(self)), dtype=np.float32)
        self.write(rows, out, np.arange(len(rows)))
        return out

    def write(self, rows: Any, out: Single, places: Any, run: Callable[..., Any] = map) -> None:
        """Write rows of the Gram matrix to `places` among the rows of `out`; `run` maps a function over tiles."""
        tiles = self._tiles
        for start in range(0, len(rows), tiles.height):
            some = slice(start, start + tiles.height)
            left = tiles.left(self.X[rows[some]])

            def fill(tile: int, left: Any = left, some: slice = some) -> None:
                values, columns = tiles.values(left, tile)
                out[places[some], columns] = values

            list(run(fill, range(tiles.count)))

    def new(self, Z: Any) -> RowPoints:
        """New points, whose kernel values with the training points are computed when they are asked for."""
        return RowPoints(self, Z)

    @cached_property
    def _kind(self) -> type[_Products | _Values]:
        return _tiling(self.kernel, self.X)

    @cached_property
    def _tiles(self) -> _Products | _Values:
        if not (largest := self.diag.max(initial=0.0)) < _LARGE:
            raise InvalidProblemError(f"Kernel values reach {largest:.1g}, too large for here: rescale the features.")
        return self._kind(self.kernel, self.X)

    @property
    def granularity(self) -> int:
        """Rows are cheapest in multiples of this number."""
        return self._kind.granularity


@dataclass(frozen=True, eq=False)
class RowPoints:
    """New points by their kernel values with those training points that matter, computed once.

    Parameters
    ----------
    rows : KernelRows
        The training points.
    Z : array-like or sparse matrix of shape (n_points, n_features)
        New points.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from bayespoint.grams import KernelRows
    >>> new = KernelRows(DotProduct(1.0), np.array([[0.0], [1.0], [2.0]])).new(np.array([[3.0]]))
    >>> new.columns(np.array([0, 2]))
    array([[1., 7.]], dtype=float32)
    >>> new.diag
    array([10.])
    """

    rows: KernelRows
    Z: Matrix
    _kept: list[Any] = field(default_factory=lambda: [None, None], repr=False)

    def __post_init__(self) -> None:
        Z = self.Z
        object.__setattr__(self, "Z", sparse.csr_array(Z) if sparse.issparse(Z) else np.asarray(Z, dtype=np.float64))

    def __len__(self) -> int:
        return int(self.Z.shape[0])

    @cached_property
    def diag(self) -> Array:
        """Kernel value of each new point with itself."""
        return _diag(self.rows.kernel, self.Z)

    @cached_property
    def cross(self) -> Array:
        """Kernel values with all training points, in double precision."""
        return kernel_values(self.rows.kernel, self._plain(self.Z), self._plain(self.rows.X))

    @property
    def among(self) -> Array:
        """Kernel values of the new points with each other."""
        return kernel_values(self.rows.kernel, self._plain(self.Z))

    def together(self, prior: Array) -> RowPoints:
        """These points know already how they go together."""
        return self

    def _plain(self, X: Matrix) -> Any:
        return X.toarray() if sparse.issparse(X) and self.rows.kernel.requires_vector_input else X

    def columns(self, which: Any) -> Single:
        """Kernel values with some of the training points, of shape (n_points, len(which)).

        They are remembered, so that asking again for the very same array `which` costs nothing.
        """
        if self._kept[0] is not which:
            tiles = self.rows._kind(self.rows.kernel, self.rows.X[which])
            out = np.empty((len(self), len(which)), dtype=np.float32)

            def fill(start: int) -> None:
                left = tiles.left(self.Z[start : start + tiles.height])
                for tile in range(tiles.count):
                    values, columns = tiles.values(left, tile)
                    out[start : start + tiles.height, columns] = values

            with workers() as run:
                list(run(fill, range(0, len(self), tiles.height)))
            self._kept[:] = which, out
        kept: Single = self._kept[1]
        return kept


class _Tiling:
    """Columns in tiles of one width, and rows in blocks of one height: the shape of every computation."""

    def __init__(self, kernel: Kernel, X: Matrix, height: int) -> None:
        self.kernel, self.X, self.n = kernel, X, X.shape[0]
        self.count = -(-self.n // _COLUMNS)
        self.width = _round_up(-(-self.n // max(self.count, 1)), 16)
        self.height = min(height, _round_up(self.n, 16))

    def columns(self, tile: int) -> slice:
        return slice(tile * self.width, min((tile + 1) * self.width, self.n))


class _Products(_Tiling):
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


class _Nonzeros(_Products):
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


class _Sparse(_Nonzeros):
    """The same for sparse inputs."""

    granularity = _ROWS  # rows that cost no more than one

    def _arranged(self, inputs: Any) -> Any:
        return [inputs[self.columns(tile)] for tile in range(self.count)]

    def left(self, rows: Matrix) -> tuple[Any, ...]:
        inputs, squares, count = super().left(rows)
        return np.ascontiguousarray(_padded(inputs.toarray(), self.height).T), _padded(squares, self.height), count

    def _inner(self, rows: Any, tile: int, count: int) -> Single:
        return np.ascontiguousarray((self.right[tile] @ rows).T)


class _Values(_Tiling):
    """Tiles of any kernel, by its own values in double precision."""

    granularity = 1

    def __init__(self, kernel: Kernel, X: Matrix) -> None:
        super().__init__(kernel, X, 32)
        self.plain = bool(sparse.issparse(X) and kernel.requires_vector_input)

    def left(self, rows: Matrix) -> tuple[Any, ...]:
        count = rows.shape[0]
        return self._dense(rows[np.minimum(np.arange(self.height), count - 1)]), count

    def _dense(self, X: Matrix) -> Any:
        return X.toarray() if self.plain and sparse.issparse(X) else X

    def values(self, left: tuple[Any, ...], tile: int) -> tuple[Single, slice]:
        rows, count = left
        columns = self.columns(tile)
        return kernel_values(self.kernel, rows, self._dense(self.X[columns]))[:count].astype(np.float32), columns


def _tiling(kernel: Kernel, X: Matrix) -> type[_Products | _Values]:
    """How to compute values of a kernel at such inputs."""
    if sparse.issparse(X):
        kind: type[_Products] = _Sparse
    else:
        kind = _Nonzeros if X.size > _MANY and np.count_nonzero(X) < _FEW * X.size else _Products
    squares = _squares(X - X.mean(axis=0) if kind.centres(kernel) else X)
    return kind if _by_products(kernel, float(squares.max(initial=0.0))) else _Values


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


def _diag(kernel: Kernel, X: Matrix) -> Array:
    """Kernel value of each point with itself, in double precision."""
    if not sparse.issparse(X) or not kernel.requires_vector_input:
        return np.array(kernel.diag(X), dtype=np.float64)
    blocks = [X[start : start + _ROWS].toarray() for start in range(0, X.shape[0], _ROWS)]
    return np.concatenate([np.asarray(kernel.diag(block), dtype=np.float64) for block in blocks])


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


def stacked(X: Matrix, Z: Matrix) -> Matrix:
    """Rows of one matrix above those of another, either of them sparse or not."""
    if sparse.issparse(X) or sparse.issparse(Z):
        return sparse.vstack([sparse.csr_array(X), sparse.csr_array(Z)], format="csr")
    return np.concatenate([X, Z])


def _round_up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _padded(rows: Any, length: int) -> Any:
    """Zeros below, up to a fixed number of rows."""
    if len(rows) == length:
        return np.ascontiguousarray(rows)
    out = np.zeros((length, *rows.shape[1:]), dtype=rows.dtype)
    out[: len(rows)] = rows
    return out
