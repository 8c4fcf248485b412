"""A guess, from rows that calibration does not use, at where the threshold will lie.

No guarantee hangs on it: whatever is planned here is fixed before the calibration rows are seen.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ..._core.typing import Array
from ._boundary import allowed_errors, binomial_tail, largest_errors

__all__ = ["Curve", "curve_of", "planned_window", "rows_that_would_do"]

_PRIOR_MEAN, _PRIOR_SD = np.array([0.0, 1.0]), np.array([3.0, 1.0])  # level and slope: errors grow with the rank
_SIMULATED = 60  # calibration samples of each kind to plan with
_ENDS = 8  # places where a window may begin or end
_MOST_ERRORS = 200  # beyond, windows cost time and gain nothing: only their beginnings are planned
_LIKELY, _MOST_ROWS = 0.9, 10**7


class Curve(NamedTuple):
    """Log odds of an error, ``level + slope log(rank)`` with the rank from 0 (sure) to 1, and how well it is known."""

    mean: Array
    covariance: Array

    def errors(self, ranks: Array, weights: Array) -> Array:
        """Chance of an error at these ranks, for one or many pairs of level and slope."""
        level, slope = weights[..., :1], weights[..., 1:]
        return np.asarray(expit(level + slope * np.log(ranks)))


def curve_of(wrong: Any) -> Curve:
    """Fitted to rows in the order of their confidence, by penalised logistic regression (Newton's method)."""
    wrong = np.asarray(wrong, dtype=float)
    inputs = np.stack([np.ones(len(wrong)), np.log(_ranks(len(wrong)))], axis=1)
    weights, penalty = _PRIOR_MEAN.copy(), np.diag(_PRIOR_SD**-2.0)
    for _ in range(50):
        p = expit(inputs @ weights)
        slope = inputs.T @ (wrong - p) - penalty @ (weights - _PRIOR_MEAN)
        hessian = (inputs * (p * (1 - p))[:, None]).T @ inputs + penalty
        step = np.linalg.solve(hessian, slope)
        weights = weights + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-6:
            break
    return Curve(weights, np.linalg.inv(hessian))


def planned_window(wrong: Any, n: int, risk: float, delta: float) -> tuple[int, int] | None:
    """First and last count of the window that accepts most rows in the mean over simulated calibration samples.

    `wrong` are rows in the order of their confidence. Half of the samples follow their curve, half are drawn from them.
    """
    least = int(np.ceil(np.log(delta) / np.log1p(-risk)))
    if least > n:
        return None
    rng = np.random.default_rng(0)  # a plan is no place for chance: the same rows, the same plan
    curve = curve_of(wrong)
    weights = rng.multivariate_normal(curve.mean, curve.covariance, _SIMULATED)
    smooth = rng.random((_SIMULATED, n)) < curve.errors(_ranks(n), weights)
    drawn = np.asarray(wrong)[np.sort(rng.integers(0, len(wrong), (_SIMULATED, n)), axis=1)]
    samples = np.cumsum(np.concatenate([smooth, drawn]), axis=1)
    ends = np.unique(np.geomspace(least, n, _ENDS).astype(int))
    windows = list(combinations_with_replacement(ends.tolist(), 2))
    if n * risk > _MOST_ERRORS:
        windows = [(end, end) for end in ends.tolist()]
    alone = samples <= largest_errors(np.arange(1, n + 1), risk, delta)
    accepted = [_mean_accepted(samples, alone, *window, risk, delta) for window in windows]
    return windows[int(np.argmax(accepted))]


def rows_that_would_do(curve: Curve, risk: float, delta: float) -> int | None:
    """Calibration rows with which something is accepted nine times out of ten, as far as the curve can tell."""
    ranks = _ranks(1000)
    rate = np.cumsum(curve.errors(ranks, curve.mean)) / np.arange(1, 1001)
    n = 20.0
    while n < _MOST_ROWS:
        counts = np.ceil(n * (ranks + 0.0005)).astype(int)
        if np.any(binomial_tail(largest_errors(counts, risk, delta), counts, rate) >= _LIKELY):
            return int(np.ceil(n))
        n *= 1.2
    return None


def _ranks(n: int) -> Array:
    return (np.arange(n) + 0.5) / n


def _mean_accepted(samples: Any, alone: Any, first: int, last: int, risk: float, delta: float) -> float:
    """By the first look at the window; what a second one would add is left out."""
    inside = samples[:, first - 1 : last] <= allowed_errors(first, last, risk, delta)
    walked = inside.all(axis=1, keepdims=True) & np.logical_and.accumulate(alone[:, last:], axis=1)
    passed = np.concatenate([inside, walked], axis=1)
    highest = first + passed.shape[1] - 1 - np.argmax(passed[:, ::-1], axis=1)
    return float(np.mean(np.where(passed.any(axis=1), highest, 0)))
