"""Columns of a table as features that kernels can measure distances in: free of units, nominal ones as categories.

A `Features` object remembers what it learned of each column of the training rows: location and spread of numbers, or
their ranks; which values a nominal column had; which columns had gaps. Differing nominal values, and a gap beside none,
are as far apart as two independent draws of a number usually are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from .._core.typing import Array

__all__ = ["Features", "kinds_of_columns"]

_TAIL = 0.05  # share of the values on either side that is pulled in before a spread is measured
_LEVELS = 64  # values of a nominal column that are told apart, the most frequent ones
_APART = np.sqrt(2.0)  # distance of two values that are merely different: that of two draws with unit spread


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers, in its own spread or by its ranks; a gap is filled with the median and marked."""

    values: Array  # of the column, ascending
    places: Array  # what they become
    has_gaps: bool

    kinds = ("number", "gap")

    @classmethod
    def of(cls, column: Array, weights: Array, ranked: bool) -> NumberColumn:
        seen = ~np.isnan(column)
        values, share = _distribution(column[seen], weights[seen])
        if ranked and len(values) > 2:
            middle = ndtri(np.cumsum(share) - 0.5 * share)
            return cls(values, middle / np.sqrt(share @ middle**2 - (share @ middle) ** 2), not seen.all())
        location = _quantile(values, share, 0.5)
        ends = np.array([location, location + _spread(values, share)])
        return cls(ends, np.array([0.0, 1.0]), not seen.all())

    @property
    def is_plain(self) -> bool:
        """Whether it is shifted and scaled, and no more: many such columns are worked on at once."""
        return len(self.values) == 2 and not self.has_gaps

    def __call__(self, column: Array) -> list[Array]:
        gap = np.isnan(column)
        filled = np.where(gap, self.values[0], column)
        if len(self.values) > 2:
            place = np.interp(filled, self.values, self.places)
        else:
            place = (filled - self.values[0]) / (self.values[1] - self.values[0])
        place = np.where(gap, 0.0, place)
        return [place, _APART * gap] if self.has_gaps else [place]


@dataclass(frozen=True, eq=False)
class NominalColumn:
    """A column of values that are the same or not; others than those of the training rows are one more value."""

    levels: Array

    kinds = ("nominal",)

    @classmethod
    def of(cls, column: Array, weights: Array) -> NominalColumn:
        levels, share = _distribution(np.where(np.isnan(column), np.inf, column), weights)
        most = np.sort(np.argsort(-share, kind="stable")[:_LEVELS])
        return cls(levels[most])

    def __call__(self, column: Array) -> list[Array]:
        known = np.where(np.isnan(column), np.inf, column)[:, None] == self.levels
        return [*known.astype(float).T, 1.0 - known.any(axis=1)]


@dataclass(frozen=True, eq=False)
class TwoColumn:
    """A column of two numbers: as far apart as two names; others lie on the line through them, for they are numbers."""

    low: float
    high: float

    kinds = ("nominal",)

    @classmethod
    def of(cls, column: Array) -> TwoColumn:
        return cls(float(np.nanmin(column)), float(np.nanmax(column)))

    def __call__(self, column: Array) -> list[Array]:
        gap = np.isnan(column)
        place = (np.where(gap, self.low, column) - self.low) / (self.high - self.low) - 0.5
        return [np.where(gap, 0.0, _APART * place), np.sqrt(0.75) * _APART * gap]  # a gap is as far from both


@dataclass(frozen=True, eq=False)
class ConstantColumn:
    """A column that had one value: it tells nothing, but for where it has gaps if there were any."""

    has_gaps: bool

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("gap",) if self.has_gaps else ()

    def __call__(self, column: Array) -> list[Array]:
        return [_APART * np.isnan(column)] if self.has_gaps else []


class Features:
    """What became of the columns of a table: features of unit spread, in groups that belong together.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
        Training rows; NaN is a gap.
    kinds : sequence of {"number", "nominal", "two"}
        What each column is, see `kinds_of_columns`.
    ranked : bool, default=False
        Whether numbers go by their ranks, as normal scores, instead of their values.
    weights : ndarray of shape (n,), optional
        Weights of the rows: a row of weight two counts as two.

    Attributes
    ----------
    groups : ndarray of int, one for each feature
        Which features belong together: those of one nominal column, or a single number.
    kinds : tuple of {"number", "gap", "nominal"}
        Of each group.
    columns : tuple of int
        Which column each group came from.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import Features
    >>> X = np.array([[1e6, 0.0], [3e6, 1.0], [5e6, 0.0], [np.nan, 2.0]])
    >>> features = Features(X, ["number", "nominal"])
    >>> features(X[:2]).round(2)
    array([[-1.22,  0.  ,  1.  ,  0.  ,  0.  ,  0.  ],
           [ 0.  ,  0.  ,  0.  ,  1.  ,  0.  ,  0.  ]])
    >>> features.kinds
    ('number', 'gap', 'nominal')
    """

    takes_gaps = True

    def __init__(self, X: Array, kinds: Sequence[str], *, ranked: bool = False, weights: Array | None = None) -> None:
        weights = np.ones(len(X)) if weights is None else weights
        self._columns = [_learned(X[:, j], kind, weights, ranked) for j, kind in enumerate(kinds)]
        parts = [column(X[:1, j]) for j, column in enumerate(self._columns)]
        groups: list[int] = []
        of_groups: list[str] = []
        of_columns: list[int] = []
        for j, (column, part) in enumerate(zip(self._columns, parts, strict=True)):
            together = isinstance(column, NominalColumn | TwoColumn)
            count = 1 if together else len(part)
            groups += [len(of_groups)] * len(part) if together else [len(of_groups) + k for k in range(count)]
            of_groups += list(column.kinds[:count])
            of_columns += [j] * count
        self.groups, self.kinds, self.columns = np.array(groups, dtype=int), tuple(of_groups), tuple(of_columns)
        first = np.cumsum([0, *(len(part) for part in parts)])
        plain = [j for j, column in enumerate(self._columns) if isinstance(column, NumberColumn) and column.is_plain]
        ends = np.array([self._columns[j].values for j in plain]).reshape(-1, 2)  # type: ignore[union-attr]
        self._plain = np.array(plain, dtype=int), first[plain].astype(int), ends[:, 0], ends[:, 1] - ends[:, 0]
        self._others = {j: int(first[j]) for j in sorted(set(range(len(self._columns))) - set(plain)) if parts[j]}

    def __call__(self, X: Any) -> Array:
        """Features of the rows of `X`, to single precision: equal in whatever unit the columns are."""
        X = np.asarray(X, dtype=float)
        found = np.empty((len(X), len(self.groups)))
        columns, places, starts, units = self._plain
        scaled = (X[:, columns] - starts) / units
        found[:, places] = np.where(np.isnan(scaled), 0.0, scaled)
        for j, place in self._others.items():
            parts = self._columns[j](X[:, j])
            found[:, place : place + len(parts)] = np.transpose(parts)
        return found.astype(np.float32).astype(np.float64)

    @property
    def learned(self) -> tuple[NumberColumn | NominalColumn | TwoColumn | ConstantColumn, ...]:
        """What the training rows said of each column."""
        return tuple(self._columns)

    @property
    def widths(self) -> tuple[int, ...]:
        """How many features each column makes."""
        gap = np.full(1, np.nan)
        return tuple(len(column(gap)) for column in self._columns)

    @property
    def units(self) -> tuple[Array, Array] | None:
        """Where each column starts and the unit it is measured in, if they are shifted and scaled and no more."""
        if any(kind != "number" for kind in self.kinds) or self._others:
            return None
        starts, units = np.zeros(len(self._columns)), np.ones(len(self._columns))
        columns, _, starts[columns], units[columns] = self._plain
        return starts, units

    def __deepcopy__(self, memo: Any) -> Features:
        return self  # nothing changes it, and kernels are cloned at every step of a search

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Features) and _values(self) == _values(other))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        counts = {kind: self.kinds.count(kind) for kind in ("number", "nominal", "gap")}
        return "Features(" + ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) + ")"


def _values(features: Features) -> list[Any]:
    """What was learned of each column, to be compared."""
    return [
        (type(column), *(np.asarray(part).tolist() for part in vars(column).values())) for column in features._columns
    ]


def _learned(
    column: Array, kind: str, weights: Array, ranked: bool
) -> NumberColumn | NominalColumn | TwoColumn | ConstantColumn:
    """What the training rows say of a column."""
    gap = np.isnan(column)
    if gap.all() or np.all(column[~gap] == column[~gap][0]):
        return ConstantColumn(bool(gap.any() and not gap.all()))
    if kind == "two":
        return TwoColumn.of(column)
    return NominalColumn.of(column, weights) if kind == "nominal" else NumberColumn.of(column, weights, ranked)


def kinds_of_columns(X: Array, nominal: Sequence[int] = (), *, few: int = 2) -> list[str]:
    """Which columns are nominal: those known to be, those of no more than `few` values, and those of two.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import kinds_of_columns
    >>> kinds_of_columns(np.array([[0.5, 7.0, 3.0], [1.5, 8.0, 3.0], [2.5, 7.0, 4.0]]))
    ['number', 'two', 'two']
    """
    return ["nominal" if j in nominal else _kind(X[:, j], few) for j in range(X.shape[1])]


def _kind(column: Array, few: int) -> str:
    values = np.unique(column[~np.isnan(column)])
    if len(values) == 2:
        return "two"
    return "nominal" if 2 < len(values) <= few else "number"


def _distribution(values: Array, weights: Array) -> tuple[Array, Array]:
    """Distinct values, ascending, and the share of each."""
    distinct, places = np.unique(values, return_inverse=True)
    share = np.bincount(places, weights=weights, minlength=len(distinct))
    return distinct, share / max(share.sum(), np.finfo(float).tiny)


def _quantile(values: Array, share: Array, level: float) -> float:
    """The smallest value that at least this share of the rows does not exceed."""
    place = int(np.searchsorted(np.cumsum(share), level * (1 - 1e-12)))
    return float(values[min(place, len(values) - 1)])


def _spread(values: Array, share: Array) -> float:
    """Standard deviation with the tails pulled in; of the whole where nothing else is left of it."""
    if len(values) < 2:
        return 0.0
    low, high = (_quantile(values, share, level) for level in (_TAIL, 1 - _TAIL))
    pulled = np.clip(values, low, high) if high > low else values
    unit = np.abs(pulled).max()  # squares of very large or small numbers are none
    deviation = (pulled - share @ pulled) / unit
    return float(unit * np.sqrt(share @ deviation**2))
