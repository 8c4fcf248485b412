"""The path to the support vector machine's normaliser N(X): labels and latents in turn, as the hinges rise."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from ..._core.compiling import compiled
from ..._core.typing import Array
from ...engines.billiard import Billiard, Walls
from ...likelihoods import Hinge
from ...problem import Problem
from .._paths import Draws

__all__ = ["LabelPath"]

_FLIGHT = np.pi / 2
_MIRRORS = 16  # a flight


class LabelPath:
    """From the prior to ``prod_i v(theta_i)``, the hinge likelihood summed over labels, as the hinges rise.

    Labels and latents are drawn in turn: labels given latents are independent, latents given labels are the billiard's.
    Steep hinges would keep both where they are; so after every flight functions are mirrored at random rows, which
    turns the sign of the latents around a row. The bridge sums over labels, so the statistic of a draw is its latents.
    """

    chains = 1
    first = 512  # labels and latents hold on to each other
    max_events = Billiard.max_events
    end = 1.0
    has_levels = True
    has_bottom = False

    def __init__(self, problem: Problem) -> None:
        self.white = problem.whitened()
        self.walls = Walls.of(problem)
        self.slope = self.walls.energy
        likelihood, weights = problem.likelihood, problem.exponents
        assert isinstance(likelihood, Hinge)
        # log kappa is there from the start; rows of length zero are latents at zero, whichever the label
        self.log_start = (
            float(likelihood.log_kappa * weights.sum()) + problem.size * float(np.log(2)) - self.walls.floor
        )

    def latents(self, states: Array) -> Array:
        """Latents of all rows, those of length zero too."""
        return self.white.latents(states)

    def log_density(self, level: float, statistic: Array) -> Array:
        slope = level * self.slope
        up, down = -slope * np.maximum(0.0, 1.0 - statistic), -slope * np.maximum(0.0, 1.0 + statistic)
        total: Array = (np.logaddexp(up, down) - np.log(2)).sum(axis=-1)
        return total

    def draw(self, count: int, rng: np.random.Generator) -> Draws:
        states = rng.standard_normal((count, self.white.dimension))
        latents = self.white.latents(states)[:, self.walls.rows]
        return Draws(states[None], latents[None], 1.0 * states.size * self.white.rank)

    def advance(self, level: float, states: Array, count: int, rng: np.random.Generator) -> Draws:
        position, walls = states[0], self.walls
        slope = level * self.slope
        cos_t, sin_t = np.cos(_FLIGHT), np.sin(_FLIGHT)
        refresh = rng.standard_normal((count, len(position)))
        velocity = self.white.latents(refresh)[:, walls.rows]
        uniform = rng.random(velocity.shape)
        mirrors = rng.integers(len(slope), size=(count, _MIRRORS))
        chances = -rng.standard_exponential((count, _MIRRORS))
        latents = np.empty_like(velocity)
        theta = np.ascontiguousarray(self.white.latents(position)[walls.rows])
        total = 0
        for k in range(count):
            log_odds = slope * (np.maximum(0.0, 1.0 + theta) - np.maximum(0.0, 1.0 - theta))
            y = np.where(uniform[k] < expit(log_odds), 1.0, -1.0)
            labelled = walls._replace(y=y, energy=slope)
            impulse, _, events = labelled.fly(theta, velocity[k : k + 1], _FLIGHT, self.max_events)
            _mirror(walls.gram, slope, theta, impulse[0], mirrors[k], chances[k])
            position = cos_t * position + sin_t * refresh[k] + self.white.pull(impulse, walls.rows)[0]
            theta = np.ascontiguousarray(self.white.latents(position)[walls.rows])
            refresh[k], latents[k] = position, theta
            total += int(events[0])
        return Draws(refresh[None], latents[None], (4.0 * total + 100.0 * count) * len(slope))


@compiled(nogil=True)
def _mirror(gram, slope, theta, impulse, rows, log_chances):  # type: ignore[no-untyped-def]
    """Reflect the function in the plane where it is zero at a row, if the sum over labels allows it. In place.

    Coordinates change by an orthogonal map, so the prior does not mind; latents by ``-2 theta_i K_ij / K_ii``.
    """
    for k in range(len(rows)):
        i = rows[k]
        push = -2.0 * theta[i] / gram[i, i]
        change = 0.0
        for j in range(len(theta)):
            change += _log_sum(slope[j], theta[j] + push * gram[i, j]) - _log_sum(slope[j], theta[j])
        if change > log_chances[k]:
            impulse[i] += push
            for j in range(len(theta)):
                theta[j] += push * gram[i, j]


@compiled(nogil=True)
def _log_sum(slope, theta):  # type: ignore[no-untyped-def]
    """``log(exp(-slope hinge(theta)) + exp(-slope hinge(-theta)))``, which is even in theta."""
    size = abs(theta)
    near, far = slope * max(0.0, 1.0 - size), slope * (1.0 + size)
    return -near + np.log1p(np.exp(near - far))
