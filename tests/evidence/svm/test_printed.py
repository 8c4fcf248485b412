"""What Sollich prints, written out: (31), chains in weights of rows, footnote 6, quadratic slack, real outputs."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import roots_hermitenorm

from bayespoint import Hinge, Problem
from bayespoint.engines.laplace import Laplace, linear_laplace
from bayespoint.engines.svm import support_vectors
from bayespoint.evidence import Estimate
from bayespoint.evidence.svm import input_weights, log_normaliser, svm_evidence_gradient, svm_log_evidence
from bayespoint.exceptions import InvalidProblemError
from bayespoint.likelihoods import SquaredHinge, epsilon_insensitive


def toy(n=7, C=2.0, likelihood=Hinge, amplitude=1.25):
    x = np.linspace(0, 1, n)
    y = np.where(np.sin(7 * x) > 0, 1, -1)
    return Problem(amplitude * np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / 0.2**2), y, likelihood(C))


def test_the_linear_laplace_approximation_is_31():
    """Q* from latents and the inverse Gram matrix, then the product over marginal rows, as they stand above (31)."""
    problem = toy(12, amplitude=3.0)
    found, C, K = support_vectors(problem), 2.0, problem.dense
    theta, marginal = found.latents, found.marginal
    assert marginal.size >= 3
    kappa = 1 / (1 + np.exp(-2 * C))
    hinges = np.maximum(0, 1 - problem.y * theta)
    q_star = kappa**12 * np.exp(-0.5 * theta @ np.linalg.solve(K, theta) - C * hinges.sum())
    alpha = found.alpha[marginal]
    K_m = K[np.ix_(marginal, marginal)]
    printed = q_star / np.sqrt(np.linalg.det(2 * np.pi * K_m)) * np.prod(1 / (C - alpha) + 1 / alpha)
    np.testing.assert_allclose(linear_laplace(problem), np.log(printed), rtol=1e-6)
    estimate = svm_log_evidence(problem, 0, "naive", "linear laplace")
    assert (estimate.value, estimate.se) == (linear_laplace(problem), None)
    assert estimate.value > Laplace().infer(problem).log_evidence  # (32) adds one to what is inside the determinant


def test_without_marginal_rows_only_the_peak_is_left():
    problem = Problem(np.diag([1.0, 4.0]), [1, -1], Hinge(C=0.1))
    np.testing.assert_allclose(linear_laplace(problem), Laplace().infer(problem).log_evidence, rtol=1e-12)


def test_quadratic_slack_has_no_kinks():
    with pytest.raises(InvalidProblemError, match="no kinks"):
        linear_laplace(toy(likelihood=SquaredHinge))


def by_quadrature(problem, function, order=60):
    """Mean over the prior of a function of two or three latents."""
    node, weight = roots_hermitenorm(order)
    grid = np.stack(np.meshgrid(*[node] * problem.size, indexing="ij"), -1).reshape(-1, problem.size)
    mass = np.prod(np.stack(np.meshgrid(*[weight] * problem.size, indexing="ij"), -1).reshape(-1, problem.size), -1)
    return np.sum(mass / mass.sum() * function(grid @ np.linalg.cholesky(problem.dense).T))


def sum_over_labels(problem, theta):
    """v of both losses, from their definitions."""
    C, likelihood = problem.likelihood.C, problem.likelihood
    power = 1 if isinstance(likelihood, Hinge) else 2
    losses = [np.maximum(0, 1 - y * theta) ** power / power for y in (1, -1)]
    return np.exp(likelihood.log_kappa) * (np.exp(-C * losses[0]) + np.exp(-C * losses[1]))


@pytest.mark.parametrize("kind", ["naive", "conditional", "joint"])
def test_a_chain_in_weights_of_rows_ends_where_others_do(kind, seed):
    problem = toy()
    exact = svm_log_evidence(problem, seed, kind, "sampled", se=0.02)
    chained = svm_log_evidence(problem, [seed, 1], kind, "chaining", sweeps=6000, link=3, coordinates="beta")
    assert abs(chained.value - exact.value) < 4 * np.hypot(1.5 * chained.se, exact.se)
    assert "beta" in chained.method
    per_row = chained.per_row(7)
    np.testing.assert_allclose((7 * per_row.value, 7 * per_row.se), (chained.value, chained.se))


def test_coordinates_that_are_none_are_refused():
    with pytest.raises(InvalidProblemError, match="coordinates must be"):
        svm_log_evidence(toy(), 0, "naive", "chaining", coordinates="theta")


def test_a_row_without_norm_stays_where_it_is(seed):
    gram = np.diag([1.25, 0.0])
    found = svm_log_evidence(Problem(gram, [1, -1], Hinge(2.0)), seed, "naive", "chaining", sweeps=6000)
    by_rows = svm_log_evidence(Problem(gram, [1, -1], Hinge(2.0)), seed, "naive", "chaining", coordinates="beta")
    assert abs(found.value - by_rows.value) < 5 * np.hypot(found.se, by_rows.se)


@pytest.mark.parametrize("likelihood", [Hinge, SquaredHinge])
def test_input_weights_are_those_of_footnote_6(likelihood, seed):
    """P(X, Y) of two rows over w by quadrature: w (1 - w) / <(w v_1 + (1 - w) v_2)^2>."""
    problem = Problem([[0.1, 0.05], [0.05, 4.0]], [1, -1], likelihood(4.0))

    def minus_log(w):
        weights = np.array([w, 1 - w])
        mean = by_quadrature(problem, lambda theta: (sum_over_labels(problem, theta) @ weights) ** 2, 200)
        return np.log(mean) - np.log(weights).sum()

    truth = minimize_scalar(minus_log, bounds=(0.01, 0.99), method="bounded", options={"xatol": 1e-8})
    found = input_weights(problem, seed, draws=2000)
    assert abs(truth.x - 0.5) > 0.05  # equal weights are told apart
    np.testing.assert_allclose(found.weights, [truth.x, 1 - truth.x], atol=0.02)
    np.testing.assert_allclose(found.gain, minus_log(0.5) - truth.fun, atol=0.05)


def test_input_weights_obey_their_equation_and_raise_the_joint_evidence(seed):
    problem = toy(6, C=3.0)
    found = input_weights(problem, seed, draws=1500)
    np.testing.assert_allclose(found.weights.sum(), 1.0)
    theta = (
        np.random.default_rng(seed).standard_normal((200_000, 6))
        @ np.linalg.cholesky(problem.dense + 1e-9 * np.eye(6)).T
    )
    v = sum_over_labels(problem, theta)
    survival = (v @ found.weights) ** 6
    left = 6 * found.weights * (survival @ (v / (v @ found.weights)[:, None])) / survival.sum()
    np.testing.assert_allclose(left, 1.0, atol=0.05)
    equal = np.log(np.mean(v.mean(axis=1) ** 6)) + 6 * np.log(6)
    best = np.log(np.mean(survival)) - np.log(found.weights).sum()
    assert abs(equal - best - found.gain) < 0.03
    assert found.gain > 0
    with pytest.raises(InvalidProblemError, match="at least 1"):
        input_weights(problem, draws=0)


@pytest.mark.parametrize(("n", "C"), [(2, 1.0), (2, 6.0), (3, 2.0)])
def test_normalisers_of_quadratic_slack_are_those_of_quadrature(n, C, seed):
    problem = toy(n, C, SquaredHinge)
    product = np.log(by_quadrature(problem, lambda theta: sum_over_labels(problem, theta).prod(-1)))
    mean = np.log(by_quadrature(problem, lambda theta: sum_over_labels(problem, theta).mean(-1) ** n))
    for kind, truth in (("conditional", product), ("joint", mean)):
        found = log_normaliser(problem, seed, kind, se=0.01)
        assert abs(found.value - truth) < 4 * found.se + 1e-3
    naive = np.log(
        by_quadrature(problem, lambda theta: np.exp(problem.likelihood.log_likelihood(problem.y, theta)).prod(-1))
    )
    whole = svm_log_evidence(problem, seed, "conditional", "sampled", se=0.01)
    assert abs(whole.value - naive + product) < 4 * whole.se + 1e-3


@pytest.mark.parametrize("C", [2.0, pytest.param(20.0, marks=pytest.mark.slow)])
def test_the_normaliser_of_quadratic_slack_is_the_sum_over_labellings(C, seed):
    """Steep losses hold on to their labels; mirrors let go of them."""
    problem = toy(4, C, SquaredHinge, amplitude=4.0)
    labellings = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T
    parts = [
        svm_log_evidence(Problem(problem.gram, y, SquaredHinge(C)), [seed, k], "naive", "sampled", se=0.02)
        for k, y in enumerate(labellings)
    ]
    shares = np.exp([part.value for part in parts])
    error = np.linalg.norm(shares * [part.se for part in parts]) / shares.sum()
    found = log_normaliser(problem, seed, se=0.02)
    assert abs(found.value - np.log(shares.sum())) < 4 * np.hypot(found.se, error)


def test_chains_of_quadratic_slack(seed):
    problem = toy(5, 2.0, SquaredHinge)
    for kind in ("naive", "conditional", "joint"):
        exact = svm_log_evidence(problem, seed, kind, "sampled", se=0.02)
        chained = svm_log_evidence(problem, [seed, 1], kind, "chaining", sweeps=6000)
        assert abs(chained.value - exact.value) < 4 * np.hypot(1.5 * chained.se, exact.se)


def test_slopes_of_quadratic_slack_are_refused():
    with pytest.raises(InvalidProblemError, match="Hinge"):
        svm_evidence_gradient(toy(likelihood=SquaredHinge), 0)


def test_an_approximation_per_row_has_no_error():
    assert Estimate(-4.0, None, "ep").per_row(2) == Estimate(-2.0, None, "ep")


@pytest.mark.parametrize(("C", "epsilon"), [(0.5, 0.0), (2.0, 0.5), (30.0, 0.2)])
def test_the_density_of_real_outputs(C, epsilon):
    """One over the integral of the loss's exponential is its constant, and it falls by C outside the tube."""

    def loss(z):  # (|z| - epsilon) H(|z| - epsilon), as printed
        return (abs(z) - epsilon) * np.heaviside(abs(z) - epsilon, 0.5)

    kappa = 1 / (2 * quad(lambda z: np.exp(-C * loss(z)), 0, epsilon + 60 / C, points=[epsilon], limit=200)[0])
    y = np.linspace(-2, 3, 11)
    expected = np.log(kappa) - C * np.array([loss(one - 0.3) for one in y])
    np.testing.assert_allclose(epsilon_insensitive(y, 0.3, C, epsilon), expected, rtol=1e-7)


@pytest.mark.parametrize("settings", [(0.0, 0.1), (1.0, -0.1), (np.nan, 0.1), (np.inf, 0.1)])
def test_a_density_of_wrong_settings_is_refused(settings):
    with pytest.raises(InvalidProblemError, match=r"^C must be above 0 and epsilon not below it, .*\.$"):
        epsilon_insensitive(0.0, 0.0, *settings)
