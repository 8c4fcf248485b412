"""BLAS threads: none for small matrices, and what is small is measured once.

A thread pool that spins for work costs more than it saves on matrices of a few hundred rows, and on a busy machine it
is ruinous (seen: thirty times slower). The limit is process-wide, so it holds as long as anybody is inside: whoever
works on small matrices does so with one BLAS thread from beginning to end, and gets the same bits as alone.
threadpoolctl takes orders from one thread at a time, so one thread of ours gives them all.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import lapack
from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads", "blas_threads_for", "threads_pay_from", "workers"]

_SMALL, _LARGE = 250, 750  # rows of the matrices on which threads are tried
_HUGE = 3000  # from which threads are left as they are; below, one thread costs a factor, and threads in vain many
_TRIALS = 3
_GAIN = 1.5  # times as fast a decomposition must be for threads to pay: other work gains less from them
_RUINOUS = 20  # times as slow: a single trial says it all, and more of them would take long


@contextmanager
def blas_threads_for(rows: int, rank: int | None = None) -> Iterator[None]:
    """Work on matrices with that many rows, and columns if fewer: with a single BLAS thread if that is little.

    One thread it is for as long as anybody is inside who does little.
    """
    if rank is not None and rank < rows:
        rows = round((rows * rank**2) ** (1 / 3))  # a square matrix that is as much work
    if rows >= _HUGE or (rows >= _SMALL and rows >= _threads_pay_from()):
        yield
        return
    with _limit.lock:
        _limit.inside += 1
        if _limit.inside == 1:
            _limit.keeper.submit(_limit.hold).result()
    try:
        with _controller().limit(limits=1, user_api="blas"):  # for libraries in which each thread has its own limit
            yield
    finally:
        with _limit.lock:
            _limit.inside -= 1
            if _limit.inside == 0:
                _limit.keeper.submit(_limit.held.close).result()


def threads_pay_from(seconds: Callable[[int, bool], float]) -> int:
    """Rows from which BLAS threads pay, by the seconds of a decomposition of some rows, with one thread or with all."""

    def outcomes(rows: int) -> set[bool]:
        return {seconds(rows, True) > _GAIN * seconds(rows, False) for _ in range(_TRIALS)}

    if seconds(_SMALL, False) > _RUINOUS * seconds(_SMALL, True):  # the first, which starts the threads, too
        return _HUGE
    if outcomes(_LARGE) != {True}:
        return _HUGE
    return _SMALL if outcomes(_SMALL) == {True} else _LARGE


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


def _threads_pay_from() -> int:
    """As measured by whoever needs it first and has several threads; who has one is told the largest."""
    with _measuring:
        if not _measured:
            if blas_threads() == 1:
                return _HUGE
            _measured.append(threads_pay_from(_decomposition_seconds))
        return _measured[0]


def _decomposition_seconds(rows: int, alone: bool) -> float:
    """Of a Cholesky decomposition, which is what engines wait for."""
    matrix = np.full((rows, rows), 0.5, order="F")
    matrix.flat[:: rows + 1] = 1.0
    with blas_threads_for(0) if alone else nullcontext():
        start = time.perf_counter()
        lapack.dpotrf(matrix, lower=1, overwrite_a=1)
        return time.perf_counter() - start


class _Limit:
    """How many are inside, and the thread that gives the orders."""

    def __init__(self) -> None:
        self.lock, self.inside = threading.Lock(), 0
        self.keeper, self.held = ThreadPoolExecutor(1), ExitStack()

    def hold(self) -> None:
        self.held.enter_context(_controller().limit(limits=1, user_api="blas"))


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _renew() -> None:
    global _limit, _measuring
    _limit, _measuring = _Limit(), threading.Lock()  # threads do not survive a fork


_limit, _measuring = _Limit(), threading.Lock()
_measured: list[int] = []  # once in a process
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
