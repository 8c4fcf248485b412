"""The squared hinge beside quadrature, its machine beside the largest margin, its evidence beside draws."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Problem, Step
from bayespoint.engines import EP, Laplace
from bayespoint.engines.svm import hard_margin, support_vectors
from bayespoint.evidence import log_evidence
from bayespoint.likelihoods import SquaredHinge
from witnesses import central_difference

LOSSES = [SquaredHinge(0.3), SquaredHinge(2.0), SquaredHinge(20.0)]
CAVITIES = list(product([-8.0, -2.0, -0.3, 0.5, 1.0, 4.0, 30.0], [(1.0, 1.0), (-1.0, 0.3), (1.0, 9.0)]))


def arrays(*numbers):
    return tuple(np.array([x], dtype=float) for x in numbers)


def printed(C, y, f):
    """exp(-C max(0, 1 - y f)^2 / 2), up to a factor."""
    return -0.5 * C * np.clip(1 - y * f, 0.0, None) ** 2


def tilted(loss, y, mean, var, power):
    """Log-mass, mean, variance and share below zero of N(mean, var) x likelihood^power, on a fine grid."""
    sd = np.sqrt(var)
    f = np.linspace(min(mean - 12 * sd, -3), max(mean + 12 * sd, 3), 1_000_001)
    logs = (
        power * (loss.log_kappa + printed(loss.C, y, f)) - 0.5 * (f - mean) ** 2 / var - 0.5 * np.log(2 * np.pi * var)
    )
    top = logs.max()
    weight = np.exp(logs - top)
    mass = weight.sum()
    first = weight @ f / mass
    return top + np.log(mass * (f[1] - f[0])), first, weight @ (f - first) ** 2 / mass, weight @ (y * f < 0) / mass


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("power", [1.0, 0.4])
def test_sites_are_those_of_quadrature(loss, power):
    for mean, (y, var) in CAVITIES if power == 1 else CAVITIES[::4]:
        log_z, first, second, below = tilted(loss, y, mean, var, power)
        found, tau, nu = (float(x[0]) for x in loss.site(*arrays(y, mean, var, power)))
        assert found == pytest.approx(log_z, abs=1e-6)
        spread = 1 / (1 / var + tau)
        assert spread == pytest.approx(second, rel=1e-5)
        assert spread * (mean / var + nu) == pytest.approx(first, abs=1e-6)
        if power == 1:
            assert loss.disagreement(*arrays(y, mean, var))[0] == pytest.approx(below, abs=1e-4)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_its_slope_is_that_of_finite_differences(loss):
    for mean, (y, var) in CAVITIES[::3]:
        cavity = arrays(y, mean, var, 0.7)
        up, down = (SquaredHinge(loss.C * np.exp(t)).site(*cavity)[0][0] for t in (1e-5, -1e-5))
        assert loss.log_normaliser_gradient(*cavity)["C"][0] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("C", [0.1, 1.0, 1.01, 2.0, 50.0, 1000.0])
def test_both_labels_add_up_to_one_somewhere_and_to_less_elsewhere(C):
    f = np.linspace(-3, 3, 600_001)
    total = sum(np.exp(SquaredHinge(C).log_likelihood(y, f)) for y in (1.0, -1.0))
    assert total.max() == pytest.approx(1.0, abs=1e-8)
    odds = SquaredHinge(C).log_likelihood(1.0, f) - SquaredHinge(C).log_likelihood(-1.0, f)
    np.testing.assert_allclose(SquaredHinge(C).log_odds(f), odds, atol=1e-9 * C)


def noisy_problem(rng, loss, size=12, weights=None):
    X = rng.normal(size=(size, 2))
    y = np.where(X[:, 0] + rng.normal(0, 0.7, size) > 0, 1.0, -1.0)
    return Problem(RBF(1.0)(X) + 0.3, y, loss, weights)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 3, 12)], ids=["plain", "weighted"])
def test_the_most_probable_function_is_the_machine_with_quadratic_slack(weights, rng):
    problem = noisy_problem(rng, SquaredHinge(3.0), weights=weights)
    gram, y = problem.dense, problem.y

    def loss(a):
        f = gram @ a
        short = np.clip(1 - y * f, 0.0, None)
        value = 0.5 * a @ f + 1.5 * problem.exponents @ short**2
        return value, gram @ (a - 3.0 * problem.exponents * y * short)

    best = minimize(loss, np.zeros(12), jac=True, method="BFGS", options={"gtol": 1e-10})
    posterior = Laplace().infer(problem)
    np.testing.assert_allclose(posterior.mean, gram @ best.x, atol=1e-6)
    if weights is None:  # the largest margin on K + I / C
        machine = hard_margin(Problem(gram, y, Step(softness=1 / 3)))
        np.testing.assert_allclose(support_vectors(problem).alpha, machine.alpha, atol=1e-8)


@pytest.mark.parametrize("engine", [EP(tolerance=1e-10), Laplace()], ids=["ep", "laplace"])
def test_the_slope_of_the_evidence(engine, rng):
    problem = noisy_problem(rng, SquaredHinge(3.0), 10)
    gradient = engine.infer(problem).evidence_gradient
    change = rng.normal(size=(10, 10))
    change = 0.01 * change @ change.T

    def evidence(t, s):
        moved = Problem(problem.dense + t * change, problem.y, SquaredHinge(3.0 * np.exp(s)))
        return engine.infer(moved).log_evidence

    by_gram, by_c = central_difference(lambda ts: evidence(*ts), [0.0, 0.0], 1e-3)
    assert np.sum(gradient.by_gram() * change) == pytest.approx(by_gram, rel=1e-4, abs=1e-7)
    assert gradient.likelihood["C"] == pytest.approx(by_c, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_laplace_s_evidence_is_the_peak_and_its_width(loss, rng):
    X = rng.normal(size=(8, 2))
    gram, y = 2 * RBF(1.0)(X) + 0.1 * np.eye(8), np.where(X[:, 0] + 0.5 * rng.normal(size=8) > 0, 1.0, -1.0)
    precision = np.linalg.inv(gram)

    def energy(f):
        return 0.5 * f @ precision @ f - printed(loss.C, y, f).sum()

    def slope(f):
        return precision @ f - loss.C * y * np.clip(1 - y * f, 0.0, None)

    top = minimize(energy, np.zeros(8), jac=slope, method="BFGS", options={"gtol": 1e-10})
    bend = np.diag(np.where(y * top.x < 1, loss.C, 0.0))
    expected = 8 * loss.log_kappa - energy(top.x) - 0.5 * np.linalg.slogdet(np.eye(8) + gram @ bend)[1]
    assert Laplace().infer(Problem(gram, y, loss)).log_evidence == pytest.approx(expected, abs=1e-6)


def test_the_evidence_is_that_of_draws_from_the_prior(rng):
    problem = noisy_problem(rng, SquaredHinge(2.0), 6)
    draws = rng.standard_normal((400_000, 6)) @ np.linalg.cholesky(problem.dense).T
    weights = np.exp(6 * SquaredHinge(2.0).log_kappa + printed(2.0, problem.y, draws).sum(axis=1))
    value, error = np.log(weights.mean()), weights.std() / weights.mean() / np.sqrt(len(weights))
    assert EP().infer(problem).log_evidence == pytest.approx(value, abs=4 * error + 0.02)
    estimate = log_evidence(problem, rng=0, se=0.02)
    assert abs(estimate.value - value) < 4 * np.hypot(estimate.se, error)
    assert abs(estimate.value + 0.3 - value) > 4 * np.hypot(estimate.se, error)  # a wrong one would be seen
    assert Laplace().infer(problem).log_evidence == pytest.approx(value, abs=0.6)
