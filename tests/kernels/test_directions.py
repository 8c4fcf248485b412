"""Rows of many columns by their directions: against explicit features, and with what is left out measured."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from bayespoint import Problem, Step
from bayespoint.engines import EP
from bayespoint.grams import Exact, Range, choose_view
from bayespoint.grams.views import approximation
from bayespoint.kernels import Directions, Spectral, kernel_values, linear_features, wide_kernels, with_bias
from bayespoint.kernels import directions as module
from bayespoint.tuning import Model, infer_candidate
from witnesses import central_difference


@pytest.fixture
def rows(rng):
    """Correlated columns, many more than rows, away from zero."""
    return rng.standard_normal((40, 5)) @ rng.standard_normal((5, 300)) + rng.standard_normal((40, 300)) + 2.0


@pytest.fixture
def leading(monkeypatch):
    """So few rows are held that the range finder has its turn."""
    monkeypatch.setattr(module, "_HELD", 30)
    monkeypatch.setattr(module, "_RANK", 8)


def explicit(X, Z, power):
    """Inner products weighted by powers of the covariance matrix, scaled to its trace, from an eigendecomposition."""
    covariance = np.cov(X.T, bias=True)
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-9 * values[-1]
    weighted = (vectors[:, kept] * values[kept] ** power) @ vectors[:, kept].T
    x, z = X - X.mean(axis=0), Z - X.mean(axis=0)
    return x @ weighted @ z.T * np.trace(covariance) / np.trace(weighted @ covariance)


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_values_are_those_of_the_explicit_prior_of_the_weights(power, rows, rng):
    kernel = wide_kernels(Directions(rows))["linear"].clone_with_theta(np.log([1.0, power]))
    new = rng.standard_normal((7, 300))
    np.testing.assert_allclose(kernel(rows), explicit(rows, rows, power), atol=1e-6)
    np.testing.assert_allclose(kernel(rows, new), explicit(rows, new, power), atol=1e-6)
    assert np.isclose(kernel.diag(rows).mean(), np.var(rows, axis=0).sum())


def test_the_power_zero_is_the_linear_kernel_of_centred_rows(rows):
    directions = Directions(rows)
    centred = rows - rows.mean(axis=0)
    kernel = Spectral(0.0, variances=directions.variances)
    np.testing.assert_allclose(kernel(directions(rows)), centred @ centred.T, atol=1e-8 * np.square(centred).sum())


def test_all_directions_keep_all_distances(rows, rng):
    directions = Directions(rows)
    assert directions.beside == 0
    some, new = rows[:1], rows[0] + rng.standard_normal((6, 300))
    here, there = directions(some), directions(new)
    np.testing.assert_allclose(np.linalg.norm(there - here, axis=1), np.linalg.norm(new - some, axis=1))


@pytest.mark.usefixtures("leading")
def test_the_remainder_is_measured(rows):
    found = Directions(rows)
    centred = rows - rows.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False) ** 2 / len(rows)
    np.testing.assert_allclose(found.directions.T @ found.directions, np.eye(8), atol=1e-10)
    np.testing.assert_allclose(found.variances[:5], values[:5], rtol=1e-3)
    assert values[8:].sum() <= found.beside * (1 + 1e-9) < 1.05 * values[8:].sum()
    outside = centred - centred @ found.directions @ found.directions.T
    np.testing.assert_allclose(found(rows)[:, -1], np.linalg.norm(outside, axis=1))
    new = np.roll(rows, 3, axis=1)
    outside = (new - rows.mean(axis=0)) @ (np.eye(300) - found.directions @ found.directions.T)
    np.testing.assert_allclose(found(new)[:, -1], np.linalg.norm(outside, axis=1))


@pytest.mark.usefixtures("leading")
@pytest.mark.parametrize("n", [15, 40])
def test_sparse_rows_weights_and_copies(n, rows):
    """Sparse or dense, a weight of two or a copy: the same kernel."""
    rows = rows[:n] * (np.abs(rows[:n]) > 2)
    weights = np.where(np.arange(n) < 10, 2.0, 1.0)
    directions = [
        Directions(rows, weights=weights),
        Directions(sparse.csr_array(rows), weights=weights),
        Directions(np.concatenate([rows, rows[:10]])),
    ]
    dense, thin, copied = (wide_kernels(one)["linear"] for one in directions)
    np.testing.assert_allclose(thin(sparse.csr_array(rows)), dense(rows), atol=1e-7)
    if n == 15:  # the range finder draws by the number of rows
        np.testing.assert_allclose(copied(rows, rows), dense(rows, rows), atol=1e-7)


def test_rows_that_do_not_vary_have_a_kernel(rng):
    constant = np.ones((5, 10))
    kernel = wide_kernels(Directions(constant))["linear"]
    assert np.array_equal(kernel(constant), np.zeros((5, 5)))
    assert np.isfinite(kernel.diag(rng.standard_normal((3, 10)))).all()


@pytest.mark.usefixtures("leading")
@pytest.mark.parametrize("most", [None, 3])
def test_features_and_residuals_make_the_kernel(most, rows, rng):
    kernel = with_bias(wide_kernels(Directions(rows))["linear"], 0.7)
    assert type(choose_view(kernel, rows, "auto")) is Range
    view, new = Range(rows, most), rng.standard_normal((3, 300))
    gram, there = view.gram(kernel), view.new(kernel)(new)
    np.testing.assert_allclose(gram.diag + gram.residual, kernel.diag(rows))
    np.testing.assert_allclose(there.diag, kernel.diag(new))
    if most is None:
        np.testing.assert_allclose(gram.dense + np.diag(gram.residual), kernel_values(kernel, rows), atol=1e-8)
        np.testing.assert_allclose(there.features @ gram.factor.T, kernel_values(kernel, new, rows), atol=1e-8)
    left = approximation(view, kernel)
    assert left.rank == (9 if most is None else 4)  # the bias has a feature
    assert np.isclose(left.left_out, gram.residual.sum() / kernel.diag(rows).sum())


def test_all_directions_of_few_rows_are_exact(rows):
    kernel = with_bias(wide_kernels(Directions(rows))["linear"], 0.7)
    assert type(choose_view(kernel, rows, "auto")) is Exact
    gram = Range(rows).gram(kernel)
    assert gram.residual.max() < 1e-9 * gram.diag.max()


@pytest.mark.usefixtures("leading")
def test_the_evidence_s_gradient_with_residuals(rows):
    y = np.where(rows[:, 0] > 2, 1.0, -1.0)
    kernel = with_bias(wide_kernels(Directions(rows))["linear"], 0.7, tuned=True)
    kernel = kernel.clone_with_theta(np.log([0.05, 0.6, 0.5]))
    model = Model(kernel, Step(softness=1.0))
    engine = EP(tolerance=1e-10)

    def evidence(theta):
        return infer_candidate(model.at(theta), Range(rows), [y], None, engine).log_evidence

    slope = infer_candidate(model, Range(rows), [y], None, engine).evidence_gradient()
    np.testing.assert_allclose(slope, central_difference(evidence, model.theta), rtol=1e-4, atol=1e-5)
    exact = EP().infer(Problem(kernel_values(kernel, rows), y, Step(softness=1.0))).log_evidence
    assert np.isclose(evidence(model.theta), exact, atol=1e-5)


def test_gradient_of_the_kernel(rows):
    kernel = wide_kernels(Directions(rows))["linear"].clone_with_theta(np.log([2.0, 0.7]))
    _, gradient = kernel(rows, eval_gradient=True)
    for k, h in enumerate(1e-6 * np.eye(2)):
        up, down = (kernel.clone_with_theta(kernel.theta + s * h)(rows) for s in (1, -1))
        np.testing.assert_allclose(gradient[:, :, k], (up - down) / 2e-6, atol=1e-5 * np.abs(up).max())


def test_other_sums_have_no_features(rows):
    directions = Directions(rows)
    spectral = Spectral(variances=directions.variances)
    Z = directions(rows)
    assert linear_features(spectral + 1.0, Z).shape == (40, len(directions.variances) + 1)
    assert linear_features(spectral + spectral, Z) is None
    assert linear_features(spectral * spectral, Z) is None


def test_a_copy_from_a_file_has_the_same_values(rows):
    kernel = wide_kernels(Directions(rows))["linear"]
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_allclose(again(rows), kernel(rows), atol=1e-10)
    assert len(pickle.dumps(kernel)) < 1.2 * rows.nbytes


def test_kernels_share_what_they_know_of_the_rows(rows):
    """Kernels are cloned at every step of a search; their directions are not."""
    kernel = with_bias(wide_kernels(Directions(rows))["linear"], 1.0, tuned=True)
    assert kernel.clone_with_theta(kernel.theta + 0.1).k1.features is kernel.k1.features
