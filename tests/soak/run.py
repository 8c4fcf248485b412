"""Every soak script in turn, then the page made of their records.

    python tests/soak/run.py [--minutes 10] [--only cycles ...] [--keep folder]

A soak script is a file beside this one with a line `if __name__ == "__main__":`. It takes `--minutes` (its time budget)
and `--keep` (its JSON file), writes a `records.Record` there as often as it likes, and ends with status 1 if anything
failed:

    given = arguments(__file__).parse_args()
    record = Record("Samplers", "ten million events of every billiard")  # the heading on the page; what was tried
    ...; record.times += 1; record.failed.append("one sentence"); record.figures["largest residual"] = 1e-9
    record.keep(given.keep)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from records import KEPT

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "experiments" / "reliability.py"


def scripts() -> dict[str, Path]:
    """By name; helpers that are only imported are none."""
    found = sorted(path for path in HERE.glob("*.py") if path.stem != Path(__file__).stem)
    return {path.stem: path for path in found if '\nif __name__ == "__main__":' in path.read_text(encoding="utf-8")}


def soak(script: Path, minutes: float, folder: Path) -> bool:
    """Whether one of them found nothing."""
    begun = time.monotonic()
    command = [sys.executable, str(script), "--minutes", str(minutes), "--keep", str(folder / f"{script.stem}.json")]
    done = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False)
    print(f"{script.stem}: {'ok' if not done.returncode else 'FAILED'} in {time.monotonic() - begun:.0f} s", flush=True)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="time budget of each script")
    parser.add_argument("--only", nargs="+", choices=list(scripts()), default=list(scripts()))
    parser.add_argument("--keep", type=Path, default=KEPT, help="folder of the records")
    given = parser.parse_args()
    fine = [soak(scripts()[name], given.minutes, given.keep) for name in given.only]
    if given.keep == KEPT:
        subprocess.run([sys.executable, str(PAGE)], check=True)
    return not all(fine)


if __name__ == "__main__":
    sys.exit(main())
