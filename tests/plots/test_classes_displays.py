"""Displays of several classes show the probabilities and counts they were given."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from bayespoint import BayesPointClassifier
from bayespoint.exceptions import InvalidProblemError
from bayespoint.plots import ClassRegionsDisplay, ConfusionDisplay
from bayespoint.plots._style import PALETTE
from bayespoint.uses import confusion

CORNERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


@pytest.fixture
def corners(rng):
    codes = np.repeat([0, 1, 2], 12)
    return CORNERS[codes] + rng.normal(size=(36, 2)), np.array(["ant", "bee", "cow"])[codes]


def cell_of(display, point):
    """Row and column of the grid that is nearest to a point."""
    far = (display.x0 - point[0]) ** 2 + (display.x1 - point[1]) ** 2
    return np.unravel_index(far.argmin(), far.shape)


def direction(v):
    return v / np.linalg.norm(v)


@pytest.mark.parametrize(
    "model", [BayesPointClassifier("rbf", decision="joint"), LogisticRegression()], ids=["joint", "another's"]
)
def test_regions_are_those_of_the_probabilities(model, corners):
    X, y = corners
    display = ClassRegionsDisplay.from_estimator(model.fit(X, y), X, y, n_points=20)
    grid = np.column_stack([display.x0.ravel(), display.x1.ravel()])
    np.testing.assert_array_equal(display.proba.reshape(-1, 3), model.predict_proba(grid))
    hues = np.array([mpl.colors.to_rgb(code) for code in PALETTE[:3]])
    colours = display.image_.get_array()
    for k, corner in enumerate(CORNERS):
        colour = colours[cell_of(display, corner)]  # on the way from white to the hue of the class, and of no other
        off = [np.linalg.norm(direction(1 - colour) - direction(1 - hue)) for hue in hues]
        assert np.argmin(off) == k
        assert off[k] < 1e-6
    paleness = colours.sum(axis=2)
    for k in range(3):
        mine = display.proba.argmax(axis=2) == k
        assert np.all(np.diff(paleness[mine][np.argsort(display.proba.max(axis=2)[mine])]) <= 1e-6)
    assert [len(points.get_offsets()) for points in display.points_] == [12, 12, 12]
    assert len(display.boundaries_) == 3
    assert display.sure_ is not None


def test_names_stand_in_their_regions_and_lines_between_them(corners, plt):
    X, y = corners
    model, (_, ax) = LogisticRegression().fit(X, y), plt.subplots()
    frame = pd.DataFrame(X, columns=["width", "height"])
    display = ClassRegionsDisplay.from_estimator(LogisticRegression().fit(frame, y), frame, n_points=40, ax=ax)
    assert display.ax_ is ax
    assert display.points_ == []
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    assert [text.get_text() for text in display.texts_] == ["ant", "bee", "cow"]
    np.testing.assert_array_equal(model.predict([text.get_position() for text in display.texts_]), model.classes_)
    for line in display.boundaries_:
        p = np.sort(model.predict_proba(np.vstack([path.vertices for path in line.get_paths()])), axis=1)
        assert np.abs(p[:, 2] - p[:, 1]).max() < 0.1


def test_one_region_has_no_lines_and_more_classes_than_colours_have_names():
    x0, x1 = np.meshgrid([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    alone = ClassRegionsDisplay(x0, x1, np.full((3, 3, 3), [0.8, 0.1, 0.1]), "abc").plot()
    assert alone.boundaries_ == []
    assert alone.sure_ is None
    assert len(alone.texts_) == 1
    nine = ClassRegionsDisplay(x0, x1, np.eye(9).reshape(3, 3, 9), range(9)).plot()
    assert [text.get_text() for text in nine.texts_] == [str(k) for k in range(9)]


def test_regions_need_probabilities_and_two_features(corners):
    X, y = corners
    with pytest.raises(InvalidProblemError, match="LinearSVC has no predict_proba"):
        ClassRegionsDisplay.from_estimator(LinearSVC().fit(X, y), X, y)
    wide = np.hstack([X, X])
    with pytest.raises(InvalidProblemError, match="rows of two features"):
        ClassRegionsDisplay.from_estimator(LogisticRegression().fit(wide, y), wide, y)


def test_confusion_says_counts_expectations_and_limits(corners, plt):
    X, y = corners
    model, (_, ax) = LogisticRegression().fit(X, y), plt.subplots()
    truth = np.where(np.arange(36) % 9 == 0, "cow", y)
    display = ConfusionDisplay.from_estimator(model, X, truth, level=0.9, ax=ax)
    found = confusion(truth, model.predict_proba(X), level=0.9)
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.image_.get_array(), found.share)
    first, last = display.texts_[0].get_text(), display.texts_[-1].get_text()
    assert first == f"{found.count[0, 0]} ({found.expected[0, 0]:.1f})\n100%\n{found.low[0, 0]:.0%} to 100%"
    assert last.startswith(f"{found.count[2, 2]} (")
    assert display.texts_[6].get_text().startswith(f"{found.count[2, 0]} (")  # true cow, taken for an ant
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["ant", "bee", "cow"]


def test_confusion_of_labels_left_out_of_many_classes_and_of_one_that_did_not_occur(corners):
    X, y = corners
    model = BayesPointClassifier("rbf", decision="joint").fit(X, y)
    display = ConfusionDisplay.from_predictions(y, model.loo_proba_, classes=model.classes_)
    assert display.confusion.count.sum() == 36
    many = ConfusionDisplay.from_predictions(range(7), np.eye(7))
    assert [text.get_text() for text in many.texts_[:8]] == ["1", *"000000", "0"]
    absent = ConfusionDisplay.from_predictions(["a"], [[0.9, 0.1]], classes=["a", "b"])
    assert absent.texts_[2].get_text() == "0 (0.1)\n0% to 100%"
