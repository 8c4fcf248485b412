"""BLAS threads: none for small matrices.

A thread pool that spins for work costs more than it saves on matrices of a few hundred rows, and on a busy machine it
is ruinous (seen: thirty times slower). The limit is process-wide, so it holds as long as anybody is inside: whoever
works on small matrices does so with one BLAS thread from beginning to end, and gets the same bits as alone.
threadpoolctl takes orders from one thread at a time, so one thread of ours gives them all.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads", "blas_threads_for", "workers"]

_SMALL = 500


@contextmanager
def blas_threads_for(rows: int) -> Iterator[None]:
    """Work on matrices with that many rows: with a single BLAS thread if they are few."""
    if rows >= _SMALL:
        yield
        return
    _limit.enter()
    try:
        with _controller().limit(limits=1, user_api="blas"):  # for libraries in which each thread has its own limit
            yield
    finally:
        _limit.leave()


def blas_threads() -> int:
    """How many threads the linear algebra library takes, which those who run many processes keep in bounds."""
    return max((library["num_threads"] for library in _controller().info() if library["user_api"] == "blas"), default=1)


@contextmanager
def workers(n_jobs: int | None = None) -> Iterator[Callable[..., Iterable[Any]]]:
    """A `map` over threads of our own, each with one BLAS thread; by default as many as BLAS would take."""
    threads = blas_threads() if n_jobs is None else effective_n_jobs(n_jobs)
    with blas_threads_for(0):
        if threads == 1:
            yield map
            return
        with ThreadPoolExecutor(threads) as pool:
            yield pool.map


class _Limit:
    """One BLAS thread for as long as anybody is inside."""

    def __init__(self) -> None:
        self.lock, self.inside = threading.Lock(), 0
        self.keeper, self.held = ThreadPoolExecutor(1), ExitStack()

    def enter(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.keeper.submit(self._hold).result()

    def _hold(self) -> None:
        self.held.enter_context(_controller().limit(limits=1, user_api="blas"))

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.keeper.submit(self.held.close).result()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _renew() -> None:
    global _limit
    _limit = _Limit()  # threads do not survive a fork


_limit = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
