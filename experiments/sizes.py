"""How large an experiment is to be, and how many processes it may use."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from joblib import Parallel, delayed

Value = TypeVar("Value")
EVERY = 10.0  # seconds between lines of progress


@dataclass(frozen=True)
class Size:
    """Full as the papers have it, or quick: the same code on as little as shows that it runs."""

    quick: bool = False
    jobs: int = 1
    name: str = ""

    def pick(self, full: Value, quick: Value) -> Value:
        """The value for this size."""
        return quick if self.quick else full

    def map(self, function: Callable[..., Value], tasks: Iterable[tuple[Any, ...]]) -> list[Value]:
        """``function(*task)`` for all tasks, in parallel and in order, with a line of progress now and then."""
        tasks, found, last = list(tasks), [], time.monotonic()
        pool = Parallel(n_jobs=self.jobs, return_as="generator")
        for value in pool(delayed(function)(*task) for task in tasks):
            found.append(value)
            if time.monotonic() - last > EVERY:
                print(f"    {self.name}: {len(found)} of {len(tasks)}", file=sys.stderr, flush=True)
                last = time.monotonic()
        return found
