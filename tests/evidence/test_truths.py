"""Every method against evidence by other means, in units of the standard error it reports."""

import warnings

import numpy as np
import pytest

from bayespoint import Hinge, Problem, Step
from bayespoint.evidence import _paths, log_evidence
from truths import (
    assert_close,
    assert_exact,
    by_draws,
    by_quadrature,
    by_recursion,
    likelihood_of,
    markov_problem,
    methods_for,
    orthant_by_genz,
    pair_probability,
    rbf_problem,
    spherical_polygon,
    two_latents,
    wedge,
)

SMOOTH = [Step(0.1), Step(0.0, 0.5), Step(0.1, 0.5), Hinge(2.0)]
WEIGHTS = (2.0, 0.5, 1.0, 3.0)


# -- orthants --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tilted", "bridge", "billiard", "auto"])
@pytest.mark.parametrize("size", [5, 10, 20])
def test_an_orthant_is_that_of_scipy(size, method, seed):
    truth, truth_se = orthant_by_genz(size)
    assert truth_se < 0.01
    assert_exact(rbf_problem(size, Step()), truth, method, seed, truth_se=truth_se)


@pytest.mark.parametrize(
    ("method", "size"),
    [("tilted", 1), ("tilted", 20), ("tilted", 500), ("bridge", 20), ("bridge", 500), ("billiard", 20)],
)
def test_independent_points_halve_the_volume(method, size, seed):
    y = np.where(np.arange(size) % 3, 1.0, -1.0)
    problem = Problem(np.diag(np.linspace(0.5, 2.0, size)), y, Step())
    estimate = assert_exact(problem, -size * np.log(2), method, seed, se=0.1)
    if method != "billiard":  # tilting has nothing left to do
        assert estimate.value == pytest.approx(-size * np.log(2), rel=1e-12)


@pytest.mark.parametrize(
    ("method", "size"),
    [
        ("tilted", 3),
        ("tilted", 60),
        ("tilted", 500),
        ("bridge", 60),
        ("bridge", 500),
        ("billiard", 3),
        ("billiard", 60),
    ],
)
def test_equal_correlations_of_one_half(method, size, seed):
    """A common variable that is the smallest of size + 1 equals: one chance in size + 1."""
    problem = Problem(0.5 * (np.eye(size) + 1), -np.ones(size), Step())
    assert_exact(problem, -np.log(size + 1), method, seed, se=0.1)


def assert_wrong_truths_are_told(problem, method, seed):
    """The comparison itself must be seen to fail."""
    estimate = log_evidence(problem, seed, method, se=0.1)
    for errors in (-10, 10):
        with pytest.raises(AssertionError, match="is off"):
            assert_close(estimate, estimate.value + errors * estimate.se)


@pytest.mark.parametrize("method", ["tilted", "bridge", "billiard"])
def test_a_shifted_truth_is_told(method, seed):
    assert_wrong_truths_are_told(rbf_problem(10, Step()), method, seed)


@pytest.mark.parametrize("likelihood", [Step(), Step(0.1), Hinge(2.0)], ids=str)
def test_walls_of_half_the_energy_are_told(likelihood, seed, monkeypatch):
    problem = rbf_problem(10, likelihood)
    right = log_evidence(problem, seed + 50, "bridge", se=0.04)
    fly = _paths._fly

    def soft(walls, *args):  # chains of a lower level than they say, potentials of the right one
        draws = fly(walls._replace(energy=0.5 * np.minimum(walls.energy, 6.0)), *args)
        return draws._replace(statistic=2.0 * draws.statistic)

    monkeypatch.setattr(_paths, "_fly", soft)
    with pytest.raises(AssertionError, match="is off"):
        assert_close(log_evidence(problem, seed, "billiard", se=0.05), right.value, right.se)


# -- one and two points ----------------------------------------------------------------------------------------------


def cases(problem_of, likelihoods):
    return [
        pytest.param(likelihood, method, id=f"{likelihood}-{method}")
        for likelihood in likelihoods
        for method in methods_for(problem_of(likelihood))
    ]


def one_point(likelihood):
    return Problem([[2.0]], [-1], likelihood)


def two_points(likelihood):
    return Problem([[2.0, -0.9], [-0.9, 0.8]], [1, -1], likelihood)


@pytest.mark.parametrize(("likelihood", "method"), cases(one_point, [Step(), *SMOOTH]))
def test_a_single_point(likelihood, method, seed):
    truth = by_quadrature(one_point(likelihood)) if isinstance(likelihood, Hinge) else np.log(0.5)
    assert_exact(one_point(likelihood), truth, method, seed, se=0.02)


@pytest.mark.parametrize(("likelihood", "method"), cases(two_points, [Step(), *SMOOTH]))
def test_two_points(likelihood, method, seed):
    problem = two_points(likelihood)
    if isinstance(likelihood, Hinge):
        truth = by_quadrature(problem)
    else:  # same signs have probability 2 p, label noise mixes them
        wide = problem.dense + likelihood.softness * np.eye(2)
        p, q = pair_probability(-wide[0, 1] / np.sqrt(wide[0, 0] * wide[1, 1])), likelihood.noise
        truth = np.log(p * (q**2 + (1 - q) ** 2) + (1 - 2 * p) * q * (1 - q))
    assert_exact(problem, truth, method, seed, se=0.02)


@pytest.mark.parametrize("method", ["bridge", "billiard"])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_gentle_and_steep_hinges(C, method, seed):
    problem = two_points(Hinge(C))
    assert_exact(problem, by_quadrature(problem), method, seed, se=0.02)


# -- a few points by draws of the prior ------------------------------------------------------------------------------


def four_points(likelihood, weights=None):
    return rbf_problem(4, likelihood, weights=weights)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("likelihood", SMOOTH, ids=str)
def test_four_points_by_draws_of_the_prior(likelihood, weights, seed):
    problem = four_points(likelihood, weights)
    truth, truth_se = by_draws(problem)
    assert truth_se < 0.01
    for method in methods_for(problem):
        assert_exact(problem, truth, method, seed, se=0.03, truth_se=truth_se)


def test_weights_do_not_move_hard_walls(seed):
    plain, weighted = four_points(Step()), four_points(Step(), WEIGHTS)
    for method in methods_for(plain):
        one, other = (log_evidence(problem, seed, method) for problem in (plain, weighted))
        assert one.value == other.value


@pytest.mark.parametrize("likelihood", [Step(0.1), Step(0.1, 0.5), Hinge(2.0)], ids=str)
def test_whole_weights_are_copies(likelihood, seed):
    weighted = four_points(likelihood, (2.0, 1.0, 1.0, 3.0))
    rows = np.repeat(np.arange(4), [2, 1, 1, 3])
    copies = Problem(weighted.dense[np.ix_(rows, rows)], weighted.y[rows], likelihood)
    one, other = (log_evidence(problem, seed + k, "bridge", se=0.04) for k, problem in enumerate((weighted, copies)))
    if likelihood.softness == 0:
        assert_close(one, other.value, other.se)
    truth, truth_se = by_draws(copies, 400_000)  # copies share their latent, and have latent noise of their own
    assert_close(other, truth, truth_se)


# -- rank-deficient Gram matrices ------------------------------------------------------------------------------------


def linear(size, dimension, seed):
    rng = np.random.default_rng([seed, size, dimension])
    X, teacher = rng.normal(size=(size, dimension)), rng.normal(size=dimension)
    return X, np.sign(X @ teacher), teacher


@pytest.mark.parametrize("method", ["billiard", "auto"])
@pytest.mark.parametrize("size", [3, 12, 60])
def test_a_wedge_of_the_plane(size, method, seed):
    X, y, teacher = linear(size, 2, seed)
    estimate = assert_exact(Problem(X @ X.T, y, Step()), np.log(wedge(X, y, teacher)), method, seed)
    assert estimate.method == "billiard"


@pytest.mark.parametrize("size", [4, 15, 60])
def test_a_polygon_on_the_sphere(size, seed):
    X, y, _ = linear(size, 3, seed)
    assert_exact(Problem(X @ X.T, y, Step()), np.log(spherical_polygon(X, y)), "billiard", seed)


def test_an_octant_is_an_eighth_of_the_sphere():
    """The witnesses themselves."""
    assert spherical_polygon(np.eye(3), np.ones(3)) == pytest.approx(1 / 8)
    assert spherical_polygon(np.diag([1.0, 1.0, -2.0]), np.array([1.0, 1.0, -1.0])) == pytest.approx(1 / 8)
    assert wedge(np.eye(2), np.ones(2), np.array([1.0, 2.0])) == pytest.approx(1 / 4)


@pytest.mark.parametrize("method", ["bridge", "billiard"])
@pytest.mark.parametrize("likelihood", [Step(0.1), Step(0.1, 0.5), Hinge(2.0)], ids=str)
def test_label_noise_in_the_plane(likelihood, method, seed):
    X, y, _ = linear(8, 2, 3)
    y[0] *= -1
    problem = Problem(X @ X.T, y, likelihood)
    truth, truth_se = by_draws(problem, 400_000)
    assert_exact(problem, truth, method, seed, truth_se=truth_se)


@pytest.mark.parametrize("method", ["billiard", "auto"])
def test_copies_with_equal_labels_leave_version_space_alone(method, seed):
    gram = np.array([[1.0, 0.3], [0.3, 2.0]])
    rows = [0, 1, 1, 0, 0]
    problem = Problem(gram[np.ix_(rows, rows)], np.array([1.0, -1.0])[rows], Step())
    assert_exact(problem, np.log(pair_probability(-0.3 / np.sqrt(2.0))), method, seed)


@pytest.mark.parametrize("method", ["bridge", "billiard"])
@pytest.mark.parametrize("y", [[1, -1, 1, 1, 1], [1, 1, 1, -1, -1], [-1, 1, 1, 1, -1]], ids=str)
def test_copies_with_opposite_labels_need_label_noise(y, method, seed):
    gram, rows = np.array([[1.0, 0.3], [0.3, 2.0]]), [0, 1, 1, 0, 0]
    problem = Problem(gram[np.ix_(rows, rows)], y, Step(0.1))
    assert_exact(problem, two_latents(gram, y, Step(0.1), rows), method, seed)


@pytest.mark.parametrize("method", ["bridge", "billiard"])
def test_mirrored_rows_with_equal_labels_are_opposite_labels(method, seed):
    problem = Problem(np.outer([1, -2], [1, -2]), [1, 1], Step(0.1))
    assert_exact(problem, np.log(0.09), method, seed)


@pytest.mark.parametrize(
    ("likelihood", "method", "weight"),
    [
        (Step(0.1), "bridge", 1.0),
        (Step(0.1), "bridge", 3.0),
        (Step(0.1), "billiard", 3.0),
        (Step(0.1), "billiard", 1.0),
        (Step(0.1, 0.5), "bridge", 1.0),
        (Step(0.1, 0.5), "bridge", 3.0),
        (Step(0.1, 0.5), "billiard", 1.0),
        (Step(0.0, 0.5), "tilted", 1.0),
        (Step(0.0, 0.5), "billiard", 1.0),
        (Hinge(2.0), "bridge", 3.0),
        (Hinge(2.0), "billiard", 3.0),
    ],
    ids=str,
)
def test_a_row_of_norm_zero_is_a_coin(likelihood, method, weight, seed):
    """Under a step both labels have probability one half; a hinge at zero is known; a weight is a power."""
    gram = np.array([[1.0, 0.0, 0.4], [0.0, 0.0, 0.0], [0.4, 0.0, 0.5]])
    problem = Problem(gram, [1, 1, -1], likelihood, None if weight == 1 else [1.0, weight, 1.0])
    truth, truth_se = by_draws(Problem(gram[::2, ::2], [1, -1], likelihood), 400_000)
    assert_exact(problem, truth + weight * np.log(at_zero(likelihood)), method, seed, truth_se=truth_se)


def at_zero(likelihood):
    return likelihood_of(likelihood, np.array(0.0)) if isinstance(likelihood, Hinge) else 0.5


@pytest.mark.parametrize(
    ("likelihood", "method"),
    [
        (Step(0.1), "billiard"),
        (Hinge(2.0), "billiard"),
        (Step(0.0, 0.5), "tilted"),
        (Step(0.0, 0.5), "auto"),
        (Step(0.1), "auto"),
        (Hinge(2.0), "auto"),
        (Step(0.1, 0.5), "bridge"),
        (Step(0.1, 0.5), "billiard"),
    ],
    ids=str,
)
def test_a_prior_without_functions(likelihood, method, seed):
    problem = Problem(np.zeros((2, 2)), [1, -1], likelihood)
    assert_exact(problem, 2 * np.log(at_zero(likelihood)), method, seed)


# -- thin version spaces ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tilted", "bridge", "auto", "billiard"])
def test_two_opposite_points(method, seed):
    r = 1e-3 - 1
    problem = Problem([[1.0, r], [r, 1.0]], [1, 1], Step())
    assert_exact(problem, np.log(pair_probability(r)), method, seed, se=0.1)


@pytest.mark.parametrize("method", ["tilted", "bridge", "auto", "billiard"])
def test_two_nearly_opposite_points(method, seed):
    r = 1e-8 - 1
    problem = Problem([[1.0, r], [r, 1.0]], [1, 1], Step())
    assert_exact(problem, np.log(pair_probability(r)), method, seed, se=0.1)


@pytest.mark.parametrize("method", ["billiard", "auto"])
def test_a_thin_version_space_under_little_noise(method, seed):
    """Most of the evidence is in a wedge that few balls under these walls see: better no error than a wrong one.

    Whether the wedge is met is up to the last digit, and so to the processor.
    """
    r, q = 1e-8 - 1, 1e-6
    p = pair_probability(r)
    truth = np.log((1 - 2 * q * (1 - q)) * p + 2 * q * (1 - q) * (0.5 - p))
    problem = Problem([[1.0, r], [r, 1.0]], [1, 1], Step(q))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = log_evidence(problem, seed, method, se=0.1)
    if found.se == np.inf:
        assert any(str(one.message).startswith("The log-evidence is not to be trusted") for one in told)
    else:
        assert abs(found.value - truth) < 5 * found.se


@pytest.mark.parametrize("method", ["tilted", "auto"])
def test_points_so_close_that_walls_merge_are_not_taken_for_one(method, seed):
    r = 1 - 2e-13
    problem = Problem([[1.0, r], [r, 1.0]], [1, -1], Step())
    assert_exact(problem, np.log(np.arccos(r) / (2 * np.pi)), method, seed, se=0.1)


# -- many points: a Markov prior -------------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", [Step(0.1), Step(0.1, 0.5), Hinge(2.0), Hinge(0.5)], ids=str)
def test_a_markov_prior_at_fifty_points(likelihood, seed):
    problem = markov_problem(50, likelihood)
    truth = by_recursion(problem)
    assert truth == pytest.approx(by_recursion(problem, order=30), abs=1e-6)
    for method, se in (("bridge", 0.1), ("billiard", 0.2)):
        assert_exact(problem, truth, method, seed, se=se)


@pytest.mark.parametrize("likelihood", [Step(0.1), Hinge(2.0)], ids=str)
def test_the_recursion_agrees_with_draws(likelihood):
    problem = markov_problem(5, likelihood)
    truth, truth_se = by_draws(problem)
    assert abs(by_recursion(problem) - truth) < 4.5 * truth_se
