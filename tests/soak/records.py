"""What a soak script leaves behind: one JSON file, from which the page docs/reliability.md is made."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

KEPT = Path(__file__).parents[2] / "experiments" / "results" / "reliability"


@dataclass
class Record:
    """What was tried, how often, what failed and what was lost (a sentence each), and figures by name."""

    item: str
    tried: str
    times: int = 0
    failed: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def keep(self, path: Path) -> None:
        """Write, so that the file is the old one or the new one at any moment."""
        versions = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
        made = {"date": time.strftime("%Y-%m-%d"), "versions": {"python": platform.python_version()} | versions}
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(self) | made, indent=1) + "\n", encoding="utf-8")
        os.replace(part, path)


def chance_of_largest(errors: float, count: int) -> float:
    """How likely the largest of so many independent normal deviations is at least this many standard errors."""
    return float(-np.expm1(count * np.log1p(-2 * norm.sf(errors))))


def chance_of_smallest(chance: float, count: int) -> float:
    """How likely the smallest of so many independent chances is at most this."""
    return float(-np.expm1(count * np.log1p(-chance)))


def arguments(script: str, minutes: float = 2.0) -> argparse.ArgumentParser:
    """The arguments that every script takes: its time, and where its record goes."""
    name = Path(script).stem
    parser = argparse.ArgumentParser(prog=name)
    parser.add_argument("--minutes", type=float, default=minutes, help="time budget")
    parser.add_argument("--keep", type=Path, default=KEPT / f"{name}.json", help="the record")
    return parser
