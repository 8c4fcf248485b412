"""Gram matrices that a user hands in: mended where they are off by rounding, with words, and refused where by more."""

import warnings

import numpy as np
import pytest

from bayespoint import Problem, Step
from bayespoint.engines import EP
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.grams import check_gram

SIZE = 12


def gram_of(values, rng):
    """A matrix with given eigenvalues, whose largest entry is one."""
    vectors = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    gram = (vectors * values) @ vectors.T
    gram = 0.5 * (gram + gram.T)
    return gram / np.abs(gram).max()


def labels(rng):
    return rng.choice([-1.0, 1.0], SIZE)


@pytest.mark.processor
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("condition", [1e6, 1e12, 1e18, np.inf])
def test_ill_conditioned_matrices_are_taken_as_they_are(condition, scale, rng):
    values = np.geomspace(1.0, 1 / condition, SIZE) if condition < np.inf else np.eye(1, SIZE)[0]
    gram = scale * gram_of(values, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = Problem(gram, labels(rng), Step(0.1))
    np.testing.assert_array_equal(problem.dense, gram)


@pytest.mark.parametrize("share", [1e-10, 5e-9])
def test_what_is_not_quite_symmetric_becomes_its_mean_with_its_transpose(share, rng):
    gram = gram_of(np.linspace(1.0, 2.0, SIZE), rng)
    off = gram.copy()
    off[0, 1] += share
    with pytest.warns(InferenceWarning, match=rf"^The Gram matrix is not quite symmetric: .* {share:.1g}, .*\.$"):
        problem = Problem(off, labels(rng), Step(0.1))
    np.testing.assert_array_equal(problem.dense, problem.dense.T)
    assert problem.dense[1, 0] == pytest.approx(gram[0, 1] + 0.5 * share, abs=1e-14)


def test_rounding_that_is_not_symmetric_is_mended_in_silence(rng):
    off = gram_of(np.linspace(1.0, 2.0, SIZE), rng)
    off[0, 1] += 1e-15
    problem = Problem(off, labels(rng), Step(0.1))
    np.testing.assert_array_equal(problem.dense, problem.dense.T)


@pytest.mark.parametrize("share", [1e-11, 1e-8])
def test_what_is_slightly_indefinite_loses_its_negative_eigenvalues(share, rng):
    gram = gram_of(np.r_[-share, np.linspace(0.5, 2.0, SIZE - 1)], rng)
    lowest = np.linalg.eigvalsh(gram)[0]
    with pytest.warns(InferenceWarning, match=r"^The Gram matrix is slightly indefinite .*\.$") as told:
        problem = Problem(gram, labels(rng), Step(0.1))
    assert f"lowest eigenvalue {lowest:.1g}" in str(told[0].message)
    said = float(str(told[0].message).split("up to ")[1].rstrip("."))
    assert said == pytest.approx(np.abs(problem.dense - gram).max(), rel=0.1)
    assert said <= -lowest * 1.1
    assert np.linalg.eigvalsh(problem.dense)[0] > -1e-14
    np.testing.assert_array_equal(problem.dense, problem.dense.T)
    assert np.isfinite(EP().infer(problem).log_evidence)


@pytest.mark.parametrize("share", [1e-6, 0.1, 1.0])
def test_what_is_clearly_indefinite_is_refused(share, rng):
    gram = gram_of(np.r_[-share, np.linspace(0.5, 2.0, SIZE - 1)], rng)
    for check in (check_gram, lambda gram: Problem(gram, labels(rng), Step(0.1))):
        with pytest.raises(InvalidProblemError, match=r"^The kernel is not positive semi-definite \(lowest .*\.$"):
            check(gram)


def test_what_is_clearly_not_symmetric_is_refused(rng):
    gram = gram_of(np.linspace(1.0, 2.0, SIZE), rng)
    gram[0, 1] += 1e-6
    with pytest.raises(InvalidProblemError, match=r"^The Gram matrix is not symmetric; .*\.$"):
        Problem(gram, labels(rng), Step(0.1))


def test_a_matrix_that_is_mended_is_not_the_users(rng):
    off = gram_of(np.linspace(1.0, 2.0, SIZE), rng)
    off[0, 1] += 1e-15
    before = off.copy()
    Problem(off, labels(rng), Step(0.1))
    np.testing.assert_array_equal(off, before)
