"""Batches of rows from what is larger than memory, for `partial_fit`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from .._core.extras import needed
from ..exceptions import InvalidProblemError

__all__ = ["array_batches", "parquet_batches"]


def array_batches(X: Any, y: Any, size: int = 10_000, *, rng: Any = None) -> Iterator[tuple[Any, Any]]:
    """Batches of an array and its labels, such as memory-mapped ones; only one batch is in memory at a time.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
        Anything with a shape that can be sliced by rows: `numpy.memmap`, HDF5 and zarr arrays, CSR matrices.
    y : array-like of shape (n,)
        Labels.
    size : int, default=10_000
        Rows of a batch.
    rng : int, Generator or None
        The batches come in this random order, each with its rows as they are stored; in the stored order by default.
        Rows that are sorted by label need more than that: shuffle them on disk.

    Yields
    ------
    tuple of ndarray
        Rows and labels.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.uses import array_batches
    >>> X = np.random.default_rng(0).standard_normal((1000, 2))
    >>> y = X[:, 0] > 0
    >>> model = BayesPointClassifier("linear")
    >>> for rows, labels in array_batches(X, y, 100):
    ...     model = model.partial_fit(rows, labels, classes=[False, True])
    >>> model.n_seen_
    1000
    """
    _check_size(size)
    n = X.shape[0]
    if len(y) != n:
        raise InvalidProblemError(f"X has {n} rows and y {len(y)} labels: there must be one for each row.")
    starts = np.arange(0, n, size)
    if rng is not None:
        starts = np.random.default_rng(rng).permutation(starts)
    for start in starts:
        rows = slice(int(start), int(min(start + size, n)))
        yield X[rows] if hasattr(X, "tocsr") else np.array(X[rows]), np.array(y[rows])


def parquet_batches(
    path: str | Path, target: str, size: int = 10_000, *, features: Sequence[str] | None = None
) -> Iterator[tuple[Any, Any]]:
    """Batches of a parquet file, read one at a time (needs ``bayespoint[parquet]``).

    Parameters
    ----------
    path : str or Path
        The file.
    target : str
        Column of the labels.
    size : int, default=10_000
        Rows of a batch.
    features : sequence of str, optional
        Columns of numbers to learn from; all but the target by default.

    Yields
    ------
    tuple of ndarray
        Rows, columns in the order of `features`, and labels.

    Examples
    --------
    ::

        for rows, labels in parquet_batches("clicks.parquet", target="clicked"):
            model.partial_fit(rows, labels, classes=[0, 1])

    >>> from bayespoint.uses import parquet_batches
    >>> next(parquet_batches("nowhere.parquet", target="clicked"))
    Traceback (most recent call last):
    FileNotFoundError: nowhere.parquet
    """
    _check_size(size)
    parquet = needed("pyarrow.parquet", "parquet", "Parquet files need pyarrow")
    with parquet.ParquetFile(path) as file:
        names = list(file.schema_arrow.names)
        wanted = [name for name in names if name != target] if features is None else list(features)
        missing = [name for name in [target, *wanted] if name not in names]
        if missing:
            raise InvalidProblemError(f"{path} has no column {missing[0]!r}; its columns are {', '.join(names)}.")
        for batch in file.iter_batches(batch_size=size, columns=[*wanted, target]):
            columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in wanted]
            try:
                rows = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])
            except ValueError as error:
                raise InvalidProblemError(
                    f"{path} has columns that are no numbers: name the features to use."
                ) from error
            yield rows, batch.column(target).to_numpy(zero_copy_only=False)


def _check_size(size: Any) -> None:
    if not isinstance(size, Integral) or size < 1:
        raise InvalidProblemError(f"size must be a whole number of at least 1, got {size!r}.")
