"""Tests of what goes wrong around the library, the long ones too: threads and processes, disks, memory, workers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from records import Record, arguments

ROOT = Path(__file__).parents[2]
SUITES = {
    "eight threads, fork, spawn, joblib": "tests/test_concurrency.py",
    "full disk, kill while saving, compile cache, memory": "tests/test_faults.py",
    "damaged and crafted model files": "tests/files/test_damage.py",
    "workers of joblib killed": "tests/cluster/test_loky.py",
    "workers of dask killed": "tests/cluster/test_dask.py",
    "workers of ray killed": "tests/cluster/test_ray.py",
}


def outcome(path: str, seconds: float) -> tuple[int, int, list[str]]:
    """How many tests of a file passed and were skipped, and the names of those that failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            path,
            "-q",
            "-n",
            "0",
            "-m",
            "slow or not slow",
            f"--junit-xml={report}",
        ]
        try:
            subprocess.run(command, cwd=ROOT, env=os.environ, check=False, timeout=seconds, capture_output=True)
        except subprocess.TimeoutExpired:
            return 0, 0, [f"{path} was not done after {seconds:.0f} s"]
        cases = list(ElementTree.parse(report).iter("testcase"))
    bad = [case.get("name", "") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    return len(cases) - len(bad) - skipped, skipped, bad


def main() -> int:
    given = arguments(__file__, minutes=20.0).parse_args()
    record = Record("Concurrency and faults", "tests of each, the long ones too")
    for name, path in SUITES.items():
        passed, skipped, bad = outcome(path, 60 * given.minutes)
        record.times += passed + len(bad)
        record.failed += [f"{path}: {one}" for one in bad]
        record.figures |= {f"{name}: passed": passed} | ({f"{name}: skipped": skipped} if skipped else {})
        record.keep(given.keep)
        print(name, passed, skipped, bad, flush=True)
    return bool(record.failed)


if __name__ == "__main__":
    sys.exit(main())
