import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Choice, Hinge, Problem, Step, readouts
from bayespoint.engines import EP, Billiard, EllipticalSlice
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import DensePoints
from bayespoint.likelihoods import SquaredHinge
from witnesses import log_likelihood, posterior_by_draws, weighted_mean

STEPS = [Step(), Step(0.0, 0.5), Step(0.1), Step(0.2, 0.5)]
X = np.array([[-1.0], [-0.2], [0.5], [1.5]])
NEW = np.linspace(-3, 3, 13)[:, None]


@pytest.fixture(params=STEPS, ids=str)
def posterior(request):
    return EP().infer(Problem(RBF(1.0)(X) + 0.5, [-1, -1, 1, 1], request.param))


def new_points():
    return DensePoints(RBF(1.0)(NEW, X) + 0.5, np.full(len(NEW), 1.5))


def test_the_bayes_point_has_unit_length_and_the_direction_of_the_mean(posterior):
    alpha, gram = readouts.bayes_point(posterior), posterior.problem.dense
    assert alpha @ gram @ alpha == pytest.approx(1.0)
    latents = gram @ alpha
    np.testing.assert_allclose(latents / np.linalg.norm(latents), posterior.mean / np.linalg.norm(posterior.mean))


def test_class_probability_is_noise_plus_a_normal_tail(posterior):
    step = posterior.problem.likelihood
    mean, variance = readouts.latent(posterior, new_points())
    p = readouts.class_probability(posterior, new_points())
    z = mean / np.sqrt(variance + step.softness)
    np.testing.assert_allclose(p, step.noise + (1 - 2 * step.noise) * norm.cdf(z), rtol=1e-12)
    assert np.all(np.diff(p[np.argsort(z)]) >= 0)
    assert np.all((p >= step.noise) & (p <= 1 - step.noise))


def test_entropy_is_in_bits(posterior):
    p = readouts.class_probability(posterior, new_points())
    np.testing.assert_allclose(
        readouts.entropy(posterior, new_points()), -p * np.log2(p) - (1 - p) * np.log2(1 - p), rtol=1e-10
    )


def test_a_point_far_from_all_data_has_one_bit():
    posterior = EP().infer(Problem(np.eye(2), [1, -1], Step(0.1)))
    assert readouts.entropy(posterior, DensePoints(np.zeros((1, 2)), np.ones(1)))[0] == pytest.approx(1.0)


def test_leave_one_out_probability_reads_the_cavity(posterior):
    step, (mean, variance) = posterior.problem.likelihood, posterior.leave_one_out
    np.testing.assert_allclose(
        readouts.leave_one_out_probability(posterior),
        step.noise + (1 - 2 * step.noise) * norm.cdf(mean / np.sqrt(variance + step.softness)),
    )


def problem_of(n, step, rng):
    root = rng.normal(size=(n, n))
    return Problem(root @ root.T / n + 0.1 * np.eye(n), rng.choice([-1.0, 1.0], n), step)


def assert_flips_are_those_of_draws(problem, answer, rng):
    draws, log_weights = posterior_by_draws(problem, 400_000, rng)
    wrong, se = weighted_mean((problem.y * draws < 0).astype(float), log_weights)
    assert np.all(np.abs(answer - wrong) < 0.01 + 4 * se)  # 0.01 is what EP may be off


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_flip_probability_is_that_of_brute_force_draws(n, step, rng):
    problem = problem_of(n, step, rng)
    assert_flips_are_those_of_draws(problem, readouts.flip_probability(EP().infer(problem)), rng)


def test_draws_tell_a_wrong_flip_probability(rng):
    problem = problem_of(2, Step(0.2, 0.5), rng)
    wrong = readouts.flip_probability(EP().infer(Problem(problem.dense, problem.y, Step(0.1, 0.5))))
    with pytest.raises(AssertionError):
        assert_flips_are_those_of_draws(problem, wrong, rng)


def test_class_probability_is_that_of_brute_force_draws(rng):
    step = Step(0.1, 0.3)
    problem = problem_of(4, step, rng)
    known = slice(0, 3)
    posterior = EP().infer(Problem(problem.dense[known, known], problem.y[known], step))
    draws, _ = posterior_by_draws(problem, 400_000, rng)
    log_weights = log_likelihood(step, problem.y[known] * draws[:, known]).sum(axis=1)
    p, se = weighted_mean(np.exp(log_likelihood(step, draws[:, 3])), log_weights)
    answer = readouts.class_probability(posterior, DensePoints(problem.dense[[3], known], problem.dense[[3], [3]]))
    assert abs(answer[0] - p[0]) < 0.01 + 4 * se[0]


def test_votes_and_their_entropy_are_the_printed_ones(seed):
    """KGS (4) and section 4 on draws: one vote each, by the sign of a whole function; labels and noise play no part."""
    problem = Problem(RBF(1.0)(X) + 0.5, [-1, -1, 1, 1], Step(0.1, 0.5))
    posterior = Billiard(draws=4000, chains=2).infer(problem, rng=seed)
    rng, features = np.random.default_rng(seed), posterior.white.features(new_points())
    mean = posterior.coordinates.reshape(-1, posterior.white.rank) @ features.T
    beyond = np.sqrt(np.maximum(1.5 - np.square(features).sum(axis=1), 0.0))  # what the training points leave open
    functions = mean + beyond * rng.standard_normal(mean.shape)
    plus = np.mean(functions > 0, axis=0)
    printed = -(plus * np.log2(plus) + (1 - plus) * np.log2(1 - plus))
    error = 4 * np.sqrt(0.25 / 1000)  # of a thousand independent draws at least
    np.testing.assert_allclose(readouts.vote(posterior, new_points()), plus, atol=error)
    np.testing.assert_array_equal(
        readouts.vote(posterior, new_points())[np.abs(plus - 0.5) > error] > 0.5,
        np.sign(functions).mean(axis=0)[np.abs(plus - 0.5) > error] > 0,
    )
    entropy = readouts.vote_entropy(posterior, new_points())
    np.testing.assert_allclose(entropy, printed, atol=0.08)
    far = np.abs(entropy - readouts.entropy(posterior, new_points()))
    assert far.max() > 0.1  # of labels it is another


@pytest.mark.parametrize("likelihood", [Hinge(2.0), SquaredHinge(2.0)], ids=str)
@pytest.mark.parametrize("engine", [EP(), EllipticalSlice(draws=1500, chains=2)], ids=["ep", "draws"])
def test_predictions_where_inputs_tell_something_are_the_printed_ones(likelihood, engine):
    """<Q(y)> / <v> and 1 - <v> over latents drawn from the posterior at each point."""
    posterior = engine.infer(Problem(4 * RBF(1.0)(X), [-1, -1, 1, 1], likelihood), rng=0)
    new = DensePoints(4 * RBF(1.0)(NEW, X), np.full(len(NEW), 4.0))
    rng = np.random.default_rng(0)
    latent = readouts.latent(posterior, new)
    f = latent.mean + np.sqrt(latent.variance) * rng.standard_normal((20_000, len(NEW)))
    up, down = (np.exp(likelihood.log_likelihood(y, f)).mean(axis=0) for y in (1.0, -1.0))
    error = 0.02 if isinstance(engine, EP) else 0.05  # draws are not Gaussian
    np.testing.assert_allclose(readouts.joint_class_probability(posterior, new), up / (up + down), atol=error)
    np.testing.assert_allclose(readouts.dont_know(posterior, new), 1 - up - down, atol=error)
    if isinstance(likelihood, Hinge):  # (33) is another prediction
        assert np.abs(readouts.class_probability(posterior, new) - up / (up + down)).max() > error


def test_normalised_likelihoods_always_know(posterior):
    np.testing.assert_allclose(readouts.dont_know(posterior, new_points()), 0.0, atol=1e-12)
    joint, plain = (f(posterior, new_points()) for f in (readouts.joint_class_probability, readouts.class_probability))
    np.testing.assert_allclose(joint, plain, atol=1e-12)


def test_readouts_of_several_classes_are_of_all_classes_or_refused():
    x = np.linspace(-2, 2, 9)
    problem = Problem(np.exp(-0.5 * (x[:, None] - x) ** 2), np.repeat([0, 1, 2], 3), Choice(softness=0.1))
    posterior = EP().infer(problem)
    new = DensePoints(np.exp(-0.5 * (np.array([[0.3], [1.0]]) - x) ** 2), np.ones(2))
    votes = readouts.vote(posterior, new)
    np.testing.assert_allclose(readouts.vote_entropy(posterior, new), -(votes * np.log2(votes)).sum(axis=1))
    decided = readouts.bayes_decision(posterior, new, 1 - np.eye(3))
    np.testing.assert_array_equal(decided.action, readouts.class_probability(posterior, new).argmax(axis=1))
    for refused in (readouts.dont_know, readouts.joint_class_probability):
        with pytest.raises(InvalidProblemError, match="several classes"):
            refused(posterior, new)


def test_information_is_entropy_less_noise_in_bits(rng):
    X = rng.normal(size=(6, 2))
    posterior = EP().infer(Problem(2 * RBF(1.0)(X), np.sign(X[:, 0]), Step(0.1, 0.5)))
    points = DensePoints(2 * RBF(1.0)(X + 0.3, X), np.full(6, 2.0))
    latent, u = readouts.latent(posterior, points), np.linspace(-9, 9, 4001)
    f = latent.mean[:, None] + np.sqrt(latent.variance)[:, None] * u
    p = 0.1 + 0.8 * norm.cdf(f / np.sqrt(0.5))
    weight = norm.pdf(u) / norm.pdf(u).sum()

    def bits(p):
        return -p * np.log2(p) - (1 - p) * np.log2(1 - p)

    expected = bits(p @ weight) - bits(p) @ weight
    np.testing.assert_allclose(readouts.mutual_information(posterior, points), expected, atol=1e-7)


def test_the_bayes_point_of_several_classes_has_length_one(rng):
    X = rng.normal(size=(6, 2))
    gram = 2 * RBF(1.0)(X)
    posterior = EP().infer(Problem(gram, np.array([0, 1, 2, 0, 1, 2]), Choice(softness=1.0)))
    alpha = readouts.bayes_point(posterior)
    assert alpha.shape == (6, 3)
    assert np.trace(alpha.T @ gram @ alpha) == pytest.approx(1.0)
