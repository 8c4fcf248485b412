"""Tasks at the same time, wherever joblib has been told to run them: threads, processes, the workers of a cluster."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from joblib import Parallel, delayed

from .telling import heard_by, tell

__all__ = ["in_parallel"]

_IMPORTED = uuid.uuid4().hex


def in_parallel(tasks: Iterable[Any], n_jobs: int | None) -> list[Any]:
    """Results of tasks made by `joblib.delayed`, in threads unless `joblib.parallel_config` says otherwise.

    A task must return all it has to say, for it may run where no memory is shared. What it told in another thread or
    process is told again here.
    """
    here = _this_thread()
    done = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(_listen)(here, *task) for task in tasks)
    for _, told in done:
        for message in told:
            tell(message, stacklevel=4)
    return [result for result, _ in done]


def _this_thread() -> tuple[str, int, int]:
    return _IMPORTED, os.getpid(), threading.get_ident()


def _listen(
    caller: tuple[str, int, int], function: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[Any, list[str]]:
    """The result of a task, and what it told if its thread is not that of the caller."""
    told: list[str] = []
    if _this_thread() == caller:
        return function(*args, **kwargs), told
    with heard_by(told.append):
        return function(*args, **kwargs), told
