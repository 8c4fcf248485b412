"""Certificates of several classes that are one model: their parts against witnesses, and whether they hold."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr

from bayespoint import Choice, Problem
from bayespoint.bounds import certify_classes, gaussian_divergence, seeger_bound
from bayespoint.bounds.classes import _errors, class_divergence
from bayespoint.engines import EP, Billiard
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import DensePoints, LowRank

FIRST = Choice(softness=1.0)


def features(X):
    return np.c_[X, np.ones(len(X))]


def noisy(rng, n, classes=3, flips=0.15):
    X = rng.normal(size=(n, 2))
    y = np.argmax(X @ np.array([[1.0, -0.5, -0.5], [0.0, 1.0, -1.0]])[:, :classes], axis=1)
    wrong = rng.random(n) < flips
    return X, np.where(wrong, rng.integers(classes, size=n), y)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_divergence_is_that_of_the_whole_gaussian(noise, rng):
    X = rng.normal(size=(6, 2))
    gram = np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2)) + 0.1 * np.eye(6)
    posterior = EP().infer(Problem(3 * gram, [0, 1, 2, 0, 1, 1], Choice(noise, softness=0.5)))
    new = SimpleNamespace(cross=3 * gram, among=3 * gram, diag=3 * np.diag(gram))
    mean, covariance = posterior.gaussian.jointly_at(new)
    white = np.kron(np.linalg.inv(np.linalg.cholesky(3 * gram)), np.eye(3))
    truth = gaussian_divergence(white @ mean.ravel(), white @ covariance @ white.T)
    assert class_divergence(posterior) == pytest.approx(truth, rel=1e-6)


def test_the_divergence_of_a_factor_is_that_of_its_gram_matrix(rng):
    X, y = noisy(rng, 30)
    factor = 2 * features(X)
    dense, low = (EP().infer(Problem(gram, y, FIRST)) for gram in (factor @ factor.T, LowRank(factor)))
    assert class_divergence(low) == pytest.approx(class_divergence(dense), rel=1e-4)


@pytest.mark.parametrize("length", [1.0, 1.7])
def test_the_divergence_from_a_part_is_that_of_two_gaussians(length, rng):
    """Both with the same Gram matrix, the prior with the sites of some rows only, the mean scaled."""
    X = rng.normal(size=(6, 2))
    gram = 3 * (np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2)) + 0.1 * np.eye(6))
    y, rows = np.array([0, 1, 2, 0, 1, 1]), np.array([0, 2, 3])
    posterior = EP().infer(Problem(gram, y, Choice(softness=0.5)))
    prior = EP().infer(Problem(gram[np.ix_(rows, rows)], y[rows], Choice(softness=0.5), n_classes=3))
    points = [SimpleNamespace(cross=cross, among=gram, diag=np.diag(gram)) for cross in (gram, gram[:, rows])]
    (mean, covariance), (centre, spread) = (
        one.gaussian.jointly_at(new) for one, new in zip((posterior, prior), points, strict=True)
    )
    white = np.linalg.inv(np.linalg.cholesky(spread))
    truth = gaussian_divergence(white @ (length * mean.ravel() - centre.ravel()), white @ covariance @ white.T)
    assert class_divergence(posterior, prior, rows, length) == pytest.approx(truth, rel=1e-6)
    assert class_divergence(posterior, prior, rows, length) < class_divergence(posterior, None, None, length)


def test_a_longer_mean_is_the_same_classifier_with_a_smaller_bound(rng):
    X, y = noisy(rng, 150, flips=0.0)
    posterior = EP().infer(Problem(0.3 * features(X) @ features(X).T, y, FIRST, n_classes=3))  # a timid prior
    found = certify_classes(posterior, draws=200)
    assert found.bayes_point.value < 2 * found.gibbs.value - 0.02


def test_a_prior_from_some_rows_is_paid_for_by_the_others(rng):
    X, y = noisy(rng, 90)
    some = np.arange(45)
    whole, part = (
        EP().infer(Problem(features(A) @ features(A).T, b, FIRST, n_classes=3)) for A, b in ((X, y), (X[some], y[some]))
    )
    found = certify_classes(whole, prior=part, prior_rows=some, draws=100)
    assert found.n == 45
    assert found.gibbs.terms["divergence"] * 45 < 0.7 * class_divergence(whole)
    with pytest.raises(InvalidProblemError, match=r"^prior_rows must say [^\n]*\.$"):
        certify_classes(whole, prior=part, prior_rows=some[:3])


def test_errors_of_two_classes_are_counted_as_in_closed_form(rng):
    X = rng.normal(size=(20, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=20) > 0).astype(int)
    posterior = EP().infer(Problem(features(X) @ features(X).T, y, FIRST, n_classes=2))
    sign = np.where(y == 1, 1.0, -1.0)
    lead = sign * (posterior.mean[:, 1] - posterior.mean[:, 0])
    spread = np.einsum("icd,c,d->i", posterior.covariance, [-1.0, 1.0], [-1.0, 1.0])
    p = ndtr(-lead / np.sqrt(spread))
    counted = _errors(posterior, 5000, rng, np.arange(20))
    se = np.sqrt(5000 * (p * (1 - p)).sum())
    assert abs(counted - 5000 * p.sum()) < 4 * se
    assert abs(counted - 5000 * ndtr(-lead / spread).sum()) > 4 * se  # a variance taken for a deviation


def test_a_mean_that_errs_has_draws_that_err_in_half_of_all_cases(rng):
    for _ in range(20):
        mean, root = rng.normal(size=4), rng.normal(size=(4, 4))
        latents = mean + rng.standard_normal((4000, 4)) @ root.T
        for label in np.flatnonzero(np.arange(4) != mean.argmax()):
            assert (latents.argmax(axis=1) != label).mean() > 0.5 - 4 * 0.5 / np.sqrt(4000)


def test_bounds_hold_and_one_without_the_divergence_does_not():
    """Forty sets: errors on fresh rows of draws and of the mean, under noise and of labels that mean nothing."""
    broken = naive = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = noisy(rng, 40, flips=0.2 if seed % 2 else 1.0)
        Z, truth = noisy(rng, 500, flips=0.2 if seed % 2 else 1.0)
        near, cross = (np.exp(-2 * np.square(A[:, None] - X).sum(axis=2)) for A in (X, Z))
        posterior = EP(tolerance=1e-4).infer(Problem(100 * near, y, FIRST, n_classes=3))
        found = certify_classes(posterior, 0.05, draws=100, rng=rng)
        at = posterior.at(DensePoints(100 * cross, np.full(500, 100.0)))
        of_draw = 1 - at.votes[np.arange(500), truth].mean()
        of_mean = (at.mean.argmax(axis=1) != truth).mean()
        broken += of_draw > found.gibbs.value or of_mean > found.bayes_point.value
        naive += of_draw > seeger_bound(found.gibbs.terms["training error"], 0.0, 40, 0.05).value
    assert broken <= 2
    assert naive > 10


def test_counting_has_its_price(rng):
    X, y = noisy(rng, 40)
    posterior = EP().infer(Problem(10 * features(X) @ features(X).T, y, FIRST, n_classes=3))
    few, many = (certify_classes(posterior, draws=draws).gibbs for draws in (2, 5000))
    assert few.terms["training error"] > many.terms["training error"] + 0.02
    found = certify_classes(posterior)
    assert found.constant_error == pytest.approx(1 - np.bincount(y).max() / 40)
    assert "(the class of the largest posterior mean)" in str(found)


def test_what_has_no_such_certificate_says_so(rng):
    X, y = noisy(rng, 12)
    gram = features(X) @ features(X).T
    drawn = Billiard(draws=10, chains=1).infer(Problem(gram, y, FIRST, n_classes=3), 0)
    with pytest.raises(InvalidProblemError, match=r"^certify_classes is for classes that are one model: [^\n]*\.$"):
        certify_classes(drawn)
    low = Problem(LowRank(features(X), residual=np.ones(12)), y, FIRST, n_classes=3)
    with pytest.raises(InvalidProblemError, match=r"^Landmarks leave out a part of the prior [^\n]*\.$"):
        certify_classes(EP().infer(low))
    with pytest.raises(ValueError, match="draws"):
        certify_classes(EP().infer(Problem(gram, y, FIRST, n_classes=3)), draws=0)
