"""Rows that change places: fitted on in one turn, calibrated on in another.

A turn is a classifier, fitted on some of the rows, and the others for its threshold. Given the former the latter are
fresh, and what is proven by them at the level delta / k is wrong with at most that probability, whatever other turns do
with the same rows. So of k turns the one that accepts most may be kept, and its promise is broken with probability
delta at the most. No turn may hand its level to another, as fixed hypotheses might (Holm): what a turn tests depends
on the rows that another one is calibrated on.

An unlucky error among the most confident rows, or an unlucky fit, seldom comes twice, and this is worth more than the
half of delta that the second turn costs. More turns than that were no gain.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from ..._core.telling import tell
from ...exceptions import InvalidProblemError
from .thresholds import rows_likely_needed, rows_needed

__all__ = ["Turn", "calibration_parts", "check_folds", "trainable", "warn_all_rejected"]


class Turn(NamedTuple):
    """A fitted classifier, who is asked as well, columns of a precomputed kernel, rows for its threshold, a pilot."""

    fitted: Any
    second: Any
    columns: Any
    X: Any
    y: Any
    pilot: tuple[Any, Any] | None


def check_folds(pilot: Any) -> None:
    if pilot is not None and (isinstance(pilot, bool) or not isinstance(pilot, Integral) or pilot < 2):
        raise InvalidProblemError(f"pilot must be a number of folds, at least 2, or None, got {pilot!r}.")


def calibration_parts(
    n: int, share: Any, turns: Any, risk: float | None, delta: float, rng: np.random.Generator
) -> list[Any]:
    """Rows for the calibration of each turn: plain random samples, whatever their labels, for only these are as new.

    How many there are is settled by n alone.
    """
    if isinstance(share, bool) or not (isinstance(share, Real) and 0 < float(share) < 1):
        raise InvalidProblemError(f"calibration must be a share between 0 and 1, or 'prefit', got {share!r}.")
    if isinstance(turns, bool) or not isinstance(turns, Integral) or turns < 1:
        raise InvalidProblemError(f"turns must be a number, at least 1, got {turns!r}.")
    count = min(round(float(share) * n), n - 1)
    if count < 1:
        raise InvalidProblemError(
            f"calibration={share!r} leaves no row to set the threshold on: n_samples={n} are too few."
        )
    order = rng.permutation(n)
    rows = [order[np.arange(k * count, (k + 1) * count) % n] for k in range(_number(n, count, int(turns), risk, delta))]
    return [np.isin(np.arange(n), own) for own in rows]


def _number(n: int, count: int, turns: int, risk: float | None, delta: float) -> int:
    """At most as many as have rows of their own, up to rounding, and enough of them for their share of delta."""
    if risk is None:
        return 1
    turns = min(turns, (n + turns - 1) // count)
    while turns > 1 and rows_needed(risk, delta / turns) > count:
        turns -= 1
    return turns


def trainable(parts: list[Any], y: Any) -> list[Any]:
    """Those that leave more than one class to the classifier; the others' share of delta is lost."""
    if len(np.unique(y)) == 1:
        return parts
    found = [part for part in parts if len(np.unique(y[~part])) > 1]
    if not found:  # a split drawn anew until it suits would be no random one
        left = y[~parts[0]]
        raise InvalidProblemError(
            f"All {len(left)} rows that calibration leaves to the classifier are of class {left.tolist()[0]!r}: "
            "give more rows of the others, or a smaller share to calibration."
        )
    return found


def warn_all_rejected(wrong: Any, confidence: Any, risk: float, delta: float) -> None:
    n, least = len(wrong), rows_needed(risk, delta)
    likely = rows_likely_needed(wrong, confidence, risk, delta)
    reason = f"at least {least} calibration rows are needed" if n < least else "the confident rows have too many errors"
    advice = "no number of rows would do" if likely is None else f"about {max(likely, least):,} would probably do"
    tell(
        f"No threshold is proven to keep the error at {risk:g} with {n} calibration rows ({reason}; by their errors "
        f"{advice}): every row will be rejected; allow a larger risk or calibrate on more rows.",
        stacklevel=3,
    )
