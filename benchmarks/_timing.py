"""The shortest of several runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def timed(run: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Seconds of the fastest of `repeats` runs, and what it returned."""
    best, result = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        best = min(best, time.perf_counter() - start)
    return best, result
