"""Counts are scikit-learn's, limits the binomial's, expectations those of labels drawn from the probabilities."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import confusion_matrix

from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses import confusion

LABELS = np.array(["ant", "bee", "cow"])


@pytest.fixture
def rows(rng):
    p = rng.dirichlet([0.6, 0.6, 0.6], size=200)
    return LABELS[[rng.choice(3, p=q) for q in p]], p


def test_counts_and_shares(rows):
    y, p = rows
    found = confusion(y, p)
    theirs = confusion_matrix(y, LABELS[p.argmax(axis=1)])
    np.testing.assert_array_equal(found.count, theirs)
    np.testing.assert_allclose(found.share, theirs / theirs.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(found.classes, LABELS)


def test_limits_leave_each_tail_its_probability(rows):
    found = confusion(*rows, level=0.9)
    total = np.broadcast_to(found.count.sum(axis=1, keepdims=True), (3, 3))
    assert np.all((found.count > 0) & (found.count < total))
    np.testing.assert_allclose(binom.sf(found.count - 1, total, found.low), 0.05, rtol=1e-6)
    np.testing.assert_allclose(binom.cdf(found.count, total, found.high), 0.05, rtol=1e-6)


def test_expected_counts_are_those_of_labels_drawn_from_the_probabilities(rows, rng):
    _, p = rows
    expected = confusion(LABELS, np.eye(3)).expected
    np.testing.assert_array_equal(expected, np.eye(3))
    expected = confusion(*rows).expected
    draws = (rng.uniform(size=(2000, 200, 1)) > p.cumsum(axis=1)[:, :2]).sum(axis=2)
    told = np.eye(3)[p.argmax(axis=1)]
    counts = np.array([np.eye(3)[codes].T @ told for codes in draws])
    np.testing.assert_array_equal(counts[0], confusion_matrix(draws[0], p.argmax(axis=1)))
    se = counts.std(axis=0) / np.sqrt(2000)
    assert np.all(np.abs(counts.mean(axis=0) - expected) < 4 * se)
    assert np.any(np.abs(counts.mean(axis=0) - expected.T) > 20 * se)  # rows and columns are not the same


def test_order_of_classes_two_of_them_and_one_that_did_not_occur():
    found = confusion(["no", "yes", "yes"], [0.1, 0.8, 0.3])
    np.testing.assert_array_equal(found.count, [[1, 0], [1, 1]])
    found = confusion(["b", "b"], [[0.1, 0.9, 0.0], [0.7, 0.2, 0.1]], classes=["c", "b", "a"])
    np.testing.assert_array_equal(found.count, [[0, 0, 0], [1, 1, 0], [0, 0, 0]])
    assert np.isnan(found.share[[0, 2]]).all()
    assert np.all(found.low[[0, 2]] == 0)
    assert np.all(found.high[[0, 2]] == 1)


def test_bad_input():
    with pytest.raises(InvalidProblemError, match="level must lie between 0 and 1"):
        confusion([0, 1], [0.1, 0.9], level=95)
    with pytest.raises(InvalidProblemError, match="must add up to 1"):
        confusion([0, 1], [[0.1, 0.1], [0.9, 0.9]])
