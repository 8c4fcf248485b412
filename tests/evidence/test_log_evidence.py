"""The function as its users meet it: agreement of methods, randomness, targets, warnings, refusals."""

import warnings
from dataclasses import FrozenInstanceError
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from bayespoint import Choice, Hinge, Problem, Step
from bayespoint.engines import EP
from bayespoint.evidence import Estimate, _paths, log_evidence
from bayespoint.exceptions import EmptyVersionSpaceError, InferenceWarning, InvalidProblemError
from truths import methods_for, rbf_problem

LIKELIHOODS = [Step(), Step(0.1), Step(0.0, 0.5), Step(0.1, 0.5), Hinge(2.0)]
FLAT = np.array([[1.0, 0.0], [0.6, 0.8], [-0.8, 0.6]])  # three points of the plane


def flat_problem(likelihood=None, y=(1, 1, 1)):
    return Problem(FLAT @ FLAT.T, y, likelihood or Step())


# -- agreement -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_methods_agree(likelihood, seed):
    problem = rbf_problem(30, likelihood)
    estimates = [log_evidence(problem, seed, method, se=0.1) for method in [*methods_for(problem), "auto"]]
    assert len(estimates) >= 3
    for one, other in combinations(estimates, 2):
        assert abs(one.value - other.value) < 4.5 * np.hypot(one.se, other.se) + 1e-9, f"{one}, {other}"


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_expectation_propagation_is_near(likelihood, seed):
    problem = rbf_problem(30, likelihood)
    assert abs(EP().infer(problem).log_evidence - log_evidence(problem, seed).value) < 0.5


@pytest.mark.parametrize(
    ("problem", "method"),
    [
        (rbf_problem(12, Step()), "bridge"),
        (rbf_problem(12, Step(0.1)), "billiard"),
        (rbf_problem(12, Step(0.1), weights=np.linspace(0.5, 3.0, 12)), "billiard"),
        (rbf_problem(12, Step(0.1, 0.5)), "bridge"),
        (rbf_problem(12, Hinge(2.0)), "bridge"),
        (flat_problem(), "billiard"),
    ],
    ids=["full rank", "noise", "noise and weights", "soft noise", "hinge", "plane"],
)
def test_auto_says_which_method_it_took(problem, method, seed):
    automatic = log_evidence(problem, seed)
    assert automatic.method == method
    named = log_evidence(problem, seed, method)
    if problem.likelihood.is_hard and method == "billiard":  # a refused start uses no randomness
        assert automatic.value == named.value


def test_auto_passes_by_a_gaussian_that_expectation_propagation_distrusts(seed, monkeypatch):
    monkeypatch.setattr(_paths, "EP", Distrusted)
    assert log_evidence(rbf_problem(8, Step(0.1, 0.5)), seed).method == "billiard"


class Distrusted(EP):
    def infer(self, problem, rng=None, **options):
        warnings.warn("Sites are still moving.", InferenceWarning, stacklevel=2)
        return super().infer(problem, rng, **options)


def test_auto_takes_a_distrusted_gaussian_if_nothing_else_applies(seed, monkeypatch):
    """Weighted rows under a soft boundary are out of reach of walls."""
    monkeypatch.setattr(_paths, "EP", Distrusted)
    problem = rbf_problem(8, Step(0.1, 0.5), weights=np.full(8, 2.0))
    with pytest.warns(InferenceWarning, match=r"^Sites are still moving\.$"):
        assert log_evidence(problem, seed).method == "bridge"


def test_weights_of_several_soft_classes_are_refused_in_a_sentence():
    problem = Problem(np.eye(3), [0, 1, 2], Choice(0.1, 0.5), weights=[2.0, 1.0, 1.0])
    with pytest.raises(InvalidProblemError, match=r"^Walls cannot weight rows under a soft boundary[^\n]*\.$"):
        log_evidence(problem, 0)


def test_weights_of_one_are_in_reach_of_walls(seed):
    problem = Problem(np.eye(3) + 0.5, [0, 1, 2], Choice(0.1, 0.5), weights=np.ones(3))
    assert log_evidence(problem, seed).method == "billiard"


def test_auto_tries_nothing_else_where_the_billiard_gets_there(seed, monkeypatch):
    """Under label noise a Gaussian is never nearer, and took most of the time."""
    problem = rbf_problem(20, Step(0.1), weights=np.linspace(0.5, 3.0, 20))
    needed = log_evidence(problem, seed, "billiard").path.draws.sum()

    def unwanted(problem):
        raise AssertionError("a second start")

    monkeypatch.setattr("bayespoint.evidence.gaussian_path", unwanted)
    assert log_evidence(problem, seed, max_draws=int(2.5 * needed)).method == "billiard"


# -- randomness ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", [Step(), Step(0.1, 0.5), Hinge(2.0)], ids=str)
def test_a_seed_fixes_the_estimate(likelihood):
    problem = rbf_problem(10, likelihood)
    for method in methods_for(problem):
        one, two, other = (log_evidence(problem, seed, method) for seed in (3, 3, 4))
        assert (one.value, one.se) == (two.value, two.se)
        assert one.value != other.value


@pytest.mark.parametrize("likelihood", [Step(), Step(0.1, 0.5), Hinge(2.0)], ids=str)
@pytest.mark.parametrize("method", ["billiard", "bridge"])
def test_jobs_change_nothing(method, likelihood):
    problem = rbf_problem(10, likelihood)
    one, two, default = (log_evidence(problem, 0, method, n_jobs=n_jobs) for n_jobs in (1, 2, None))
    assert one.value == two.value == default.value
    assert one.se == two.se


def test_a_generator_moves_on():
    rng = np.random.default_rng(0)
    one, two = (log_evidence(rbf_problem(10, Step()), rng, "billiard") for _ in range(2))
    assert one.value != two.value


@pytest.mark.parametrize("method", ["tilted", "bridge", "billiard"])
def test_inputs_are_left_alone(method):
    problem = rbf_problem(10, Step())
    gram, y = problem.dense.copy(), problem.y.copy()
    log_evidence(problem, 0, method)
    np.testing.assert_array_equal(problem.dense, gram)
    np.testing.assert_array_equal(problem.y, y)


@pytest.mark.parametrize("method", ["tilted", "bridge", "billiard"])
def test_labels_turned_with_their_rows_change_nothing(method):
    """Only the products y_i K_ij y_j count."""
    problem = rbf_problem(10, Step())
    turned = Problem(problem.dense * np.outer(problem.y, problem.y), np.ones(10), Step())
    one, two = (log_evidence(p, 0, method).value for p in (problem, turned))
    assert one == pytest.approx(two, abs=1e-9 if method == "tilted" else 0.5)


# -- targets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("se", [0.3, 0.05])
@pytest.mark.parametrize("method", ["tilted", "bridge", "billiard", "auto"])
def test_the_standard_error_asked_for_is_reached(method, se, seed):
    assert log_evidence(rbf_problem(20, Step()), seed, method, se=se).se <= se


def test_a_smaller_error_takes_more_draws(seed):
    problem = rbf_problem(20, Step())
    rough, fine = (log_evidence(problem, seed, "billiard", se=se) for se in (0.2, 0.05))
    assert fine.path.draws.sum() > 3 * rough.path.draws.sum()


@pytest.mark.parametrize("method", ["tilted", "bridge", "billiard", "auto"])
def test_too_few_draws_are_told(method, seed):
    with pytest.warns(InferenceWarning, match=r"^The log-evidence has a standard error of \S+, not .*max_draws\.$"):
        estimate = log_evidence(rbf_problem(20, Step()), seed, method, se=1e-6, max_draws=3000)
    assert estimate.se > 1e-6
    if estimate.path is not None:
        assert estimate.path.draws.sum() < 2 * 3000


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_a_good_run_is_silent(likelihood, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log_evidence(rbf_problem(20, likelihood), seed, se=0.2)


@pytest.mark.parametrize("method", ["bridge", "billiard"])
def test_the_path_tells_where_the_error_comes_from(method, seed):
    estimate = log_evidence(rbf_problem(20, Step(0.1)), seed, method)
    path = estimate.path
    assert path.levels[0] == 0
    assert path.levels[-1] == 1
    assert np.all(np.diff(path.levels) > 0)
    assert path.log_normalisers[-1] == pytest.approx(estimate.value)
    assert np.sqrt(path.variance.sum()) == pytest.approx(estimate.se)
    assert path.draws.shape == path.levels.shape


def test_walls_end_at_infinity(seed):
    path = log_evidence(rbf_problem(20, Step()), seed, "billiard").path
    assert path.levels[-1] == np.inf
    assert np.all(np.diff(path.log_normalisers) < 0)  # volumes shrink


def test_tilting_has_no_path():
    assert log_evidence(rbf_problem(5, Step()), 0, "tilted").path is None


# -- refusals --------------------------------------------------------------------------------------------------------


def one_sentence(words):
    return rf"^[^\n]*{words}[^\n]*\.$"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "laplace"}, r"method must be one of 'auto', 'tilted', 'billiard', 'bridge', got 'laplace'"),
        ({"se": 0.0}, "se must be a number above 0"),
        ({"se": -1.0}, "se must be a number above 0"),
        ({"se": np.nan}, "se must be a number above 0"),
        ({"max_draws": 0}, "max_draws must be at least 1"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(InvalidProblemError, match=one_sentence(words)):
        log_evidence(rbf_problem(3, Step()), 0, **settings)


TILTED_ON_NOISE = r"Minimax tilting is for steps without label noise, not .*: use method='billiard' or 'bridge'"
FULL_RANK = r"Minimax tilting needs a Gram matrix of full rank: use method='billiard', or softness above 0"


@pytest.mark.parametrize(
    ("problem", "method", "words"),
    [
        (rbf_problem(3, Step(0.1)), "tilted", TILTED_ON_NOISE),
        (rbf_problem(3, Step(0.1, 0.5)), "tilted", TILTED_ON_NOISE),
        (rbf_problem(3, Hinge(1.0)), "tilted", TILTED_ON_NOISE),
        (
            rbf_problem(3, Step(0.0, 0.5), weights=np.full(3, 2.0)),
            "tilted",
            "Walls cannot weight rows under a soft boundary",
        ),
        (
            rbf_problem(3, Step(0.1, 0.5), weights=np.full(3, 2.0)),
            "billiard",
            "Walls cannot weight rows under a soft boundary",
        ),
        (
            rbf_problem(3, Step(0.0, 0.5), weights=np.full(3, 2.0)),
            "billiard",
            "Walls cannot weight rows under a soft boundary",
        ),
        (flat_problem(), "tilted", FULL_RANK),
        (flat_problem(), "bridge", FULL_RANK),
    ],
    ids=lambda value: value if value in ("tilted", "bridge", "billiard") else "",
)
def test_a_method_that_does_not_apply_is_refused(problem, method, words):
    with pytest.raises(InvalidProblemError, match=one_sentence(words)):
        log_evidence(problem, 0, method)


@pytest.mark.parametrize(
    ("gram", "y", "reason"),
    [
        (np.ones((2, 2)), [1, -1], "rows 0 and 1 are the same point with different labels"),
        (np.diag([1.0, 0.0]), [1, 1], "row 1 has kernel value zero with itself"),
        (np.outer([1, -1], [1, -1]), [1, 1], "no function of this kernel separates the training labels"),
        (np.array([[1, 0, -1], [0, 1, -1], [-1, -1, 2]]), [1, 1, 1], "no function of this kernel separates"),
    ],
    ids=["opposite labels", "norm zero", "mirrored", "plane"],
)
@pytest.mark.parametrize("method", ["auto", "billiard"])
def test_an_empty_version_space_is_refused(method, gram, y, reason):
    with pytest.raises(EmptyVersionSpaceError, match=one_sentence(rf"Version space is empty: {reason}")):
        log_evidence(Problem(gram, y, Step()), 0, method)


def test_a_soft_boundary_fills_any_version_space(seed):
    estimate = log_evidence(Problem(np.ones((2, 2)), [1, -1], Step(softness=0.5)), seed, se=0.02)
    assert abs(estimate.value - np.log(0.25 - np.arcsin(1 / 1.5) / (2 * np.pi))) < 4.5 * estimate.se + 1e-9


# -- the result ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.01, 0.05, 0.5])
def test_the_lower_end_is_a_quantile(level):
    assert Estimate(-3.0, 0.2, "tilted").lower(level) == pytest.approx(norm.ppf(level, -3.0, 0.2))


def test_the_lower_end_by_default_and_without_an_error():
    assert Estimate(-3.0, 0.2, "tilted").lower() == pytest.approx(-3.0 - 1.6448536 * 0.2)
    assert Estimate(-3.0, None, "EP").lower(0.01) == -3.0


def test_an_estimate_reads_as_a_number_with_an_error():
    assert str(Estimate(-12.3456, 0.0214, "bridge")) == "-12.346 +- 0.021 (bridge)"
    assert str(Estimate(-1.0, None, "EP")) == "-1.000 (EP)"


def test_an_estimate_does_not_change():
    with pytest.raises(FrozenInstanceError):
        Estimate(-1.0, 0.1, "tilted").value = 0.0


def test_the_lower_end_covers_as_often_as_it_says():
    """Twenty points whose orthant has probability 1/21, a hundred times: misses are binomial."""
    problem = Problem(0.5 * (np.eye(20) + 1), np.ones(20), Step())
    misses = sum(log_evidence(problem, k, "bridge", se=0.2).lower(0.2) > -np.log(21) for k in range(100))
    assert 6 <= misses <= 36  # outside with probability 2e-4
