"""Evidence of a factor with residuals: that of the Gram matrix with the residuals on its diagonal."""

import numpy as np
import pytest

from bayespoint import Hinge, Problem, Step
from bayespoint.engines import EP
from bayespoint.evidence import cumulant_correction, log_evidence
from bayespoint.evidence.svm import log_normaliser
from bayespoint.evidence.svm._label_path import LabelPath
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import LowRank

FACTOR = np.random.default_rng(0).normal(size=(6, 2))
RESIDUAL = np.linspace(0.1, 1.0, 6)
Y = np.where(FACTOR[:, 0] > 0, 1.0, -1.0)


def pair(likelihood, weights=None):
    plain = FACTOR @ FACTOR.T + np.diag(RESIDUAL)
    low = Problem(LowRank(FACTOR, residual=RESIDUAL), Y, likelihood, weights)
    return low, Problem(plain, Y, likelihood, weights)


def assert_near(one, two):
    assert abs(one.value - two.value) < 5 * np.hypot(one.se, two.se) + 1e-9


@pytest.mark.parametrize("method", ["auto", "billiard"])
@pytest.mark.parametrize("likelihood", [Step(), Step(noise=0.1), Step(softness=0.5), Hinge(2.0)], ids=str)
def test_residuals_count(likelihood, method, seed):
    low, plain = pair(likelihood)
    assert_near(log_evidence(low, seed, method, se=0.03), log_evidence(plain, seed + 1, se=0.03))


def test_residuals_left_out_would_be_noticed(seed):
    _, plain = pair(Step())
    without = log_evidence(Problem(LowRank(FACTOR), Y, Step()), seed, se=0.03)
    with pytest.raises(AssertionError):
        assert_near(without, log_evidence(plain, seed + 1, se=0.03))


def test_weights_below_one(seed):
    low, plain = pair(Hinge(2.0), np.linspace(0.4, 1.0, 6))
    assert_near(log_evidence(low, seed, se=0.03), log_evidence(plain, seed + 1, se=0.03))


@pytest.mark.parametrize("kind", ["conditional", "joint"])
def test_normalisers(kind, seed):
    low, plain = pair(Hinge(2.0))
    one, two = log_normaliser(low, seed, kind, se=0.03), log_normaliser(plain, seed + 1, kind, se=0.03)
    assert_near(one, two)


def test_the_correction_of_expectation_propagation():
    """A site sees its latent only through the part that the coordinates have, and the correction does not mind."""
    found, expected = (cumulant_correction(EP(tolerance=1e-9).infer(problem)) for problem in pair(Hinge(2.0)))
    assert found == pytest.approx(expected, rel=1e-4)


def test_a_flight_that_is_stuck_is_told():
    path = LabelPath(pair(Hinge(5.0))[0])
    path.max_events = 0
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidProblemError, match=r"^A flight met more than 0 walls and was given up: [^\n]*\.$"):
        path.advance(1.0, path.draw(1, rng).states[:, 0], 20, rng)
