"""Paths of distributions from one whose normaliser is known to the posterior: ``p_level ~ p_0 exp(-level U)``.

- `PriorPath` starts at the prior and raises the walls (or the hinges) from nothing. The billiard samples every level
  exactly, so it goes wherever the billiard goes: any rank, label noise, soft boundaries, hinges.
- `TiltedPath` is one step from the minimax-tilted proposals to the posterior: importance sampling with exact draws on
  both sides of the bridge. For steps without label noise on a Gram matrix of full rank.
- `SlicePath` starts at a Gaussian, such as that of expectation propagation, and puts the likelihood in the place of its
  sites, sampled by elliptical slices. Short where EP is good, useless for hard walls.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import expit, log_ndtr

from .._core.typing import Array
from ..engines._choice_walls import ChoiceWalls
from ..engines._start import coordinates_of
from ..engines.billiard import AnyWalls, Billiard, Walls, flights, walls_of, warn_of_drift
from ..engines.elliptical_slice import Ellipse
from ..engines.ep.engine import EP
from ..exceptions import InvalidProblemError
from ..grams import Dense, LowRank
from ..grams.whitening import Stacked, Whitened
from ..likelihoods import Choice, Hinge, Step
from ..problem import Problem
from ._bridge import tempered
from ._tilting import Orthant, tilt, tilted_draws

__all__ = ["Draws", "Path", "PriorPath", "SlicePath", "TiltedPath", "gaussian_path", "margins_of", "orthant_of"]


class Draws(NamedTuple):
    """States of shape (chain, draw, dimension), what the path's density needs of each, and about how long they took.

    The statistic is the potential U of ``p_0 exp(-level U)``, of shape (chain, draw), unless the path says otherwise.

    The cost is counted in operations, not measured, so that choices that rest on it can be repeated.
    """

    states: Array
    statistic: Array
    cost: float


class Path(Protocol):
    """What stepping stones ask of a path."""

    chains: int
    first: int  # draws of each chain before anything is said of their error
    end: float
    has_levels: bool
    has_bottom: bool  # whether the statistic is a potential whose bottom is zero

    log_start: float  # log-normaliser at level zero

    def draw(self, count: int, rng: np.random.Generator) -> Draws:
        """Independent draws at level zero."""

    def advance(self, level: float, states: Array, count: int, rng: np.random.Generator) -> Draws:
        """Steps of chains that leave `level` invariant."""

    def log_density(self, level: float, statistic: Array) -> Array:
        """Log-density of a level up to a constant that all levels share."""


class Tempered:
    """A path ``p_0 exp(-level U)``."""

    def log_density(self, level: float, statistic: Array) -> Array:
        return tempered(level, statistic)


class PriorPath(Tempered):
    """From the prior: the energy of the walls, or the slope of the hinges, rises from nothing.

    A version space that is thin is met by chance only while the walls around it are low. `slopes` makes walls without
    label noise rise as slopes, which lead the ball there; that takes more events.
    """

    chains = 1
    first = 256
    has_levels = True
    has_bottom = True

    def __init__(self, problem: Problem, slopes: bool = False) -> None:
        likelihood = problem.likelihood
        self.end, self.log_start = 1.0, 0.0
        if isinstance(likelihood, Step | Choice) and likelihood.noise == 0:
            self.end = np.inf
            problem = _hard_problem(problem)
            if slopes and problem.n_classes is not None:
                problem = margins_of(problem)
            if not problem.diag.all():
                problem.raise_if_empty()
        self.problem, self.white = problem, coordinates_of(problem)
        self.walls = self.rising = walls_of(problem)
        self.is_steep = self.end == np.inf and not slopes
        if self.end < np.inf:
            self.log_start = self._log_start()
        elif slopes:
            self.rising = Walls.slopes(problem)
        else:
            self.rising = _walls_of_energy_one(problem)
            if self.rising.floor > 0:  # labels at odds on what is one wall up to rounding
                raise InvalidProblemError("Walls on top of each other.")

    def _log_start(self) -> float:
        likelihood, weights = self.problem.likelihood, self.problem.exponents
        if isinstance(likelihood, Hinge):
            return float(weights.sum() * likelihood.log_kappa) - self.walls.floor
        assert isinstance(likelihood, Step | Choice)  # walls would have refused others
        dead = self.problem.diag + self.problem.own == 0
        no_side = -np.log(self.problem.n_classes or 2)  # a latent that is always zero
        level = weights * np.where(dead, no_side, np.log1p(-likelihood.noise))
        return float(level.sum()) - self.walls.floor

    def draw(self, count: int, rng: np.random.Generator) -> Draws:
        states = rng.standard_normal((count, self.white.dimension))
        potential = self.rising.potential(self.white.latents(states)[:, self.rising.rows])
        return Draws(states[None], potential[None], 1.0 * states.size * self.white.rank)

    def advance(self, level: float, states: Array, count: int, rng: np.random.Generator) -> Draws:
        if level == np.inf:
            draws = _fly(self.walls, self.white, states, count, rng)
            return draws._replace(statistic=np.zeros_like(draws.statistic))
        draws = _fly(self.rising.scaled(level), self.white, states, count, rng)
        potential = draws.statistic / level
        return draws._replace(statistic=np.rint(potential) if self.is_steep else potential)  # a number of mistakes


class TiltedPath(Tempered):
    """From minimax-tilted proposals to version space, in one step."""

    chains = 1
    first = 256
    end = 1.0
    has_levels = False
    has_bottom = False
    log_start = 0.0

    def __init__(self, problem: Problem) -> None:
        self.orthant = orthant_of(problem)
        factor = self.orthant.factor
        ordered = Problem(LowRank(factor), np.ones(len(factor)), Step(), check=False)
        self.white = ordered.whitened()
        self.walls = walls_of(ordered)

    def draw(self, count: int, rng: np.random.Generator) -> Draws:
        states, log_weights = tilted_draws(self.orthant, rng.random((count, len(self.orthant.mu))))
        return Draws(states[None], -log_weights[None], states.size * (len(self.orthant.mu) + 100.0))

    def advance(self, level: float, states: Array, count: int, rng: np.random.Generator) -> Draws:
        draws = _fly(self.walls, self.white, states, count, rng)
        mu, below = self.orthant.mu, self.orthant.below
        z = draws.states
        log_weights = (log_ndtr(mu + z @ below.T) + 0.5 * mu * mu - mu * z).sum(axis=-1)
        return draws._replace(statistic=-log_weights)


class SlicePath(Tempered):
    """From a Gaussian to any target, by elliptical slices: sites give way to the likelihood.

    Where the likelihood has tails that the Gaussian has not, the `other` one takes every other step.
    """

    chains = 16
    first = 96
    end = 1.0
    has_levels = True
    has_bottom = False

    def __init__(self, base: Ellipse, other: Ellipse | None = None) -> None:
        self.base, self.log_start = base, base.log_normaliser
        self.ellipses = [base] if other is None else [base, other]

    def latents(self, states: Array) -> Array:
        """Latents of all rows."""
        return states @ self.base.white.factor.T

    def draw(self, count: int, rng: np.random.Generator) -> Draws:
        states = self.base.centre + self.base.across(rng.standard_normal((self.chains, count, self.base.white.rank)))
        latents = self.latents(states)
        return Draws(states, -self.base.log_ratio(latents), 20.0 * latents.size)

    def advance(self, level: float, states: Array, count: int, rng: np.random.Generator) -> Draws:
        base, factor, turns = self.base, self.base.white.factor, len(self.ellipses)

        def log_target(f: Array) -> Array:
            sites = base.log_sites(f)
            return sites + level * (base.log_target(f) - sites)

        w, latents = states, self.latents(states)
        target = log_target(latents)
        kept, potential = np.empty((len(w), count, w.shape[1])), np.empty((len(w), count))
        fresh = rng.standard_normal((count, *w.shape))
        for part, ellipse in enumerate(self.ellipses):
            fresh[part::turns] = ellipse.across(fresh[part::turns])
        across = fresh @ factor.T
        proposals = 0
        for k in range(count):
            ellipse = self.ellipses[k % turns]
            cos, sin, latents, target, used = ellipse.step(
                latents, across[k], target, lambda some: rng.random(len(some)), log_target
            )
            w = ellipse.centre + cos[:, None] * (w - ellipse.centre) + sin[:, None] * fresh[k]
            kept[:, k], potential[:, k] = w, (base.log_sites(latents) - target) / level
            proposals += used
        return Draws(kept, potential, 20.0 * proposals * latents.shape[1])


def gaussian_path(problem: Problem) -> SlicePath:
    """From the Gaussian of expectation propagation."""
    if problem.n_classes is not None:
        raise InvalidProblemError("There is no bridge to label noise among several classes: use method='billiard'.")
    if problem.hard.any():
        raise InvalidProblemError(
            "A hard wall is no smooth function of a Gaussian site: use method='billiard' or 'tilted'."
        )
    gaussian, white = EP().infer(problem), problem.whitened()
    tails = None if problem.likelihood.is_log_concave else Ellipse.of_prior(problem, white)
    return SlicePath(Ellipse(problem, white, gaussian.tau, gaussian.nu), tails)


def _hard_problem(problem: Problem) -> Problem:
    """Labels without noise as hard walls: what rows have of their own is a ridge on the Gram matrix."""
    own = problem.own
    hard: Any = Step() if problem.n_classes is None else Choice()
    gram = problem.gram  # weights say nothing there
    if own.any():
        problem.refuse_weights_of_noise()
        gram = Dense(problem.dense + np.diag(own))
    return Problem(gram, problem.y, hard, check=False, n_classes=problem.n_classes)


def _walls_of_energy_one(problem: Problem) -> AnyWalls:
    if problem.n_classes is not None:
        return ChoiceWalls.of(problem, height=1.0)
    return walls_of(Problem(problem.gram, problem.y, Step(float(expit(-1.0))), check=False))


def margins_of(problem: Problem) -> Problem:
    """Hard walls between classes as hard walls of two: the leads ``f_y - f_c`` are latents, and all positive."""
    assert problem.n_classes is not None
    row, other = np.nonzero(np.arange(problem.n_classes) != problem.y[:, None])
    label = problem.y[row]
    signs = (label[:, None] == label) * 1.0 - (label[:, None] == other) - (other[:, None] == label)
    signs += other[:, None] == other
    return Problem(Dense(signs * problem.dense[np.ix_(row, row)]), np.ones(len(row)), Step(), check=False)


def orthant_of(problem: Problem) -> Orthant:
    """The orthant whose probability is the evidence of a step without label noise, tilted."""
    likelihood = problem.likelihood
    if not isinstance(likelihood, Step | Choice) or likelihood.noise > 0:
        raise InvalidProblemError(
            f"Minimax tilting is for steps without label noise, not {likelihood}: use method='billiard' or 'bridge'."
        )
    hard = _hard_problem(problem)
    if hard.n_classes is not None:
        hard = margins_of(hard)
    return tilt(hard.dense * np.multiply.outer(hard.y, hard.y))


def _fly(walls: AnyWalls, white: Whitened | Stacked, states: Array, count: int, rng: np.random.Generator) -> Draws:
    """Flights of one ball; about 4 operations a row and event."""
    batches = [batch for _, batch in flights(Billiard(), walls, white, states[0], rng, count)]
    positions = np.concatenate([batch.positions for batch in batches])
    potential = np.concatenate([batch.potential for batch in batches])
    events = sum(int(batch.events.sum()) for batch in batches)
    warn_of_drift(max(batch.drift for batch in batches))
    return Draws(positions[None], potential[None], 4.0 * (events + count) * len(walls.diag))
