"""Columns as features: units, weights, gaps, names; and kernels that see them."""

import pickle

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct

from bayespoint.kernels import (
    Features,
    GroupedRBF,
    OnFeatures,
    contract_gradient,
    kernel_values,
    kinds_of_columns,
    table_kernels,
    with_bias,
)

KINDS = ["number", "nominal", "two", "number"]


@pytest.fixture
def X(rng):
    names, two = rng.integers(0, 4, 30), np.where(rng.random(30) < 0.4, 3.0, 5.0)
    columns = np.column_stack([rng.normal(size=30), names, two, rng.standard_t(1, size=30)])
    columns[3, 0] = columns[7, 1] = columns[9, 2] = np.nan
    return columns


@pytest.mark.parametrize("ranked", [False, True])
def test_units_and_origins_do_not_matter(X, ranked):
    units, origins = np.array([1e-6, 1.0, 1e6, 4096.0]), np.array([0.0, 0.0, 0.0, 1e3])
    other = X * units + origins * units
    a, b = Features(X, KINDS, ranked=ranked)(X), Features(other, KINDS, ranked=ranked)(other)
    np.testing.assert_allclose(a, b, atol=3e-6)
    pure = X * units  # without a shift not a bit
    np.testing.assert_array_equal(a, Features(pure, KINDS, ranked=ranked)(pure))


@pytest.mark.parametrize("ranked", [False, True])
def test_weights_are_copies(X, ranked, rng):
    weights = rng.integers(1, 4, len(X))
    weighted = Features(X, KINDS, ranked=ranked, weights=weights.astype(float))
    repeated = Features(np.repeat(X, weights, axis=0), KINDS, ranked=ranked)
    np.testing.assert_allclose(weighted(X), repeated(X), atol=1e-6)
    plain = Features(X, KINDS, ranked=ranked)
    assert np.abs(weighted(X) - plain(X)).max() > 1e-3  # else this proves nothing


def test_what_differs_is_as_far_apart_as_two_draws(X):
    features = Features(X, KINDS)
    assert features.kinds == ("number", "gap", "nominal", "nominal", "number")
    assert features.columns == (0, 0, 1, 2, 3)
    values = features(X)
    for column, group in ((1, 2), (2, 3)):
        part = values[:, features.groups == group]
        same = (X[:, None, column] == X[:, column]) | (np.isnan(X[:, None, column]) & np.isnan(X[:, column]))
        squares = np.square(part[:, None] - part).sum(axis=2)
        np.testing.assert_allclose(squares, np.where(same, 0.0, 2.0), atol=1e-6)


def test_a_column_of_two_numbers_goes_on_beyond_them():
    features = Features(np.array([[0.0], [1.0]]), ["two"])
    places = features(np.array([[-0.5], [0.0], [0.5], [1.0], [2.0]]))[:, 0]
    np.testing.assert_allclose(np.diff(places) / np.sqrt(2), [0.5, 0.5, 0.5, 1.0], rtol=1e-6)


def test_an_unknown_name_is_one_more_name(X):
    features = Features(X, KINDS)
    known, new, other = X[:1].copy(), X[:1].copy(), X[:1].copy()
    new[0, 1], other[0, 1] = 77.0, 78.0
    squares = np.square(features(known) - features(new)).sum()
    assert squares == pytest.approx(2.0)
    np.testing.assert_array_equal(features(new), features(other))


def test_gaps_that_no_training_row_had_are_the_median():
    X = np.arange(9.0)[:, None]
    features = Features(X, ["number"])
    np.testing.assert_array_equal(features(np.array([[np.nan]])), features(np.array([[4.0]])))


def test_constant_and_empty_columns_drop_out(X):
    more = np.column_stack([X[:, 0], np.full(30, 7.0), np.full(30, np.nan), np.where(X[:, 2] > 4, np.nan, 1.0)])
    features = Features(more, ["number", "number", "nominal", "number"])
    assert features.kinds == ("number", "gap", "gap")
    assert features.columns == (0, 0, 3)
    assert Features(more[:, 1:3], ["number"] * 2)(more[:, 1:3]).shape == (30, 0)


def test_heavy_tails_do_not_decide_the_spread(rng):
    X = rng.normal(size=(200, 1))
    wild = X.copy()
    wild[:3] *= 1e6
    tame, far = (Features(part, ["number"])(X[3:]) for part in (X, wild))
    assert np.ptp(far) == pytest.approx(np.ptp(tame), rel=0.15)
    assert np.ptp(X[3:] / wild.std()) < 1e-3  # as a scaler has it
    ranks = Features(wild, ["number"], ranked=True)(wild)
    assert np.abs(ranks).max() < 4


def test_few_numbers_may_be_names():
    X = np.column_stack([np.arange(8) % 4, np.arange(8) / 3, np.arange(8) % 2])
    assert kinds_of_columns(X) == ["number", "number", "two"]
    assert kinds_of_columns(X, few=4) == ["nominal", "number", "two"]
    assert kinds_of_columns(X, [1]) == ["number", "nominal", "two"]


def kernels(X):
    features = Features(X, KINDS)
    groups = GroupedRBF(np.array([1.0, 3.0, 0.7, 2.0, 1.5]), (1e-2, 1e2), features.groups)
    return {
        "grouped": OnFeatures(2.0 * groups, features),
        "one": OnFeatures(2.0 * RBF(1.5), features),
        "linear": OnFeatures(2.0 * DotProduct(0.0, "fixed"), features),
    }


@pytest.mark.parametrize("name", ["grouped", "one", "linear"])
def test_gradients_by_differences(name, X, rng):
    kernel = with_bias(kernels(X)[name], 0.5, tuned=True)
    g, Z = rng.normal(size=(30, 30)), X[::-1]
    _, gradient = kernel(X, eval_gradient=True)
    for k, step in enumerate(1e-5 * np.eye(kernel.n_dims)):
        up, down = (kernel.clone_with_theta(kernel.theta + sign * step) for sign in (1, -1))
        slope = (up(X) - down(X)) / 2e-5
        np.testing.assert_allclose(gradient[..., k], slope, atol=1e-7)
        assert contract_gradient(kernel, X, g + g.T)[k] == pytest.approx(np.vdot(g + g.T, slope), rel=1e-5, abs=1e-6)
        between = (up(X, Z) - down(X, Z)) / 2e-5
        assert contract_gradient(kernel, X, g, Z)[k] == pytest.approx(np.vdot(g, between), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", ["grouped", "one", "linear"])
def test_values_copies_and_files(name, X):
    kernel = kernels(X)[name]
    np.testing.assert_allclose(kernel_values(kernel, X, X[:5]), kernel(X, X[:5]), atol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X)), rtol=1e-12)
    other = pickle.loads(pickle.dumps(kernel))
    assert other == kernel
    np.testing.assert_array_equal(other(X), kernel(X))
    moved = kernel.clone_with_theta(kernel.theta + 0.1)
    assert moved != kernel
    assert moved.features is kernel.features
    assert kernel != kernels(2 * X)[name]


def test_one_length_scale_for_all_groups_is_a_plain_gaussian(X):
    features = Features(X, KINDS)
    grouped = GroupedRBF(np.full(5, 1.7), (1e-2, 1e2), features.groups)
    np.testing.assert_allclose(grouped(features(X)), RBF(1.7)(features(X)), rtol=1e-12)


def test_the_kernels_of_a_table(X):
    names = list(table_kernels(X))
    assert names == ["linear", "isotropic", "relevance", "isotropic on ranks", "relevance on ranks"]
    assert list(table_kernels(X[:, 2:3])) == ["linear", "isotropic"]


def test_columns_together_are_as_columns_one_by_one(rng):
    """Numbers, constants, names and gaps side by side; new rows with gaps where training rows had none."""
    X = rng.standard_normal((30, 6)) * [1.0, 1e6, 1.0, 1.0, 0.0, 1e-6] + [0.0, 5.0, 0.0, 0.0, 3.0, 1.0]
    X[:, 2] = rng.integers(0, 4, 30)
    X[:5, 3] = np.nan
    kinds = ["number", "number", "nominal", "number", "number", "number"]
    new = X[::-1] * 1.5
    new[3] = np.nan
    for ranked in (False, True):
        whole = Features(X, kinds, ranked=ranked)
        alone = [Features(X[:, [j]], [kind], ranked=ranked) for j, kind in enumerate(kinds)]
        for rows in (X, new):
            parts = [part for j, one in enumerate(alone) for part in one._columns[0](rows[:, j])]
            one_by_one = np.column_stack(parts)
            assert np.array_equal(whole(rows), one_by_one.astype(np.float32).astype(np.float64))
