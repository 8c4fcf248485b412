"""The probability of each of several Gaussians to be the largest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from bayespoint import BayesPointClassifier
from bayespoint.readouts import largest_probabilities


def by_quadrature(mean, sd, which):
    others = [k for k in range(len(mean)) if k != which]

    def density(h):
        return norm.pdf(h, mean[which], sd[which]) * np.prod(norm.cdf(h, np.take(mean, others), np.take(sd, others)))

    return quad(density, mean[which] - 12 * sd[which], mean[which] + 12 * sd[which], limit=400, epsabs=1e-13)[0]


@pytest.mark.parametrize("spread", [0.3, 3.0, 20.0])
def test_adaptive_quadrature_agrees(rng, spread):
    mean, variance = spread * rng.standard_normal((6, 4)), rng.uniform(1.0, 9.0, (6, 4))
    expected = [[by_quadrature(m, np.sqrt(v), k) for k in range(4)] for m, v in zip(mean, variance, strict=True)]
    np.testing.assert_allclose(largest_probabilities(mean, variance), expected, atol=2e-6)


def test_two_are_the_binary_formula(rng):
    mean, variance = rng.standard_normal((50, 2)), rng.uniform(1.0, 4.0, (50, 2))
    expected = norm.cdf((mean[:, 1] - mean[:, 0]) / np.sqrt(variance.sum(axis=1)))
    np.testing.assert_allclose(largest_probabilities(mean, variance)[:, 1], expected, atol=1e-7)


def test_draws_agree_and_a_wrong_variance_does_not(rng):
    mean, variance, draws = np.array([[0.5, 0.0, -1.0, 0.2]]), np.array([[1.0, 4.0, 2.0, 1.5]]), 100_000
    largest = (mean + np.sqrt(variance) * rng.standard_normal((draws, 4))).argmax(axis=1)
    share = np.bincount(largest, minlength=4) / draws
    found, wrong = largest_probabilities(mean, variance)[0], largest_probabilities(mean, 2 * variance)[0]
    error = np.sqrt(found * (1 - found) / draws)
    assert np.all(np.abs(share - found) < 5 * error)
    assert np.any(np.abs(share - wrong) > 5 * error)


def test_a_hundred_classes_and_extremes_add_up_to_one():
    mean = np.r_[[np.linspace(-1e6, 1e6, 100)], np.zeros((1, 100))]
    found = largest_probabilities(mean, np.ones_like(mean))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found[1], 0.01, rtol=1e-6)
    assert found[0].argmax() == 99
    assert np.all(found > 0)


def test_several_classes_are_surer_and_better_than_one_against_the_rest(rng):
    """Three clear clusters: normalised one-vs-rest probabilities are too modest."""
    centres = np.array([[0.0, 3.0], [3.0, -2.0], [-3.0, -2.0]])
    y, labels = np.repeat([0, 1, 2], 40), np.repeat([0, 1, 2], 200)
    X, new = (centres[part] + rng.standard_normal((len(part), 2)) for part in (y, labels))
    fits = {
        way: BayesPointClassifier("rbf", decision=way, calibration=None).fit(X, y)
        for way in ("bayes_point", "one-vs-rest")
    }
    loss = {way: -np.log(fit.predict_proba(new)[np.arange(600), labels]).mean() for way, fit in fits.items()}
    assert loss["bayes_point"] < loss["one-vs-rest"]
    assert np.mean(fits["bayes_point"].predict(new) == labels) > 0.97
