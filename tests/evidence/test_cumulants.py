"""The second-order correction of expectation propagation against tilted moments, recursions and quadrature."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from bayespoint import Hinge, Problem, Step
from bayespoint.engines import EP
from bayespoint.evidence import cumulant_correction
from bayespoint.evidence._cumulants import _cumulants
from bayespoint.evidence.svm import svm_log_evidence
from bayespoint.grams import LowRank
from truths import by_quadrature, by_recursion, markov_problem, rbf_problem

LIKELIHOODS = [Hinge(0.5), Hinge(2.0), Hinge(10.0), Step(noise=0.1), Step(softness=0.3)]


def tilted_cumulants(likelihood, y, mean, var):
    def density(f):
        return np.exp(likelihood.log_likelihood(np.array([y]), np.array([f]))[0]) * norm.pdf(f, mean, np.sqrt(var))

    edges = np.unique([-1.0, 0.0, 1.0, *(mean + np.sqrt(var) * np.array([-10, -4, -1, 1, 4, 10]))])

    def moment(function):
        return sum(quad(lambda f: function(f) * density(f), a, b, epsabs=1e-14)[0] for a, b in pairwise(edges))

    z = moment(lambda f: 1.0)
    centre = moment(lambda f: f) / z
    second, third, fourth = (moment(lambda f, k=k: (f - centre) ** k) / z for k in (2, 3, 4))
    return third, fourth - 3 * second**2


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_cumulants_are_those_of_the_tilted_marginals(likelihood):
    problem = rbf_problem(4, likelihood)
    posterior = EP(tolerance=1e-10).infer(problem)
    third, fourth = _cumulants(posterior, np.ones(4), np.ones(4))
    cavity = posterior.leave_one_out
    for i in range(4):
        truth = tilted_cumulants(likelihood, problem.y[i], cavity.mean[i], cavity.variance[i])
        np.testing.assert_allclose((third[i], fourth[i]), truth, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_the_correction_takes_most_of_the_error(likelihood):
    off, left = [], []
    for seed in range(5):
        problem = markov_problem(50, likelihood, seed)
        posterior, truth = EP().infer(problem), by_recursion(problem)
        off.append(posterior.log_evidence - truth)
        left.append(off[-1] + cumulant_correction(posterior))
    assert np.sqrt(np.mean(np.square(left))) < 0.5 * np.sqrt(np.mean(np.square(off)))


def test_two_rows_against_quadrature():
    problem = Problem([[1.0, 0.6], [0.6, 1.0]], [1, -1], Hinge(2.0))
    posterior, truth = EP().infer(problem), by_quadrature(problem)
    assert abs(posterior.log_evidence + cumulant_correction(posterior) - truth) < 0.3 * abs(
        posterior.log_evidence - truth
    )
    assert svm_log_evidence(problem, kind="naive").value == pytest.approx(
        posterior.log_evidence + cumulant_correction(posterior)
    )


def test_copies_are_pairs():
    problem = rbf_problem(5, Hinge(2.0))
    rows = np.repeat(np.arange(5), [1, 2, 1, 3, 1])
    repeated = Problem(problem.dense[np.ix_(rows, rows)], problem.y[rows], Hinge(2.0))
    weighted = Problem(problem.dense, problem.y, Hinge(2.0), [1, 2, 1, 3, 1])
    one, other = (cumulant_correction(EP(tolerance=1e-9).infer(p)) for p in (repeated, weighted))
    assert one == pytest.approx(other, rel=1e-4)


def test_low_rank(rng):
    X = rng.normal(size=(12, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    one, other = (
        cumulant_correction(EP(tolerance=1e-9).infer(Problem(gram, y, Hinge(2.0)))) for gram in (X @ X.T, LowRank(X))
    )
    assert one == pytest.approx(other, rel=1e-4)
    assert one != 0


def test_a_correction_that_is_not_small_is_left_out(monkeypatch):
    posterior = EP().infer(rbf_problem(10, Hinge(2.0)))
    value = cumulant_correction(posterior)
    monkeypatch.setattr("bayespoint.evidence._cumulants._LARGEST", 0.5 * abs(value) / 10)
    assert value != 0
    assert cumulant_correction(posterior) == 0


def test_sites_that_still_move_are_not_corrected():
    posterior = EP().infer(rbf_problem(10, Hinge(2.0)))
    assert cumulant_correction(replace(posterior, error=0.1)) == 0
