"""Where experiments put what they found: results/<name>.json with the conditions, and a picture beside it."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def save(name: str, found: Any, figure: Any = None, **conditions: Any) -> None:
    """Write the figures found, with the versions they were found with, and a picture if there is one."""
    RESULTS.mkdir(exist_ok=True)
    versions = {package: version(package) for package in ("bayespoint", "numpy", "scipy", "scikit-learn")}
    record = {"conditions": conditions, "python": platform.python_version(), "versions": versions, "found": found}
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    if figure is not None:
        figure.savefig(RESULTS / f"{name}.png", dpi=110, bbox_inches="tight")
    print(f"written: results/{name}.json" + (" and .png" if figure is not None else ""))
