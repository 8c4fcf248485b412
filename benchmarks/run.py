"""Run benchmarks one after the other and keep what they print for the page of results.

    python benchmarks/run.py [names ...] [--missing]

All of them by default, one at a time, for most measure time: about 45 minutes of one core. What each prints goes to
experiments/results/benchmarks/<name>.txt once it has ended well, below the machine, its BLAS and threads, all versions,
and a fingerprint of the script. With --missing those are left out whose output is of this version and of this very
script, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # for all that is compared, and before numpy asks

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
    "ep_haswell": ["ep.py", "--sizes", "1000", "--as", "Haswell"],  # for ratios that depend on the processor
    "ep_prescott": ["ep.py", "--sizes", "1000", "--repeats", "1", "--as", "Prescott"],
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
    "walk": ["walk.py", "--short"],
    "wide": ["wide.py"],
    "moving": ["moving.py"],
}


def fingerprint(name: str) -> str:
    """Of what is run: the command, its script, and the files beside it that it imports."""
    seen: dict[str, str] = {}
    waiting = [Path(ALL[name][0]).stem]
    while waiting:
        stem = waiting.pop()
        path = HERE / f"{stem}.py"
        if stem not in seen and path.is_file():
            seen[stem] = path.read_text(encoding="utf-8")
            waiting += re.findall(r"^(?:from|import) (\w+)", seen[stem], re.MULTILINE)
    return hashlib.sha256("\n".join([*ALL[name], *(seen[stem] for stem in sorted(seen))]).encode()).hexdigest()[:12]


def first_line(name: str) -> str:
    """What an output has to begin with to be of this version and of this script."""
    return f"bayespoint {__version__}, script {fingerprint(name)}, "


def is_kept(name: str) -> bool:
    """Whether there is an output of this version and of this script."""
    path = KEPT / f"{name}.txt"
    return path.is_file() and path.read_text(encoding="utf-8").startswith(first_line(name))


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
        f"{datetime.now(UTC).date().isoformat()}\n"
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


def keep(name: str) -> bool:
    """Run one, and keep what it prints and how long it took; whether it ended well."""
    head, before = first_line(name) + conditions() + "\n\n", _core_seconds()
    print(f"== {name}", flush=True)
    try:
        text = output_of(ALL[name])
    except subprocess.CalledProcessError:
        return False
    took = f"\n({_core_seconds() - before:.0f} s of a core in all)\n"
    print(took, flush=True)
    (KEPT / f"{name}.txt").write_text(head + text + took, encoding="utf-8")
    return True


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="all by default")
    parser.add_argument("--missing", action="store_true", help="only those without an output of this very script")
    options = parser.parse_args(argv)
    unknown = [name for name in options.names if name not in ALL]
    if unknown:
        print(f"No benchmark {unknown[0]!r}; there are {', '.join(ALL)}.", file=sys.stderr)
        return 2
    KEPT.mkdir(parents=True, exist_ok=True)
    chosen = [name for name in options.names or ALL if not (options.missing and is_kept(name))]
    failed = [name for name in chosen if not keep(name)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
