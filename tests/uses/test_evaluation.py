"""Figures with intervals, against scikit-learn's and against their meaning."""

import sys

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import log_loss

from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses.evaluation import compare, evaluate, rivals
from bayespoint.uses.tables import Frame


def test_figures_are_those_of_others():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 1], size=200)
    y = np.array(["a", "b", "c"])[[rng.choice(3, p=p) for p in proba]]
    found = evaluate(y, proba, ["a", "b", "c"])
    wrong = int(np.sum(np.array(["a", "b", "c"])[proba.argmax(axis=1)] != y))
    exact = binomtest(wrong, 200).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose(found.error, [wrong / 200, exact.low, exact.high], rtol=1e-10)
    assert found.log_loss.value == pytest.approx(log_loss(y, proba))
    assert found.log_loss.low < found.log_loss.value < found.log_loss.high
    assert found.constant_error == pytest.approx(1 - np.unique(y, return_counts=True)[1].max() / 200)


def test_the_interval_of_the_log_loss_holds_as_often_as_it_says():
    """The truth is the entropy of the probabilities that labels are drawn by."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, size=400)
    truth = float(np.mean(-p * np.log(p) - (1 - p) * np.log1p(-p)))
    inside = 0
    for _ in range(300):
        found = evaluate((rng.random(400) < p).astype(int), np.stack([1 - p, p], axis=1), [0, 1])
        inside += found.log_loss.low <= truth <= found.log_loss.high
    assert abs(inside / 300 - 0.95) < 4 * np.sqrt(0.05 * 0.95 / 300)


def table(n=60):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    word = np.array(["u", "v", None], dtype=object)[rng.integers(3, size=n)]
    gaps = np.where(rng.random(n) < 0.2, np.nan, x + rng.normal(size=n))
    return Frame({"x": x, "word": word, "gaps": gaps}), np.where(x + (word == "u") > 0, "yes", "no")


def test_rivals_on_the_same_splits(monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)
    X, y = table()
    told = []
    found = compare(X, y, folds=2, tell=told.append)
    assert [one.name for one in found] == list(rivals())
    assert len(told) == 2 * len(found)
    assert all(one.log_loss.value < np.log(2) for one in found)
    assert found[0].versus_first is None
    for one in found[1:]:
        assert one.versus_first.value == pytest.approx(one.log_loss.value - found[0].log_loss.value)


def test_rare_classes():
    X, y = table()
    y = y.astype(object)
    y[0] = "once"
    with pytest.raises(InvalidProblemError, match="'once' has a single row"):
        compare(X, y)
