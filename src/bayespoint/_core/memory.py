"""Square matrices are asked for before they are made: a sentence now is better than a killed process later."""

from __future__ import annotations

import os
from pathlib import Path

from ..exceptions import InvalidProblemError

__all__ = ["refuse_beyond_memory"]


def refuse_beyond_memory(n: int, matrices: int, advice: str) -> None:
    """Raise unless `matrices` of n by n doubles fit into what memory is free; `advice` ends the sentence."""
    needed, free = 8 * matrices * n * n, _free_bytes()
    if free is not None and needed > free:
        raise InvalidProblemError(
            f"{n:,} rows with each other take {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free: "
            f"{advice}."
        )


def _free_bytes() -> int | None:
    """Memory that can be had without swapping; all there is where nobody tells what is free; None if nobody tells."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
