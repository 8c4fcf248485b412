"""Run benchmarks one after the other and keep what they print for the page of results.

    python benchmarks/run.py [names ...]

All of them by default, one at a time, for most measure time. What each prints goes to
experiments/results/benchmarks/<name>.txt once it has ended well.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info

from bayespoint import __version__

HERE = Path(__file__).resolve().parent
KEPT = HERE.parent / "experiments" / "results" / "benchmarks"
PEERS = [
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "catboost",
    "botorch",
    "hopsy",
    "tmg-hmc",
    "scikit-activeml",
    "cleanlab",
    "cvxpy",
]
ALL = {
    "ep": ["ep.py"],
    "samplers": ["samplers.py"],
    "samplers_hinge": ["samplers.py", "--hinge", "2"],
    "billiard": ["billiard.py"],
    "choices": ["choices.py"],
    "classes": ["classes.py"],
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


def conditions() -> str:
    """The machine and the versions that figures hold for."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    processor = next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
    pools = [one for one in threadpool_info() if one["user_api"] == "blas"]
    said = {
        f"{one['internal_api']} {one['version']} ({one.get('architecture')}), {one['num_threads']} threads"
        for one in pools
    }
    blas = "; ".join(sorted(said))
    named = [f"{name} {version(name)}" for name in PEERS if is_installed(name)]
    return (
        f"bayespoint {__version__}, {datetime.now(UTC).date().isoformat()}\n"
        f"{processor}, {os.cpu_count()} cores; {blas}\n"
        f"Python {platform.python_version()}, {', '.join(named)}"
    )


def is_installed(name: str) -> bool:
    """Whether a package is there."""
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


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


def _core_seconds() -> float:
    """Processor time of all scripts so far."""
    return sum(os.times()[2:4])


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"No benchmark {unknown[0]!r}; there are {', '.join(ALL)}.", file=sys.stderr)
        return 2
    KEPT.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in names or ALL:
        head, before = conditions() + "\n\n", _core_seconds()
        print(f"== {name}", flush=True)
        try:
            text = head + output_of(ALL[name])
        except subprocess.CalledProcessError:
            failed.append(name)
        else:
            (KEPT / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"({_core_seconds() - before:.0f} s of a core)", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
