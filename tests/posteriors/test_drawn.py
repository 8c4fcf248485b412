import numpy as np
import pytest
from scipy.special import entr, ndtr
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Problem, Step, readouts
from bayespoint.engines import Billiard, ClassicBilliard
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import DensePoints, LowRank
from bayespoint.posteriors import SampledPosterior
from witnesses import mcse

LIKELIHOODS = [Step(), Step(0.1), Step(0.0, 0.5), Step(0.05, 0.5), Hinge(2.0)]
X = np.random.default_rng(4).normal(size=(7, 2))
NEW = np.random.default_rng(5).normal(size=(4, 2))
Y = np.array([1.0, -1, 1, 1, -1, 1, -1])
GRAM = 1.5 * RBF(1.0)(X) + 0.3
POINTS = DensePoints(1.5 * RBF(1.0)(NEW, X) + 0.3, np.full(4, 1.8))


def posterior_of(likelihood, rng=0, draws=400, chains=3, weights=None):
    return Billiard(draws=draws, chains=chains).infer(Problem(GRAM, Y, likelihood, weights), rng=rng)


@pytest.fixture(params=LIKELIHOODS, ids=str)
def posterior(request):
    return posterior_of(request.param)


def flat(posterior):
    return posterior.latents.reshape(-1, 7)


def test_draws_have_named_axes(posterior):
    assert posterior.latents.shape == posterior.alpha.shape == (3, 400, 7)
    np.testing.assert_allclose(posterior.alpha @ GRAM, posterior.latents, atol=1e-9)


def test_moments_are_those_of_the_draws(posterior):
    np.testing.assert_allclose(posterior.mean, flat(posterior).mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(posterior.variance, flat(posterior).var(axis=0), atol=1e-10)
    np.testing.assert_allclose(GRAM @ posterior.mean_weights, posterior.mean, atol=1e-9)
    assert posterior.log_evidence is None


def test_the_posterior_is_immutable(posterior):
    with pytest.raises(AttributeError):
        posterior.coordinates = None


def test_outputs_are_means_and_a_common_variance(posterior):
    """Given f at the training points, f(x) is Gaussian: the formulas of a noise-free Gaussian process."""
    cross, diag = POINTS.cross, POINTS.diag
    at = posterior.at(POINTS)
    np.testing.assert_allclose(at.outputs, posterior.latents @ np.linalg.solve(GRAM, cross.T), atol=1e-8)
    np.testing.assert_allclose(
        at.orthogonal, diag - np.einsum("ij,ji->i", cross, np.linalg.solve(GRAM, cross.T)), atol=1e-9
    )


def test_latent_adds_the_spread_of_the_draws_to_the_orthogonal_variance(posterior):
    at = posterior.at(POINTS)
    latent = readouts.latent(posterior, POINTS)
    np.testing.assert_allclose(latent.mean, at.outputs.mean(axis=(0, 1)), atol=1e-10)
    np.testing.assert_allclose(latent.variance, at.outputs.var(axis=(0, 1)) + at.orthogonal, atol=1e-10)
    at_home = posterior.at(DensePoints(GRAM, np.diagonal(GRAM))).latent
    np.testing.assert_allclose(at_home.mean, posterior.mean, atol=1e-9)
    np.testing.assert_allclose(at_home.variance, posterior.variance, atol=1e-9)


def test_the_orthogonal_variance_is_never_negative():
    gram = X @ X.T
    posterior = Billiard(draws=20, chains=1).infer(Problem(gram, np.sign(X[:, 0]), Step()), rng=0)
    variance = posterior.at(DensePoints(NEW @ X.T, np.square(NEW).sum(axis=1))).orthogonal
    assert np.all((variance >= 0) & (variance < 1e-9))  # two coordinates tell everything


def test_a_point_far_away_has_its_prior():
    posterior = Billiard(draws=100).infer(Problem(np.eye(3), [1, -1, 1], Step(0.1)), rng=0)
    assert posterior.at(DensePoints(np.zeros((1, 3)), np.array([2.0]))).latent == (0.0, 2.0)
    assert readouts.vote(posterior, DensePoints(np.zeros((1, 3)), np.ones(1)))[0] == 0.5


def test_expectation_is_the_mean_over_draws(posterior):
    at = posterior.at(POINTS)

    def square(mean, var):
        return mean**2 + var

    np.testing.assert_allclose(at.expectation(square), (at.outputs**2).mean(axis=(0, 1)) + at.orthogonal, atol=1e-10)


def test_blocks_of_points_do_not_show():
    posterior = posterior_of(Step(0.1), draws=2500, chains=4)  # 200 points a block
    cross = np.tile(POINTS.cross, (150, 1))
    many = readouts.vote(posterior, DensePoints(cross, np.full(600, 1.8)))
    np.testing.assert_allclose(many, np.tile(readouts.vote(posterior, POINTS), 150), rtol=1e-12)
    latent = posterior.at(DensePoints(cross, np.full(600, 1.8))).latent
    np.testing.assert_allclose(latent.variance, np.tile(posterior.at(POINTS).latent.variance, 150), rtol=1e-10)


# -- read-outs against draws of the function itself ------------------------------------------------------------------


def functions_at_new_points(posterior, copies, rng):
    """Draws of f(x): each posterior draw completed by several draws of what the training points do not determine."""
    at = posterior.at(POINTS)
    noise = np.sqrt(at.orthogonal) * rng.standard_normal((copies, *at.outputs.shape))
    return (at.outputs + noise).reshape(-1, 4)


def label_probability(likelihood, f):
    if isinstance(likelihood, Hinge):
        odds = likelihood.C * (np.clip(1 + f, 0, None) - np.clip(1 - f, 0, None))  # Sollich (11)
        return 1 / (1 + np.exp(-odds))
    side = ndtr(f / np.sqrt(likelihood.softness)) if likelihood.softness else (f > 0)
    return likelihood.noise + (1 - 2 * likelihood.noise) * side


def bits(p):
    return (entr(p) + entr(1 - p)) / np.log(2)


def test_readouts_are_those_of_completed_draws(posterior, rng):
    f = functions_at_new_points(posterior, 300, rng)
    p = label_probability(posterior.problem.likelihood, f)
    tolerance = 4 * 0.5 / np.sqrt(len(f))  # four errors of a share
    np.testing.assert_allclose(readouts.vote(posterior, POINTS), (f > 0).mean(axis=0), atol=tolerance)
    np.testing.assert_allclose(readouts.class_probability(posterior, POINTS), p.mean(axis=0), atol=tolerance)
    entropy = bits(p.mean(axis=0))
    np.testing.assert_allclose(readouts.entropy(posterior, POINTS), entropy, atol=4 * tolerance)
    information = entropy - bits(p).mean(axis=0)
    np.testing.assert_allclose(readouts.mutual_information(posterior, POINTS), information, atol=4 * tolerance)


def test_completed_draws_tell_a_wrong_readout(rng):
    posterior = posterior_of(Step(0.05, 0.5))
    f = functions_at_new_points(posterior, 300, rng)
    p = label_probability(Step(0.1, 0.5), f).mean(axis=0)
    assert np.abs(readouts.class_probability(posterior, POINTS) - p).max() > 4 * 0.5 / np.sqrt(len(f))


def test_flip_probability_is_a_share_of_draws(posterior):
    np.testing.assert_array_equal(readouts.flip_probability(posterior), (flat(posterior) * Y < 0).mean(axis=0))


def test_the_bayes_point_is_the_direction_of_the_mean(posterior):
    alpha = readouts.bayes_point(posterior)
    assert alpha @ GRAM @ alpha == pytest.approx(1.0)
    mean = flat(posterior).mean(axis=0)
    np.testing.assert_allclose(GRAM @ alpha, mean / np.sqrt(mean @ np.linalg.solve(GRAM, mean)), atol=1e-8)


@pytest.mark.parametrize("likelihood", [Step(0.1), Step(0.05, 0.5), Hinge(0.5)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_a_row_out_is_a_posterior_without_it(likelihood, weighted, seed):
    weights = np.array([1.0, 0.5, 2.0, 1.0, 1.0, 1.0, 1.0]) if weighted and likelihood.softness == 0 else None
    mean, variance = posterior_of(likelihood, seed, draws=20_000, weights=weights).leave_one_out
    row, others = 2, np.delete(np.arange(7), 2)
    rest = Problem(GRAM[np.ix_(others, others)], Y[others], likelihood, None if weights is None else weights[others])
    expected = (
        Billiard(draws=20_000)
        .infer(rest, rng=seed + 50)
        .at(DensePoints(GRAM[[row]][:, others], GRAM[[row], [row]]))
        .latent
    )
    assert mean[row] == pytest.approx(expected.mean[0], abs=0.06)
    assert variance[row] == pytest.approx(expected.variance[0], abs=0.12)


def test_rows_that_hardly_any_draw_explains_can_be_left_out():
    """Likelihoods of e^-2000 must not overflow the weights of draws."""
    latents = np.array([[[-2.0, 1.0], [-1.0, 2.0], [-1.5, 1.5]]])
    problem = Problem(np.eye(2), [1, 1], Hinge(1000.0))
    mean, variance = SampledPosterior(problem, problem.whitened(), latents).leave_one_out
    np.testing.assert_allclose(mean, [-2.0, 1.5], atol=1e-12)
    np.testing.assert_allclose(variance, [0.0, 1 / 6], atol=1e-12)


def test_a_row_left_out_keeps_its_own_variance(rng):
    factor, own = rng.normal(size=(7, 2)), np.linspace(0.1, 0.7, 7)
    problem = Problem(LowRank(factor, residual=own), Y, Step(0.1, 0.5))
    posterior = Billiard(draws=50).infer(problem, rng=0)
    latents = flat(posterior)
    weight = np.exp(-problem.log_likelihood(latents))
    weight /= weight.sum(axis=0)
    mean = (weight * latents).sum(axis=0)
    np.testing.assert_allclose(posterior.leave_one_out.mean, mean, atol=1e-10)
    expected = (weight * latents**2).sum(axis=0) - mean**2 + own
    np.testing.assert_allclose(posterior.leave_one_out.variance, expected, atol=1e-10)


def test_hard_walls_cannot_leave_a_row_out():
    with pytest.raises(InvalidProblemError, match=r"^Draws inside hard walls .*\.$"):
        _ = posterior_of(Step()).leave_one_out


# -- standard errors -------------------------------------------------------------------------------------------------


def first_mean(posterior):
    return posterior.mean


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_the_jackknife_has_the_size_of_arviz(likelihood):
    posterior = posterior_of(likelihood, draws=5000)
    ratio = readouts.monte_carlo_error(first_mean, posterior, blocks=50) / mcse(posterior.latents)
    assert np.all((ratio > 0.5) & (ratio < 2))  # fifty blocks know it to ten percent


@pytest.mark.parametrize("readout", [readouts.vote, readouts.class_probability, readouts.mutual_information])
def test_standard_errors_are_the_spread_over_seeds(readout, seed):
    runs = [posterior_of(Step(0.1), [seed, k], draws=400) for k in range(30)]
    values = np.array([readout(run, POINTS) for run in runs])
    errors = np.array([readouts.monte_carlo_error(readout, run, POINTS) for run in runs])
    ratio = np.sqrt((errors**2).mean(axis=0)) / values.std(axis=0, ddof=1)
    assert np.all((ratio > 0.55) & (ratio < 1.8))  # thirty runs know the spread to thirteen percent


def test_the_jackknife_of_a_mean_is_the_spread_of_block_means(posterior):
    means = posterior.latents.mean(axis=0).reshape(20, -1, 7).mean(axis=1)
    expected = means.std(axis=0, ddof=1) / np.sqrt(20)
    found = readouts.monte_carlo_error(lambda one: flat(one).mean(axis=0), posterior, blocks=20)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_the_bayes_point_has_a_standard_error():
    few, many = (posterior_of(Step(0.1), draws=draws) for draws in (400, 6400))
    small, large = (readouts.monte_carlo_error(readouts.bayes_point, p) for p in (many, few))
    assert small.shape == (7,)
    assert np.all(small < large)


def test_a_standard_error_needs_draws():
    with pytest.raises(InvalidProblemError, match=r"^Too short to say: 30 draws .*\.$"):
        readouts.monte_carlo_error(readouts.bayes_point, posterior_of(Step(0.1), draws=30))
    from bayespoint.engines import EP

    with pytest.raises(InvalidProblemError, match=r"^Only draws have a Monte Carlo error; .*\.$"):
        readouts.monte_carlo_error(readouts.bayes_point, EP().infer(Problem(GRAM, Y, Step(0.1))))


def test_without_drops_draws_of_every_chain(posterior):
    shorter = posterior.without(slice(100, 150))
    assert shorter.latents.shape == (3, 350, 7)
    np.testing.assert_array_equal(shorter.latents[:, 100:], posterior.latents[:, 150:])
    np.testing.assert_array_equal(shorter.latents[:, :100], posterior.latents[:, :100])


# -- elsewhere -------------------------------------------------------------------------------------------------------


def test_an_engine_may_know_its_centre_better_than_its_draws():
    problem = Problem(GRAM, Y, Step())
    white = problem.whitened()
    centre = np.arange(1.0, 8.0)
    posterior = SampledPosterior(problem, white, np.zeros((1, 10, 7)), own_centre=centre)
    np.testing.assert_allclose(posterior.mean, white.factor @ centre)
    np.testing.assert_allclose(posterior.at(POINTS).latent.mean, white.features(POINTS) @ centre)
    classic = ClassicBilliard(tolerance=1e-2).infer(problem, rng=0)
    assert np.abs(classic.mean - flat(classic).mean(axis=0)).max() > 1e-6


def test_arviz_sees_chains_draws_and_rows(posterior):
    latent = posterior.to_arviz()["posterior"]["latent"]
    assert latent.dims == ("chain", "draw", "row")
    np.testing.assert_array_equal(latent.values, posterior.latents)


def test_arviz_missing_is_told(posterior, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ImportError, match=r"install bayespoint\[report\]"):
        posterior.to_arviz()


def test_one_hard_row_is_enough_to_refuse_leaving_out(rng):
    problem = Problem(LowRank(np.eye(3), residual=[0.5, 0.0, 0.5]), [1, -1, 1], Step())
    posterior = SampledPosterior(problem, problem.whitened(), rng.normal(size=(1, 4, 3)))
    with pytest.raises(InvalidProblemError, match="hard walls"):
        posterior.leaving_out(0.5)
