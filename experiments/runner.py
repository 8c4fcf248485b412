"""Run experiments: one, some, or all that have no results yet.

    python experiments/runner.py [names ...] [--list] [--quick] [--again] [--jobs 2] [--results directory]

A name is folder/file, for example herbrich2001/table1; a folder stands for all in it. Several run side by side, each in
a process of its own; what is done is kept, so that a run that was stopped goes on where it was. `bayespoint reproduce`
is the same.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib.externals.loky import get_reusable_executor

from catalogue import HERE, Experiment, UnknownExperimentError, select
from datasets import DataNotFoundError
from findings import Findings, entries
from page import write_page
from sizes import Size

RESULTS = HERE / "results"
DONE, FAILED, NO_DATA, STOPPED = 0, 1, 3, 130
WORDS = {DONE: "done", NO_DATA: "skipped, no data"}


def results_directory(quick: bool, given: str | None = None) -> Path:
    """Where results go: quick ones apart, so that they never stand in for full ones."""
    home = Path(given) if given else RESULTS
    return home / "quick" if quick else home


def core_seconds() -> float:
    """Processor time of this process and of its workers, which end here: a busy machine does not change it much."""
    get_reusable_executor().shutdown(wait=True)
    return sum(os.times()[:4])


def record_of(
    experiment: Experiment, findings: Findings, size: Size, seconds: float, core_seconds: float
) -> dict[str, Any]:
    """All that the JSON file says."""
    packages = ("bayespoint", "numpy", "scipy", "scikit-learn", "numba")
    return {
        "name": experiment.name,
        "title": experiment.title,
        "size": "quick" if size.quick else "full",
        "figures": entries(findings.figures),
        "conditions": findings.conditions,
        "seed": findings.seed,
        "details": findings.details,
        "seconds": round(seconds, 1),
        "core_seconds": round(core_seconds, 1),
        "processes": size.jobs,
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
        "fingerprint": experiment.fingerprint,
    }


def plain(value: Any) -> Any:
    """Numpy's numbers and arrays, as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def as_json(record: dict[str, Any]) -> str:
    """One line for each key and for each figure, so that a change can be read; refuses what is not a number."""

    def line(value: Any) -> str:
        return json.dumps(value, default=plain, allow_nan=False)

    lines = []
    for key, value in record.items():
        rows = ",\n  ".join(line(row) for row in value) if key == "figures" else ""
        lines.append(f" {line(key)}: " + (f"[\n  {rows}\n ]" if rows else line(value)))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write(path: Path, content: bytes) -> None:
    """All of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(path)


def picture_of(figure: Any) -> bytes:
    """A small PNG: a palette is enough for lines and dots."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, dpi=85, bbox_inches="tight", format="png")
    palette = Image.open(drawn).convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE)
    palette.save(small, format="png", optimize=True)
    return small.getvalue()


def run_here(experiment: Experiment, size: Size, directory: Path) -> dict[str, Any]:
    """Run one in this process and keep what it found; the picture first, so that a JSON file means both are there."""
    import matplotlib as mpl

    mpl.use("Agg")
    start, worked = time.perf_counter(), core_seconds()
    findings = importlib.import_module(experiment.name.replace("/", ".")).run(size)
    record = record_of(experiment, findings, size, time.perf_counter() - start, core_seconds() - worked)
    content = as_json(record)
    for suffix, figure in {"": findings.picture, **{f"_{name}": one for name, one in findings.extra.items()}}.items():
        write(directory / f"{experiment.stem}{suffix}.png", picture_of(figure))
    write(directory / f"{experiment.stem}.json", content.encode())
    return record


def is_done(experiment: Experiment, directory: Path) -> bool:
    """Are there results of this very text and version?"""
    try:
        record = json.loads((directory / f"{experiment.stem}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    fresh = record.get("fingerprint") == experiment.fingerprint
    return fresh and record.get("versions", {}).get("bayespoint") == version("bayespoint")


def show(record: dict[str, Any]) -> str:
    """Figures beside the paper's, a line each."""
    lines = []
    for row in record["figures"]:
        if row["kind"] == "number":
            ours = f"{row['ours']:.4g}" + (f" ({row['se']:.2g})" if row["se"] else "")
            paper = "-" if row["paper"] is None else f"{row['paper']:g}"
        else:
            ours, paper = row["ours"], row["paper"]
        lines.append(f"  {row['what']}: {ours} | paper: {paper} | {row['verdict']}")
    return "\n".join(lines)


def run_one(experiment: Experiment, size: Size, directory: Path) -> int:
    """Run one here, say what was found, and hand back an exit status."""
    try:
        record = run_here(experiment, size, directory)
    except DataNotFoundError as error:
        print(f"{experiment.name}: {error}", file=sys.stderr)
        return NO_DATA
    except KeyboardInterrupt:
        return STOPPED
    print(f"{experiment.name}: {experiment.title}\n{show(record)}", flush=True)
    return DONE


def start(experiment: Experiment, options: argparse.Namespace, jobs: int) -> subprocess.Popen[str]:
    """The same in a process of its own, with one thread a process for linear algebra."""
    command = [sys.executable, str(HERE / "runner.py"), experiment.name, "--here", "--jobs", str(jobs)]
    command += ["--quick"] if options.quick else []
    command += ["--results", options.results] if options.results else []
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    return subprocess.Popen(command, env=os.environ | threads, text=True)


def run_side_by_side(todo: Sequence[Experiment], options: argparse.Namespace) -> dict[str, int]:
    """Long ones first, `jobs` at a time; a failure stops nothing but is in the statuses handed back."""
    waiting = sorted(todo, key=lambda one: -one.minutes)
    at_once = min(options.jobs, len(waiting))
    jobs_each = max(1, options.jobs // max(at_once, 1))
    running: dict[str, tuple[subprocess.Popen[str], float]] = {}
    statuses: dict[str, int] = {}
    begin = time.perf_counter()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                one = waiting.pop(0)
                running[one.name] = start(one, options, jobs_each), time.perf_counter()
            time.sleep(0.05)
            for name in [name for name, (process, _) in running.items() if process.poll() is not None]:
                process, since = running.pop(name)
                statuses[name] = process.returncode
                took, all_in_all = time.perf_counter() - since, (time.perf_counter() - begin) / 60
                word = WORDS.get(process.returncode, "failed")
                count = f"[{len(statuses)}/{len(todo)}, {all_in_all:.1f} min]"
                print(f"{count} {name}: {word} in {took:.0f} s", flush=True)
    finally:
        for process, _ in running.values():
            process.terminate()
        for process, _ in running.values():
            process.wait()
    return statuses


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bayespoint reproduce", description="Tables and figures of the papers.")
    parser.add_argument(
        "names", nargs="*", help="for example herbrich2001/table1 (runs again), or a folder; all by default"
    )
    parser.add_argument("--list", action="store_true", help="show what there is")
    parser.add_argument("--quick", action="store_true", help="a size that only shows that everything runs")
    parser.add_argument("--again", action="store_true", help="also those that have results")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")
    parser.add_argument("--results", help="directory for results (default: experiments/results)")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # one experiment, in this process
    options = parser.parse_args(argv)
    if options.jobs < 1:
        parser.error("--jobs must be at least 1.")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    try:
        chosen = select(options.names)
    except UnknownExperimentError as error:
        print(error, file=sys.stderr)
        return 2
    directory = results_directory(options.quick, options.results)
    if options.list:
        width = max(len(one.name) for one in chosen)
        for one in chosen:
            print(f"{one.name:{width}s}  {'x' if is_done(one, directory) else ' '}  {one.title}")
        return DONE
    if options.here:
        return run_one(chosen[0], Size(options.quick, options.jobs, chosen[0].name), directory)
    todo = [one for one in chosen if options.again or len(chosen) == 1 or not is_done(one, directory)]
    if len(todo) < len(chosen):
        print(f"{len(chosen) - len(todo)} of {len(chosen)} have results already (--again runs them, too)")
    try:
        statuses = run_side_by_side(todo, options)
    except KeyboardInterrupt:
        print("Stopped; what is done is kept, and the same command goes on from here.", file=sys.stderr)
        return STOPPED
    finally:
        if not options.quick and not options.results:
            write_page()
    return FAILED if any(status not in (DONE, NO_DATA) for status in statuses.values()) else DONE


if __name__ == "__main__":
    sys.exit(main())
