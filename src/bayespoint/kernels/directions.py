"""Rows of many columns by few coordinates: the directions in which they vary most, and a linear kernel on these.

Where there are more columns than rows, or very many of both (words of a text, genes), a prior that lets the weights of
a linear machine vary alike in all directions expects next to nothing of any of them: what is learned of seen rows says
little about new ones, and predictions are far less sure than they deserve to be. Weights that vary more in directions
in which rows do, too, are a better prior; by how much is a parameter, and zero is the plain linear kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, qr
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from .._core.typing import Array, Matrix

__all__ = ["Directions", "Spectral"]

_HELD = 1000  # rows up to which all directions are found, from inner products
_NUMBERS = 2**24  # of all directions, up to which they are held
_RANK = 300  # directions that are found of larger matrices
_BESIDE = 20  # random directions more than are kept, for the last ones to be right
_TURNS = 2  # power iterations
_ROUNDING = 1e-10  # of the largest variance, below which a direction is none


class Directions:
    """The directions in which rows vary most, and the coordinates of rows in them.

    Up to 1,000 rows these are all directions in which the rows vary at all. Of more rows, or very many columns, a
    randomised range finder (Halko, Martinsson & Tropp 2011) has the leading 300. What a row has
    outside them is its last coordinate, a distance.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_columns)
        Training rows.
    before : callable, optional
        What is done to rows first; it makes features of columns.
    weights : ndarray of shape (n,), optional
        Weights of the rows: a row of weight two counts as two.

    Attributes
    ----------
    variances : ndarray of shape (rank,)
        Of the training rows in each direction, in descending order.
    beside : float
        What is left of their total variance.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import Directions
    >>> X = np.array([[3.0, 1.0, 0.0], [-3.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    >>> Directions(X)(np.array([[2.0, 1.0, 5.0]])).round(6) ** 2
    array([[ 4., 25.]])
    """

    kinds: tuple[str, ...] = ()

    def __init__(self, X: Any, before: Callable[[Any], Array] | None = None, weights: Array | None = None) -> None:
        self.before = before
        rows = self._prepared(X)
        share = np.full(rows.shape[0], 1 / rows.shape[0]) if weights is None else weights / weights.sum()
        self.origin: Array = np.asarray(rows.T @ share)
        few = rows.shape[0] <= _HELD and rows.shape[0] * rows.shape[1] <= _NUMBERS
        find = _all_directions if few else _leading_directions
        self.directions, self.variances = find(rows, self.origin, np.sqrt(share))
        self.beside = float(share @ np.square(self._coordinates(rows)[:, -1]))

    @property
    def takes_gaps(self) -> bool:
        """Whether rows may have missing values."""
        return self.before is not None

    def __call__(self, X: Any) -> Array:
        """Coordinates of the rows of `X`, and the distance of each from the span of the directions."""
        return self._coordinates(self._prepared(X))

    def __deepcopy__(self, memo: Any) -> Directions:
        return self  # nothing changes it, and kernels are cloned at every step of a search

    def __repr__(self) -> str:
        return f"Directions({len(self.variances)})"

    def _prepared(self, X: Any) -> Any:
        if self.before is not None:
            return self.before(X)
        return sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=float)

    def _coordinates(self, rows: Any) -> Array:
        inside = np.asarray(rows @ self.directions) - self.origin @ self.directions
        squares = _squares(rows) - 2 * np.asarray(rows @ self.origin) + self.origin @ self.origin
        outside = squares - np.einsum("ij,ij->i", inside, inside)
        size = squares + 2 * (self.origin @ self.origin)
        outside = np.where(outside > 1e-12 * size, outside, 0.0)  # rounding is not distance
        return np.column_stack([inside, np.sqrt(outside)])


class Spectral(Kernel):
    """Inner products in which a direction counts by a power of the variance that training rows have in it.

    Weights of a linear machine have prior variances ``v_j^power``, with the variances of `Directions`; what a row has
    outside of all directions counts as in the last one, and is its own. The kernel is scaled so that the average of
    ``k(x, x)`` is the total variance of the training rows, whatever the power.

    Parameters
    ----------
    power : float, default=1.0
        Zero is the linear kernel of centred rows.
    power_bounds : pair of floats or "fixed", default=(0.01, 10)
        Bounds of the power.
    variances : ndarray of shape (rank,)
        Of the training rows, in descending order.
    beside : float, default=0.0
        What these leave of their total variance.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import Spectral
    >>> Spectral(1.0, variances=np.array([3.0, 1.0]))(np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])).round(6)
    array([[1.6, 0.8],
           [0.8, 1.6]])
    """

    requires_vector_input = True

    def __init__(
        self, power: float = 1.0, power_bounds: Any = (1e-2, 1e1), variances: Any = (), beside: float = 0.0
    ) -> None:
        self.power = power
        self.power_bounds = power_bounds
        self.variances = variances
        self.beside = beside

    @property
    def hyperparameter_power(self) -> Hyperparameter:
        """The power."""
        return Hyperparameter("power", "numeric", self.power_bounds)

    def scales(self) -> Array:
        """Prior variance of the weight along each coordinate, the last one's for what is outside of all."""
        return self._scales(self.power)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Kernel values, and their gradient in `theta` if asked for."""
        values = self._values(self.scales(), X, Y)
        if not eval_gradient:
            return values
        if self.hyperparameter_power.fixed:
            return values, np.empty((*values.shape, 0))
        return values, self._values(self._slopes(), X, None)[:, :, None]

    def diag(self, X: Any) -> Array:
        """Kernel value of each row with itself."""
        return np.square(X) @ self.scales()

    def is_stationary(self) -> bool:
        """It is not."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spectral) and super().__eq__(other) and np.array_equal(self.variances, other.variances)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Spectral(power={self.power:.3g})"

    def _values(self, scales: Array, X: Any, Y: Any) -> Array:
        values = (X[:, :-1] * scales[:-1]) @ (X if Y is None else Y)[:, :-1].T
        if Y is None:  # outside of the directions every row is by itself
            values.flat[:: len(values) + 1] += scales[-1] * np.square(X[:, -1])
        return np.asarray(values)

    def _scales(self, power: float) -> Array:
        relative = self._logs()
        scales = np.exp(power * relative)
        return np.asarray(scales * (self._total.sum() / (self._total @ scales)))

    def _slopes(self) -> Array:
        """Derivative of the scales in the logarithm of the power."""
        scales, logs = self.scales(), self._logs()
        return np.asarray(self.power * scales * (logs - (self._total @ (scales * logs)) / (self._total @ scales)))

    def _logs(self) -> Array:
        """Logarithms of variances beside the largest, the last of them twice."""
        variances = np.asarray(self.variances, dtype=float)
        return np.log(np.r_[variances, variances[-1]] / variances[0])

    @property
    def _total(self) -> Array:
        return np.r_[self.variances, self.beside]


def _all_directions(rows: Matrix, origin: Array, roots: Array) -> tuple[Array, Array]:
    """Orthonormal directions of centred rows, from their inner products."""
    products = rows @ rows.T
    products = products.toarray() if sparse.issparse(products) else np.asarray(products)
    along = np.asarray(rows @ origin)
    products = (products - along[:, None] - along + origin @ origin) * roots[:, None] * roots
    values, vectors = eigh(products)
    kept, scale = _kept(values)
    axes = roots[:, None] * vectors[:, kept] / np.sqrt(scale)
    return np.asarray(rows.T @ axes) - np.multiply.outer(origin, axes.sum(axis=0)), scale


def _leading_directions(rows: Matrix, origin: Array, roots: Array) -> tuple[Array, Array]:
    """The same for the leading ones, by products of the rows with random directions."""
    rank = min(_RANK + _BESIDE, *rows.shape)

    def forth(q: Array) -> Array:
        return (np.asarray(rows @ q) - origin @ q) * roots[:, None]

    def back(q: Array) -> Array:
        weighted = roots[:, None] * q
        return np.asarray(rows.T @ weighted) - np.multiply.outer(origin, weighted.sum(axis=0))

    found = forth(np.random.default_rng(0).standard_normal((rows.shape[1], rank)))
    for _ in range(_TURNS + 1):
        basis, _ = qr(found, mode="economic", check_finite=False, overwrite_a=True)
        seen = back(basis)
        found = forth(seen)
    values, vectors = eigh(seen.T @ seen)
    kept, scale = _kept(values)
    return seen @ (vectors[:, kept[:_RANK]] / np.sqrt(scale[:_RANK])), scale[:_RANK]


def _kept(variances: Array) -> tuple[Any, Array]:
    """Which of the ascending variances are not rounding, the largest first; one, of no effect, where all are."""
    if not variances[-1] > np.finfo(float).tiny:
        return np.array([len(variances) - 1]), np.ones(1)
    kept = np.flatnonzero(variances > _ROUNDING * variances[-1])[::-1]
    return kept, variances[kept]


def _squares(rows: Matrix) -> Array:
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=float).ravel()
    return np.einsum("ij,ij->i", rows, rows)
