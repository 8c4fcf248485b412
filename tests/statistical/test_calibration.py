"""Simulation-based calibration: functions and labels drawn from the model, ranks of the truth among posterior draws.

If the sampler is right every rank is equally likely (Talts et al. 2018).
"""

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Problem, Step
from bayespoint.engines import Billiard

KEPT, THIN, BINS = 31, 5, 16
LIKELIHOODS = [Step(0.1), Step(0.0, 0.5), Hinge(2.0)]


def simulate(likelihood, gram, count, rng):
    """Pairs of latents and labels from the joint density prior x likelihood.

    A hinge is not normalised over labels: its joint density is met by rejection, with labels drawn blindly.
    """
    root = np.linalg.cholesky(gram)
    f, y = np.empty((0, len(gram))), np.empty((0, len(gram)))
    while len(f) < count:
        new = rng.standard_normal((20_000, len(gram))) @ root.T
        if isinstance(likelihood, Hinge):
            labels = rng.choice([-1.0, 1.0], new.shape)
            energy = likelihood.C * np.clip(1 - labels * new, 0.0, None).sum(axis=1)
            accepted = rng.random(len(new)) < np.exp(-energy)
            new, labels = new[accepted], labels[accepted]
        else:
            noisy = new + np.sqrt(likelihood.softness) * rng.standard_normal(new.shape)
            labels = np.where(rng.random(new.shape) < likelihood.noise, -1.0, 1.0) * np.sign(noisy)
        f, y = np.vstack([f, new]), np.vstack([y, labels])
    return f[:count], y[:count]


def quantities(f, y, precision):
    """One margin, the mean margin, and the squared length of the classifier."""
    margin = y * f
    return np.stack([margin[..., 0], margin.mean(axis=-1), np.einsum("...i,ij,...j->...", f, precision, f)], axis=-1)


def ranks(likelihood, assumed, size, count, seed):
    """Ranks of the truth when the sampler takes the likelihood to be `assumed`."""
    rng = np.random.default_rng([seed, size])
    gram = 1.5 * RBF(1.0)(rng.normal(size=(size, 2))) + 0.3
    precision = np.linalg.inv(gram)
    engine = Billiard(draws=KEPT * THIN, chains=1, warmup=30)
    found = np.empty((count, 3))
    for k, (f, y) in enumerate(zip(*simulate(likelihood, gram, count, rng), strict=True)):
        drawn = engine.infer(Problem(gram, y, assumed, check=False), rng=rng).latents[0, ::THIN]
        found[k] = (quantities(drawn, y, precision) < quantities(f, y, precision)).sum(axis=0)
    return found


def assert_calibrated(found):
    for column in found.T:
        counts = np.bincount(column.astype(int) * BINS // (KEPT + 1), minlength=BINS)
        p = chisquare(counts).pvalue
        assert p > 1e-4, f"ranks are not uniform (p = {p:.1g}): {counts}"


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_the_billiard_is_calibrated(likelihood, seed):
    assert_calibrated(ranks(likelihood, likelihood, 5, 1000, seed))


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 6, 8])
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_the_billiard_is_calibrated_at_length(likelihood, size, seed):
    assert_calibrated(ranks(likelihood, likelihood, size, 4000, seed))


@pytest.mark.parametrize(
    ("likelihood", "assumed"),
    [(Step(0.1), Step(0.02)), (Step(0.0, 0.5), Step(0.0, 4.0)), (Hinge(2.0), Hinge(1.0))],
    ids=str,
)
def test_ranks_tell_a_wrong_likelihood(likelihood, assumed, seed):
    found = ranks(likelihood, assumed, 5, 1000, seed)
    with pytest.raises(AssertionError, match="ranks are not uniform"):
        assert_calibrated(found)
