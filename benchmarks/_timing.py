"""The shortest of several runs, in processor time: other work on the machine does not count."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def timed(run: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Processor seconds of the fastest of `repeats` runs, and what it returned."""
    best, result = float("inf"), None
    for _ in range(repeats):
        start = time.process_time()
        result = run()
        best = min(best, time.process_time() - start)
    return best, result
