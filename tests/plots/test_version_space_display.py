"""Version space: what is drawn is where it should be."""

import numpy as np
import pytest
from matplotlib.path import Path
from sklearn.svm import SVC

from bayespoint.exceptions import EmptyVersionSpaceError
from bayespoint.plots import VersionSpaceDisplay
from bayespoint.plots._sphere import Map, unit


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(10, 3))
    return X, np.sign(X @ rng.normal(size=3))


def inside(X, y, rng):
    """Version space by rejection."""
    w = unit(rng.normal(size=(400_000, 3)))
    return w[(y * (w @ X.T) > 0).all(axis=1)]


def test_draws_walls_and_points(problem, rng):
    X, y = problem
    display = VersionSpaceDisplay.from_problem(X, y, n_draws=200, n_bounces=30, random_state=0)
    np.testing.assert_allclose(display.walls, y[:, None] * unit(X))
    assert len(display.walls_) == len(X)
    assert display.draws.shape == (200, 3)
    assert display.path.shape == (31, 3)
    assert np.all(display.draws @ display.walls.T > 0)
    witness = inside(X, y, rng)
    error = np.linalg.norm(witness.std(axis=0)) * (1 / np.sqrt(500) + 1 / np.sqrt(len(witness)))
    assert np.linalg.norm(display.bayes_point - unit(witness.mean(axis=0))) < 4 * error
    chart = Map(display.bayes_point)
    drawn = np.column_stack(display.draws_.get_data())
    np.testing.assert_allclose(drawn, chart(display.draws))
    assert Path(display.cell_.get_xy()).contains_points(drawn).all()
    assert Path(display.cell_.get_xy()).contains_points(np.column_stack(display.svm_.get_data())).all()


def test_few_rows_leave_directions_open(rng):
    X, y = np.array([[1.0, 0.2, 0.0], [0.3, 1.0, 0.0]]), np.array([-1, 1])
    draws = VersionSpaceDisplay.from_problem(X, y, n_draws=1000).draws
    witness = inside(X, y, rng)
    for moment in (np.positive, np.square):
        a, b = moment(draws), moment(witness)
        error = np.hypot(a.std(axis=0) / np.sqrt(300), b.std(axis=0) / np.sqrt(len(b)))  # draws are a little alike
        assert np.all(np.abs(a.mean(axis=0) - b.mean(axis=0)) < 4 * error)


def test_the_machine_is_that_of_scikit_learn(problem):
    X, y = problem
    display = VersionSpaceDisplay.from_problem(X, y)
    rows = unit(X)
    machine = SVC(kernel="linear", C=1e8, tol=1e-8).fit(np.vstack([rows, -rows]), np.r_[y, -y])  # mirrored: no bias
    np.testing.assert_allclose(display.svm, unit(machine.coef_[0]), atol=1e-4)
    assert display.margin >= np.min(display.draws @ display.walls.T, axis=1).max()
    circle = np.column_stack(display.inscribed_.get_data())
    middle, cell = np.ravel(display.svm_.get_data()), Path(display.cell_.get_xy())
    assert cell.contains_points(middle + 0.98 * (circle - middle)).all()
    assert not cell.contains_points(middle + 1.02 * (circle - middle)).all()


def test_lengths_of_rows_and_names_of_classes_do_not_matter(problem, rng):
    X, y = problem
    one = VersionSpaceDisplay.from_problem(X, y)
    two = VersionSpaceDisplay.from_problem(
        X * 2.0 ** rng.integers(-3, 4, size=(len(X), 1)), np.where(y > 0, "yes", "no"), random_state=0
    )
    np.testing.assert_allclose(one.draws, two.draws)


def test_globe(problem, plt):
    _, ax = plt.subplots()
    display = VersionSpaceDisplay.from_problem(*problem, view="globe", n_bounces=0, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    for line in display.walls_:
        x, y = line.get_data()
        assert np.nanmax(np.hypot(x, y)) <= 1 + 1e-9
    assert "billiard" not in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((2, 2)), [0, 1], "three features"),
        (np.eye(3), [0, 1], "one label for each"),
        (np.zeros((2, 3)), [0, 1], "other than zero"),
        (np.eye(3), [0, 1, 2], "two classes"),
    ],
)
def test_bad_input(X, y, message):
    with pytest.raises(ValueError, match=message):
        VersionSpaceDisplay.from_problem(X, y)


def test_bad_view_and_empty_version_space():
    with pytest.raises(ValueError, match="view must be one of 'cell', 'globe'"):
        VersionSpaceDisplay.from_problem(np.eye(3), [0, 1, 1], view="moon")
    with pytest.raises(EmptyVersionSpaceError):
        VersionSpaceDisplay.from_problem(np.vstack([np.eye(3), np.eye(3)]), [0, 1, 1, 1, 0, 0])
