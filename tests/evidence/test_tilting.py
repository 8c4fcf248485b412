"""Minimax tilting: the saddle point, the proposals and the order of the variables."""

import numpy as np
import pytest
from scipy.special import log_ndtr
from scipy.stats import kstest, norm, truncnorm

from bayespoint import Step
from bayespoint.evidence import _tilting
from bayespoint.evidence._tilting import sobol_log_weights, tilt, tilted_draws
from bayespoint.exceptions import InvalidProblemError
from bayespoint.likelihoods._normal import hazard
from truths import orthant_by_genz, rbf_problem
from witnesses import central_difference


def covariance(size, kind="rbf"):
    if kind == "equal":
        return 0.5 * (np.eye(size) + 1)
    if kind == "negative":  # barely positive definite
        return np.eye(size) * (1 + 0.95 / (size - 1)) - 0.95 / (size - 1)
    problem = rbf_problem(size, Step())
    scale = np.linspace(0.3, 3.0, size)  # distinct variances tell the variables apart
    return problem.dense * np.outer(problem.y, problem.y) * np.outer(scale, scale)


KINDS = [("rbf", 7), ("rbf", 40), ("equal", 20), ("negative", 10)]
kinds = pytest.mark.parametrize(("kind", "size"), KINDS)


def psi(orthant, x, mu):
    """Log-weight of the proposal at x, as Botev writes it, for lower limits of zero."""
    total = 0.0
    for k in range(len(mu)):
        wall = -sum(orthant.below[k, j] * x[j] for j in range(k))
        total += 0.5 * mu[k] ** 2 - x[k] * mu[k] + log_ndtr(mu[k] - wall)
    return total


def saddle(orthant):
    """The point that goes with the tilt: stationarity in mu gives x."""
    m = len(orthant.mu)
    x = np.zeros(m)
    for k in range(m - 1):
        shift = orthant.mu[k] + orthant.below[k] @ x
        x[k] = orthant.mu[k] + np.exp(norm.logpdf(shift) - log_ndtr(shift))
    return x


@pytest.mark.parametrize(("kind", "size"), [("rbf", 7), ("equal", 9), ("negative", 6)])
def test_the_tilt_is_a_saddle_point(kind, size):
    orthant = tilt(covariance(size, kind))
    x, mu = saddle(orthant), orthant.mu
    in_x = central_difference(lambda v: psi(orthant, np.append(v, 0.0), mu), x[:-1])
    in_mu = central_difference(lambda v: psi(orthant, x, np.append(v, 0.0)), mu[:-1])
    np.testing.assert_allclose(np.concatenate([in_x, in_mu]), 0.0, atol=1e-7)
    assert psi(orthant, x, mu) == pytest.approx(orthant.log_bound, abs=1e-9)
    assert mu[-1] == 0


@kinds
def test_gradients_are_those_of_differences(kind, size, rng):
    orthant = tilt(covariance(size, kind))
    x, mu = rng.normal(size=size), rng.normal(size=size)
    x[-1] = mu[-1] = 0.0
    in_x, in_mu = _tilting._stationarity(orthant.below[:, :-1], x[:-1], mu)
    np.testing.assert_allclose(
        in_x, central_difference(lambda v: psi(orthant, np.append(v, 0.0), mu), x[:-1]), atol=1e-7
    )
    np.testing.assert_allclose(
        in_mu, central_difference(lambda v: psi(orthant, x, np.append(v, 0.0)), mu[:-1]), atol=1e-7
    )


@kinds
def test_no_weight_is_above_the_bound(kind, size, rng):
    orthant = tilt(covariance(size, kind))
    log_weights = tilted_draws(orthant, rng.random((3000, size)))[1]
    assert log_weights.max() <= orthant.log_bound + 1e-9
    assert log_weights.max() > log_weights.min()


@kinds
def test_draws_are_inside_the_orthant(kind, size, rng):
    orthant = tilt(covariance(size, kind))
    draws, log_weights = tilted_draws(orthant, rng.random((2000, size)))
    assert np.all(draws @ orthant.factor.T > -1e-12)
    expected = [psi(orthant, z, orthant.mu) for z in draws[:20]]  # the weight is what the draw says
    np.testing.assert_allclose(log_weights[:20], expected, atol=1e-9)


def test_extreme_uniforms_are_survived():
    orthant = tilt(covariance(40))
    draws, log_weights = tilted_draws(orthant, np.array([np.zeros(40), np.ones(40), np.full(40, 1 - 2.0**-53)]))
    assert np.isfinite(draws).all()
    assert np.isfinite(log_weights).all()


@kinds
def test_the_factor_is_that_of_the_covariance_in_another_order(kind, size):
    cov = covariance(size, kind)
    factor, order = _tilting._ordered_cholesky(cov)
    np.testing.assert_array_equal(factor, np.tril(factor))
    np.testing.assert_array_equal(np.sort(order), np.arange(size))
    np.testing.assert_allclose(factor @ factor.T, cov[np.ix_(order, order)], atol=1e-10)


def test_the_least_probable_variable_comes_first():
    """Given the first variable, the one that is anticorrelated with it is the least probable."""
    cov = np.array([[1.0, 0.5, -0.6], [0.5, 2.0, 0.0], [-0.6, 0.0, 3.0]])
    factor, order = _tilting._ordered_cholesky(cov)
    np.testing.assert_allclose(np.diagonal(factor @ factor.T), [1.0, 3.0, 2.0])
    np.testing.assert_array_equal(order, [0, 2, 1])


def test_the_covariance_is_left_alone():
    cov = covariance(10)
    before = cov.copy()
    tilt(cov)
    np.testing.assert_array_equal(cov, before)


@pytest.mark.parametrize("cov", [np.ones((2, 2)), np.diag([1.0, 0.0]), np.zeros((2, 2))], ids=["ones", "zero", "null"])
def test_a_covariance_without_full_rank_is_refused(cov):
    with pytest.raises(InvalidProblemError, match=r"^Minimax tilting needs a Gram matrix of full rank: .*\.$"):
        tilt(cov)


@pytest.mark.parametrize("sample", ["sobol", "random"])
def test_the_mean_weight_is_the_probability(sample, rng):
    problem = rbf_problem(10, Step())
    orthant = tilt(problem.dense * np.outer(problem.y, problem.y))
    if sample == "sobol":
        means = [np.exp(sobol_log_weights(orthant, 64, rng)).mean() for _ in range(40)]
    else:
        means = np.exp(tilted_draws(orthant, rng.random((4000, 10)))[1])
    truth, truth_se = orthant_by_genz(10)
    se = np.std(means, ddof=1) / np.sqrt(len(means)) / np.mean(means)
    assert abs(np.log(np.mean(means)) - truth) < 4.5 * np.hypot(se, truth_se)
    assert truth < orthant.log_bound


@pytest.mark.parametrize("low", [-30.0, -3.0, 0.0, 5.0, 19.9, 20.1, 100.0])
def test_truncated_normals_are_truncated_normals(low, rng):
    uniform = rng.random(4000)
    x = _tilting._truncated_normal(np.full(4000, low), uniform)
    assert np.all(x >= low - 1e-9)
    assert kstest(x, truncnorm(low, np.inf).cdf).pvalue > 1e-4
    np.testing.assert_allclose(x, truncnorm(low, np.inf).isf(uniform), rtol=1e-6, atol=1e-6)


def test_hazards_in_both_tails():
    s = np.array([-40.0, -3.0, 0.0, 2.0, 8.0])
    np.testing.assert_allclose(hazard(s), np.exp(norm.logpdf(s) - log_ndtr(s)), rtol=1e-10)


def test_blocks_do_not_show(monkeypatch, rng):
    orthant, uniform = tilt(covariance(40)), rng.random((50, 40))
    many = tilted_draws(orthant, uniform)
    monkeypatch.setattr(_tilting, "_BLOCK", 1000)
    for one, other in zip(many, tilted_draws(orthant, uniform), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
