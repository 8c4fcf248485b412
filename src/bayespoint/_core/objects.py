"""Inputs that are no vectors: strings, sequences, graphs, whatever a kernel takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["Objects", "are_objects"]


class Objects(list[Any]):
    """A list of inputs that can be asked for as the rows of an array are: some by their numbers, and its shape.

    Kernels get it, and may take it for the list that it is.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint._core.objects import Objects
    >>> some = Objects(["a", "ab", "b"])
    >>> some[np.array([2, 0])], some.shape
    (['b', 'a'], (3, 0))
    """

    @property
    def shape(self) -> tuple[int, int]:
        """As many rows as there are objects, and no columns."""
        return len(self), 0

    def __getitem__(self, key: Any) -> Any:
        """One object by a number; several by a slice, numbers or truth values."""
        if isinstance(key, slice):
            return Objects(super().__getitem__(key))
        if np.ndim(key) == 0:
            return super().__getitem__(int(key))
        which = np.asarray(key)
        rows: Iterable[int] = (np.flatnonzero(which) if which.dtype == bool else which).tolist()
        return Objects(super(Objects, self).__getitem__(int(row)) for row in rows)


def are_objects(X: Any) -> bool:
    """Whether inputs are a sequence of something else than rows of numbers.

    Text, a one-dimensional array of objects, rows of different lengths, arrays that are rows themselves: anything in a
    sequence that does not make a matrix.

    Examples
    --------
    >>> from bayespoint._core.objects import are_objects
    >>> are_objects(["a", "b"]), are_objects([[1, 2], [3]]), are_objects([[1, 2], [3, 4]])
    (True, True, False)
    """
    if isinstance(X, Objects):
        return True
    if isinstance(X, (list, tuple)):
        return bool(X) and not _is_matrix(X)
    if isinstance(X, np.ndarray):
        return X.ndim > 2 or (X.dtype.kind in "OUST" and X.ndim > 0 and (X.ndim == 1 or not _is_matrix(X)))
    return getattr(X, "ndim", None) == 1 and hasattr(X, "dtype") and not np.issubdtype(np.asarray(X).dtype, np.number)


def _is_matrix(X: Any) -> bool:
    """Whether rows are of numbers and alike; a list of numbers is one that went wrong."""
    try:
        return np.asarray(X, dtype=np.float64).ndim < 3 and not isinstance(X[0], (str, bytes))
    except (TypeError, ValueError):
        return False
