"""Curves are those of the metrics, bands those of the binomial and of Student."""

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression

from bayespoint import BayesPointClassifier
from bayespoint.plots import LearningCurveDisplay, RejectionCurveDisplay, ReliabilityDisplay
from bayespoint.uses import rejection_curve, reliability_curve


def test_reliability(rng):
    p = rng.uniform(size=500)
    y = rng.uniform(size=500) < p
    display = ReliabilityDisplay.from_predictions(y, p, n_bins=7, strategy="uniform", level=0.9, name="mine")
    curve = reliability_curve(y, p, n_bins=7, strategy="uniform", level=0.9)
    np.testing.assert_allclose(display.line_.get_xdata(), curve.predicted)
    np.testing.assert_allclose(display.line_.get_ydata(), curve.observed)
    bars = np.array([segment[:, 1] for segment in display.bars_.get_segments()])
    np.testing.assert_allclose(bars, np.column_stack([curve.low, curve.high]))
    assert np.all((bars[:, 0] <= curve.observed) & (curve.observed <= bars[:, 1]))
    heights = [segment[1, 1] for segment in display.counts_.get_segments()]
    np.testing.assert_array_equal(heights, curve.count)
    assert sum(heights) == 500
    assert display.ax_.get_legend().get_texts()[0].get_text() == "mine"


def test_reliability_of_estimators_in_the_same_axes(blobs, triplets, plt):
    X, y = blobs
    names = np.array(["no", "yes"])[y]
    first = ReliabilityDisplay.from_estimator(BayesPointClassifier(None).fit(X, names), X, names, n_bins=4)
    assert first.axes_[1].get_xlabel() == "predicted probability of class yes"
    second = ReliabilityDisplay.from_estimator(LogisticRegression().fit(X, names), X, names, n_bins=4, ax=first.axes_)
    assert second.figure_ is first.figure_
    assert second.line_.get_color() != first.line_.get_color()
    legend = [text.get_text() for text in second.ax_.get_legend().get_texts()]
    assert legend == ["BayesPointClassifier", "LogisticRegression"]
    X, y = triplets
    _, ax = plt.subplots()
    display = ReliabilityDisplay.from_estimator(BayesPointClassifier(None).fit(X, y), X, y, n_bins=4, ax=ax)
    assert display.axes_ == [ax]
    assert display.counts_ is None
    assert ax.get_xlabel() == "predicted probability of the most probable class"
    with pytest.raises(ValueError, match="ax must hold 2 axes"):
        display.plot(ax=plt.subplots(1, 3)[1])


def test_rejection(blobs, plt):
    X, y = blobs
    model = BayesPointClassifier(None).fit(X[::2], y[::2])
    display = RejectionCurveDisplay.from_estimator(model, X, y)
    curve = rejection_curve(y, model.predict(X), model.predict_proba(X).max(axis=1))
    np.testing.assert_allclose(display.line_.get_xdata(), curve.rate)
    np.testing.assert_allclose(display.line_.get_ydata(), curve.error)
    other = RejectionCurveDisplay.from_predictions(y, 1 - y, np.arange(len(y)), ax=display.ax_, name="always wrong")
    assert other.figure_ is display.figure_
    assert other.line_.get_color() != display.line_.get_color()
    assert other.ax_.get_ylim()[1] >= 1.0  # the second curve fits in, too
    assert other.ax_.get_ylim()[0] == 0.0


def test_learning_curves(rng, plt):
    errors = {"active": rng.uniform(size=(6, 9)), "random": rng.uniform(size=(4, 9))}
    _, ax = plt.subplots()
    display = LearningCurveDisplay.from_histories(errors, n_labels=10 * np.arange(9), level=0.9, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    for name, values in errors.items():
        np.testing.assert_array_equal(display.lines_[name].get_xdata(), 10 * np.arange(9))
        np.testing.assert_allclose(display.lines_[name].get_ydata(), values.mean(axis=0))
        half = student.ppf(0.95, len(values) - 1) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
        band = display.bands_[name].get_paths()[0].vertices
        for x, middle, width in zip(10 * np.arange(9), values.mean(axis=0), half, strict=True):
            edges = np.unique(band[band[:, 0] == x, 1].round(9))
            np.testing.assert_allclose(edges[[0, -1]], [middle - width, middle + width], atol=1e-8)


def test_a_single_repeat_has_no_band():
    display = LearningCurveDisplay.from_histories({"one": [0.3, 0.2]})
    assert display.bands_ == {}
    assert list(display.lines_["one"].get_xdata()) == [1, 2]


@pytest.mark.parametrize(
    ("histories", "options", "message"),
    [
        ({}, {}, "shape"),
        ({"a": [[0.1, 0.2]], "b": [[0.1]]}, {}, "equal steps"),
        ({"a": np.zeros((2, 2, 2))}, {}, "shape"),
        ({"a": [0.1, 0.2]}, {"n_labels": [1]}, "one number for each of 2 steps"),
        ({"a": [0.1, 0.2]}, {"level": 95}, "level must lie between 0 and 1"),
    ],
)
def test_bad_histories(histories, options, message):
    with pytest.raises(ValueError, match=message):
        LearningCurveDisplay.from_histories(histories, **options)
