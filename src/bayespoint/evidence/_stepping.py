"""Adaptive stepping stones: levels from a pilot, draws until the standard error is as small as asked for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from joblib import delayed

from .._core.parallel import in_parallel
from .._core.typing import Array
from .._core.words import told_briefly
from ._bridge import Ratio, bridge, effective_share
from ._paths import Path

__all__ = ["Stones", "Walk", "explore"]

_PILOT, _BURN_IN = 64, 16
_SHARE = 0.5  # effective share of the draws of one level as draws of the next
_STEEPEST = 1e12  # slope of walls beyond which version space counts as empty


@dataclass
class Stone:
    """One level: where its chains are, its own randomness, and the statistics of its draws so far."""

    level: float
    states: Array
    rng: np.random.Generator
    statistics: list[Array] = field(default_factory=list)
    cost: float = 0.0

    @property
    def draws(self) -> int:
        return sum(u.shape[0] * u.shape[1] for u in self.statistics)

    def draw(self, path: Path, count: int) -> Stone:
        """Go on from where the chains are: the stone with more draws, for it may be made where no memory is shared."""
        if self.level == 0:
            batch = path.draw(count, self.rng)
        else:
            batch = path.advance(self.level, self.states, count, self.rng)
        return replace(
            self,
            states=batch.states[:, -1],
            statistics=[*self.statistics, batch.statistic],
            cost=self.cost + batch.cost,
        )


@told_briefly()
class Stones(NamedTuple):
    """The path as it was walked: levels, their log-normalisers, draws of each, and their shares of the variance.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.evidence import log_evidence
    >>> estimate = log_evidence(Problem(np.eye(3), [1, -1, 1], Step(noise=0.1)), rng=0, method="billiard")
    >>> float(estimate.path.levels[0])
    0.0
    """

    levels: Array
    log_normalisers: Array
    draws: Array
    variance: Array


def explore(path: Path, rng: np.random.Generator) -> list[Stone] | None:
    """Choose levels one after the other, so that each keeps a fair share of the draws of the one before it.

    None if the end is out of reach: walls as high as any do not leave a single draw without a mistake, or all draws are
    alike, which says nothing of what lies beyond.
    """
    pilot = path.draw(max(_PILOT, 512 // path.chains), rng)
    stones = [Stone(0.0, pilot.states[:, -1], rng.spawn(1)[0])]
    while stones[-1].level < path.end:
        level = _next_level(path, stones[-1].level, pilot.statistic) if path.has_levels else path.end
        if path.end == np.inf and (_STEEPEST < level < np.inf or _is_stuck(path, pilot.statistic)):
            return None
        logs = _log_weights(path, stones[-1].level, level, pilot.statistic)
        weights = np.exp(logs - logs.max())
        chosen = rng.choice(weights.size, path.chains, p=weights / weights.sum())
        states = pilot.states.reshape(weights.size, -1)[chosen]
        pilot = path.advance(level, states, _BURN_IN + _PILOT, rng)
        pilot = pilot._replace(states=pilot.states[:, _BURN_IN:], statistic=pilot.statistic[:, _BURN_IN:])
        stones.append(Stone(level, pilot.states[:, -1], rng.spawn(1)[0]))
    return stones


def _is_stuck(path: Path, statistic: Array) -> bool:
    """Whether all draws are alike, but not at the bottom of the potential: they say nothing of what lies there."""
    return bool(path.has_bottom and statistic.min() > 0 and np.ptp(statistic) == 0)


def _log_weights(path: Path, level: float, other: float, statistic: Array) -> Array:
    """Log-weights of draws of one level as draws of another."""
    return (path.log_density(other, statistic) - path.log_density(level, statistic)).ravel()


def _next_level(path: Path, level: float, statistic: Array) -> float:
    """The furthest level to which the effective share of the weights is at least one half."""
    end = path.end

    def share(other: float) -> float:
        weights = _log_weights(path, level, other, statistic)
        return effective_share(weights) if np.isfinite(weights).any() else 0.0

    if share(end) >= _SHARE:
        return end
    low, high = level, min(end, max(2 * level, level + 1.0))
    while high < end and share(high) >= _SHARE:
        low, high = high, min(end, 2 * high)
        if high > 2 * _STEEPEST:
            return high
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if share(middle) >= _SHARE else (low, middle)
    return max(low, level + 1e-3 * (high - level))


class Walk:
    """Draws at all levels of a path, and the bridge over them; `refine` adds to both."""

    def __init__(self, path: Path, stones: list[Stone], n_jobs: int | None) -> None:
        self.path, self.stones, self.n_jobs = path, stones, n_jobs
        self.levels = np.array([stone.level for stone in stones])
        self._draw(np.full(len(stones), path.first))

    @property
    def value(self) -> float:
        """Log-normaliser at the end of the path."""
        return self.path.log_start + self.ratio.value

    @property
    def se(self) -> float:
        """Standard error of `value`; unknown if the last level's draws are all alike but not at the bottom."""
        if _is_stuck(self.path, self.stones[-1].statistics[0]):
            return np.inf
        return float(np.sqrt(self.ratio.variance.sum()))

    @property
    def cost(self) -> float:
        """Operations that would bring the standard error to one, with the best division among the levels."""
        variance, price = self._single
        return float(np.sum(np.sqrt(variance * price))) ** 2

    @property
    def draws(self) -> Array:
        return np.array([stone.draws for stone in self.stones])

    @property
    def steps(self) -> Stones:
        """The walk for a reader."""
        return Stones(self.levels, self.ratio.log_normalisers + self.path.log_start, self.draws, self.ratio.variance)

    def refine(self, se: float, max_draws: int) -> None:
        """Draw until the standard error is as asked for, or `max_draws` are spent."""
        while se < self.se < np.inf and self.draws.sum() < max_draws:
            variance, price = self._single
            # in proportion to a draw's spread and to the root of what it costs (Neyman)
            wanted = np.sqrt(variance / price) * np.sum(np.sqrt(variance * price)) / (0.9 * se) ** 2
            extra = np.clip(wanted - self.draws, 0, 3 * self.draws)  # the variance is a guess at first
            extra *= min(1.0, (max_draws - self.draws.sum()) / max(extra.sum(), 1.0))
            self._draw(np.maximum(extra // self.path.chains, 16).astype(int))

    @property
    def _single(self) -> tuple[Array, Array]:
        """Variance of the estimate's share in one draw, and cost of one draw, by level."""
        variance = self.ratio.variance
        return (
            np.maximum(variance, 0.1 * variance.mean()) * self.draws,
            np.array([stone.cost for stone in self.stones]) / self.draws,
        )

    def _draw(self, counts: Array) -> None:
        tasks = (delayed(stone.draw)(self.path, int(count)) for stone, count in zip(self.stones, counts, strict=True))
        self.stones = in_parallel(tasks, self.n_jobs)
        statistics = [np.concatenate(stone.statistics, axis=1) for stone in self.stones]
        self.ratio: Ratio = bridge(statistics, self.levels, self.path.log_density)
