"""Displays over two features show the posterior of the classifier they were given."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.plots import DecisionBoundariesDisplay, ProbabilitySurfaceDisplay


def grid(display):
    return np.column_stack([display.x0.ravel(), display.x1.ravel()])


# Draws


@pytest.mark.parametrize("engine", ["ep", "sample"])
def test_draws_are_those_of_the_classifier(engine, blobs):
    X, y = blobs
    model = BayesPointClassifier(None, engine=engine, random_state=0).fit(X, y)
    display = DecisionBoundariesDisplay.from_estimator(model, X, y, n_draws=3, n_points=6, random_state=5)
    np.testing.assert_array_equal(display.draws.reshape(3, -1), model.sample_latent(grid(display), 3, random_state=5))
    np.testing.assert_array_equal(display.mean.ravel(), model.latent(grid(display)).mean)
    again = DecisionBoundariesDisplay.from_estimator(model, X, y, n_draws=3, n_points=6, random_state=5)
    np.testing.assert_array_equal(display.draws, again.draws)


@pytest.mark.parametrize("engine", ["ep", "sample", "perceptron"])
def test_boundaries(engine, blobs, plt):
    X, y = blobs
    model = BayesPointClassifier(None, engine=engine, random_state=0).fit(X, y)
    _, ax = plt.subplots()
    display = DecisionBoundariesDisplay.from_estimator(model, X, y, n_draws=7, n_points=30, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    crossing = [f for f in display.draws if f.min() < 0 < f.max()]
    assert len(display.boundaries_) == len(crossing) <= 7
    vertices = np.vstack([path.vertices for path in display.bayes_point_.get_paths()])
    scale = np.abs(display.mean).max()
    assert np.abs(model.latent(vertices).mean).max() < 0.02 * scale
    assert [len(points.get_offsets()) for points in display.points_] == [20, 20]


def test_a_boundary_that_is_not_there(blobs):
    X, y = blobs
    model = BayesPointClassifier(None).fit(X, y)
    display = DecisionBoundariesDisplay.from_estimator(model, X[:2] + 1e3, n_draws=3, n_points=4)
    far = DecisionBoundariesDisplay(display.x0, display.x1, np.ones((3, 4, 4)), np.ones((4, 4))).plot()
    assert far.boundaries_ == []
    assert far.bayes_point_ is None


@pytest.mark.parametrize("show", [DecisionBoundariesDisplay, ProbabilitySurfaceDisplay], ids=lambda d: d.__name__)
def test_pipelines_and_frames(show, blobs):
    X, y = blobs
    frame = pd.DataFrame(X * [1, 1000] + [5, 0], columns=["age", "income"])
    pipeline = make_pipeline(StandardScaler(), BayesPointClassifier(None)).fit(frame, y)
    display = show.from_estimator(pipeline, frame, y, n_points=10)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("age", "income")
    low, high = display.ax_.get_ylim()
    assert low < frame["income"].min() < frame["income"].max() < high
    rows = pd.DataFrame(grid(display), columns=frame.columns)
    if show is ProbabilitySurfaceDisplay:
        np.testing.assert_allclose(display.proba.ravel(), pipeline.predict_proba(rows)[:, 1])
    else:
        np.testing.assert_allclose(display.mean.ravel(), pipeline[-1].latent(pipeline[:-1].transform(rows)).mean)


def test_what_boundaries_refuse(blobs, triplets):
    X, y = blobs
    model = BayesPointClassifier(None).fit(X, y)
    for bad, message in (
        (lambda: DecisionBoundariesDisplay.from_estimator(model, X, y, n_draws=0), "n_draws must be at least 1"),
        (lambda: DecisionBoundariesDisplay.from_estimator(model, X, y, n_points=1), "n_points must be at least 2"),
        (lambda: DecisionBoundariesDisplay.from_estimator(model, X, y[:3]), "one label for each of the 40 rows"),
        (lambda: DecisionBoundariesDisplay.from_estimator(model, np.ones((3, 4))), "rows of two features"),
        (lambda: DecisionBoundariesDisplay.from_estimator(LogisticRegression().fit(X, y), X), "has no posterior"),
        (
            lambda: DecisionBoundariesDisplay.from_estimator(BayesPointClassifier(None).fit(*triplets), X),
            "for two classes, the classifier has 3",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            bad()


# Probabilities


def test_probabilities_and_uncertainty(blobs):
    X, y = blobs
    model = BayesPointClassifier(None).fit(X, y)
    display = ProbabilitySurfaceDisplay.from_estimator(model, X, y, n_points=25)
    proba = model.predict_proba(grid(display))
    np.testing.assert_allclose(display.proba.ravel(), proba[:, 1])
    np.testing.assert_allclose(display.uncertainty.ravel() ** 2, model.latent(grid(display)).variance)
    assert len(display.axes_) == 2
    assert len(display.points_) == 4
    half = display.contour_.get_paths()[list(display.contour_.levels).index(0.5)].vertices
    assert np.abs(model.predict_proba(half)[:, 1] - 0.5).max() < 0.03
    bits = ProbabilitySurfaceDisplay.from_estimator(model, X, n_points=25, uncertainty="entropy").uncertainty
    np.testing.assert_allclose(bits.ravel(), entropy(proba, base=2, axis=1))


def test_the_line_of_one_half_separates_predictions(blobs):
    X, y = blobs
    model = BayesPointClassifier(None).fit(X, y)
    display = ProbabilitySurfaceDisplay.from_estimator(model, X, y, n_points=25, uncertainty=None)
    np.testing.assert_array_equal(display.proba.ravel() > 0.5, model.predict(grid(display)) == 1)


def test_one_class_of_three(triplets, plt):
    X, y = triplets
    model = BayesPointClassifier(None).fit(X, y)
    _, axes = plt.subplots(1, 2)
    display = ProbabilitySurfaceDisplay.from_estimator(model, X, y, class_of_interest=2, n_points=12, ax=axes)
    assert display.axes_ == list(axes)
    assert display.figure_ is axes[0].figure
    np.testing.assert_allclose(display.proba.ravel(), model.predict_proba(grid(display))[:, 2])
    np.testing.assert_allclose(display.uncertainty.ravel() ** 2, model.latent(grid(display)).variance[:, 2])
    with pytest.raises(ValueError, match="Say which class_of_interest"):
        ProbabilitySurfaceDisplay.from_estimator(model, X, y)


def test_probabilities_of_any_classifier(blobs):
    X, y = blobs
    other = LogisticRegression().fit(X, y)
    display = ProbabilitySurfaceDisplay.from_estimator(other, X, y, uncertainty="entropy", n_points=9)
    np.testing.assert_allclose(display.proba.ravel(), other.predict_proba(grid(display))[:, 1])
    with pytest.raises(ValueError, match="LogisticRegression has no posterior"):
        ProbabilitySurfaceDisplay.from_estimator(other, X, y, n_points=9)


def test_a_sure_classifier_has_no_lines():
    x0, x1 = np.meshgrid([0.0, 1.0], [0.0, 1.0])
    assert ProbabilitySurfaceDisplay(x0, x1, np.full((2, 2), 0.95)).plot().contour_ is None


def test_what_probabilities_refuse(blobs, plt):
    X, y = blobs
    model = BayesPointClassifier(None).fit(X, y)
    with pytest.raises(ValueError, match=r"class_of_interest must be one of \[0, 1\], got 3"):
        ProbabilitySurfaceDisplay.from_estimator(model, X, y, class_of_interest=3)
    with pytest.raises(ValueError, match="uncertainty must be one of 'sd', 'entropy', None, got 'iqr'"):
        ProbabilitySurfaceDisplay.from_estimator(model, X, y, uncertainty="iqr")
    with pytest.raises(ValueError, match="ax must hold 2 axes, for probability and uncertainty, got 1"):
        ProbabilitySurfaceDisplay.from_estimator(model, X, y, n_points=5, ax=plt.subplots()[1])
