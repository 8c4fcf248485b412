from math import acos, pi, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from bayespoint import Problem, Step
from bayespoint.bounds import centre_of_mass_gap
from bayespoint.engines import EP, Billiard
from bayespoint.exceptions import InvalidProblemError
from bayespoint.posteriors import SampledPosterior

LARGEST = 0.1052568  # of arccos(x) / pi - (1 - x) / 2, at x = 0.7712


def posterior_of(draws):
    problem = Problem(np.eye(draws.shape[1]), np.ones(draws.shape[1]), Step(0.1))
    return SampledPosterior(problem, problem.whitened(), draws[None])


def unit(angles):
    return np.column_stack([np.cos(angles), np.sin(angles)])


def disagreement(v, draws):
    draws = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    return np.arccos(np.clip(draws @ (v / np.linalg.norm(v)), -1, 1)).mean() / pi


def bayes_point_error(draws):
    """Smallest disagreement over all directions: a dense search, then the best few by descent."""
    rng = np.random.default_rng(0)
    starts = np.vstack([rng.normal(size=(3000, draws.shape[1])), draws[:: max(1, len(draws) // 300)]])
    coarse = draws[:: max(1, len(draws) // 300)]
    ranked = sorted(starts, key=lambda v: disagreement(v, coarse))[:4]
    return min(minimize(disagreement, v, args=(draws,), method="Nelder-Mead").fun for v in ranked)


def drawn(problem):
    posterior = Billiard(draws=500).infer(problem, rng=0)
    return posterior, posterior.coordinates.reshape(-1, posterior.coordinates.shape[-1])


def random_problem(dimension, rows, rng, step=None):
    X, w = rng.normal(size=(rows, dimension)), rng.normal(size=dimension)
    return Problem(X @ X.T, np.sign(X @ w), step or Step())


def test_two_draws_by_hand():
    bound = centre_of_mass_gap(posterior_of(5 * unit(np.array([-0.3, 0.3]))))
    x = np.cos(0.3)
    kappa = acos(x) / pi - (1 - x) / 2
    assert bound.value == pytest.approx(kappa, rel=1e-12)
    assert bound.terms == pytest.approx(
        {"epsilon": x, "kappa": kappa, "smallest product": np.cos(0.6), "sharp gap": kappa, "disagreement": 0.3 / pi}
    )


def test_kappa_is_the_largest_error_of_the_proxy_beyond_epsilon():
    def proxy_error(x):
        return acos(x) / pi - (1 - x) / 2

    peak = minimize_scalar(lambda x: -proxy_error(x), bounds=(0, 1), method="bounded", options={"xatol": 1e-9})
    assert peak.x == pytest.approx(sqrt(1 - 4 / pi**2), abs=1e-6)
    assert -peak.fun == pytest.approx(LARGEST, abs=1e-7)
    for angle in np.linspace(0.05, pi / 4, 20):
        bound = centre_of_mass_gap(posterior_of(unit(np.array([-angle, angle]))))
        beyond = np.linspace(np.cos(angle), 1, 2001)
        assert bound.value == pytest.approx(max(map(proxy_error, beyond)), rel=1e-5)


def test_draws_at_an_obtuse_angle_cost_the_largest_error_once_more():
    bound = centre_of_mass_gap(posterior_of(unit(np.array([-1.0, 0.0, 1.0]))))
    assert bound.terms["smallest product"] < 0
    assert bound.value == pytest.approx(2 * LARGEST, abs=2e-7)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("rows", [4, 10, 40])
def test_the_gap_to_the_bayes_point_is_within_the_bound(dimension, rows, rng):
    posterior, draws = drawn(random_problem(dimension, rows, rng))
    bound = centre_of_mass_gap(posterior)
    directions = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    own = disagreement(directions.mean(axis=0), draws)
    assert own == pytest.approx(bound.terms["disagreement"], rel=1e-9)
    gap = own - bayes_point_error(draws)
    assert -1e-6 < gap <= bound.terms["sharp gap"] <= bound.value * (1 + 1e-12)


def test_the_gap_of_a_posterior_over_the_whole_sphere_is_within_the_bound(rng):
    posterior, draws = drawn(random_problem(3, 6, rng, Step(noise=0.2)))
    bound = centre_of_mass_gap(posterior)
    assert bound.terms["smallest product"] < 0
    assert bound.terms["disagreement"] - bayes_point_error(draws) <= bound.terms["sharp gap"] <= bound.value


def test_the_search_notices_a_poor_classifier():
    draws = unit(np.r_[np.zeros(90), np.full(10, 1.2)])
    bound = centre_of_mass_gap(posterior_of(draws))
    best = bayes_point_error(draws)
    assert best == pytest.approx(0.12 / pi, abs=1e-6)  # the median direction
    assert 0 < bound.terms["disagreement"] - best <= bound.value
    assert disagreement(draws[-1], draws) - best > bound.value  # a single draw has no such guarantee


def test_more_points_make_a_closer_centre(rng):
    values = [centre_of_mass_gap(drawn(random_problem(3, rows, rng))[0]).value for rows in (4, 50, 500)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < 0.05


def test_many_draws_are_taken_in_blocks(rng):
    draws = np.abs(rng.normal(size=(2500, 3)))
    directions = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    smallest = centre_of_mass_gap(posterior_of(draws)).terms["smallest product"]
    assert smallest == pytest.approx((directions @ directions.T).min(), abs=1e-15)


def test_draws_that_cancel_are_refused():
    with pytest.raises(InvalidProblemError, match="cancel"):
        centre_of_mass_gap(posterior_of(np.array([[1.0, 0.0], [-1.0, 0.0]])))


def test_only_draws_have_a_centre():
    with pytest.raises(InvalidProblemError, match="draws"):
        centre_of_mass_gap(EP().infer(Problem(np.eye(2), [1, -1], Step())))
    with pytest.raises(InvalidProblemError, match="draws"):
        centre_of_mass_gap(SimpleNamespace())
