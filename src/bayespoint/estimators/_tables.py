"""Tables as people have them: frames with text, categories, truth values and gaps become numbers, column by column.

A nominal value becomes the number of its place among the values of the training rows; what these are the same for is
all that kernels on tables ask (`bayespoint.kernels.Features`). Gaps stay NaN.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.typing import Array
from .._core.words import told_briefly

__all__ = ["Table", "is_frame", "refuse_text"]

_UNKNOWN = -1.0  # a value that no training row had


@told_briefly()
@dataclass(frozen=True, eq=False)
class Table:
    """What the nominal columns of a frame held in the training rows."""

    levels: dict[int, dict[Hashable, float]]  # for each such column, by its place, the number of each of its values

    @classmethod
    def of(cls, frame: Any) -> Table:
        """Learned from the training rows."""
        found: dict[int, dict[Hashable, float]] = {}
        for j, (name, column) in enumerate(_columns(frame)):
            if _is_nominal(name, column) or _is_category(frame, j):
                present = {value for value in column.tolist() if not _is_gap(value)}
                found[j] = {value: float(k) for k, value in enumerate(sorted(present, key=_order))}
        return cls(found)

    @property
    def nominal(self) -> tuple[int, ...]:
        """Which columns are."""
        return tuple(self.levels)

    def numbers(self, frame: Any) -> Array:
        """Rows as numbers, NaN where there is a gap."""
        columns = [self._numbers(j, name, column) for j, (name, column) in enumerate(_columns(frame))]
        return np.column_stack(columns) if columns else np.empty((len(frame), 0))

    def _numbers(self, j: int, name: Any, column: Any) -> Array:
        if j in self.levels:
            known = self.levels[j]
            return np.array([np.nan if _is_gap(value) else known.get(value, _UNKNOWN) for value in column.tolist()])
        try:
            if column.dtype == object:
                column = [np.nan if _is_gap(value) else value for value in column.tolist()]
            return np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"Column {name!r} held numbers in the training rows and holds something else now: "
                "bring it into the form it had."
            ) from None


def is_frame(X: Any) -> bool:
    """Whether inputs are a table with named columns (pandas, polars), held in memory."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and not hasattr(X, "__dask_graph__")


def refuse_text(X: Any) -> None:
    """Say which column of a frame holds text, where kernels take numbers alone."""
    for name, column in _columns(X):
        if _is_nominal(name, column) and not _is_boolean(column):
            raise ValueError(
                f"Column {name!r} holds text, and this kernel takes numbers: encode it, for example with "
                "OneHotEncoder, or use BayesPointClassifier with kernel='auto' or None, which takes tables as they are."
            )


def _columns(frame: Any) -> Iterator[tuple[Any, Any]]:
    """Names and values, as arrays of whatever type."""
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j] if hasattr(frame, "iloc") else frame.get_column(name)
        yield name, np.asarray(column.to_numpy())


def _is_category(frame: Any, j: int) -> bool:
    """Whether a column of pandas was declared to hold categories, though these may be numbers."""
    return hasattr(frame, "iloc") and hasattr(frame.iloc[:, j].dtype, "categories")


def _is_boolean(column: Any) -> bool:
    if column.dtype == bool:
        return True
    return column.dtype == object and all(isinstance(v, (bool, np.bool_)) or _is_gap(v) for v in column.tolist())


def _is_nominal(name: Any, column: Any) -> bool:
    """Whether a column holds names rather than numbers; dates are neither."""
    if column.dtype.kind in "mM":
        raise ValueError(
            f"Column {name!r} holds dates or durations: turn it into numbers, such as days since the first."
        )
    if column.dtype.kind in "iuf":
        return False
    values = [value for value in column.tolist() if not _is_gap(value)]
    if column.dtype.kind == "O" and values and all(_is_number(value) for value in values):
        return False
    for value in values:
        if not isinstance(value, Hashable):
            raise ValueError(f"Column {name!r} holds {type(value).__name__} objects: turn it into numbers or text.")
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


def _is_gap(value: Any) -> bool:
    """None, NaN, or the missing value of pandas."""
    if value is None:
        return True
    return (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")


def _order(value: Any) -> tuple[str, str]:
    return type(value).__name__, str(value)
