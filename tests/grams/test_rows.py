"""Lazy Gram matrices: values to single precision, and the same bits however they are asked for."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Matern,
    RationalQuadratic,
)

from bayespoint import Problem, Step
from bayespoint.engines import EP
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import KernelRows
from bayespoint.grams import _tiles as tile_module
from bayespoint.kernels import CallableKernel, Normalized, kernel_values, with_bias

BY_PRODUCTS = {
    "linear": DotProduct(0.0, "fixed"),
    "inhomogeneous": DotProduct(1.5),
    "cubic": DotProduct(1.0) ** 3,
    "fifth power": 0.5**5 * DotProduct(1.0) ** 5,
    "Gaussian": RBF(1.3),
    "Gaussian with a length scale in a list": RBF([1.3]),
    "amplitude and bias": with_bias(2.0 * RBF(0.8), 0.7),
    "constant first": ConstantKernel(0.3) + DotProduct(1.0) ** 2,
    "only a constant": ConstantKernel(0.3) + ConstantKernel(0.2),
    "a sum of two": 0.5 * RBF(2.0) + DotProduct(1.0),
    "a product of two": (RBF(2.0) + 0.1) * DotProduct(1.0) ** 2,
    "the square of a sum": (DotProduct(0.5) + RBF(1.0)) ** 2,
}
BY_VALUES = {
    "Matern": 2.0 * Matern(1.0, nu=1.5) + 0.1,
    "one length scale a feature": RBF([1.0, 2.0, 3.0, 4.0]),
    "rational quadratic": RationalQuadratic(),
    "a root": Exponentiation(RBF(1.0), 0.5),
    "normalised": Normalized(DotProduct(1.0) ** 2),
    "a steep Gaussian": RBF(0.01),
    "callable": 1.5 * CallableKernel(lambda X, Z: np.tanh(X @ Z.T) + 1),
}
KERNELS = BY_PRODUCTS | BY_VALUES


@pytest.fixture
def X(rng):
    return rng.normal(size=(70, 4))


@pytest.fixture
def zeros(rng):
    """Inputs that are mostly zeros."""
    return rng.normal(size=(70, 40)) * (rng.random((70, 40)) < 0.2)


@pytest.fixture
def small_tiles(monkeypatch):
    """Several tiles and blocks of small problems."""
    monkeypatch.setattr(tile_module, "_COLUMNS", 32)
    monkeypatch.setattr(tile_module, "_ROWS", 16)
    monkeypatch.setattr(tile_module, "_STRIP", 4)


@pytest.fixture
def zeros_matter(monkeypatch):
    monkeypatch.setattr(tile_module, "_MANY", 0)


def close(values, expected):
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, expected, rtol=2e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", KERNELS)
def test_rows_are_those_of_the_gram_matrix(name, X, small_tiles):
    gram = KernelRows(KERNELS[name], X)
    assert isinstance(gram._tiles, tile_module.Products) == (name in BY_PRODUCTS)
    expected = kernel_values(KERNELS[name], X)
    rows = np.array([3, 69, 0, 41, 7])
    close(gram.block(rows), expected[rows])
    close(gram.block(np.arange(70)), expected)
    np.testing.assert_allclose(gram.dense, expected)
    np.testing.assert_allclose(gram.diag, np.diagonal(expected), rtol=1e-6)
    close(gram.part(rows).block([1, 2]), expected[np.ix_(rows[1:3], rows)])
    assert len(gram) == 70
    assert gram.block([]).shape == (0, 70)


def test_a_wrong_value_would_be_noticed(X):
    with pytest.raises(AssertionError):
        close(KernelRows(RBF(1.0), X).block([0]), kernel_values(RBF(1.001), X[:1], X))


@pytest.mark.parametrize("name", ["linear", "fifth power", "amplitude and bias", "a sum of two"])
@pytest.mark.parametrize("tiles", ["Nonzeros", "Sparse"])
def test_zeros_change_nothing(name, tiles, zeros, small_tiles, zeros_matter):
    kernel = KERNELS[name]
    gram = KernelRows(kernel, zeros if tiles == "Nonzeros" else sparse.csr_matrix(zeros))
    assert type(gram._tiles).__name__ == tiles
    expected = kernel_values(kernel, zeros)
    close(gram.block([60, 2, 33]), expected[[60, 2, 33]])
    np.testing.assert_allclose(gram.dense, expected)
    np.testing.assert_allclose(gram.diag, np.diagonal(expected))


@pytest.mark.parametrize("name", ["Matern", "callable"])
def test_sparse_rows_of_any_kernel(name, zeros, small_tiles):
    kernel = KERNELS[name]
    if name == "callable":
        kernel = CallableKernel(lambda X, Z: (X @ Z.T).power(2) + 0 * (X @ Z.T))  # takes nothing but sparse matrices
        expected = (zeros @ zeros.T) ** 2
    else:
        expected = kernel_values(kernel, zeros)
    gram = KernelRows(kernel, sparse.csr_array(zeros))
    close(gram.block([5, 64]), expected[[5, 64]])
    np.testing.assert_allclose(gram.diag, np.diagonal(expected))
    np.testing.assert_allclose(gram.dense, expected)


@pytest.mark.processor
@pytest.mark.parametrize("n", [1, 15, 70, 1025, 2500])
@pytest.mark.parametrize("features", [1, 5, 100])
@pytest.mark.parametrize("kind", ["dense", "zeros", "sparse"])
@pytest.mark.parametrize("kernel", [DotProduct(1.0) ** 5, RBF(8.0)], ids=["fifth power", "Gaussian"])
def test_a_row_has_the_same_bits_in_any_company(n, features, kind, kernel, rng, zeros_matter):
    X = rng.normal(size=(n, features))
    if kind != "dense":
        X *= rng.random(X.shape) < 0.2
    gram = KernelRows(kernel, sparse.csr_array(X) if kind == "sparse" else X)
    assert isinstance(gram._tiles, tile_module.Products)
    order = rng.permutation(n)[:300]
    together = gram.block(order)
    assert together.shape == (len(order), n)
    for size in (1, 2, 17, 100):
        some = rng.permutation(len(order))[:size]
        np.testing.assert_array_equal(gram.block(order[some]), together[some])


def exact_inner_products(X, rows):
    """Rational arithmetic on inputs rounded to whole multiples of a power of two, and one rounding at the end."""
    bits = math.floor((53 - math.log2(X.shape[1])) / 2)
    units = [2.0 ** (math.floor(math.log2(abs(x).max())) + 1 - bits) if x.any() else 1.0 for x in X]
    whole = [[Fraction(unit) * round(value / unit) for value in x] for x, unit in zip(X, units, strict=True)]
    exact = [[sum(a * b for a, b in zip(whole[i], other, strict=True)) for other in whole] for i in rows]
    return np.array([[float(value) for value in row] for row in exact]).astype(np.float32)


@pytest.mark.processor
@pytest.mark.parametrize("features", [1, 3, 64, 129])
def test_inner_products_are_exact_whoever_multiplies(features, rng):
    """No order of summation, no processor and no library can change a bit."""
    X = rng.normal(size=(40, features)) * 10.0 ** rng.integers(-6, 7, size=(40, 1))
    X[3], X[5] = 0.0, -X[4]
    rows = np.array([4, 39, 3, 0])
    expected = exact_inner_products(X, rows)
    found = KernelRows(DotProduct(0.0, "fixed"), X).block(rows)
    np.testing.assert_array_equal(found, expected)
    scale = np.linalg.norm(X[rows], axis=1)[:, None] * np.linalg.norm(X, axis=1)
    assert np.all(np.abs(found - X[rows] @ X.T) <= 3e-7 * scale)  # rounding the inputs costs what single precision does
    if features > 1:
        plain = X.astype(np.float32)
        assert np.any(plain[rows] @ plain.T != expected)  # as it would be if it were left to single precision


def test_tiny_and_huge_inputs_are_rounded_to_their_own_size(rng):
    tiny = np.array([[1e-300, -3e-310], [5e-324, 0.0], [1e14, 1.0]])
    np.testing.assert_array_equal(KernelRows(DotProduct(1.0), tiny).block([0, 1])[:, :2], 1.0)
    close(KernelRows(DotProduct(1.0), tiny).block([2])[:, 2:], np.array([[1e28]]))


@pytest.mark.processor
def test_rows_can_be_written_to_any_place(X, small_tiles):
    gram = KernelRows(RBF(1.0), X)
    out = np.full((40, 70), -1.0, dtype=np.float32)
    places = np.arange(39, 3, -2)
    gram.write(np.arange(18), out, places, lambda f, jobs: map(f, reversed(jobs)))
    np.testing.assert_array_equal(out[places], gram.block(np.arange(18)))
    assert np.all(np.delete(out, places, axis=0) == -1)


def test_distant_inputs_keep_their_precision(X):
    """Squared distances from inner products would lose all digits far from the origin."""
    far = X + 1000.0
    gram = KernelRows(RBF(1.0), far)
    assert isinstance(gram._tiles, tile_module.Products)
    close(gram.block([0, 1]), kernel_values(RBF(1.0), far[:2], far))
    cross = gram.new(far[:5] + 0.1)
    close(cross.columns(np.arange(70)), kernel_values(RBF(1.0), far[:5] + 0.1, far))


@pytest.mark.parametrize("name", KERNELS)
def test_new_points(name, X, rng, small_tiles):
    Z, kernel = rng.normal(size=(23, 4)), KERNELS[name]
    cross = KernelRows(kernel, X).new(Z)
    which = np.array([5, 1, 60])
    close(cross.columns(which), kernel_values(kernel, Z, X[which]))
    np.testing.assert_allclose(cross.diag, kernel.diag(Z))
    assert len(cross) == 23
    assert cross.cross.shape == (23, 70)
    np.testing.assert_allclose(cross.cross, kernel_values(kernel, Z, X))
    np.testing.assert_allclose(cross.among, kernel_values(kernel, Z))


@pytest.mark.parametrize("sparse_X", [False, True])
@pytest.mark.parametrize("sparse_Z", [False, True])
@pytest.mark.parametrize("matter", [0, 10**9])
def test_new_points_may_be_sparse(sparse_X, sparse_Z, matter, zeros, monkeypatch):
    monkeypatch.setattr(tile_module, "_MANY", matter)
    kernel = DotProduct(1.0) ** 2
    X, Z = (sparse.csr_array(zeros) if yes else zeros for yes in (sparse_X, sparse_Z))
    cross = KernelRows(kernel, X).new(Z[:9])
    close(cross.columns(np.arange(3)), kernel_values(kernel, zeros[:9], zeros[:3]))
    np.testing.assert_allclose(cross.diag, kernel.diag(zeros[:9]))


def test_columns_are_computed_once(X):
    calls = []

    def kernel(A, B):
        calls.append(1)
        return A @ B.T

    cross = KernelRows(CallableKernel(kernel), X).new(X[:3])
    which = np.arange(5)
    first, before = cross.columns(which), len(calls)
    assert cross.columns(which) is first
    assert len(calls) == before
    assert cross.columns(np.arange(4)).shape == (3, 4)


def test_any_engine_takes_it(X):
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    kernel = with_bias(RBF(2.0), 1.0)
    lazy, dense = Problem(KernelRows(kernel, X), y, Step(softness=1.0)), Problem(kernel(X), y, Step(softness=1.0))
    np.testing.assert_allclose(lazy.diag, dense.diag)
    np.testing.assert_allclose(lazy.dense, dense.dense)
    np.testing.assert_allclose(lazy.gram.part([1, 4]).dense, dense.gram.part([1, 4]).dense)
    assert isinstance(lazy.gram, KernelRows)
    assert lazy.size == 70
    np.testing.assert_allclose(EP().infer(lazy).mean, EP().infer(dense).mean, rtol=1e-8)


def test_an_empty_version_space_is_found(X):
    problem = Problem(KernelRows(DotProduct(0.0, "fixed"), np.ones((2, 1))), [1, -1], Step())
    with pytest.raises(InvalidProblemError, match=r"^Version space is empty: rows 0 and 1 are the same point .*\.$"):
        problem.raise_if_empty()


def test_values_too_large_for_single_precision(X):
    with pytest.raises(InvalidProblemError, match=r"^Kernel values reach [^\n]*: rescale the features\.$"):
        KernelRows(DotProduct(1.0) ** 10, 1000 * X).block([0])
    assert np.isfinite(KernelRows(DotProduct(1.0) ** 4, 1000 * X).block([0])).all()


@pytest.mark.processor
def test_a_pickle_holds_the_inputs_once(X):
    gram = KernelRows(RBF(1.0), X)
    before = len(pickle.dumps(gram))
    block = gram.block([3])
    assert len(pickle.dumps(gram)) == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(gram)).block([3]), block)


@pytest.mark.parametrize("bad", [np.ones(3), np.array([[np.nan]]), sparse.csr_array(np.array([[np.inf]]))], ids=str)
def test_bad_inputs(bad):
    with pytest.raises(InvalidProblemError, match=r"^Inputs must be a finite matrix, [^\n]*\.$"):
        KernelRows(RBF(1.0), bad)
    with pytest.raises(InvalidProblemError, match=r"^y must hold 70 labels .*\.$"):
        Problem(KernelRows(RBF(1.0), np.ones((70, 1))), [1, -1], Step())
