"""Low-rank problems: the factor in place of the Gram matrix changes nothing but the cost."""

import numpy as np
import pytest

from bayespoint import Hinge, Problem, Step, readouts
from bayespoint.bounds import divergence
from bayespoint.engines import EP, Billiard, EllipticalSlice, Laplace
from bayespoint.engines.ep import engine as ep
from bayespoint.exceptions import EmptyVersionSpaceError, InvalidProblemError
from bayespoint.grams import DensePoints, FeaturePoints, LowRank
from bayespoint.grams.factor import root_of_precision
from bayespoint.likelihoods import Logistic

LIKELIHOODS = [Step(softness=0.5), Step(noise=0.1), Step(), Hinge(2.0), Logistic(1.0)]


@pytest.fixture
def rows(rng):
    X = np.c_[rng.normal(size=(40, 4)), np.ones(40)]
    return X, np.where(X @ rng.normal(size=5) > 0, 1.0, -1.0)


def both(rows, likelihood, weights=None):
    X, y = rows
    return Problem(X @ X.T, y, likelihood, weights), Problem(LowRank(X), y, likelihood, weights)


def same_posterior(dense, low, rows, new, tolerance=1e-7):
    X, _ = rows
    diag = np.square(new).sum(1)
    np.testing.assert_allclose(low.mean, dense.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(low.variance, dense.variance, rtol=tolerance, atol=tolerance)
    for one, other in zip(
        low.at(FeaturePoints(new)).latent, dense.at(DensePoints(new @ X.T, diag)).latent, strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=10 * tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_ep(rows, rng, likelihood, weighted):
    weights = rng.uniform(0.5, 3.0, size=40) if weighted else None
    if weighted and isinstance(likelihood, Logistic):
        weights = None
    dense, low = (EP(tolerance=1e-9).infer(problem) for problem in both(rows, likelihood, weights))
    same_posterior(dense, low, rows, rng.normal(size=(7, 5)))
    assert low.log_evidence == pytest.approx(dense.log_evidence, abs=1e-7)
    np.testing.assert_allclose(low.evidence_gradient.by_gram(), dense.evidence_gradient.by_gram(), atol=1e-5)
    assert divergence(low) == pytest.approx(divergence(dense), abs=1e-6)
    np.testing.assert_allclose(low.leave_one_out.mean, dense.leave_one_out.mean, rtol=1e-5)


def test_sequential_sweeps(rows, rng, monkeypatch):
    monkeypatch.setattr(ep, "settle", lambda rows, state, *limits: (state, 0))
    dense, low = (EP().infer(problem) for problem in both(rows, Step(noise=0.05)))
    assert low.info["updates"] == "sequential"
    same_posterior(dense, low, rows, rng.normal(size=(3, 5)), 1e-4)


def test_laplace(rows, rng):
    dense, low = (Laplace().infer(problem) for problem in both(rows, Hinge(2.0)))
    same_posterior(dense, low, rows, rng.normal(size=(7, 5)))
    assert low.log_evidence == pytest.approx(dense.log_evidence, abs=1e-8)


@pytest.mark.parametrize(
    ("engine", "likelihood"),
    [
        (Billiard(draws=2000, chains=2), Step(softness=0.5)),
        (Billiard(draws=2000, chains=2), Hinge(2.0)),
        (EllipticalSlice(draws=2000, chains=2), Hinge(2.0)),
    ],
    ids=str,
)
def test_samplers(rows, rng, engine, likelihood):
    dense, low = both(rows, likelihood)
    new = rng.normal(size=(20, 5))
    diag = np.square(new).sum(1)
    sampled, reference = engine.infer(low, rng=0), Billiard(draws=2000, chains=2).infer(dense, rng=1)
    truth = reference.at(DensePoints(new @ rows[0].T, diag)).latent
    found = sampled.at(FeaturePoints(new)).latent
    assert np.all(np.abs(found.mean - truth.mean) < 0.15 * np.sqrt(truth.variance))
    np.testing.assert_allclose(found.variance, truth.variance, rtol=0.2)
    np.testing.assert_allclose(
        readouts.class_probability(sampled, FeaturePoints(new)),
        readouts.class_probability(reference, DensePoints(new @ rows[0].T, diag)),
        atol=0.03,
    )


def test_rows_of_length_zero(rows):
    X, y = rows
    X = X.copy()
    X[3] = 0.0
    dense, low = (EP().infer(problem) for problem in both((X, y), Hinge(2.0)))
    assert low.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)
    np.testing.assert_allclose(low.mean, dense.mean, atol=1e-6)


def test_an_empty_version_space_says_why():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(EmptyVersionSpaceError, match="rows 0 and 1 are the same point"):
        EP().infer(Problem(LowRank(X), [1, -1, 1], Step()))


@pytest.mark.parametrize("factor", [np.ones(3), np.full((3, 2), np.nan)])
def test_bad_factors(factor):
    with pytest.raises(InvalidProblemError, match="finite matrix"):
        LowRank(factor)


def test_one_bad_number_in_a_factor_is_refused():
    factor = np.ones((3, 2))
    factor[1, 1] = np.nan
    with pytest.raises(InvalidProblemError, match="must be a finite matrix"):
        LowRank(factor)


def test_the_root_of_a_precision_is_a_triangle_with_its_square(rng):
    scaled = rng.normal(size=(6, 3))
    lower = root_of_precision(scaled)
    np.testing.assert_allclose(lower @ lower.T, np.eye(3) + scaled.T @ scaled, rtol=1e-12)
    assert (np.diagonal(lower) > 0).all()
    np.testing.assert_array_equal(np.triu(lower, 1), 0.0)
