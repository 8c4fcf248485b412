"""Tables from files, for those who have no data frames: CSV by the standard library, parquet by pyarrow.

A `Frame` has named columns of numbers (gaps are NaN) or text (gaps are None), and is what `BayesPointClassifier` takes
as a table.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._core.typing import Array
from ..exceptions import InvalidProblemError

__all__ = ["Column", "Frame", "inputs_for", "labels_for", "labels_of", "read_table", "warn_of_names"]

GAPS = frozenset(["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "<NA>", "?"])  # texts that mean nothing
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}( \d{1,2}:\d{2}.*)?"
)
_DELIMITERS = ",;\t|"
_SAMPLE = 65536  # characters that a delimiter is told by
_FEW, _MANY = 20, 50  # classes from which a column looks like a measurement: numbers with a fraction, others
_ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".pq")


class Column(NamedTuple):
    """The name of a column and its type, "number" or "nominal"."""

    name: str
    type: str


class _Values:
    """A column as `Frame.get_column` has it."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def to_numpy(self) -> Any:
        return self.values


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns by name, each an array of texts (None where there is a gap) or of numbers."""

    data: Mapping[str, Any]
    path: str = "the table"

    @property
    def columns(self) -> list[str]:
        """Names."""
        return list(self.data)

    @property
    def dtypes(self) -> list[Any]:
        """Of the columns."""
        return [values.dtype for values in self.data.values()]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.data)

    def __len__(self) -> int:
        return len(next(iter(self.data.values()), ()))

    def get_column(self, name: str) -> Any:
        """One column."""
        return _Values(self.data[name])

    def __getitem__(self, rows: Any) -> Frame:
        """Some of the rows."""
        return Frame({name: values[rows] for name, values in self.data.items()}, self.path)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        stacked = np.column_stack(list(self.data.values()))
        return stacked if dtype is None else stacked.astype(dtype)

    def numbers(self) -> Array:
        """All columns as numbers; one that holds text is named."""
        for name, values in self.data.items():
            if values.dtype == object:
                raise InvalidProblemError(
                    f"Column {name!r} holds text, and this model takes numbers: use the default estimator, which takes "
                    "tables as they are, or drop the column."
                )
        return np.asarray(self, dtype=np.float64)

    @property
    def types(self) -> list[Column]:
        """Names and types of the columns."""
        kinds = ["nominal" if values.dtype == object else "number" for values in self.data.values()]
        return [Column(name, kind) for name, kind in zip(self.data, kinds, strict=True)]

    @property
    def gaps(self) -> int:
        """Cells without a value."""
        return sum(int(np.sum(_is_gap(values))) for values in self.data.values())

    def without(self, names: Sequence[str]) -> Frame:
        """Less some columns."""
        for name in names:
            self.need(name)
        return Frame({name: values for name, values in self.data.items() if name not in names}, self.path)

    def need(self, name: str) -> Any:
        """The values of a column that must be there."""
        if name not in self.data:
            listed = ", ".join(map(repr, self.columns[:12])) + (", ..." if len(self.columns) > 12 else "")
            raise InvalidProblemError(f"{self.path} has no column {name!r}; it has {listed}.")
        return self.data[name]

    def row(self, i: int) -> dict[str, Any]:
        """One row as plain values, None for a gap."""
        return {
            name: None if _is_gap(values[i : i + 1])[0] else values[i : i + 1].tolist()[0]
            for name, values in self.data.items()
        }

    def typed(self) -> Frame:
        """Columns of texts that all are numbers become numbers; dates are refused by name."""
        return Frame({name: _typed(name, values) for name, values in self.data.items()}, self.path)

    def like(self, columns: Sequence[Column]) -> Frame:
        """The columns that a model was fitted with, in its order and types."""
        found: dict[str, Any] = {}
        for name, kind in columns:
            values = self.need(name)
            found[name] = _texts(values) if kind == "nominal" else _numbers(self.path, name, values)
        return Frame(found, self.path)


def _is_gap(values: Any) -> Any:
    if values.dtype == object:
        return np.array([value is None for value in values], dtype=bool)
    return np.isnan(values)


def _typed(name: str, values: Any) -> Any:
    if values.dtype != object:
        return values
    present = [value for value in values if value is not None]
    if present and all(_DATE.fullmatch(value) for value in present):
        raise InvalidProblemError(
            f"Column {name!r} holds dates, such as {present[0]!r}: turn it into numbers, such as days since the first, "
            "or leave it out (--drop)."
        )
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except ValueError:
        return values


def _texts(values: Any) -> Any:
    """Names as text, whole numbers without a point."""
    if values.dtype == object:
        return values
    texts = [
        None if np.isnan(value) else f"{value:.0f}" if value == int(value) else f"{value}" for value in values.tolist()
    ]
    return np.array(texts, dtype=object)


def _numbers(path: str, name: str, values: Any) -> Array:
    if values.dtype != object:
        return np.asarray(values, dtype=np.float64)
    numbers = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        try:
            numbers[i] = np.nan if value is None else float(value)
        except ValueError:
            raise InvalidProblemError(
                f"Column {name!r} held numbers when the model was fitted, and row {i + 1} of {path} has {value!r}: "
                "bring it into the form it had, or leave the field empty."
            ) from None
    return numbers


# -- files -----------------------------------------------------------------------------------------------------------


def read_table(path: str | Path) -> Frame:
    """A file as a frame of texts and numbers: CSV (comma, semicolon, tab or bar; UTF-8; one header line) or parquet."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a directory: name a CSV or parquet file.")
    if path.suffix.lower() not in _ENDINGS:
        raise InvalidProblemError(
            f"{str(path)!r} is neither CSV nor parquet by its ending: one of {', '.join(_ENDINGS)}."
        )
    frame = _parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _csv(path)
    if not len(frame):
        raise InvalidProblemError(f"{str(path)!r} has a header and no rows.")
    return frame


def _csv(path: Path) -> Frame:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            start = file.read(_SAMPLE)
            if not start.strip():
                raise InvalidProblemError(f"{str(path)!r} is empty: a table needs a line of names and rows.")
            file.seek(0)
            lines = csv.reader(file, delimiter=_delimiter(start), strict=True)
            names = [name.strip() for name in next(lines)]
            rows = [_checked_row(path, lines.line_num, row, names) for row in lines if row]
    except UnicodeDecodeError:
        raise InvalidProblemError(f"{str(path)!r} is not text in UTF-8: save it as CSV in UTF-8.") from None
    except csv.Error as error:
        raise InvalidProblemError(f"{str(path)!r} is no CSV: {error}.") from None
    _check_names(path, names)
    values = np.empty((len(rows), len(names)), dtype=object)
    for i, row in enumerate(rows):
        values[i] = [None if field.strip() in GAPS else field.strip() for field in row]
    return Frame({name: values[:, j] for j, name in enumerate(names)}, str(path))


def _delimiter(start: str) -> str:
    """The one that the first line has most of."""
    header = start.splitlines()[0]
    return max(_DELIMITERS, key=header.count)


def _checked_row(path: Path, line: int, row: list[str], names: list[str]) -> list[str]:
    if len(row) != len(names):
        raise InvalidProblemError(
            f"Line {line} of {str(path)!r} has {len(row)} fields and the header {len(names)}: mend that line."
        )
    return row


def _check_names(path: Path, names: list[str]) -> None:
    if not all(names):
        raise InvalidProblemError(f"Column {names.index('') + 1} of {str(path)!r} has no name: give it one.")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InvalidProblemError(f"{str(path)!r} has two columns {min(twice)!r}: give them different names.")


def _parquet(path: Path) -> Frame:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
        import pyarrow.types as kinds
    except ImportError:
        raise InvalidProblemError(
            "Parquet files need pyarrow: pip install 'bayespoint[parquet]', or save the table as CSV."
        ) from None
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError):
        raise InvalidProblemError(f"{str(path)!r} is no parquet file, or only a part of one.") from None
    found: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type.value_type if kinds.is_dictionary(column.type) else column.type
        values = column.to_pylist()
        if kinds.is_temporal(kind):
            raise InvalidProblemError(
                f"Column {name!r} holds dates or times: turn it into numbers, such as days since the first, or leave "
                "it out (--drop)."
            )
        if (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind)) and kind is column.type:
            found[name] = np.array([np.nan if value is None else float(value) for value in values])
        elif kinds.is_nested(kind) or kinds.is_binary(kind):
            raise InvalidProblemError(f"Column {name!r} holds {kind}: turn it into numbers or text, or leave it out.")
        else:
            found[name] = np.array([None if value is None else str(value) for value in values], dtype=object)
    return Frame(found, str(path))


# -- labels and models -----------------------------------------------------------------------------------------------


def labels_of(frame: Frame, target: str) -> tuple[Frame, Any]:
    """Rows with a label, without that column, and the labels as text."""
    labels = _texts(frame.need(target))
    known = np.array([label is not None for label in labels], dtype=bool)
    if not known.any():
        raise InvalidProblemError(f"Column {target!r} of {frame.path} is empty: there is no label to learn from.")
    rest = frame.without([target])[known]
    if not rest.columns:
        raise InvalidProblemError(f"{frame.path} has no column but the target {target!r}: there is nothing to tell by.")
    if not known.all():
        warnings.warn(f"{int(np.sum(~known))} of {len(known)} rows have no label and are left out.", stacklevel=2)
    classes = sorted(set(labels[known]))
    if len(classes) < 2:
        raise InvalidProblemError(f"Column {target!r} has the single label {classes[0]!r}: a classifier needs two.")
    if len(classes) > (_FEW if _is_measured(classes) else max(_MANY, len(labels) / 2)):
        raise InvalidProblemError(
            f"The target {target!r} has {len(classes)} different values in {int(known.sum())} rows: bayespoint "
            "predicts classes, not measurements."
        )
    return rest, labels[known].astype(str)


def _is_measured(classes: list[str]) -> bool:
    """Whether labels are numbers with a fraction."""
    try:
        return any(float(label) % 1 != 0 for label in classes)
    except ValueError:
        return False


def warn_of_names(frame: Frame) -> None:
    """A text that no two rows share tells them apart and says nothing of new rows."""
    for name, values in frame.data.items():
        if values.dtype == object and len(frame) > 20 and len({value for value in values}) == len(frame):
            warnings.warn(
                f"Column {name!r} has another text in every row, as names and numbers of cases do: leave it out "
                f"(--drop {name}) unless it says something of new rows.",
                stacklevel=2,
            )


def inputs_for(model: Any, frame: Frame, columns: Sequence[Column]) -> Any:
    """The rows of a frame as a fitted model takes them."""
    check_is_fitted(model)
    if not columns:
        raise InvalidProblemError(
            "This model does not tell the names of its columns: save it with notes, or use Python."
        )
    rows = frame.like(columns)
    if isinstance(model, Pipeline) and hasattr(model, "feature_names_in_"):
        return _for_pandas(rows)
    table = getattr(getattr(model, "fitted_", None), "table", None)
    if table is None:
        return rows.numbers()
    data = dict(rows.data)
    for j, known in table.levels.items():  # names may have been numbers or truth values in the model's training rows
        by_text = {str(level): level for level in known}
        name = columns[j].name
        data[name] = np.array([by_text.get(value, value) for value in data[name]], dtype=object)
    return Frame(data, rows.path)


def _for_pandas(frame: Frame) -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise InvalidProblemError(
            "The first step of this pipeline takes columns by name: pip install 'bayespoint[table]' for it."
        ) from None
    return pd.DataFrame(dict(frame.data))


def labels_for(model: Any, frame: Frame, target: str) -> tuple[Any, Any]:
    """Which rows have a label, and these labels as the model has them; one that it does not know is named."""
    texts = _texts(frame.need(target))
    known = np.array([label is not None for label in texts], dtype=bool)
    by_text = {text: label for label in model.classes_.tolist() for text in (str(label), _number_text(label))}
    strange = next((text for text in texts[known] if text not in by_text), None)
    if strange is not None:
        listed = ", ".join(map(str, model.classes_[:12]))
        raise InvalidProblemError(
            f"Column {target!r} of {frame.path} has the label {strange!r}, and the model knows {listed}."
        )
    if not known.any():
        raise InvalidProblemError(f"Column {target!r} of {frame.path} is empty: there is nothing to compare with.")
    return known, np.array([by_text[text] for text in texts[known]], dtype=model.classes_.dtype)


def _number_text(label: Any) -> str:
    return f"{label:.0f}" if isinstance(label, float) and label == int(label) else str(label)
