"""BLAS threads: none for small matrices.

A thread pool that spins for work costs more than it saves on matrices of a few hundred rows, and on a busy machine it
is ruinous (seen: thirty times slower). The limit is process-wide, so entries are counted and the last to leave
restores it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads_for"]

_SMALL = 500
_lock = threading.Lock()
_inside = 0
_limit: Any = None


@contextmanager
def blas_threads_for(rows: int) -> Iterator[None]:
    """Work on matrices with that many rows: with a single BLAS thread if they are few."""
    if rows >= _SMALL:
        yield
        return
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
            _limit.__enter__()
        _inside += 1


def _leave() -> None:
    global _inside, _limit
    with _lock:
        _inside -= 1
        if _inside == 0:
            _limit.__exit__(None, None, None)
            _limit = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
