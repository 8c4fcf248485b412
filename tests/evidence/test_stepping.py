"""Levels from a pilot, and draws where they are needed: on a path of Gaussians that can be sampled exactly."""

import numpy as np
import pytest

from bayespoint import Problem, Step
from bayespoint.evidence import _stepping
from bayespoint.evidence._bridge import effective_share, tempered
from bayespoint.evidence._paths import Draws, PriorPath, Tempered
from bayespoint.evidence._stepping import Walk, explore
from truths import rbf_problem


class Squeeze(Tempered):
    """N(0, 1 / (1 + rise level)) in several dimensions: the potential is a sum of squares."""

    chains, first, end, has_levels, has_bottom, log_start = 2, 128, 1.0, True, False, 3.0

    def __init__(self, rise=50.0, dimension=4):
        self.rise, self.dimension = rise, dimension

    @property
    def truth(self):
        return self.log_start - 0.5 * self.dimension * np.log1p(self.rise)

    def draw(self, count, rng):
        return self.advance(0.0, np.zeros((self.chains, self.dimension)), count, rng)

    def advance(self, level, states, count, rng):
        assert states.shape == (self.chains, self.dimension)
        x = rng.standard_normal((self.chains, count, self.dimension)) / np.sqrt(1 + self.rise * level)
        return Draws(x, 0.5 * self.rise * np.square(x).sum(axis=-1), float(count))


def walk_of(path, seed, n_jobs=None):
    return Walk(path, explore(path, np.random.default_rng(seed)), n_jobs)


def test_a_walk_ends_at_the_normaliser(seed):
    walk = walk_of(Squeeze(), seed)
    walk.refine(0.02, 1_000_000)
    assert walk.se <= 0.02
    assert abs(walk.value - Squeeze().truth) < 4.5 * walk.se
    assert walk.steps.log_normalisers[0] == pytest.approx(3.0)


def test_levels_rise_from_zero_to_the_end(seed):
    stones = explore(Squeeze(), np.random.default_rng(seed))
    levels = [stone.level for stone in stones]
    assert levels[0] == 0
    assert levels[-1] == 1
    assert np.all(np.diff(levels) > 0)
    assert len(levels) > 3
    assert all(not stone.statistics for stone in stones)  # the pilot's draws are not used again


def test_a_path_without_levels_has_two_ends(seed):
    path = Squeeze(rise=1.0)
    path.has_levels = False
    assert [stone.level for stone in explore(path, np.random.default_rng(seed))] == [0.0, 1.0]


@pytest.mark.parametrize("level", [0.0, 0.02])
def test_the_next_level_keeps_half_of_the_draws(level, rng):
    path = Squeeze()
    u = path.advance(level, np.zeros((2, 4)), 500, rng).statistic
    following = _stepping._next_level(path, level, u)
    assert effective_share(tempered(following - level, u)) == pytest.approx(0.5, abs=1e-3)
    path.end = level + 1e-4
    assert _stepping._next_level(path, level, u) == path.end  # the end, if near


def test_an_infinite_end_is_reached_if_half_make_no_mistake():
    path = Squeeze()
    path.end = np.inf
    assert _stepping._next_level(path, 0.0, np.array([[0.0, 0.0, 1.0]])) == np.inf
    assert _stepping._next_level(path, 0.0, np.array([[0.0, 1.0, 3.0, 2.0]])) < np.inf


def test_walls_that_nothing_satisfies_have_no_end(rng):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    assert explore(PriorPath(Problem(X @ X.T, [1, 1, 1], Step())), rng) is None


def test_draws_go_where_the_variance_is(seed):
    walk = walk_of(Squeeze(), seed)
    first = walk.draws.copy()
    walk.refine(0.03, 1_000_000)
    assert np.all(walk.draws > first)
    # Neyman: at equal cost the draws of a level are in proportion to the spread of one draw
    single = np.sqrt(walk.ratio.variance * walk.draws)
    busy = walk.ratio.variance > 0.5 * walk.ratio.variance.mean()
    share = walk.draws[busy] / single[busy]
    assert share.max() / share.min() < 2.5


def test_no_more_draws_than_allowed(seed):
    walk = walk_of(Squeeze(), seed)
    walk.refine(1e-4, 5000)
    assert 5000 <= walk.draws.sum() < 5000 + 64 * len(walk.levels)
    assert walk.se > 1e-4


def test_the_cost_is_that_of_the_best_division(seed):
    """What refining to an error of se really costs is about cost / se^2."""
    walk = walk_of(Squeeze(), seed)
    walk.refine(0.05, 1_000_000)
    forecast = walk.cost / 0.02**2
    walk.refine(0.02, 10_000_000)
    spent = sum(stone.cost for stone in walk.stones)
    assert 0.4 < spent / forecast < 2.5


def test_potentials_of_the_prior_are_numbers_of_mistakes(rng):
    problem = rbf_problem(12, Step())
    path = PriorPath(problem)
    draws = path.draw(500, rng)
    latents = path.white.latents(draws.states[0])
    np.testing.assert_array_equal(draws.statistic[0], (problem.y * latents < 0).sum(axis=1))
    flown = path.advance(2.0, draws.states[:, -1], 300, rng)
    latents = path.white.latents(flown.states[0])
    np.testing.assert_array_equal(flown.statistic[0], (problem.y * latents < 0).sum(axis=1))
    assert path.end == np.inf
    assert path.log_start == 0
