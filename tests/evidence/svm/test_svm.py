"""The normalised evidence of the support vector machine against quadrature, recursions, and sums over labels."""

from dataclasses import replace
from functools import partial
from itertools import product
from math import lgamma

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Problem, Step
from bayespoint.evidence.svm import log_normaliser, normaliser_slope, svm_log_evidence
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.likelihoods import SquaredHinge
from truths import assert_close, by_recursion, markov_problem, panels
from witnesses import central_difference

CELLS = list(product([0.1, 0.7, 2.0, 10.0], [0.1, 1.0, 100.0]))  # C, K0


def q(f, y, C, weight=1.0):
    """The hinge likelihood (4) to a power, written out once more."""
    return (np.exp(-C * np.clip(1 - y * f, 0.0, None)) / (1 + np.exp(-2 * C))) ** weight


def v(f, C, weight=1.0):
    return q(f, 1.0, C, weight) + q(f, -1.0, C, weight)


# -- witnesses -------------------------------------------------------------------------------------------------------


def nodes(var, C, order=10):
    """Panels of one latent, which end at the kinks and are as fine as the hinges are steep."""
    sd = np.sqrt(var)
    near = np.array([1.0, 3.0, 7.0, 15.0]) / C
    edges = np.r_[sd * np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.5, 9.5]), 1.0, 1 + sd, 1 + near, 1 - near]
    edges = edges[(edges >= 0) & (edges <= max(9.5 * sd, 1.0))]
    return panels(np.unique(np.r_[edges, -edges]), order)


def by_quadrature(gram, factors, C, order=10):
    """Logarithm of the mean over N(0, gram) of a product of one function a latent, up to three of them."""
    precision = np.linalg.inv(gram)
    points = [nodes(var, C, order) for var in np.diagonal(gram)]
    x = [f for f, _ in points]
    own = [
        w * factor(f) * np.exp(-0.5 * precision[i, i] * f * f)
        for i, ((f, w), factor) in enumerate(zip(points, factors, strict=True))
    ]

    def pair(i, j):
        return np.exp(-precision[i, j] * np.multiply.outer(x[i], x[j]))

    if len(gram) == 1:
        total = own[0].sum()
    elif len(gram) == 2:
        total = own[0] @ pair(0, 1) @ own[1]
    else:
        total = own[0] @ (((pair(0, 1) * own[1]) @ pair(1, 2)) * pair(0, 2)) @ own[2]
    return np.log(total) - 0.5 * np.linalg.slogdet(2 * np.pi * gram)[1]


def naive_truth(problem, order=10):
    C, weights = problem.likelihood.C, problem.exponents
    factors = [partial(q, y=y, C=C, weight=w) for y, w in zip(problem.y, weights, strict=True)]
    return by_quadrature(problem.dense, factors, C, order)


def conditional_truth(problem, order=10):
    """log N(X), (28)."""
    C = problem.likelihood.C
    return by_quadrature(problem.dense, [partial(v, C=C, weight=w) for w in problem.exponents], C, order)


def joint_truth(problem):
    """log N-hat, (29), of two rows: the square of a sum, term by term."""
    C, (one, two) = problem.likelihood.C, problem.exponents
    terms = [
        by_quadrature(problem.dense, [lambda f, a=a: v(f, C, one) ** a, lambda f, a=a: v(f, C, two) ** (2 - a)], C)
        for a in range(3)
    ]
    return logsumexp(terms, b=[0.25, 0.5, 0.25])


def forward(problem, factors):
    """Means over a Markov prior of products over latents, of several functions at once: `factors` is (node, k)."""
    f, w = panels([-12, -6, -3, -1, 0, 1, 3, 6, 12], 24)
    factor = factors(f)
    gram, total = problem.dense, np.zeros(factor.shape[1], dtype=factor.dtype)
    message = norm.pdf(f, scale=np.sqrt(gram[0, 0]))[:, None] * np.ones_like(factor)
    for i in range(problem.size):
        message = message * factor
        mass = w @ message
        total = total + np.log(mass)
        if i + 1 < problem.size:
            back = gram[i, i + 1] / gram[i, i]
            spread = np.sqrt(gram[i + 1, i + 1] - back * gram[i, i + 1])
            message = norm.pdf(f[:, None], loc=back * f, scale=spread) @ (w[:, None] * message / mass)
    return total


def conditional_by_recursion(problem):
    return float(forward(problem, lambda f: v(f, problem.likelihood.C)[:, None])[0])


def joint_by_recursion(problem, turns=128):
    """(sum v_i)^n is n! times a coefficient of the product of exp(s v_i): a mean over a circle of s.

    Its radius is near the saddle, n / sum v_i.
    """
    n, C = problem.size, problem.likelihood.C
    s = 1.1 * np.exp(2j * np.pi * np.arange(turns) / turns)
    logs = forward(problem, lambda f: np.exp(np.multiply.outer(v(f, C), s))) - n * np.log(s)
    top = logs.real.max()
    return top + np.log(np.exp(logs - top).mean().real) + lgamma(n + 1) - n * np.log(n)


def assert_chained(estimate, truth):
    """Twenty batches a link know its error only roughly: half as much again for Student's tails."""
    assert_close(replace(estimate, se=1.5 * estimate.se), truth)


def small_problem(size, C, amplitude, weights=None):
    """Rows on a line with labels in turn."""
    gram = amplitude * RBF(1.0)(0.9 * np.arange(size)[:, None])
    return Problem(gram, np.where(np.arange(size) % 2, -1.0, 1.0), Hinge(C), weights)


def test_witnesses_agree_with_each_other_and_with_draws():
    for size, (C, amplitude) in product([1, 2, 3], CELLS):
        problem = small_problem(size, C, amplitude)
        assert naive_truth(problem) == pytest.approx(naive_truth(problem, 7), abs=1e-9)
        assert conditional_truth(problem) == pytest.approx(conditional_truth(problem, 7), abs=1e-9)
    f = np.random.default_rng(0).standard_normal((1_000_000, 2))
    problem = small_problem(2, 2.0, 1.0)
    values = v(f @ np.linalg.cholesky(problem.dense).T, 2.0)
    for truth, draws in (
        (conditional_truth(problem), values.prod(axis=1)),
        (joint_truth(problem), values.mean(axis=1) ** 2),
    ):
        assert abs(np.log(draws.mean()) - truth) < 4.5 * draws.std() / draws.mean() / 1e3
    chain = markov_problem(2, Hinge(2.0))
    assert conditional_by_recursion(chain) == pytest.approx(conditional_truth(chain), abs=1e-7)
    assert joint_by_recursion(chain) == pytest.approx(joint_truth(chain), abs=1e-7)


# -- small problems --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3])
def test_normalisers_of_small_problems_are_those_of_quadrature(size, seed):
    for C, amplitude in CELLS:
        problem = small_problem(size, C, amplitude)
        truth = conditional_truth(problem)
        estimate = log_normaliser(problem, [seed, 1], se=0.05)
        assert estimate.se <= 0.05
        assert_close(estimate, truth)
        assert_chained(log_normaliser(problem, [seed, 2], method="chaining"), truth)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_naive_evidence_of_small_problems_is_that_of_quadrature(size, seed):
    for C, amplitude in CELLS:
        problem = small_problem(size, C, amplitude)
        truth = naive_truth(problem)
        # where EP is next to exact, draws miss what it misses in the tails
        assert_close(svm_log_evidence(problem, [seed, 3], "naive", "sampled", se=0.05), truth, truth_se=1e-4)
        if C <= 2:  # steep hinges leave a link few draws of weight, and batches do not tell
            assert_chained(svm_log_evidence(problem, [seed, 4], "naive", "chaining"), truth)
        found = svm_log_evidence(problem, None, "naive", "ep")
        assert found.se is None
        assert found.value == pytest.approx(truth, abs=1e-6 if size == 1 else 0.01)


@pytest.mark.parametrize("method", ["sampled", "chaining"])
def test_the_joint_normaliser_of_two_rows_is_that_of_quadrature(method, seed):
    for C, amplitude in CELLS[::2]:
        problem = small_problem(2, C, amplitude)
        assert_close(log_normaliser(problem, seed, "joint", method, se=0.05), joint_truth(problem))


def test_normalised_evidence_is_the_ratio(seed):
    problem = small_problem(2, 2.0, 1.0)
    naive, truths = naive_truth(problem), {"conditional": conditional_truth(problem), "joint": joint_truth(problem)}
    for kind, method in product(truths, ["sampled", "chaining"]):
        estimate = svm_log_evidence(problem, seed, kind, method, se=0.03)
        assert_close(estimate, naive - truths[kind])
        assert estimate.method.startswith(f"{kind}, ")
    assert_close(svm_log_evidence(problem, seed, se=0.03), naive - truths["conditional"])  # by EP, right to 0.002


def test_a_wrong_slope_is_told(seed):
    estimate = log_normaliser(small_problem(3, 2.0, 1.0), seed, se=0.03)
    with pytest.raises(AssertionError, match="errors"):
        assert_close(estimate, conditional_truth(small_problem(3, 2.6, 1.0)))


@pytest.mark.parametrize(("C", "amplitude"), [(0.7, 1.0), (2.0, 100.0)])
def test_the_normaliser_is_the_sum_over_labellings(C, amplitude, seed):
    problem = small_problem(3, C, amplitude)
    labellings = [Problem(problem.dense, y, Hinge(C)) for y in product([-1.0, 1.0], repeat=3)]
    assert logsumexp([naive_truth(p) for p in labellings]) == pytest.approx(conditional_truth(problem), abs=1e-9)
    estimates = [svm_log_evidence(p, [seed, k], "conditional", "sampled") for k, p in enumerate(labellings)]
    shares, errors = np.exp([e.value for e in estimates]), np.array([e.se for e in estimates])
    assert abs(shares.sum() - 1) < 4.5 * np.sqrt(np.sum((shares * errors) ** 2))


def test_labels_do_not_matter_to_normalisers(seed):
    problem = small_problem(3, 2.0, 1.0)
    for kind, method in product(["conditional", "joint"], ["sampled", "chaining"]):
        one, other = (
            log_normaliser(Problem(problem.dense, y, Hinge(2.0)), seed, kind, method).value for y in ([1] * 3, [-1] * 3)
        )
        assert one == other


@pytest.mark.parametrize("kind", ["conditional", "joint"])
def test_a_flat_hinge_guesses(kind, seed):
    gram = 1.5 * RBF(1.0)(np.linspace(0, 3, 8)[:, None])
    problem = Problem(gram, np.where(np.arange(8) < 4, -1, 1), Hinge(1e-3))
    for method in ("ep", "sampled", "laplace"):
        found = svm_log_evidence(problem, seed, kind, method)
        assert found.value == pytest.approx(-8 * np.log(2), abs=8e-3)  # n C, which is what Laplace is off


@pytest.mark.parametrize("method", ["sampled", "chaining"])
def test_weights_multiply_the_slope(method, seed):
    problem = small_problem(2, 2.0, 0.3, [0.4, 3.0])
    assert_close(svm_log_evidence(problem, seed, "naive", method, se=0.03), naive_truth(problem))
    assert_close(log_normaliser(problem, seed, "conditional", method, se=0.03), conditional_truth(problem))
    assert_close(log_normaliser(problem, seed, "joint", method, se=0.03), joint_truth(problem))
    assert abs(conditional_truth(problem) - conditional_truth(small_problem(2, 2.0, 0.3))) > 0.15


def test_expectation_propagation_of_the_normaliser_minds_weights():
    problem = small_problem(1, 1.3, 2.0, [3.0])
    assert log_normaliser(problem, method="ep").value == pytest.approx(conditional_truth(problem), abs=1e-7)


@pytest.mark.parametrize("method", ["sampled", "chaining"])
def test_rows_of_norm_zero_stay_in_the_gap(method, seed):
    problem = Problem(np.diag([0.0, 1.0]), [1, -1], Hinge(2.0))
    gap, alone = np.log(v(0.0, 2.0)), conditional_truth(small_problem(1, 2.0, 1.0))
    assert_close(log_normaliser(problem, seed, method=method, se=0.03), gap + alone)
    either = by_quadrature(np.eye(1), [lambda f: (0.5 * (v(0.0, 2.0) + v(f, 2.0))) ** 2], 2.0)
    assert_close(log_normaliser(problem, seed, "joint", method, se=0.03), either)


@pytest.mark.parametrize("method", ["sampled", "chaining"])
@pytest.mark.parametrize("kind", ["conditional", "joint"])
def test_a_prior_without_functions(kind, method, seed):
    estimate = log_normaliser(Problem(np.zeros((2, 2)), [1, -1], Hinge(2.0)), seed, kind, method)
    assert estimate.value == pytest.approx(2 * np.log(v(0.0, 2.0)))


@pytest.mark.parametrize("kind", ["conditional", "joint"])
def test_a_prior_without_functions_minds_weights(kind):
    weights = np.array([0.4, 3.0])
    both = 2 * q(0.0, 1.0, 2.0, weights)
    truth = np.log(both).sum() if kind == "conditional" else 2 * np.log(both.mean())
    estimate = log_normaliser(Problem(np.zeros((2, 2)), [1, -1], Hinge(2.0), weights), 0, kind)
    assert estimate.value == pytest.approx(truth)


def test_copies_of_a_row_share_its_latent(seed):
    """Rank one: the normaliser is a mean over one latent."""
    problem = Problem(np.full((3, 3), 1.5), [1, -1, 1], Hinge(2.0))
    both = by_quadrature(np.array([[1.5]]), [lambda f: v(f, 2.0) ** 3], 2.0)
    for kind, method in product(["conditional", "joint"], ["sampled", "chaining"]):
        assert_close(log_normaliser(problem, seed, kind, method, se=0.03), both)
    naive = by_quadrature(np.array([[1.5]]), [lambda f: q(f, 1.0, 2.0) ** 2 * q(f, -1.0, 2.0)], 2.0)
    assert_close(svm_log_evidence(problem, seed, "naive", "sampled", se=0.03), naive)


# -- fifty rows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("C", "se"), [(0.5, 0.05), (2.0, 0.15)])
def test_a_markov_prior_at_fifty_rows(C, se, seed):
    problem = markov_problem(50, Hinge(C))
    truths = {"conditional": conditional_by_recursion(problem), "joint": joint_by_recursion(problem)}
    for kind, truth in truths.items():
        estimate = log_normaliser(problem, seed, kind, se=se)
        assert estimate.se <= se
        assert_close(estimate, truth)
        assert_chained(log_normaliser(problem, seed, kind, "chaining", sweeps=1000), truth)
    estimate = svm_log_evidence(problem, seed, "conditional", "sampled", se=se)
    assert_close(estimate, by_recursion(problem) - truths["conditional"])
    assert np.hypot(estimate.se, se) < 2 * se


def test_bounds_of_the_paper():
    """v is at most one, so that naive evidence is the smallest; the proxy's mean over rows is above their product."""
    problem = markov_problem(50, Hinge(2.0))
    assert conditional_by_recursion(problem) < joint_by_recursion(problem) < 0


def test_expectation_propagation_is_poor_for_the_normaliser():
    """One mode for every labelling: off by nats, as documented, but a number."""
    problem = markov_problem(50, Hinge(2.0))
    found = log_normaliser(problem, method="ep")
    assert found.se is None
    assert np.isfinite(found.value)
    assert 1 < conditional_by_recursion(problem) - found.value < 10
    exact = by_recursion(problem)
    assert svm_log_evidence(problem, kind="naive").value == pytest.approx(exact, abs=0.5)  # where it is good


def test_the_generalised_laplace_approximation_is_off_by_nats():
    problem = markov_problem(50, Hinge(2.0))
    found = svm_log_evidence(problem, kind="naive", method="laplace")
    assert found.value - by_recursion(problem) > 3


# -- requests that make no sense -------------------------------------------------------------------------------------


def test_kinds_and_methods_are_refused_in_one_sentence():
    problem = small_problem(2, 2.0, 1.0)
    for wrong in ("naively", "", None):
        with pytest.raises(InvalidProblemError, match=r"^kind must be 'conditional', 'joint' or 'naive', got .*\.$"):
            svm_log_evidence(problem, kind=wrong)
        with pytest.raises(InvalidProblemError, match=r"^method must be 'corrected', .* or 'chaining', got .*\.$"):
            svm_log_evidence(problem, method=wrong)
        with pytest.raises(InvalidProblemError, match=r"^method must be 'sampled' or 'chaining', .*\.$"):
            log_normaliser(problem, method=wrong)
    with pytest.raises(InvalidProblemError, match=r"^kind must be 'conditional' or 'joint', got 'naive'\.$"):
        log_normaliser(problem, kind="naive")
    with pytest.raises(InvalidProblemError, match=r"or 'ep' for N\(X\), got 'ep'\.$"):
        log_normaliser(problem, kind="joint", method="ep")


@pytest.mark.parametrize("function", [svm_log_evidence, log_normaliser])
def test_other_likelihoods_are_refused(function):
    with pytest.raises(
        InvalidProblemError, match=r"^The support vector machine's evidence is for Hinge\(C\).*, not .*\.$"
    ):
        function(Problem(np.eye(2), [1, -1], Step(0.1)))


@pytest.mark.parametrize(
    "settings", [{"se": 0.0}, {"se": np.nan}, {"max_draws": 0}, {"method": "chaining", "sweeps": 0}], ids=str
)
def test_settings_without_sense_are_refused(settings):
    with pytest.raises(InvalidProblemError):
        log_normaliser(small_problem(2, 2.0, 1.0), 0, **({"max_draws": 2000} | settings))


def test_an_error_that_is_not_reached_is_told():
    with pytest.warns(InferenceWarning, match="raise max_draws"):
        log_normaliser(small_problem(2, 2.0, 1.0), 0, se=1e-4, max_draws=2000)


@pytest.mark.parametrize("kind", ["conditional", "joint"])
def test_the_slope_of_the_normaliser_is_that_of_differences(kind, seed):
    """Weighted rows and one of length zero, at fixed ``C K``."""
    gram, weights = np.array([[1.25, 0.4, 0.0], [0.4, 1.0, 0.0], [0.0, 0.0, 0.0]]), [0.5, 3.0, 2.0]
    step = 0.1
    ends = [
        log_normaliser(Problem(gram * np.exp(-t), [1, 1, 1], Hinge(2.0 * np.exp(t)), weights), seed, kind, se=0.01)
        for t in (step, -step)
    ]
    slope, error, _ = normaliser_slope(Problem(gram, [1, 1, 1], Hinge(2.0), weights), seed, kind, draws=8000)
    difference = (ends[0].value - ends[1].value) / (2 * step)
    tolerance = np.hypot(error, np.hypot(ends[0].se, ends[1].se) / (2 * step))
    assert abs(slope - difference) < 4.5 * tolerance


@pytest.mark.parametrize("C", [2.0, 8.0])
def test_steep_hinges_do_not_hold_on_to_their_labels(C, seed):
    problem = markov_problem(50, Hinge(C))
    at_fixed_product = central_difference(
        lambda log_c: conditional_by_recursion(
            Problem(problem.dense * np.exp(-log_c[0]), problem.y, Hinge(C * float(np.exp(log_c[0]))))
        ),
        np.zeros(1),
    )[0]
    slope, error, _ = normaliser_slope(problem, seed, draws=4000)
    assert abs(slope - at_fixed_product) < 4.5 * error
    assert error < 0.5


def test_without_mirrors_steep_hinges_do(monkeypatch):
    """What the test above is there to tell."""
    monkeypatch.setattr("bayespoint.evidence.svm._label_path._MIRRORS", 0)
    slopes = [normaliser_slope(markov_problem(50, Hinge(8.0)), seed, draws=1000)[:2] for seed in range(6)]
    spread, error = np.std([slope for slope, _ in slopes], ddof=1), np.mean([error for _, error in slopes])
    assert spread > 2 * error


def three_inputs(C=2.0):
    x = np.array([0.0, 0.3, 1.0])
    return Problem(1.5 * np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / 0.4**2), [1, -1, 1], Hinge(C))


@pytest.mark.parametrize("n", [1, 20])
def test_the_normaliser_of_the_model_for_given_inputs_and_rows(n, seed):
    """(7) as printed: the mean over the prior of N(theta)^n with N(theta) = sum_x Q(x) v(theta(x))."""
    problem, share = three_inputs(), np.array([0.6, 0.1, 0.3])
    draws = np.random.default_rng(seed).standard_normal((400_000, 3)) @ np.linalg.cholesky(problem.dense).T
    kappa = 1 / (1 + np.exp(-4.0))
    v = kappa * (np.exp(-2 * np.clip(1 - draws, 0, None)) + np.exp(-2 * np.clip(1 + draws, 0, None)))
    powers = (v @ share) ** n
    value, error = np.log(powers.mean()), powers.std() / powers.mean() / np.sqrt(len(powers))
    found = log_normaliser(problem, seed, "joint", se=0.02, probabilities=share, n=n)
    assert abs(found.value - value) < 4 * np.hypot(found.se, error)
    if n > 1:
        even = np.log(np.mean(v.mean(axis=1) ** n))  # inputs of equal probability are told apart
        assert abs(even - found.value) > 4 * np.hypot(found.se, error)


@pytest.mark.parametrize(
    "settings",
    [
        {"probabilities": [0.5, 0.5]},
        {"probabilities": [0.5, 0.6, -0.1]},
        {"n": 0},
        {"kind": "conditional", "n": 3},
        {"method": "chaining", "n": 3},
        {"link": 0},
    ],
    ids=str,
)
def test_inputs_without_sense_are_refused(settings):
    with pytest.raises(InvalidProblemError, match=r"^[a-z][^\n]*\.$"):
        log_normaliser(three_inputs(), 0, **({"kind": "joint"} | settings))


@pytest.mark.parametrize("kind", ["naive", "conditional"])
def test_links_of_several_rows(kind, seed):
    x = np.linspace(0, 1, 7)
    problem = Problem(1.25 * np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / 0.2**2), np.where(x > 0.5, 1, -1), Hinge(2.0))
    exact = svm_log_evidence(problem, seed, kind, "sampled", se=0.02)
    for link in (3, 7):  # the last link of three has one row
        chained = svm_log_evidence(problem, [seed, link], kind, "chaining", sweeps=8000, link=link)
        assert abs(chained.value - exact.value) < 4 * np.hypot(chained.se, exact.se) + 0.05


def slack_by_recursion(problem):
    """log N(X) of quadratic slack."""
    C, log_kappa = problem.likelihood.C, problem.likelihood.log_kappa

    def both(f):
        sides = [-0.5 * C * np.maximum(0, 1 - y * f) ** 2 for y in (1, -1)]
        return np.exp(log_kappa + np.logaddexp(*sides))[:, None]

    return float(forward(problem, both)[0])


@pytest.mark.parametrize("C", [2.0, 16.0])
def test_quadratic_slack_on_a_markov_prior_of_fifty_rows(C, seed):
    problem = markov_problem(50, SquaredHinge(C))
    found = log_normaliser(problem, seed, se=0.1)
    assert abs(found.value - slack_by_recursion(problem)) < 4 * found.se
    assert found.se < 0.2
