"""Data from the support vector machine's own model: two samplers that must agree, and what the paper says of them."""

import numpy as np
import pytest
from scipy.special import expit

from bayespoint import Hinge
from bayespoint.evidence.svm import sample_svm_data, sample_svm_prior
from bayespoint.exceptions import InvalidProblemError

X = np.linspace(0, 1, 12)
GRAM = 1.25 * np.exp(-0.5 * (X[:, None] - X) ** 2 / 0.2**2)


def test_the_prior_has_the_covariance_of_the_kernel(seed):
    theta = sample_svm_prior(GRAM, seed, size=40_000)
    np.testing.assert_allclose(np.cov(theta.T), GRAM, atol=0.06)


def statistics(method, seed, n=4, count=120, C=2.0):
    share = np.linspace(1, 3, 12)
    share /= share.sum()
    sets = [
        sample_svm_data(GRAM, n, C, np.random.default_rng([seed, k]), probabilities=share, method=method)
        for k in range(count)
    ]
    agree = [np.mean(data.labels * data.latents[data.rows] > 0) for data in sets]
    gap = [np.mean(np.abs(data.latents) < 1) for data in sets]
    inputs = [np.mean(data.rows) for data in sets]
    square = [np.mean(data.latents**2) for data in sets]
    return np.array([agree, gap, inputs, square])


def test_the_direct_sampler_agrees_with_restarts(seed):
    one, two = statistics("direct", seed), statistics("restart", seed + 1000)
    error = np.hypot(one.std(axis=1), two.std(axis=1)) / np.sqrt(one.shape[1])
    assert np.all(np.abs(one.mean(axis=1) - two.mean(axis=1)) < 4 * error)


@pytest.mark.slow
def test_another_c_is_told_apart(seed):
    """The control: the same comparison fails for a model with more noise."""
    one, two = statistics("direct", seed), statistics("restart", seed + 1000, C=0.3)
    error = np.hypot(one.std(axis=1), two.std(axis=1)) / np.sqrt(one.shape[1])
    assert np.any(np.abs(one.mean(axis=1) - two.mean(axis=1)) > 6 * error)


@pytest.mark.slow
def test_functions_that_survive_avoid_the_gap(seed):
    """Many rows discourage values between the margins (Figure 3)."""
    share = [
        np.mean([np.mean(np.abs(sample_svm_data(GRAM, n, 2.0, 100 * seed + k).latents) < 1) for k in range(25)])
        for n in (1, 60)
    ]
    assert share[1] < share[0] - 0.1


def test_labels_follow_the_class_probability(seed):
    hinge, rng = Hinge(2.0), np.random.default_rng(seed)
    sets = [sample_svm_data(GRAM, 5, 2.0, rng) for _ in range(80)]
    p = np.concatenate([expit(hinge.log_odds(data.latents[data.rows])) for data in sets])
    up = np.concatenate([data.labels > 0 for data in sets])
    assert abs((up - p).sum()) < 4 * np.sqrt((p * (1 - p)).sum())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n must be a whole number of at least 1"),
        ({"probabilities": np.ones(12)}, "probabilities must be 12 numbers"),
        ({"method": "magic"}, "method must be 'direct' or 'restart'"),
        ({"C": -1.0}, "C must be a finite number above 0"),
        ({"n": 300, "method": "restart", "max_starts": 512}, "No data set survived 512 starts"),
    ],
)
def test_bad_requests_are_refused_in_a_sentence(options, words):
    with pytest.raises(InvalidProblemError, match=rf"^[^\n]*{words}[^\n]*\.$"):
        sample_svm_data(GRAM, **{"n": 5, "C": 2.0, "rng": 0, **options})
