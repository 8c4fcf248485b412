"""Decisions by cost: beside brute force, scikit-learn's thresholds, and a scale that must not matter."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import FixedThresholdClassifier, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespoint import BayesPointClassifier, Problem, Step, readouts
from bayespoint.engines import EP, Billiard
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import DensePoints
from bayespoint.uses import CostSensitiveClassifier


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
@parametrize_with_checks([CostSensitiveClassifier(LogisticRegression())])
def test_scikit_learn_conformance(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", [[[0, 10], [1, 0]], [[0, 1], [7, 0]], [[-1, 2], [3, -2]]])
def test_two_classes_are_a_threshold(loss, cancer):
    X, y = cancer
    mine = CostSensitiveClassifier(logistic(), loss).fit(X, y)
    (l00, l01), (l10, l11) = loss
    threshold = (l01 - l00) / ((l01 - l00) + (l10 - l11))
    theirs = FixedThresholdClassifier(logistic(), threshold=threshold, response_method="predict_proba").fit(X, y)
    np.testing.assert_array_equal(mine.predict(X), theirs.predict(X))
    assert np.any(mine.predict(X) != logistic().fit(X, y).predict(X))  # else the losses did nothing


def test_by_brute_force(rng):
    X, y = load_iris(return_X_y=True)
    loss = rng.random((3, 4))
    loss[:, 3] = 0.3
    model = CostSensitiveClassifier(LogisticRegression(max_iter=1000), loss, reject_label=9).fit(X, y)
    proba = model.predict_proba(X)
    for row in range(0, 150, 7):
        means = [sum(proba[row, i] * loss[i, j] for i in range(3)) for j in range(4)]
        np.testing.assert_allclose(model.expected_loss(X)[row], means)
        assert model.predict(X)[row] == [0, 1, 2, 9][int(np.argmin(means))]
    actions = model.expected_loss(X).argmin(axis=1)
    assert model.mean_loss(X, y) == pytest.approx(np.mean([loss[i, j] for i, j in zip(y, actions, strict=True)]))


def test_errors_of_equal_cost_are_the_plain_classifier(cancer):
    X, y = cancer
    names = np.array(["bad", "good"])[y]
    model = CostSensitiveClassifier(logistic()).fit(X, names)
    np.testing.assert_array_equal(model.predict(X), logistic().fit(X, names).predict(X))
    assert not hasattr(model, "reject_label_")
    free = CostSensitiveClassifier(logistic(), [[0, 1, 0], [1, 0, 0]]).fit(X, names)
    assert set(free.predict(X)) == {"rejected"}
    dear = CostSensitiveClassifier(logistic(), [[0, 1, 1], [1, 0, 1]]).fit(X, names)
    np.testing.assert_array_equal(dear.predict(X), model.predict(X))


def test_a_fitted_classifier_stays_as_it_is(cancer):
    X, y = cancer
    inner = logistic().fit(X[:200], y[:200])
    model = CostSensitiveClassifier(FrozenEstimator(inner), [[0, 5], [1, 0]]).fit(X[200:], y[200:])
    np.testing.assert_array_equal(model.predict_proba(X), inner.predict_proba(X))


def test_costs_fall_on_new_rows(cancer):
    X, y = cancer
    loss = np.array([[0, 20], [1, 0]])

    def cost(estimator, X, y):
        return loss[y, estimator.predict(X)].mean()

    plain, careful = (
        cross_val_score(model, X, y, scoring=cost, cv=4).mean()
        for model in (logistic(), CostSensitiveClassifier(logistic(), loss))
    )
    assert careful < 0.8 * plain


@pytest.mark.parametrize("engine", [EP(), Billiard(draws=400)])
def test_the_read_out_is_the_estimator(engine, rng):
    X, new = rng.normal(size=(30, 2)), rng.normal(size=(10, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    posterior = engine.infer(Problem(X @ X.T + np.eye(30), y, Step(noise=0.1)), rng=0)
    points, loss = DensePoints(new @ X.T, np.sum(new**2, axis=1) + 1), [[0, 1, 0.3], [4, 0, 0.3]]
    found = readouts.bayes_decision(posterior, points, loss)
    p = readouts.class_probability(posterior, points)
    np.testing.assert_allclose(found.expected_loss, np.stack([4 * p, 1 - p, np.full(10, 0.3)], axis=1))
    np.testing.assert_array_equal(found.action, found.expected_loss.argmin(axis=1))
    plain = readouts.bayes_decision(posterior, points)
    np.testing.assert_array_equal(plain.action, p > 0.5)


def test_a_bayes_point_classifier_inside(cancer):
    X, y = cancer
    model = CostSensitiveClassifier(BayesPointClassifier("linear", optimizer=None), [[0, 9], [1, 0]])
    assert model.fit(X[:100] / X.std(axis=0), y[:100]).predict(X[:5] / X.std(axis=0)).shape == (5,)


@pytest.mark.parametrize(
    ("estimator", "loss", "message"),
    [
        (LogisticRegression(), [[0, 1]], "a row for each of the 2 classes"),
        (LogisticRegression(), np.zeros((2, 4)), "a row for each of the 2 classes"),
        (LogisticRegression(), [[0, np.inf], [1, 0]], "NaN or infinity"),
        (LogisticRegression(), "cheap", "must be a table of numbers, got 'cheap'"),
        (LogisticRegression(), [[0, 1], [1]], "must be a table of numbers"),
        (Perceptron(), None, "Costs need predict_proba, which Perceptron lacks"),
    ],
)
def test_bad_settings_are_refused_before_the_work(estimator, loss, message, cancer):
    with pytest.raises(InvalidProblemError, match=message):
        CostSensitiveClassifier(estimator, loss).fit(*cancer)


def test_unknown_labels_have_no_cost(cancer):
    X, y = cancer
    with pytest.raises(InvalidProblemError, match="not among classes_"):
        CostSensitiveClassifier(logistic()).fit(X, y).mean_loss(X[:2], [0, 7])
