"""How fast this process works right now, measured: forecasts in seconds rest on it."""

from __future__ import annotations

from functools import lru_cache
from time import perf_counter

import numpy as np
from scipy.linalg import lapack

from .threads import blas_threads_for

__all__ = ["factorisation_speed"]

_SMALLEST, _LARGEST = 64, 512  # rows of the matrix that is factored: milliseconds
_TRIES = 8  # the fastest counts: others were disturbed


def factorisation_speed(rows: int) -> float:
    """Operations a second of a Cholesky decomposition of a matrix with about so many rows; measured once."""
    size = int(np.clip(2 ** round(np.log2(max(rows, 1))), _SMALLEST, _LARGEST))
    return _measured(size)


@lru_cache
def _measured(size: int) -> float:
    matrix = np.asfortranarray(np.full((size, size), 0.5) + 0.5 * np.eye(size))
    seconds = np.inf
    with blas_threads_for(size):
        for _ in range(_TRIES):
            start = perf_counter()
            lapack.dpotrf(matrix, lower=1)
            seconds = min(seconds, perf_counter() - start)
    return size**3 / 3 / max(seconds, 1e-9)
