"""Tasks at the same time, wherever joblib has been told to run them: threads, processes, the workers of a cluster."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from joblib import Parallel, delayed

from ..exceptions import InferenceWarning

__all__ = ["in_parallel"]

_IMPORTED = uuid.uuid4().hex


def in_parallel(tasks: Iterable[Any], n_jobs: int | None) -> list[Any]:
    """Results of tasks made by `joblib.delayed`, in threads unless `joblib.parallel_config` says otherwise.

    A task must return all it has to say, for it may run where no memory is shared. What it warned of in another process
    is repeated here.
    """
    here = _this_process()
    done = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(_listen)(here, *task) for task in tasks)
    for _, told in done:
        for message in told:
            warnings.warn(message, InferenceWarning, stacklevel=4)
    return [result for result, _ in done]


def _this_process() -> tuple[str, int]:
    return _IMPORTED, os.getpid()


def _listen(caller: tuple[str, int], function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, list[str]]:
    """The result of a task, and its warnings if its process is not that of the caller."""
    if _this_process() == caller:
        return function(*args, **kwargs), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InferenceWarning)
        result = function(*args, **kwargs)
    return result, [str(one.message) for one in caught if issubclass(one.category, InferenceWarning)]
