"""What weights of rows and of classes do to the choice of the kernel."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier

TUNED = [
    BayesPointClassifier(None),
    BayesPointClassifier(None, noise="evidence"),
    BayesianSVC(optimizer="evidence", evidence="naive"),
]


def few_positives(n, share, rng):
    """Two Gaussians in five dimensions: logistic regression is the right model."""
    y = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, 5))
    X[y == 1] += 1.5 / np.sqrt(5)
    return X, y


def overlapping(n, rng):
    """Labels that no kernel explains for certain, so that the evidence has its maximum inside the bounds."""
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def hyper_parameters(model):
    return np.r_[model.kernel_.theta, np.log(model.bias_), list(vars(model.likelihood_).values())]


@pytest.mark.parametrize("model", TUNED, ids=str)
def test_whole_weights_choose_the_kernel_that_copies_choose(model, rng):
    X, y = overlapping(30, rng)
    weight = rng.integers(1, 3, 30)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    copies = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.log_evidence_ == pytest.approx(copies.log_evidence_, abs=1e-5)
    np.testing.assert_allclose(weighted.predict_proba(X), copies.predict_proba(X), atol=1e-4)
    if isinstance(model, BayesPointClassifier):  # the naive evidence of the other has a ridge without a top
        np.testing.assert_allclose(hyper_parameters(weighted), hyper_parameters(copies), atol=1e-4)
    plain = clone(model).fit(X, y)
    assert np.abs(hyper_parameters(weighted) - hyper_parameters(plain)).max() > 1e-2  # they are evidence


@pytest.mark.parametrize("model", TUNED, ids=str)
def test_weights_of_classes_leave_the_kernel_alone(model, rng):
    X, y = overlapping(50, rng)
    own = rng.integers(1, 3, 50)
    plain = clone(model).fit(X, y, sample_weight=own)
    model = clone(model).set_params(class_weight={0: 0.5, 1: 4.0})
    weighted = clone(model).fit(X, y, sample_weight=own)
    np.testing.assert_array_equal(weighted.kernel_.theta, plain.kernel_.theta)  # but not the bias
    np.testing.assert_array_equal(weighted.posterior_.problem.exponents, own * np.where(y == 1, 4.0, 0.5))
    assert weighted.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.02


@pytest.mark.parametrize("model", [BayesPointClassifier, BayesianSVC, GaussianMarginClassifier])
def test_weights_of_classes_leave_the_spread_alone(model, rng):
    X, y = few_positives(60, 0.3, rng)
    X *= np.where(y == 1, 3.0, 1.0)[:, None]
    options = {"kernel": "rbf"} | ({"optimizer": None} if model is not GaussianMarginClassifier else {})
    plain, balanced = (model(class_weight=w, **options).fit(X, y) for w in (None, "balanced"))
    np.testing.assert_array_equal(balanced.kernel_.theta, plain.kernel_.theta)


def test_balanced_classes_are_told_apart_as_well_as_by_logistic_regression():
    """Once wrong: the kernel was chosen as if a positive row had been seen ten times, and remembered each of them."""

    rng = np.random.default_rng(0)
    (X, y), (X_new, y_new) = few_positives(300, 0.05, rng), few_positives(4000, 0.05, rng)

    def accuracy(model, **options):
        return balanced_accuracy_score(y_new, model.fit(X, y, **options).predict(X_new))

    level = accuracy(LogisticRegression(class_weight="balanced"))
    assert accuracy(BayesPointClassifier(None, class_weight="balanced")) > level - 0.05
    counted = np.where(y == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean()))  # the same weights, as if rows had been repeated
    assert accuracy(BayesPointClassifier(None), sample_weight=counted) < level - 0.1
