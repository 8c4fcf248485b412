"""Does a series grow? A straight line through its blocks, with an error that neighbours cannot make too small."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import linregress
from scipy.stats import t as student

WARM_UP = 1 / 3  # of the series: imports, compiled loops, caches that fill once
BLOCKS = 12
LEVEL = 0.999


class Growth(NamedTuple):
    """By how much a series grew while watched, the error of that, and whether it is more than chance and slack."""

    change: float
    error: float
    level: float
    grows: bool

    def __str__(self) -> str:
        return f"{self.change:+.3g} (error {self.error:.2g}) on {self.level:.6g}"


def growth(values: np.ndarray, slack: float) -> Growth:
    """Of values at equal steps; `slack` is a change over the whole watch that nobody minds."""
    watched = np.asarray(values, float)[int(WARM_UP * len(values)) :]
    if len(watched) < BLOCKS:
        raise ValueError(f"{len(values)} values are too few to see a slope.")
    blocks = np.array([np.median(part) for part in np.array_split(watched, BLOCKS)])
    line = linregress(np.linspace(0.0, 1.0, BLOCKS), blocks)
    change, error = float(line.slope), float(np.nan_to_num(line.stderr))
    surely = change - student.ppf(LEVEL, BLOCKS - 2) * error
    return Growth(change, error, float(blocks[0]), bool(surely > 0 and change > slack))
