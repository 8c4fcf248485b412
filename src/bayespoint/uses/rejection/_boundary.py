"""Many thresholds tested at once: a boundary that a coin's errors stay above.

Let S be the errors among the first 1, 2, ... tosses of a coin that errs with probability `risk`. Point 5 at the head of
`thresholds` shows that the errors above all thresholds that are wrong are jointly at least as many. So if
``P(S_g <= k_g for some g) <= delta``, which is worked out exactly here, then with probability 1 - delta no wrong
threshold has as few errors as k_g: neighbouring thresholds share most of their rows, and pay together little more than
one of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.signal import fftconvolve
from scipy.special import betaincc
from scipy.stats import binom

from ..._core.typing import Array

__all__ = ["allowed_errors", "binomial_tail", "largest_errors", "passed_in_window"]

_MOST_BLOCKS = 100  # of counts with a number of errors in common
_HALVINGS = 12  # of the interval that the common level lies in
_SHORT = 64  # sequences up to this length are convolved by their sums


def binomial_tail(errors: Any, counts: Any, risk: Any) -> Array:
    """``P(Bin(count, risk) <= errors)``."""
    right = np.maximum(counts - errors, 1)
    tail: Array = np.where(errors < counts, betaincc(errors + 1.0, right, risk), 1.0)
    return tail


def largest_errors(counts: Any, risk: float, level: float) -> Any:
    """The largest number of errors that has at most the probability `level`, fewer included; -1 if none has."""
    first = binom.ppf(level, counts, risk).astype(int)
    return np.where(binomial_tail(first, counts, risk) <= level, first, first - 1)


def passed_in_window(errors: Any, first: int, last: int, risk: float, delta: float) -> Any:
    """Which counts 1, ..., n of top rows are proven if those from `first` to `last` are tested at once.

    Each block of counts has the number of errors of its first one at a common level. What is proven leaves the family,
    and the others are tested again at the larger level that this allows; a step that is valid because that level is
    at most the one at which the wrong ones alone would be tested. Once the window is proven as a whole, what follows
    is tested one by one at the level delta.
    """
    passed = np.zeros(len(errors), dtype=bool)
    begins, ends = _blocks(first, last)
    starts = begins.copy()  # of the counts of each block that are not proven
    allowed = _first_allowed(first, last, risk, delta)
    while len(starts):
        reached = np.searchsorted(errors, allowed, side="right") + 1  # the first count with more errors
        reached = np.clip(reached, starts, ends)
        if np.all(reached == starts):
            return passed
        for start, stop in zip(starts, reached, strict=True):
            passed[start - 1 : stop - 1] = True
        left = reached < ends
        starts, begins, ends = reached[left], begins[left], ends[left]
        allowed = _allowed(starts, begins, risk, delta) if len(starts) else allowed
    after = np.arange(last + 1, len(errors) + 1)
    failed = np.append(binomial_tail(errors[last:], after, risk) > delta, True)
    passed[last : last + int(np.argmax(failed))] = True
    return passed


def allowed_errors(first: int, last: int, risk: float, delta: float) -> Any:
    """Errors that the counts of a window may have, all tested at once and nothing proven before."""
    begins, ends = _blocks(first, last)
    return np.repeat(_first_allowed(first, last, risk, delta), ends - begins)


@lru_cache(maxsize=256)  # of the windows of a plan one is used; several levels may take turns
def _first_allowed(first: int, last: int, risk: float, delta: float) -> Any:
    begins = _blocks(first, last)[0]
    return _allowed(begins, begins, risk, delta)


def _blocks(first: int, last: int) -> tuple[Any, Any]:
    """Where the blocks of a window begin and end."""
    edges = np.unique(np.linspace(first, last + 1, _MOST_BLOCKS + 1).astype(int))
    return edges[:-1], edges[1:]


def _allowed(starts: Any, begins: Any, risk: float, delta: float) -> Any:
    """Errors that each block may have at the largest common level, of those tried, that keeps the chance delta."""
    low, high = 0.0, delta
    allowed = largest_errors(begins, risk, high)
    if _chance(starts, allowed, risk) <= delta:
        return allowed
    allowed = np.full(len(starts), -1)
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        tried = largest_errors(begins, risk, level)
        if _chance(starts, tried, risk) <= delta:
            low, allowed = level, tried
        else:
            high = level
    return allowed


def _chance(counts: Any, allowed: Any, risk: float) -> float:
    """``P(S_g <= k_g for some g)`` of the coin's errors, over increasing counts."""
    size = int(allowed.max()) + 1
    steps = {gap: binom.pmf(np.arange(min(gap + 1, size)), gap, risk) for gap in set(np.diff(counts, prepend=0))}
    alive, chance, done = np.ones(1), 0.0, 0  # chance of each number of errors so far, of those above the boundary
    for count, most in zip(counts, allowed, strict=True):
        step = steps[count - done]
        join = np.convolve if min(len(alive), len(step)) <= _SHORT else fftconvolve
        alive = np.maximum(join(alive, step)[:size], 0.0)
        chance += float(alive[: most + 1].sum())
        alive[: most + 1] = 0.0
        done = count
    return chance
