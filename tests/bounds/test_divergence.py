import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Problem, Step
from bayespoint.bounds import divergence, gibbs_error
from bayespoint.engines import EP
from bayespoint.exceptions import InvalidProblemError
from bayespoint.problem import Weights

STEPS = [Step(), Step(0.0, 0.5), Step(0.1), Step(0.05, 0.1)]
KERNELS = {"full rank": lambda X: 2.0 * RBF(1.5)(X) + 0.3, "rank two": lambda X: X @ X.T}
ROWS = np.array([1, 4, 5, 8, 11, 13, 17, 18])


@pytest.fixture
def problem():
    X = np.random.default_rng(0).normal(size=(20, 2))
    signs = np.sign(X[:, 0])

    def make(step, kernel="full rank", weights=None):
        y = signs.copy()
        if step.noise:
            y[np.argsort(X[:, 0])[-2:]] *= -1  # contrary labels make sites of negative precision
        return Problem(KERNELS[kernel](X), y, step, weights)

    return make


def part(problem, rows):
    weights = problem.weights and Weights(problem.weights.copies[rows], problem.weights.power[rows])
    return Problem(problem.dense[np.ix_(rows, rows)], problem.y[rows], problem.likelihood, weights)


def root_of(gram):
    values, vectors = np.linalg.eigh(gram)
    keep = values > 1e-9 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])


def dense(tau, nu, root):
    """Mean and precision of weights w ~ N(0, I) with f = root w, times the sites."""
    precision = np.eye(root.shape[1]) + root.T @ (tau[:, None] * root)
    return np.linalg.solve(precision, root.T @ nu), precision


def dense_divergence(posterior, prior=None, rows=None, scale=1.0):
    """The textbook's relative entropy of two Gaussians, in as many coordinates as the Gram matrix has rank."""
    root = root_of(posterior.problem.dense)
    mean, precision = dense(posterior.tau, posterior.nu, root)
    if prior is None:
        prior_mean, prior_precision = np.zeros_like(mean), np.eye(len(mean))
    else:
        prior_mean, prior_precision = dense(prior.tau, prior.nu, root[rows])
    apart = scale * mean - prior_mean
    log_dets = np.linalg.slogdet(precision)[1] - np.linalg.slogdet(prior_precision)[1]
    spread = np.trace(np.linalg.solve(precision, prior_precision))
    return 0.5 * (spread - len(mean) + apart @ prior_precision @ apart + log_dets)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_divergence_to_the_prior_is_that_of_dense_gaussians(step, kernel, scale, problem):
    posterior = EP().infer(problem(step, kernel))
    assert divergence(posterior, scale=scale) == pytest.approx(dense_divergence(posterior, scale=scale), rel=1e-6)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_divergence_to_a_posterior_on_some_rows_is_that_of_dense_gaussians(step, kernel, scale, problem):
    whole = problem(step, kernel)
    posterior, prior = EP().infer(whole), EP().infer(part(whole, ROWS))
    expected = dense_divergence(posterior, prior, ROWS, scale)
    assert divergence(posterior, prior, ROWS, scale) == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.filterwarnings("ignore:Expectation propagation stopped")  # any sites will do
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("step", STEPS[1:], ids=str)
def test_the_divergence_counts_weights(step, kernel, problem, rng):
    whole = problem(step, kernel, rng.choice([0.3, 0.7, 1.0, 2.0, 3.5], 20))
    posterior, prior = EP().infer(whole), EP().infer(part(whole, ROWS))
    assert divergence(posterior) == pytest.approx(dense_divergence(posterior), rel=1e-6)
    assert divergence(posterior, prior, ROWS, 1.7) == pytest.approx(
        dense_divergence(posterior, prior, ROWS, 1.7), rel=1e-6
    )


def test_whole_weights_are_repeated_rows(problem):
    copies = np.arange(20) % 3 + 1
    weighted = problem(Step(0.1, 0.5), weights=copies)
    again = np.repeat(np.arange(20), copies)
    repeated = Problem(weighted.dense[np.ix_(again, again)], weighted.y[again], weighted.likelihood)
    a, b = (EP(tolerance=1e-10).infer(p) for p in (weighted, repeated))
    assert divergence(a) == pytest.approx(divergence(b), rel=1e-6)
    assert gibbs_error(a) == pytest.approx(gibbs_error(b, np.flatnonzero(np.diff(again, prepend=-1))), rel=1e-6)


def test_some_of_these_problems_have_sites_of_negative_precision(problem):
    assert EP().infer(problem(Step(0.05, 0.1))).tau.min() < 0
    assert EP().infer(problem(Step(0.1), "rank two")).tau.min() < 0


def moments(posterior, rows=slice(None), sites=None):
    """Mean and covariance of all latents under the prior process times the sites at some rows."""
    sites = posterior if sites is None else sites
    gram = posterior.problem.dense
    tau, nu = np.zeros(len(gram)), np.zeros(len(gram))
    tau[rows], nu[rows] = sites.tau, sites.nu
    covariance = np.linalg.solve(np.eye(len(gram)) + gram * tau, gram)
    return covariance @ nu, (covariance + covariance.T) / 2


def assert_near(draws, value, errors=4):
    se = draws.std() / np.sqrt(len(draws)) + 1 / len(draws)  # the last for what is hardly ever seen
    z = (draws.mean() - value) / se
    assert abs(z) < errors, f"off by {z:.1f} errors"


@pytest.mark.parametrize("scale", [1.0, 1.6])
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_divergence_is_a_mean_of_log_densities(step, scale, problem, rng):
    whole = part(problem(step), np.arange(8))  # few enough for densities of latents
    rows = np.array([0, 3, 6])
    posterior, prior = EP().infer(whole), EP().infer(part(whole, rows))
    mean, covariance = moments(posterior)
    own = multivariate_normal(scale * mean, covariance)
    f = own.rvs(20_000, random_state=rng)
    for value, other in [
        (divergence(posterior, scale=scale), multivariate_normal(np.zeros(8), whole.dense)),
        (divergence(posterior, prior, rows, scale), multivariate_normal(*moments(posterior, rows, prior))),
    ]:
        assert_near(own.logpdf(f) - other.logpdf(f), value)
        with pytest.raises(AssertionError, match="off by"):
            assert_near(own.logpdf(f) - other.logpdf(f), 1.1 * value + 0.1)


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_gibbs_error_is_the_share_of_wrong_draws(step, kernel, scale, problem, rng):
    posterior = EP().infer(problem(step, kernel))
    root = root_of(posterior.problem.dense)
    mean, precision = dense(posterior.tau, posterior.nu, root)
    w = scale * mean + rng.standard_normal((20_000, len(mean))) @ np.linalg.cholesky(np.linalg.inv(precision)).T
    wrong = posterior.problem.y * (w @ root.T) <= 0
    assert_near(wrong.mean(axis=1), gibbs_error(posterior, scale=scale))
    assert_near(wrong[:, ROWS].mean(axis=1), gibbs_error(posterior, ROWS, scale))


def test_a_posterior_is_at_no_distance_from_itself(problem):
    whole = problem(Step(0.05, 0.1))
    posterior = EP().infer(whole)
    assert divergence(posterior, posterior, np.arange(20)) == pytest.approx(0.0, abs=1e-9)
    assert divergence(posterior, posterior, np.arange(20), 2.0) > 0


def test_a_posterior_is_nearer_to_one_on_half_of_its_rows(problem):
    whole = problem(Step(0.0, 0.5))
    posterior = EP().infer(whole)
    assert divergence(posterior, EP().infer(part(whole, ROWS)), ROWS) < divergence(posterior)


def test_the_order_of_the_prior_rows_does_not_matter(problem):
    whole = problem(Step(0.0, 0.5))
    posterior, turned = EP().infer(whole), ROWS[::-1]
    values = [divergence(posterior, EP().infer(part(whole, rows)), rows) for rows in (ROWS, turned)]
    assert values[0] == pytest.approx(values[1], rel=1e-7)


@pytest.mark.parametrize("rows", [None, np.arange(3)])
def test_a_prior_needs_its_rows(rows, problem):
    whole = problem(Step(0.0, 0.5))
    with pytest.raises(InvalidProblemError, match=r"^rows must say which rows .*\.$"):
        divergence(EP().infer(whole), EP().infer(part(whole, ROWS)), rows)
