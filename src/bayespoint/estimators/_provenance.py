"""What training rows betray of their past: copies among them, and preprocessing that was fitted to them."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable
from math import gcd
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from .._core.objects import Objects
from .._core.typing import Array

__all__ = ["copied", "learned_from"]

_BY_CHANCE = 1e-3  # odds that are called chance
_LEVELS = 10_000  # of a column that may still be a grid
_NORMAL_END = -float(ndtri(1e-7))  # where scikit-learn's QuantileTransformer cuts a normal distribution off


def copied(X: Any, labels: Any) -> str | None:
    """Why rows of some class are copies of fewer, if they are.

    An honest sample repeats rows where features have few values, but as often as chance has it: given that a point of a
    discrete distribution was drawn at all, the number of times is a multiple of any given number above one with odds of
    a half at the most. So d distinct rows that all come in such multiples have odds of ``2**-d``.
    """
    found: dict[Any, Counter[int]] = {}
    for label, row in zip(np.asarray(labels).tolist(), _as_bytes(X), strict=True):
        found.setdefault(label, Counter())[hash(row)] += 1
    for label, counts in found.items():
        times = gcd(*counts.values())
        if times > 1 and 0.5 ** len(counts) < _BY_CHANCE:
            return (
                f"the {counts.total()} rows of class {label!r} are {len(counts)} rows, each there {times} times or a "
                "multiple of that"
            )
    return None


def _as_bytes(X: Any) -> Iterable[bytes]:
    """Rows as keys: equal if and only if their numbers are; objects, if they look the same inside."""
    if isinstance(X, Objects):
        return (pickle.dumps(one) for one in X)
    if sparse.issparse(X):
        rows = sparse.csr_array(X, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return (rows.indices[i:j].tobytes() + rows.data[i:j].tobytes() for i, j in ends)
    rows = np.asarray(X)
    if rows.dtype.kind not in "fiub":  # text among numbers
        return (repr(row.tolist()).encode() for row in rows)
    return ((row + 0.0).tobytes() for row in rows)  # minus zero is zero


def learned_from(X: Any) -> str | None:
    """The trace of preprocessing that was fitted to these rows: moments or ranges that no sample has by chance."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or X.ndim != 2 or len(X) < 3:
        return None
    X = X[:, np.isfinite(X).all(axis=0)]
    # flags and counts have simple moments and ranges by themselves
    broken = [column for column in X.T if len(np.unique(column)) > 2 and np.any(column != np.rint(column))]
    # and so have, but for their spread, halves, tenths, sixteenths: any grid about zero
    graded = [column for column in broken if not _is_on_a_grid(column)]
    if graded:
        columns = np.stack(graded, axis=1)
        mean, sd = np.abs(columns.mean(axis=0)), columns.std(axis=0)
        if np.any(mean < 1e-9 * sd) or np.all(mean < 1e-6 * sd):
            return "features have mean zero over the training rows"
    off = [abs(float(np.std(column)) - 1) for column in broken]
    if (off and max(off) < 1e-6) or any(abs(float(np.std(column)) - 1) < 1e-9 for column in graded):
        return "features have standard deviation one over the training rows"
    return _round_quantiles(columns) if graded else None


def _round_quantiles(columns: Array) -> str | None:
    low, high = columns.min(axis=0), columns.max(axis=0)
    for ends in ((low, high - 1), (low + 1, high - 1), (np.maximum(-low, high) - 1,)):
        if all(np.all(np.abs(end) < 1e-6) for end in ends):
            return "features span exactly the interval from 0 to 1, or from -1 to 1, over the training rows"
    if np.all(np.abs(low + _NORMAL_END) < 1e-6) and np.all(np.abs(high - _NORMAL_END) < 1e-6):
        return "features are normal quantiles of their ranks among the training rows"
    low, middle, high = np.quantile(columns, [0.25, 0.5, 0.75], axis=0)
    if np.all(np.abs(middle) < 1e-6) and np.all(np.abs(high - low - 1) < 1e-6):
        return "features have median zero and quartiles one apart over the training rows"
    return None


def _is_on_a_grid(column: Array) -> bool:
    """Whether values lie on even steps with zero on one of them or half-way: subtracting a mean moves them off it.

    Every step taken once and none left out is no sample, but ranks.
    """
    values = np.unique(column)
    if len(values) > _LEVELS:
        return False
    width = float(np.abs(values).max())
    rounding, step = 1e-6 * width, 0.0
    for gap in np.diff(values).tolist():
        step = _common_step(step, gap, rounding)
        if step < width / _LEVELS:
            return False
    steps, halves = float(np.ptp(values)) / step, 2 * float(values[0]) / step
    return round(steps) != len(column) - 1 and abs(halves - round(halves)) < 1e-3


def _common_step(a: float, b: float, rounding: float) -> float:
    """Largest number that both are multiples of (Euclid)."""
    while b > rounding:
        a, b = b, abs(a - b * round(a / b))
    return a
