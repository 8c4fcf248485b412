"""A Gram matrix that is never held: its rows in single precision, computed in blocks when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import Kernel

from .._core.objects import Objects
from .._core.threads import workers
from .._core.typing import Array, Matrix
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from ..kernels import kernel_values
from ._tiles import Products, Single, Values, as_taken, diagonal, tiling
from .dense import ByValues, Dense

__all__ = ["KernelRows", "RowPoints", "Single", "stacked"]

_LARGE = 1e30  # single precision ends at 3e38, and sums of many values must fit, too


@told_briefly()
@dataclass(frozen=True, eq=False)
class KernelRows(ByValues):
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
        if isinstance(X, Objects):
            return
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
        return diagonal(self.kernel, self.X)

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self)

    rank = size

    @property
    def signature(self) -> Any:
        """The inputs."""
        return self.X.toarray() if sparse.issparse(self.X) else self.X

    @cached_property
    def dense(self) -> Array:
        """All of the Gram matrix, in double precision, for those who need it."""
        return Dense(kernel_values(self.kernel, as_taken(self.kernel, self.X))).dense

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
    def _kind(self) -> type[Products | Values]:
        return tiling(self.kernel, self.X)

    @cached_property
    def _tiles(self) -> Products | Values:
        if not (largest := self.diag.max(initial=0.0)) < _LARGE:
            raise InvalidProblemError(f"Kernel values reach {largest:.1g}, too large for here: rescale the features.")
        return self._kind(self.kernel, self.X)

    @property
    def granularity(self) -> int:
        """Rows are cheapest in multiples of this number."""
        return self._kind.granularity


@told_briefly()
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

    asked: ClassVar[int] = 0  # many are asked for as few are

    def __post_init__(self) -> None:
        Z = self.Z
        if isinstance(Z, Objects):
            return
        object.__setattr__(self, "Z", sparse.csr_array(Z) if sparse.issparse(Z) else np.asarray(Z, dtype=np.float64))

    def __len__(self) -> int:
        return int(self.Z.shape[0])

    @cached_property
    def diag(self) -> Array:
        """Kernel value of each new point with itself."""
        return diagonal(self.rows.kernel, self.Z)

    @cached_property
    def cross(self) -> Array:
        """Kernel values with all training points, in double precision."""
        kernel = self.rows.kernel
        return kernel_values(kernel, as_taken(kernel, self.Z), as_taken(kernel, self.rows.X))

    @property
    def among(self) -> Array:
        """Kernel values of the new points with each other."""
        return kernel_values(self.rows.kernel, as_taken(self.rows.kernel, self.Z))

    def together(self, prior: Array) -> RowPoints:
        """These points know already how they go together."""
        return self

    def among_many(self, asked: int) -> RowPoints:
        """Many are asked for as few are."""
        return self

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


def stacked(X: Matrix, Z: Matrix) -> Matrix:
    """Rows of one matrix above those of another, either of them sparse or not; objects after others."""
    if isinstance(X, Objects):
        return Objects([*X, *Z])
    if sparse.issparse(X) or sparse.issparse(Z):
        return sparse.vstack([sparse.csr_array(X), sparse.csr_array(Z)], format="csr")
    return np.concatenate([X, Z])
