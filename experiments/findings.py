"""What an experiment finds: our figures beside the paper's, each with a verdict, and a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

AGREES, BETTER, WORSE, DIFFERS = "agrees", "better", "worse", "differs"
HOLDS, FAILS = "holds", "does not hold"
OURS_ALONE = "ours alone"
NEEDS_REASON = (BETTER, WORSE, DIFFERS, FAILS)


@dataclass(frozen=True)
class Number:
    """A figure of ours beside the paper's; `goal` says which side of it is the better one.

    It agrees when the two are within two standard errors of their difference, plus half a unit of the last digit that
    the paper prints (`rounding`). `why` is the reason found where they do not.
    """

    what: str
    ours: float
    paper: float | None = None
    se: float = 0.0
    paper_se: float = 0.0
    goal: Literal["lower", "higher", "same"] = "same"
    rounding: float = 0.0
    why: str = ""

    @property
    def verdict(self) -> str:
        if self.paper is None:
            return OURS_ALONE
        gap = self.ours - self.paper
        if abs(gap) <= 2 * math.hypot(self.se, self.paper_se) + self.rounding:
            return AGREES
        if self.goal == "same":
            return DIFFERS
        return BETTER if (gap < 0) == (self.goal == "lower") else WORSE


@dataclass(frozen=True)
class Statement:
    """What the paper says in words, what we saw, and whether it holds; `why` is the reason found where it does not."""

    what: str
    paper: str
    ours: str
    holds: bool
    why: str = ""

    @property
    def verdict(self) -> str:
        return HOLDS if self.holds else FAILS


@dataclass(frozen=True)
class Findings:
    """All that one experiment hands back; `details` are figures for which the page has no room."""

    figures: Sequence[Number | Statement]
    picture: Any  # a matplotlib figure
    seed: Any
    conditions: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)  # pictures that stay where they were made, by name


def entries(figures: Sequence[Number | Statement]) -> list[dict[str, Any]]:
    """The figures as they stand in a JSON file: reasons only where there is something to explain."""
    rows = []
    for one in figures:
        row = asdict(one) | {"kind": type(one).__name__.lower(), "verdict": one.verdict}
        rows.append(row | {"why": one.why if one.verdict in NEEDS_REASON else ""})
    return rows
