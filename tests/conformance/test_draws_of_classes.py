"""The table engine x likelihood x Gram matrix x weights for draws of several classes (`Choice`)."""

from itertools import product

import numpy as np
import pytest

from bayespoint import Choice, Problem, readouts
from bayespoint.engines import Billiard, GibbsSampler
from bayespoint.exceptions import InvalidProblemError
from grams import GRAMS, RESIDUAL, SIZE, WEIGHTS, X, at_new, new_points, spanned
from witnesses import mcse

CHOICES = {"hard": Choice(), "noise": Choice(0.1), "soft": Choice(0.0, 0.5), "soft noise": Choice(0.1, 0.5)}
QUICK = {"Billiard": Billiard(draws=20, chains=2, warmup=5), "GibbsSampler": GibbsSampler(draws=20, chains=2)}
Y = np.digitize(X[:SIZE, 0], [-0.3, 0.6])  # three stripes, separable in every kind of Gram matrix


def works(kind, gram, weights):
    """As for two classes: a weight acts on one draw of the noise, which is not what it means."""
    return weights == "none" or ("soft" not in kind and not (gram == "residual" and weights == "whole"))


FULL = [(*cell, works(*cell[1:])) for cell in product(QUICK, CHOICES, GRAMS, WEIGHTS)]


def problem_of(kind, gram, weights="none"):
    return Problem(GRAMS[gram], Y, CHOICES[kind], WEIGHTS[weights])


@pytest.mark.parametrize(("engine", "kind", "gram", "weights"), [cell[:4] for cell in FULL if not cell[4]])
def test_a_false_cell_raises_in_one_sentence(engine, kind, gram, weights):
    with pytest.raises(InvalidProblemError, match=r"^[A-Z][^\n]*\.$"):
        QUICK[engine].infer(problem_of(kind, gram, weights), rng=0)


@pytest.mark.parametrize(("engine", "kind", "gram", "weights"), [cell[:4] for cell in FULL if cell[4]])
def test_a_true_cell_gives_a_posterior_that_every_readout_reads(engine, kind, gram, weights):
    posterior, points = QUICK[engine].infer(problem_of(kind, gram, weights), rng=0), new_points(gram)
    latents = posterior.latents
    assert latents.shape == (2, 20, SIZE, 3)
    np.testing.assert_allclose(posterior.mean, latents.mean(axis=(0, 1)), atol=1e-10)
    np.testing.assert_allclose(posterior.variance, latents.var(axis=(0, 1)), atol=1e-10)
    np.testing.assert_allclose(np.einsum("cdik,ij->cdjk", posterior.alpha, spanned(gram)), latents, atol=1e-6)
    assert posterior.log_evidence is None
    assert posterior.engine == QUICK[engine]
    check_at(posterior, gram, points)
    check_readouts(posterior, points)
    if kind != "hard" or gram == "residual":
        p = readouts.leave_one_out_probability(posterior)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert np.all((p > 0) & (p < 1))
    else:
        with pytest.raises(InvalidProblemError, match=r"^Draws inside hard walls .*\.$"):
            readouts.leave_one_out_probability(posterior)


def check_at(posterior, gram, points):
    at = posterior.at(points)
    mean, variance = readouts.latent(posterior, points)
    np.testing.assert_array_equal(at.mean, mean)
    np.testing.assert_array_equal(at.variance, variance)
    assert mean.shape == variance.shape == (3, 3)
    assert np.all(np.linalg.eigvalsh(at.covariance) > 0)
    np.testing.assert_allclose(mean, at_new(posterior.mean_weights, gram), atol=1e-6)
    np.testing.assert_allclose(mean, at.outputs.mean(axis=(0, 1)), atol=1e-10)
    functions = posterior.at(points.together(np.diag(points.diag) + 5.0)).functions(4, np.random.default_rng(0))
    assert functions.shape == (4, 3, 3)


def check_readouts(posterior, points):
    for readout in (readouts.class_probability, readouts.vote):
        p, error = readout(posterior, points), readouts.monte_carlo_error(readout, posterior, points, blocks=4)
        assert p.shape == error.shape == (3, 3)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert np.all((p >= 0) & (p <= 1))
    bits, told = readouts.entropy(posterior, points), readouts.mutual_information(posterior, points)
    assert np.all((told >= 0) & (told <= bits) & (bits <= np.log2(3)))
    flips = readouts.flip_probability(posterior)
    assert flips.shape == (SIZE,)
    assert np.all((flips >= 0) & (flips <= 1))
    weights = readouts.bayes_point(posterior)
    lengths = [posterior.problem.gram.length(column) for column in weights.T]
    assert np.linalg.norm(lengths) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", CHOICES)
@pytest.mark.parametrize("gram", ["factor", "residual"])
def test_draws_of_any_form_of_the_gram_matrix_agree(kind, gram, seed):
    plain = spanned(gram) + (np.diag(RESIDUAL[:SIZE]) if gram == "residual" else 0.0)
    one = Billiard(draws=800).infer(problem_of(kind, gram), rng=seed)
    two = Billiard(draws=800).infer(Problem(plain, Y, CHOICES[kind]), rng=seed + 1)
    assert_same(one.latents, smoothed(plain, two.latents) if gram == "residual" else two.latents)
    if gram == "factor":
        assert_same(one.latents**2, two.latents**2)
    assert np.abs(one.true_probabilities - two.true_probabilities).max() < 0.06


def smoothed(plain, latents):
    """The part of draws of latents with residuals that the factor has, on average."""
    share = spanned("residual") @ np.linalg.inv(plain)
    return np.einsum("ij,cdjk->cdik", share, latents)


def assert_same(a, b):
    z = (a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) / np.hypot(mcse(a), mcse(b))
    assert np.abs(z).max() < 5


def test_a_residual_left_out_would_be_noticed(seed):
    """The control of the test above."""
    plain = spanned("residual") + np.diag(RESIDUAL[:SIZE])
    one = Billiard(draws=800).infer(problem_of("hard", "factor"), rng=seed)
    two = Billiard(draws=800).infer(Problem(plain, Y, CHOICES["hard"]), rng=seed + 1)
    with pytest.raises(AssertionError):
        assert_same(one.latents, smoothed(plain, two.latents))
