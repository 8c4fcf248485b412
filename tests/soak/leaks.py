"""Does a turn leave anything behind? Cheap turns, hundreds of them, each with the same rows.

    python tests/soak/leaks.py [--minutes 4] [--keep file.json] [--leak 1000]

The long cycles move by tens of MB, as fresh rows and kernels take more or less; a leak of some kB a turn would not show
there. Here turns are alike. Memory of the process is read after each round, what Python and numpy hold (tracemalloc) in
rounds of their own. Said is the growth a turn, and the most that it can be at a level of .999. With `--leak` every turn
keeps that many bytes, which must be seen.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from cycles import Counted, Turn
from growth import BLOCKS, LEVEL, WARM_UP, Growth, growth
from records import Record, arguments
from scipy.stats import t as student

CHEAP = ("billiard", "slices", "gibbs", "classic", "perceptrons", "machine", "margin")
STEPS = ("fit", "predict", "sample", "save_and_load")
LEAST, MOST = 60, 400  # rounds
ALLOWED = 1000.0  # bytes a turn, of which nobody needs to know the reason


def turns(names: tuple[str, ...], folder: Path) -> None:
    for name in names:
        turn = Turn(name, 0, folder)
        for step in STEPS:
            getattr(turn, step)()


def watched(count: Callable[[], float], minutes: float, folder: Path, leak: int) -> np.ndarray:
    """Bytes after each round."""
    kept: list[np.ndarray] = []
    seen: list[float] = []
    end = time.monotonic() + 60 * minutes
    while len(seen) < LEAST or (time.monotonic() < end and len(seen) < MOST):
        turns(CHEAP, folder)
        kept += [np.ones(leak * len(CHEAP), dtype=np.uint8)] * bool(leak)
        gc.collect()
        seen.append(count())
    return np.array(seen)


def by_turn(values: np.ndarray) -> tuple[float, float, Growth]:
    """Bytes a turn, the most that they can be, and the growth of all."""
    found = growth(values, 0.0)
    count = len(CHEAP) * len(values) * (1 - WARM_UP)
    most = found.change + student.ppf(LEVEL, BLOCKS - 2) * found.error
    return found.change / count, most / count, found


def main() -> int:
    parser = arguments(__file__, minutes=4.0)
    parser.add_argument("--leak", type=int, default=0, help="bytes a turn that are lost on purpose")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    record = Record(
        "Memory of a turn", "seven classifiers fit, predict, sample, save and load, the same rows each time"
    )
    with tempfile.TemporaryDirectory() as name:
        counted = Counted(Path(name))

        def memory() -> float:
            counted.count()
            return counted.seen["memory"][-1] * 2**20

        def traced() -> float:
            return float(tracemalloc.get_traced_memory()[0])

        for what, count in (("of the process", memory), ("held by Python and numpy", traced)):
            if count is traced:
                tracemalloc.start()
            values = watched(count, given.minutes / 2, Path(name), given.leak)
            each, most, found = by_turn(values)
            record.times += len(CHEAP) * len(values)
            record.figures[f"bytes a turn, {what}"] = f"{each:.0f}, at most {most:.0f}; {len(values)} rounds"
            if found.grows and each > ALLOWED / 4:
                record.failed.append(f"memory {what} grew by {each:.0f} bytes a turn")
            record.keep(given.keep)
    print(record.figures, record.failed)
    return bool(record.failed)


if __name__ == "__main__":
    sys.exit(main())
