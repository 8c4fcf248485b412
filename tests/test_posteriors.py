import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Problem, Step
from bayespoint.engines import EP, Billiard
from bayespoint.problem import LowRank

STEPS = [Step(), Step(0.0, 0.5), Step(0.1), Step(0.05, 0.1)]


@pytest.fixture
def solve():
    X = np.random.default_rng(0).normal(size=(25, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)

    def posterior(step):
        labels = y.copy()
        if step.noise:
            labels[np.argsort(X[:, 0])[-3:]] *= -1  # contrary labels make sites of negative precision
        return EP(tolerance=1e-10).infer(Problem(RBF(1.5)(X) + 0.3, labels, step))

    return posterior


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_latents_at_the_training_points_are_the_posterior_moments(step, solve):
    posterior = solve(step)
    gram = posterior.problem.gram
    mean, variance = posterior.latent(gram, np.diagonal(gram))
    np.testing.assert_allclose(mean, posterior.mean, atol=1e-8)
    np.testing.assert_allclose(variance, posterior.variance, atol=1e-8)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_factor_is_the_matrix_it_stands_for(step, solve):
    posterior = solve(step)
    gram, factor = posterior.problem.gram, posterior.factor
    n = len(gram)
    w = np.linalg.solve(np.eye(n) + posterior.tau[:, None] * gram, np.diag(posterior.tau))  # (K + T^-1)^-1
    np.testing.assert_allclose(factor.dense(), w, atol=1e-7)
    np.testing.assert_allclose(factor.apply(np.arange(n) / n), w @ (np.arange(n) / n), atol=1e-7)
    np.testing.assert_allclose(factor.explain(np.asfortranarray(gram)), np.diagonal(gram @ w @ gram), atol=1e-7)
    sign, log_det = np.linalg.slogdet(np.eye(n) + gram * posterior.tau)
    assert sign == 1
    assert factor.log_det == pytest.approx(log_det, abs=1e-8)


def test_some_of_these_problems_have_sites_of_negative_precision(solve):
    assert solve(Step(0.05, 0.1)).factor.minus.shape[1] > 0
    assert solve(Step(0.0, 0.5)).factor.minus.shape[1] == 0


def test_many_new_points_are_worked_out_in_blocks(solve, rng):
    posterior = solve(Step(0.0, 0.5))
    cross = rng.normal(size=(5000, 25)) * 0.01
    whole = posterior.latent(cross, np.ones(5000))
    parts = [posterior.latent(cross[i : i + 7], np.ones(len(cross[i : i + 7]))) for i in range(0, 5000, 7)]
    np.testing.assert_allclose(whole.mean, np.concatenate([p.mean for p in parts]), atol=1e-12)
    np.testing.assert_allclose(whole.variance, np.concatenate([p.variance for p in parts]), atol=1e-12)


def test_reading_a_posterior_does_not_change_it(solve):
    posterior = solve(Step(0.05, 0.1))
    gram = posterior.problem.gram.copy()
    posterior.latent(posterior.problem.gram, np.diagonal(gram))
    np.testing.assert_array_equal(posterior.problem.gram, gram)
    with pytest.raises(AttributeError):
        posterior.mean = gram[0]


def test_a_variance_never_falls_below_rounding(solve):
    posterior = solve(Step())
    _, variance = posterior.latent(posterior.problem.gram, np.zeros(25))
    assert np.all((variance > 0) & (variance < 1e-300))


@pytest.mark.parametrize("engine", [EP(), Billiard(draws=4000)], ids=["gaussian", "draws"])
@pytest.mark.parametrize("low_rank", [False, True])
def test_functions_have_the_moments_of_the_latent(engine, low_rank, rng):
    X = rng.standard_normal((12, 3))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(12) > 0, 1.0, -1.0)
    new = rng.standard_normal((4, 3))
    problem = Problem(LowRank(X) if low_rank else X @ X.T, y, Step(softness=0.5))
    posterior = engine.infer(problem, 0)
    cross, prior = new if low_rank else new @ X.T, new @ new.T + 0.2 * np.eye(4)  # a part that no row determines
    drawn = posterior.functions(cross, prior, 16_000, rng)
    mean, variance = posterior.latent(cross, np.diagonal(prior))
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=4 * np.sqrt(variance.max() / 16_000))
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.06)
    exact = EP().infer(Problem(X @ X.T, y, Step(softness=0.5)))
    whole = np.linalg.inv(np.linalg.inv(np.eye(3)) + X.T @ np.diag(exact.tau) @ X)
    covariance = new @ whole @ new.T + 0.2 * np.eye(4)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.12 * covariance.max())
