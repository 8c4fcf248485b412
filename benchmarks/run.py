"""Run benchmarks one after the other and keep what they print for the page of results.

    python benchmarks/run.py [names ...]

All of them by default, one at a time, for most measure time. What each prints goes to
experiments/results/benchmarks/<name>.txt once it has ended well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from bayespoint import __version__

HERE = Path(__file__).resolve().parent
KEPT = HERE.parent / "experiments" / "results" / "benchmarks"
ALL = {
    "ep": ["ep.py"],
    "samplers": ["samplers.py"],
    "samplers_hinge": ["samplers.py", "--hinge", "2"],
    "billiard": ["billiard.py"],
    "choices": ["choices.py"],
    "evidence": ["evidence.py"],
    "svm": ["svm.py"],
    "margin": ["margin.py"],
    "mnist": ["mnist.py"],
    "low_rank": ["low_rank.py"],
    "defaults": ["defaults.py"],
    "fit": ["fit.py"],
    "predict": ["predict.py"],
    "streaming": ["streaming.py"],
    "active": ["active.py"],
    "label_errors": ["label_errors.py"],
    "weights": ["weights.py"],
    "walk": ["walk.py"],
    "wide": ["wide.py"],
    "moving": ["moving.py"],
}


def output_of(command: list[str]) -> str:
    """What a script prints, shown as it comes; raises `CalledProcessError` if it fails."""
    lines = []
    whole = [sys.executable, str(HERE / command[0]), *command[1:]]
    with subprocess.Popen(whole, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return "".join(lines)


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"No benchmark {unknown[0]!r}; there are {', '.join(ALL)}.", file=sys.stderr)
        return 2
    KEPT.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in names or ALL:
        head = f"bayespoint {__version__}, {os.cpu_count()} cores, {datetime.now(UTC).date().isoformat()}\n\n"
        try:
            text = head + output_of(ALL[name])
        except subprocess.CalledProcessError:
            failed.append(name)
        else:
            (KEPT / f"{name}.txt").write_text(text, encoding="utf-8")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
