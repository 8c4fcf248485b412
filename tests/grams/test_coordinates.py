import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from bayespoint import Problem, Step
from bayespoint.engines import EP, Billiard, Margin
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import FeaturePoints, LowRank, NaturalGaussian


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((60, 4))
    y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * rng.standard_normal(60) > 0, 1.0, -1.0)
    return X, y


def proper(rng, rank):
    a = rng.standard_normal((rank, rank))
    return NaturalGaussian(a @ a.T + np.eye(rank), rng.standard_normal(rank))


def test_moments_are_those_of_the_density(rng):
    gaussian = proper(rng, 3)
    covariance = np.linalg.inv(gaussian.precision)
    np.testing.assert_allclose(gaussian.covariance, covariance, rtol=1e-10)
    np.testing.assert_allclose(gaussian.mean, covariance @ gaussian.shift, rtol=1e-10)
    assert gaussian.log_det == pytest.approx(np.linalg.slogdet(gaussian.precision)[1])


def test_log_normaliser_is_an_integral():
    gaussian = NaturalGaussian([[2.5]], [0.7])
    integral = quad(lambda w: np.exp(0.7 * w - 0.5 * 2.5 * w * w), -20, 20)[0]
    assert gaussian.log_normaliser + 0.5 * np.log(2 * np.pi) == pytest.approx(np.log(integral))


def test_a_row_under_a_prior_of_its_own_is_an_integral():
    """One site: expectation propagation is exact."""
    mean, variance = 0.4, 0.3
    prior = NaturalGaussian([[1 / variance]], [mean / variance])
    posterior = EP().infer(Problem(LowRank([[2.0]], prior), [-1], Step(noise=0.1, softness=0.5)))

    def joint(w, power):
        likelihood = 0.1 + 0.8 * norm.cdf(-2 * w / np.sqrt(0.5))
        return w**power * likelihood * norm.pdf(w, mean, np.sqrt(variance))

    z, first, second = (quad(joint, -6, 6, args=(k,))[0] for k in range(3))
    assert posterior.log_evidence == pytest.approx(np.log(z), abs=1e-8)
    assert posterior.mean_weights[0] == pytest.approx(first / z, abs=1e-7)
    assert posterior.gaussian.coordinates.covariance[0, 0] == pytest.approx(second / z - (first / z) ** 2, abs=1e-7)


def test_sites_of_other_rows_may_come_as_a_prior(rows):
    """At the fixed point of all rows, half of them under a prior made of the others' sites have the same sites."""
    X, y = rows
    whole = EP(tolerance=1e-10).infer(Problem(LowRank(X), y, Step(softness=1.0)))
    own, others = slice(0, 30), slice(30, None)
    prior = NaturalGaussian.standard(4) + NaturalGaussian.of_sites(X[others], whole.tau[others], whole.nu[others])
    part = EP(tolerance=1e-10).infer(Problem(LowRank(X[own], prior), y[own], Step(softness=1.0)))
    np.testing.assert_allclose(part.tau, whole.tau[own], rtol=1e-6)
    np.testing.assert_allclose(part.mean_weights, whole.mean_weights, rtol=1e-6)
    np.testing.assert_allclose(part.variance, whole.variance[own], rtol=1e-6)
    new = FeaturePoints(np.eye(4))
    np.testing.assert_allclose(part.at(new).latent, whole.at(new).latent, rtol=1e-6)


def test_a_batch_under_a_prior_by_dense_algebra(rows, rng):
    """Means and variances from the sites by plain inversion."""
    X, y = rows
    prior = proper(rng, 4)
    for engine in (EP(tolerance=1e-9), EP(tolerance=1e-9, memory=0)):
        posterior = engine.infer(Problem(LowRank(X, prior), y, Step(softness=0.3)))
        covariance = np.linalg.inv(prior.precision + X.T @ np.diag(posterior.tau) @ X)
        mean = covariance @ (prior.shift + X.T @ posterior.nu)
        np.testing.assert_allclose(posterior.mean_weights, mean, rtol=1e-8)
        np.testing.assert_allclose(posterior.mean, X @ mean, rtol=1e-8)
        np.testing.assert_allclose(posterior.variance, np.diagonal(X @ covariance @ X.T), rtol=1e-8)


def test_a_standard_prior_is_no_prior(rows):
    X, y = rows
    plain, given = (
        EP().infer(Problem(LowRank(X, prior), y, Step(softness=1.0))) for prior in (None, NaturalGaussian.standard(4))
    )
    assert given.log_evidence == pytest.approx(plain.log_evidence, abs=1e-9)
    np.testing.assert_allclose(given.mean, plain.mean, atol=1e-9)


def test_forgetting_and_growing():
    gaussian = NaturalGaussian([[5.0]], [2.0])
    np.testing.assert_allclose(gaussian.faded(0.5).precision, [[3.0]])
    np.testing.assert_allclose(gaussian.faded(0.0).mean, [0.0])
    grown = gaussian.extended(2)
    np.testing.assert_allclose(grown.covariance, np.diag([0.2, 1.0]))
    np.testing.assert_allclose(grown.mean, [0.4, 0.0])


@pytest.mark.parametrize("engine", [Billiard(draws=5), Margin()])
def test_other_engines_refuse_a_prior(rows, engine):
    X, y = rows
    with pytest.raises(InvalidProblemError, match="Only expectation propagation"):
        engine.infer(Problem(LowRank(X, NaturalGaussian.standard(4)), y, Step()))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: NaturalGaussian(np.eye(2), [1.0]), "square precision"),
        (lambda: NaturalGaussian([[np.nan]], [1.0]), "must be finite"),
        (lambda: NaturalGaussian([[-1.0]], [1.0]).mean, "not proper"),
        (lambda: LowRank(np.ones((3, 2)), NaturalGaussian.standard(3)), "3 coordinates, but the rows have 2"),
        (lambda: EP().infer(Problem(np.eye(2), [1, -1], Step())).gaussian.coordinates, "LowRank"),
    ],
)
def test_bad_input_is_one_clear_sentence(make, match):
    with pytest.raises(InvalidProblemError, match=match):
        make()
