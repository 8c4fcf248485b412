"""The likelihood of several classes, and problems with class numbers."""

from functools import cache

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from bayespoint import Choice, Problem, Step
from bayespoint.engines import EllipticalSlice, Perceptrons
from bayespoint.exceptions import EmptyVersionSpaceError, InvalidProblemError
from bayespoint.grams import LowRank


@cache
def by_orthant(f, y, softness):
    """P(h_y > h_c for all c) for h = f + e: an orthant of the differences."""
    f, others = np.array(f), np.delete(np.arange(len(f)), y)
    cov = softness * (np.eye(len(others)) + 1)
    return multivariate_normal.cdf(f[y] - f[others], cov=cov, abseps=1e-8, releps=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_the_likelihood_is_an_orthant_probability(rng, noise):
    f, y = rng.normal(size=(5, 4)), np.array([0, 3, 1, 2, 2])
    found = np.exp(Choice(noise, 0.7).log_likelihood(y, f))
    leads = np.array([by_orthant(tuple(row), int(k), 0.7) for row, k in zip(f, y, strict=True)])
    expected = noise / 3 + (1 - noise - noise / 3) * leads
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(("noise", "softness"), [(0.1, 0.0), (0.0, 0.5), (0.1, 0.5)])
def test_two_classes_are_a_step_on_the_difference(rng, noise, softness):
    f, y = rng.normal(size=(3, 6, 2)), np.array([0, 1, 1, 0, 1, 0])
    expected = Step(noise, 2 * softness).log_likelihood(2.0 * y - 1, f[..., 1] - f[..., 0])
    np.testing.assert_allclose(Choice(noise, softness).log_likelihood(y, f), expected, rtol=1e-6)


@pytest.mark.parametrize("likelihood", [Choice(), Choice(0.2), Choice(0.2, 0.5)])
def test_probabilities_of_all_labels_sum_to_one_and_agree_with_the_likelihood(rng, likelihood):
    f = rng.normal(size=(4, 5))
    all_labels = likelihood.probabilities(f, np.zeros_like(f))
    np.testing.assert_allclose(all_labels.sum(axis=1), 1.0)
    for k in range(5):
        with np.errstate(divide="ignore"):
            expected = np.log(all_labels[:, k])
        np.testing.assert_allclose(likelihood.log_likelihood(np.full(4, k), f), expected)


def test_kinds_are_told_apart():
    kinds = [Choice(noise, softness).kind for noise in (0.0, 0.1) for softness in (0.0, 1.0)]
    assert kinds == ["choice hard", "choice soft", "choice noise", "choice soft noise"]
    assert [Choice().is_hard, Choice(0.1).is_hard, Choice(0.0, 1.0).is_hard] == [True, False, False]


@pytest.mark.parametrize("settings", [{"noise": 0.5}, {"noise": -0.1}, {"softness": -1.0}, {"softness": np.inf}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(InvalidProblemError, match=r"^(noise|softness) must be .*\.$"):
        Choice(**settings)


def test_a_problem_counts_its_classes():
    assert Problem(np.eye(3), [0, 1, 0], Choice()).n_classes == 2
    assert Problem(np.eye(3), [0, 1, 0], Choice(), n_classes=5).n_classes == 5
    assert Problem(np.eye(3), [1, 1, -1], Step()).n_classes is None
    assert Problem(np.eye(3), [0, 2, 0], Choice()).y.dtype.kind == "i"


@pytest.mark.parametrize("y", [[0, -1, 1], [0, 0.5, 1], [0, 1], [0, 1, 3]])
def test_labels_that_are_no_class_numbers_are_refused(y):
    with pytest.raises(InvalidProblemError, match=r"^y must hold 3 class numbers from 0 to 2, [^\n]*\.$"):
        Problem(np.eye(3), y, Choice(), n_classes=3)


def test_weights_below_one_need_a_hard_boundary():
    Problem(np.eye(2), [0, 1], Choice(0.1), [0.5, 1.0])
    with pytest.raises(InvalidProblemError, match=r"^Of several classes a soft boundary takes weights [^\n]*\.$"):
        Problem(np.eye(2), [0, 1], Choice(0.1, 1.0), [0.5, 1.0])


def test_residuals_are_integrated_out_of_the_likelihood(rng):
    factor, residual, y = rng.normal(size=(3, 2)), np.array([0.3, 0.0, 1.0]), np.array([0, 1, 1])
    f = rng.normal(size=(3, 2))
    found = Problem(LowRank(factor, residual=residual), y, Choice(0.1), [0.5, 1.0, 2.0]).log_likelihood(f)
    margin = (2 * y - 1) * (f[:, 1] - f[:, 0])
    side = np.r_[ndtr(margin[0] / np.sqrt(0.6)), margin[1] > 0, ndtr(margin[2] / np.sqrt(2.0))]
    low, high = 0.1 ** np.array([0.5, 1, 1]), 0.9 ** np.array([0.5, 1, 1])
    np.testing.assert_allclose(found, np.array([1, 1, 2]) * np.log(low + (high - low) * side), rtol=1e-6)


@pytest.mark.parametrize("engine", [EllipticalSlice(), Perceptrons()])
def test_engines_of_two_classes_say_so(engine):
    with pytest.raises(InvalidProblemError, match=r"^[A-Z]\w+ tells two classes apart, [^\n]*\.$"):
        engine.infer(Problem(np.eye(3), [0, 1, 2], Choice()), rng=0)


def test_an_empty_version_space_of_several_classes_is_explained(rng):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(EmptyVersionSpaceError, match="rows 0 and 2 are the same point with different labels"):
        Problem(X @ X.T, [0, 1, 2], Choice()).raise_if_empty()
    Problem(X @ X.T, [0, 1, 0], Choice(), n_classes=3).raise_if_empty()
    x = np.array([[1.0], [2.0], [3.0]])  # one direction: the classes of the two ends are the only ones
    with pytest.raises(EmptyVersionSpaceError, match="no function of this kernel separates"):
        Problem(x @ x.T, [0, 1, 0], Choice()).raise_if_empty()


def test_separating_latents_have_every_label_right(rng):
    X, y = rng.normal(size=(12, 4)), rng.integers(4, size=12)
    problem = Problem(X @ X.T + np.eye(12), y, Choice(), n_classes=4)
    assert np.all(problem.separating().argmax(axis=1) == y)
