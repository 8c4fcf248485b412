"""BLAS threads: none for small matrices.

A thread pool that spins for work costs more than it saves on matrices of a few hundred rows, and on a busy machine it
is ruinous (seen: thirty times slower). The limit is process-wide and must be lifted by the thread that set it, so the
first to enter owns it; whoever comes later works under the limit, or without it once the owner has left.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads_for"]

_SMALL = 500
_owned = threading.Lock()


@contextmanager
def blas_threads_for(rows: int) -> Iterator[None]:
    """Work on matrices with that many rows: with a single BLAS thread if they are few."""
    if rows >= _SMALL or not _owned.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _owned.release()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
