"""Several classes as one model: samplers and evidence against quadrature, brute force and the model of two classes."""

import inspect

import numpy as np
import pytest
from numba import njit
from scipy.stats import chisquare
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Choice, Problem, Step, readouts
from bayespoint.diagnostics import mcse
from bayespoint.engines import Billiard, GibbsSampler, _choice_walls
from bayespoint.evidence import log_evidence
from bayespoint.exceptions import InferenceWarning
from bayespoint.grams import DensePoints
from bayespoint.posteriors._leaders import leading_probabilities
from witnesses import weighted_mean

LIKELIHOODS = [Choice(), Choice(0.1), Choice(0.0, 0.5), Choice(0.05, 0.3)]
ENGINES = {"Billiard": Billiard(draws=1000), "GibbsSampler": GibbsSampler(draws=4000, chains=2, warmup=100)}
ERRORS = 4.5  # combined Monte Carlo standard errors that a figure may be off


def case(size, classes, seed):
    """A Gram matrix of training points followed by two new ones, and labels."""
    rng = np.random.default_rng([seed, size, classes])
    X = rng.normal(size=(size + 2, 2))
    joint = 1.5 * RBF(1.0)(X) + 0.3
    y = (X[:size] @ rng.normal(size=(2, classes))).argmax(axis=1)
    return joint, y


def prior_draws(joint, classes, count, rng):
    """Latents of shape (count, n, classes)."""
    root = np.linalg.cholesky(joint + 1e-12 * np.eye(len(joint)))
    return np.swapaxes(rng.standard_normal((count, classes, len(joint))) @ root.T, 1, 2)


def brute_force(joint, y, likelihood, classes, count, seed):
    """Moments of latents and who leads at the new points, log-evidence; each with its standard error."""
    rng = np.random.default_rng([7, seed])
    sums, log_w, figures = [], [], []
    for _ in range(max(1, count // 250_000)):
        f = prior_draws(joint, classes, min(count, 250_000), rng)
        h = f[:, : len(y)] + np.sqrt(likelihood.softness) * rng.standard_normal((len(f), len(y), classes))
        high, low = likelihood.levels(classes)
        w = np.where(h.argmax(axis=-1) == y, high, low).prod(axis=1)
        kept = w > 0
        figures.append(quantities(f[kept], len(y)))
        log_w.append(np.log(w[kept]))
        sums.append((w.sum(), np.square(w).sum(), len(w)))
    total, square, n = np.sum(sums, axis=0)
    mean = total / n
    evidence = np.log(mean), np.sqrt((square / n - mean**2) / n) / mean
    return weighted_mean(np.concatenate(figures), np.concatenate(log_w)), evidence


def quantities(f, size):
    """First moments, second moments, and products of neighbouring classes at training points; leaders at new ones."""
    at_rows, at_new = f[:, :size], f[:, size:]
    lead = at_new[..., None].argmax(axis=-2) == np.arange(f.shape[-1])
    parts = at_rows, at_rows**2, at_rows[..., 1:] * at_rows[..., :-1], lead
    return np.concatenate([part.reshape(len(f), -1) for part in parts], axis=1)


def assert_same_figures(posterior, joint, y, truth, error):
    """The same from a posterior's draws; at new points latents given a draw are completed at random."""
    size, classes = len(y), posterior.latents.shape[-1]
    at = posterior.at(DensePoints(joint[size:, :size], np.diagonal(joint)[size:]).together(joint[size:, size:]))
    chains, draws = posterior.latents.shape[:2]
    means = at.outputs.reshape(-1, 2, classes)
    spread = np.linalg.cholesky(joint[size:, size:] - at.features @ at.features.T + 1e-12 * np.eye(2))
    rest = np.swapaxes(np.random.default_rng(0).standard_normal((len(means), classes, 2)) @ spread.T, 1, 2)
    f = np.concatenate([posterior.latents.reshape(-1, size, classes), means + rest], axis=1)
    found = quantities(f, size).reshape(chains, draws, -1)
    z = (found.mean(axis=(0, 1)) - truth) / (np.hypot(mcse(found), error) + 1e-12)
    assert np.abs(z).max() < ERRORS, np.abs(z).max()


# -- brute force -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_draws_have_the_moments_of_the_posterior(name, likelihood, seed):
    joint, y = case(3, 3, seed)
    (truth, error), _ = brute_force(joint, y, likelihood, 3, 100_000, seed)
    posterior = ENGINES[name].infer(Problem(joint[:3, :3], y, likelihood, n_classes=3), rng=seed)
    assert_same_figures(posterior, joint, y, truth, error)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
@pytest.mark.parametrize(("size", "classes"), [(4, 3), (6, 3), (4, 4), (6, 4)])
def test_draws_and_evidence_against_four_million_draws(name, likelihood, size, classes, seed):
    joint, y = case(size, classes, seed)
    (truth, error), (log_z, log_z_error) = brute_force(joint, y, likelihood, classes, 4_000_000, seed)
    problem = Problem(joint[:size, :size], y, likelihood, n_classes=classes)
    posterior = type(ENGINES[name])(draws=20_000, chains=2).infer(problem, rng=seed)
    assert_same_figures(posterior, joint, y, truth, error)
    estimate = log_evidence(problem, seed, "billiard", se=0.03)
    assert abs(estimate.value - log_z) < ERRORS * np.hypot(estimate.se, log_z_error)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_evidence_is_that_of_brute_force(likelihood, seed):
    joint, y = case(3, 3, seed)
    _, (log_z, error) = brute_force(joint, y, likelihood, 3, 200_000, seed)
    for method in ["auto", "billiard"] if likelihood.noise == 0 else ["billiard"]:
        estimate = log_evidence(Problem(joint[:3, :3], y, likelihood, n_classes=3), seed, method, se=0.05)
        assert abs(estimate.value - log_z) < ERRORS * np.hypot(estimate.se, error)
        assert estimate.se <= 0.05


def test_tilting_and_stones_see_the_same_volume(seed):
    joint, y = case(12, 4, seed)
    problem = Problem(joint[:12, :12], y, Choice(), n_classes=4)
    one, two = (log_evidence(problem, seed, method, se=0.1) for method in ("tilted", "billiard"))
    assert abs(one.value - two.value) < ERRORS * np.hypot(one.se, two.se)


# -- quadrature ------------------------------------------------------------------------------------------------------


def by_quadrature(gram, y, likelihood, classes=3, nodes=48):
    """Log-evidence and means of latents for one or two rows, by a grid over whitened differences of classes.

    Differences ``f_c - f_C`` of the latents decide; given them the means follow by the prior covariance.
    """
    size = len(y)
    cov = np.kron(gram + likelihood.softness * np.eye(size), np.eye(classes - 1) + 1)  # of differences to the last
    root = np.linalg.cholesky(cov)
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    grid = np.stack(np.meshgrid(*[x] * len(cov), indexing="ij"), axis=-1).reshape(-1, len(cov))
    weight = np.prod(np.stack(np.meshgrid(*[w] * len(cov), indexing="ij"), axis=-1).reshape(-1, len(cov)), axis=1)
    h = np.concatenate([(grid @ root.T).reshape(-1, size, classes - 1), np.zeros((len(grid), size, 1))], axis=2)
    high, low = likelihood.levels(classes)
    value = weight * np.where(h.argmax(axis=-1) == y, high, low).prod(axis=1)
    mean = (value[:, None, None] * h).sum(axis=0) / value.sum()
    mean = mean - mean.mean(axis=1, keepdims=True)  # the common level is not decided, and has mean zero
    smooth = gram @ np.linalg.solve(gram + likelihood.softness * np.eye(size), mean)  # f given h
    return np.log(value.sum() / (2 * np.pi) ** (len(cov) / 2)), smooth


def test_one_row_in_closed_form(seed):
    """By symmetry every class has a third; the leader of three standard normals has mean 1.5 / sqrt(pi)."""
    problem = Problem(np.array([[4.0]]), [1], Choice(), n_classes=3)
    posterior = Billiard(draws=4000).infer(problem, rng=seed)
    expected = 2.0 * 1.5 / np.sqrt(np.pi) * np.array([-0.5, 1.0, -0.5])
    assert np.all(np.abs(posterior.mean[0] - expected) < ERRORS * mcse(posterior.latents)[0])
    estimate = log_evidence(problem, seed, "billiard", se=0.02)
    assert abs(estimate.value + np.log(3)) < ERRORS * estimate.se


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_one_and_two_rows_by_quadrature(size, likelihood, seed):
    gram, y = np.array([[1.0, 0.6], [0.6, 2.0]])[:size, :size], np.array([2, 0])[:size]
    log_z, mean = by_quadrature(gram, y, likelihood, nodes=150 if size == 1 else 24)
    grid_error = 0.01 if size == 1 else 0.05  # walls cut through the grid
    problem = Problem(gram, y, likelihood, n_classes=3)
    estimate = log_evidence(problem, seed, "billiard", se=0.03)
    assert abs(estimate.value - log_z) < ERRORS * estimate.se + grid_error
    for engine in ENGINES.values():
        posterior = engine.infer(problem, rng=seed)
        assert np.all(np.abs(posterior.mean - mean) < ERRORS * mcse(posterior.latents) + grid_error)


# -- two classes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_two_classes_are_the_model_of_two_classes(likelihood, seed):
    joint, y = case(6, 2, seed)
    gram, new = joint[:6, :6], DensePoints(joint[6:, :6], np.diagonal(joint)[6:])
    twice = DensePoints(2 * joint[6:, :6], 2 * np.diagonal(joint)[6:])
    step = Step(likelihood.noise, 2 * likelihood.softness)
    several = Billiard(draws=500).infer(Problem(gram, y, likelihood), rng=seed)
    two = Billiard(draws=500).infer(Problem(2 * gram, 2 * y - 1, step), rng=seed + 1)
    lead = several.latents[..., 1] - several.latents[..., 0]
    for power in (1, 2):
        a, b = lead**power, two.latents**power
        z = (a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) / np.hypot(mcse(a), mcse(b))
        assert np.abs(z).max() < ERRORS
    for readout in (readouts.class_probability, readouts.vote, readouts.entropy, readouts.mutual_information):
        a, b = readout(several, new), readout(two, twice)
        error = np.hypot(
            readouts.monte_carlo_error(readout, several, new).reshape(2, -1)[:, -1],
            readouts.monte_carlo_error(readout, two, twice),
        )
        assert np.all(np.abs(a.reshape(2, -1)[:, -1] - b) < ERRORS * error + 1e-6)


# -- rows of their own -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", [Choice(0.1), Choice(0.0, 2.0), Choice(0.05, 0.3)], ids=str)
def test_flips_and_left_out_labels_are_those_of_brute_force(likelihood, seed):
    """At the training points: who has the largest latent, and which label the row would have had."""
    joint, y = case(3, 3, seed)
    y[0] = (y[0] + 1) % 3
    rng = np.random.default_rng(seed)
    f = prior_draws(joint[:3, :3], 3, 100_000, rng)
    p = likelihood.of_leaders(leading_probabilities(f, np.full(3, likelihood.softness)))
    of_labels = np.take_along_axis(p, np.broadcast_to(y[:, None], (len(f), 3, 1)), axis=-1)[..., 0]
    posterior = Billiard(draws=1000).infer(Problem(joint[:3, :3], y, likelihood, n_classes=3), rng=seed)
    lead = f.argmax(axis=-1)[..., None] == np.arange(3)
    true, error = weighted_mean(lead, np.log(of_labels).sum(axis=1))
    found = monte_carlo(lambda posterior: posterior.true_probabilities, posterior)
    assert np.all(np.abs(found[0].ravel() - true) < ERRORS * np.hypot(found[1].ravel(), error) + 1e-9)
    np.testing.assert_allclose(
        readouts.flip_probability(posterior), 1 - posterior.true_probabilities[np.arange(3), y], rtol=1e-12
    )
    found = monte_carlo(readouts.leave_one_out_probability, posterior)
    for i in range(3):
        left_out, error = weighted_mean(p[:, i], np.log(np.delete(of_labels, i, axis=1)).sum(axis=1))
        assert np.all(np.abs(found[0][i] - left_out) < ERRORS * np.hypot(found[1][i], error))


def monte_carlo(readout, posterior):
    return readout(posterior), readouts.monte_carlo_error(readout, posterior)


# -- rank histograms -------------------------------------------------------------------------------------------------

KEPT, THIN, BINS = 31, 4, 16


def ranks(likelihood, count, seed, size=4, classes=3):
    """Ranks of true functions among posterior draws: the labels' mean lead, the mean latent of a row, the length."""
    rng = np.random.default_rng([seed, size])
    gram = 1.5 * RBF(1.0)(rng.normal(size=(size, 2))) + 0.3
    precision = np.linalg.inv(gram)
    engine, found = Billiard(draws=KEPT * THIN, chains=1, warmup=20), np.empty((count, 3))
    f = prior_draws(gram, classes, count, rng)
    h = f + np.sqrt(likelihood.softness) * rng.standard_normal(f.shape)
    y = h.argmax(axis=-1)
    y = np.where(rng.random(y.shape) < likelihood.noise, (y + rng.integers(1, classes, y.shape)) % classes, y)

    def looked_at(f, y):
        own = np.take_along_axis(f, np.broadcast_to(y[:, None], (*f.shape[:-1], 1)), axis=-1)[..., 0]
        second = np.where(np.arange(classes) == y[:, None], -np.inf, f).max(axis=-1)
        length = np.einsum("...ic,ij,...jc->...", f, precision, f)
        return np.stack([(own - second).mean(axis=-1), f.mean(axis=-1)[..., 1], length], axis=-1)

    for k in range(count):
        problem = Problem(gram, y[k], likelihood, check=False, n_classes=classes)
        drawn = engine.infer(problem, rng=rng).latents[0, ::THIN]
        found[k] = (looked_at(drawn, y[k]) < looked_at(f[k], y[k])).sum(axis=0)
    return found


def assert_calibrated(found):
    for column in found.T:
        counts = np.bincount(column.astype(int) * BINS // (KEPT + 1), minlength=BINS)
        p = chisquare(counts).pvalue
        assert p > 1e-4, f"ranks are not uniform (p = {p:.1g}): {counts}"


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_the_billiard_is_calibrated(likelihood, seed):
    assert_calibrated(ranks(likelihood, 800, seed))


@pytest.mark.slow
@pytest.mark.parametrize(("size", "classes"), [(4, 3), (6, 4), (5, 6)])
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_the_billiard_is_calibrated_at_length(likelihood, size, classes, seed):
    assert_calibrated(ranks(likelihood, 4000, seed, size, classes))


def test_ranks_tell_a_bounce_that_turns_too_little(seed, monkeypatch):
    fly = _choice_walls.ChoiceWalls.fly

    def too_little(*args):
        impulse, potential, events = fly(*args)
        return 0.9 * impulse, potential, events

    monkeypatch.setattr(_choice_walls.ChoiceWalls, "fly", too_little)
    with pytest.warns(InferenceWarning, match="drifted"):
        found = ranks(Choice(), 800, seed)
    with pytest.raises(AssertionError, match="ranks are not uniform"):
        assert_calibrated(found)


SLIPS = {
    "a ball that gains speed": ("else -speed", "else -1.5 * speed", Choice()),
    "walls half as high": ("2.0 * rise", "1.0 * rise", Choice(0.05)),
    "a wall that costs both ways": ("crosses = speed", "rise = abs(rise)\n{}crosses = speed", Choice(0.1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS)
def test_ranks_tell_a_slip_in_the_loop(slip, seed, monkeypatch):
    """The loop as it is but for one slip, compiled anew."""
    right, wrong, likelihood = SLIPS[slip]
    source = inspect.getsource(_choice_walls._fly.py_func)
    assert right in source
    namespace = dict(vars(_choice_walls))
    exec(
        source[source.index("def _fly") :].replace(right, wrong.format(20 * " ")), namespace
    )  # the text of our own function
    monkeypatch.setattr(_choice_walls, "_fly", njit(namespace["_fly"]))
    found = ranks(likelihood, 2000, seed)
    with pytest.raises(AssertionError, match="ranks are not uniform"):
        assert_calibrated(found)
