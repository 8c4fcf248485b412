"""Labels of a classifier that has not seen all of them, and the label of rows that get none."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.typing import Array
from ...exceptions import InvalidProblemError

__all__ = ["all_classes", "common_type", "in_columns", "reject_label"]


def all_classes(known: Any, y: Any) -> Any:
    """Classes of the classifier, and those that only `y` has."""
    one, other = np.asarray(known).tolist()[0], np.asarray(y).tolist()[0]
    if isinstance(one, str) != isinstance(other, str):
        raise InvalidProblemError(
            f"The classifier knows labels such as {one!r} and y has {other!r}: give words or numbers to both."
        )
    return known if np.isin(y, known).all() else np.union1d(known, y)


def in_columns(values: Array, known: Any, classes: Any, absent: float) -> Array:
    """Values of the classes that the classifier knows in the columns of all, and `absent` in those of the others.

    As scikit-learn's cross-validation does it with a class that a training part lacks.
    """
    if len(known) == len(classes):
        return values
    if values.ndim == 1:  # two classes share one score
        values = np.column_stack([-values, values])
    if values.shape[1] != len(known):
        raise InvalidProblemError(
            f"{values.shape[1]} scores for the {len(known)} classes that the classifier knows do not fit into columns "
            f"of all {len(classes)} classes: ask estimator_ for them."
        )
    columns = np.full((len(values), len(classes)), absent, dtype=values.dtype)
    columns[:, np.searchsorted(classes, known)] = values
    return columns


def reject_label(label: Any, classes: Any) -> Any:
    """By default -1 among numbers and 'rejected' among words; never one of the classes."""
    if label is None:
        label = -1 if np.asarray(classes).dtype.kind in "biuf" else "rejected"
    if any(label == known for known in np.asarray(classes).tolist()):
        raise InvalidProblemError(f"The label {label!r} of rejected rows is one of the classes: set reject_label.")
    return label


def common_type(dtype: Any, label: Any) -> Any:
    """A type that holds both the classes and the label of rejected rows."""
    other = np.min_scalar_type(label)
    if (dtype.kind in "US") != (other.kind in "US"):
        return np.dtype(object)
    return np.result_type(dtype, other)
