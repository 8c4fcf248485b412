"""Latents of left-out rows: against true fits without the row, and the conditions of the problem that is followed."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.datasets import load_iris

from bayespoint import Problem, Step
from bayespoint.engines import Margin
from bayespoint.engines.margin import left_out as module
from bayespoint.engines.margin.left_out import left_out
from bayespoint.grams import DensePoints, LowRank


def rows(kind, n=40):
    rng = np.random.default_rng(1)
    if kind == "iris":  # the middle class is not separable from the others by a plane
        X, y = load_iris(return_X_y=True)
        some = rng.permutation(150)[:n]
        X = X[some] - X.mean(axis=0)
        return np.c_[X, np.ones(n)] @ np.c_[X, np.ones(n)].T, np.where(y[some] == 1, 1.0, -1.0)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    return 1 + (X @ X.T if kind == "linear" else np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2))), y


def without(gram, y, row, engine, weights=None):
    others = np.delete(np.arange(len(y)), row)
    known = None if weights is None else weights[others]
    found = engine.infer(Problem(gram[np.ix_(others, others)], y[others], Step(), known))
    at = found.at(DensePoints(gram[row : row + 1][:, others], gram[row : row + 1, row])).latent
    return float(ndtr(y[row] * at.mean[0] / np.sqrt(at.variance[0])))


def said(y, latent):
    return ndtr(y * latent.mean / np.sqrt(latent.variance))


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("linear", {"eta": 0.9, "C": 1.0}),
        ("linear", {"eta": 0.99, "C": 0.05}),
        ("rbf", {"eta": 0.9, "C": 1.0}),
        ("rbf", {"eta": 0.98, "C": np.inf}),
        ("iris", {"eta": 0.9, "C": 1.0}),
        ("rbf", {"eta": 0.9, "C": 1.0, "margin": 1.0, "slack": "norm"}),
    ],
    ids=str,
)
def test_rows_left_out_are_as_in_fits_without_them(kind, settings):
    """Nearer than the cavity of expectation propagation, and much nearer than terms taken away from the mean."""
    gram, y = rows(kind)
    engine = Margin(**settings)
    posterior = engine.infer(Problem(gram, y, Step()))
    truth = np.array([without(gram, y, row, engine) for row in range(len(y))])
    alone = posterior.leave_one_out._replace(mean=posterior.mean - posterior.alpha * np.diag(gram))
    off = [
        np.sqrt(np.mean(np.square(said(y, latent) - truth)))
        for latent in (left_out(posterior), posterior.leave_one_out, alone)
    ]
    assert off[0] < 0.03
    assert off[0] < off[1]
    assert off[2] > 0.1 or settings["C"] < 1.0


def test_a_factor_is_as_its_gram_matrix():
    X = np.random.default_rng(3).normal(size=(30, 3))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.2, 1.0, -1.0)
    engine = Margin(eta=0.95, C=0.5)
    dense, low = (left_out(engine.infer(Problem(gram, y, Step()))) for gram in (X @ X.T, LowRank(X)))
    np.testing.assert_allclose(low.mean, dense.mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(low.variance, dense.variance, rtol=1e-4)


@pytest.mark.parametrize("kind", ["linear", "rbf", "iris"])
def test_the_others_end_where_the_quadratic_problem_has_its_optimum(kind):
    gram, y = rows(kind)
    posterior = Margin(eta=0.9, C=1.0).infer(Problem(gram, y, Step()))
    around = module._Around.of(posterior)
    followed = 0
    for row in np.flatnonzero(around.alpha > 0):
        change = around.without(row, around.alpha[row])
        assert change is not None
        new, slope = around.alpha + change, around.slope - around.curvature @ change
        assert new[row] == pytest.approx(0.0, abs=1e-12)
        others = np.arange(len(y)) != row
        low, high = others & (new < 1e-7), others & (new > around.cap - 1e-7)
        assert np.all((new > -1e-7) & (new < around.cap + 1e-7))
        assert np.all(slope[low] < 1e-5)
        assert np.all(slope[high] > -1e-5)
        np.testing.assert_allclose(slope[others & ~low & ~high], 0.0, atol=1e-5)
        followed += np.any(low != (others & (around.alpha < 1e-7)))
    assert followed > 3  # on the way some change sides, or nothing was tested


def test_one_of_two_copies():
    """The other takes over what it may, and the latent is that of a fit with one."""
    gram, y = rows("rbf")
    weights = np.ones(len(y))
    weights[:8] = 2.0
    engine = Margin(eta=0.9, C=0.3)
    posterior = engine.infer(Problem(gram, y, Step(), weights))
    found = left_out(posterior, 1 / weights)
    for row in range(8):
        once = weights.copy()
        once[row] = 1.0
        alone = engine.infer(Problem(gram, y, Step(), once))
        assert said(y, found)[row] == pytest.approx(said(y, alone)[row], abs=0.02)
    away = left_out(posterior)
    assert np.abs(said(y, away) - said(y, found))[:8].max() > 0.05
    np.testing.assert_array_equal(away.mean[8:], found.mean[8:])


def test_beyond_many_rows_it_is_the_cavity(monkeypatch):
    gram, y = rows("rbf")
    posterior = Margin().infer(Problem(gram, y, Step()))
    assert np.abs(left_out(posterior).mean - posterior.leave_one_out.mean).max() > 0.01
    monkeypatch.setattr(module, "_MOST", 39)
    np.testing.assert_array_equal(left_out(posterior).mean, posterior.leave_one_out.mean)


def test_a_path_with_too_many_corners_is_given_up(monkeypatch):
    gram, y = rows("rbf")
    posterior = Margin().infer(Problem(gram, y, Step()))
    monkeypatch.setattr(module, "_EVENTS", 0)
    np.testing.assert_array_equal(left_out(posterior).mean, posterior.leave_one_out.mean)
