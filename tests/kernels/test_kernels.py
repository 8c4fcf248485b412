import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from bayespoint.exceptions import InvalidProblemError
from bayespoint.kernels import (
    CallableKernel,
    Isometry,
    Normalized,
    Precomputed,
    contract_gradient,
    kernel_values,
    make_kernel,
    with_bias,
)
from witnesses import central_difference


@pytest.fixture
def X(rng):
    return rng.normal(size=(9, 3)) * [1.0, 2.0, 0.5]


@pytest.fixture
def Z(rng):
    return rng.normal(size=(4, 3)) + 0.5


def test_named_kernels_have_the_values_of_scikit_learn(X, Z):
    spread = np.sqrt(X.var(axis=0).sum())
    witnesses = {
        "rbf": rbf_kernel(X, Z, gamma=0.5 / spread**2),
        "linear": linear_kernel(X, Z),
        "poly": polynomial_kernel(X, Z, degree=3, gamma=1.0, coef0=1.0),
        "laplacian": np.exp(-np.linalg.norm(X[:, None] - Z[None], axis=2) / spread),
        rbf_kernel: rbf_kernel(X, Z),
    }
    for name, values in witnesses.items():
        kernel = make_kernel(name, X)
        np.testing.assert_allclose(kernel(X, Z), values, rtol=1e-10)
        np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X)), rtol=1e-10)


def test_the_spread_counts_weighted_rows_as_copies(X):
    weights = np.array([3.0, 1, 2, 1, 1, 1, 1, 1, 1])
    weighted, repeated = make_kernel("rbf", X, weights), make_kernel("rbf", np.repeat(X, weights.astype(int), axis=0))
    np.testing.assert_allclose(weighted.theta, repeated.theta, rtol=1e-12)
    np.testing.assert_allclose(weighted.bounds, repeated.bounds, rtol=1e-12)


def test_the_spread_of_sparse_rows_is_that_of_dense_ones(X):
    np.testing.assert_allclose(make_kernel("rbf", sparse.csr_array(X)).theta, make_kernel("rbf", X).theta, rtol=1e-12)


def test_the_spread_of_a_shifted_cloud_stays_the_same(X):
    np.testing.assert_allclose(make_kernel("rbf", X + 1e4).theta, make_kernel("rbf", X).theta, rtol=1e-6)


def test_a_kernel_object_is_copied_not_changed(X):
    given = 2.0 * RBF(1.0)
    made = make_kernel(given, X)
    made.theta = made.theta + 1
    assert given == 2.0 * RBF(1.0)


@pytest.mark.parametrize("name", ["sigmoid", 3, ("rbf",)])
def test_an_unknown_kernel_is_refused(X, name):
    with pytest.raises(InvalidProblemError, match=r"^kernel must be 'rbf', 'linear', .* got "):
        make_kernel(name, X)


def test_a_function_that_returns_the_wrong_shape_is_refused(X):
    with pytest.raises(InvalidProblemError, match=r"returned shape \(9,\) for 9 and 9 points"):
        CallableKernel(lambda X, Z: np.ones(len(X)))(X)


def test_the_diagonal_of_a_function_is_worked_out_in_blocks(rng):
    X = rng.normal(size=(150, 2))
    np.testing.assert_allclose(CallableKernel(linear_kernel).diag(X), (X**2).sum(axis=1))


def test_a_function_may_return_a_sparse_matrix(X):
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(CallableKernel(lambda X, Z: X @ Z.T)(rows), X @ X.T)


def test_precomputed_values_pass_through(X, Z):
    gram = rbf_kernel(X)
    kernel = make_kernel("precomputed", gram)
    np.testing.assert_array_equal(kernel(gram), gram)
    np.testing.assert_allclose(kernel.diag(rbf_kernel(Z, X)), np.ones(4))
    values, gradient = Precomputed()(gram, eval_gradient=True)
    assert gradient.shape == (9, 9, 0)
    assert values is not gram


def test_the_bias_is_a_constant_on_top(X, Z):
    kernel = RBF(1.5)
    np.testing.assert_allclose(with_bias(kernel, 2.0)(X, Z), kernel(X, Z) + 4.0)
    np.testing.assert_allclose(with_bias(kernel, 0.0)(X, Z), kernel(X, Z))
    assert [with_bias(kernel, b, tuned=t).n_dims for b, t in [(2, False), (2, True), (0, True)]] == [1, 2, 1]


def derivative_of_values(kernel, X):
    slopes = central_difference(lambda theta: kernel.clone_with_theta(theta)(X), kernel.theta)
    return np.moveaxis(slopes, 0, -1)


@pytest.mark.parametrize(
    "inner", [DotProduct(1.5), DotProduct(1.0) ** 3, RBF(1.0) + DotProduct(0.7), 3.0 * RBF([1.0, 2.0, 0.5])], ids=str
)
def test_normalisation_has_unit_diagonal_and_the_right_gradient(inner, X, Z):
    kernel = Normalized(inner)
    np.testing.assert_allclose(np.diagonal(kernel(X)), 1.0)
    np.testing.assert_allclose(kernel.diag(X), 1.0)
    np.testing.assert_allclose(kernel(X, Z), inner(X, Z) / np.sqrt(np.outer(inner.diag(X), inner.diag(Z))))
    np.testing.assert_allclose(kernel(X, eval_gradient=True)[1], derivative_of_values(kernel, X), atol=1e-8)


def test_normalisation_carries_the_parameters_of_the_inner_kernel():
    kernel = Normalized(DotProduct(1.5, (0.1, 10.0)))
    np.testing.assert_allclose(kernel.theta, [np.log(1.5)])
    np.testing.assert_allclose(kernel.bounds, np.log([[0.1, 10.0]]))
    assert [h.name for h in kernel.hyperparameters] == ["kernel__sigma_0"]
    moved = kernel.clone_with_theta(np.log([3.0]))
    assert (moved.kernel.sigma_0, kernel.kernel.sigma_0) == (pytest.approx(3.0), 1.5)
    assert clone(kernel) == kernel != moved
    assert (2.0 * kernel + RBF(1.0)).n_dims == 3
    assert str(kernel) == "Normalized(DotProduct(sigma_0=1.5))"


def test_a_row_of_length_zero_cannot_be_normalised():
    with pytest.raises(InvalidProblemError, match=r"^Row 1 has length zero in feature space"):
        Normalized(DotProduct(0.0, "fixed"))(np.array([[1.0], [0.0]]))


@pytest.mark.parametrize("name", ["rbf", "linear", "poly", "laplacian"])
def test_an_isometry_keeps_kernel_values(name, rng):
    words, new = (sparse.random_array((n, 500), density=0.02, rng=rng, format="csr") for n in (30, 12))
    kernel = make_kernel(name, words)
    isometry = Isometry(words)
    a, b = isometry.transform(words), isometry.transform(new)
    assert a.shape[1] <= 31
    np.testing.assert_allclose(kernel(a), kernel(words.toarray()), atol=1e-6 if name == "laplacian" else 1e-12)
    np.testing.assert_allclose(kernel(b, a), kernel(new.toarray(), words.toarray()), atol=1e-10)
    np.testing.assert_allclose(kernel.diag(b), kernel.diag(new.toarray()), atol=1e-12)


def test_an_isometry_is_for_kernels_of_products_and_distances_only():
    good = [RBF(1.0), 2.0 * Matern(1.0) + DotProduct() ** 2, Normalized(RationalQuadratic()), RBF([1.0])]
    bad = [RBF([1.0, 2.0]), 1.0 * Matern([1.0, 2.0]), RBF(1.0) + ExpSineSquared(), CallableKernel(np.dot)]
    assert [Isometry.suits(kernel) for kernel in good] == [True] * 4
    assert [Isometry.suits(kernel) for kernel in bad] == [False] * 4


ZOO = [
    ConstantKernel(2.0),
    RBF(0.7),
    RBF([0.7, 2.0, 1.0]),
    2.0 * RBF(0.7),
    2.0 * RBF([0.7, 2.0, 1.0]) + ConstantKernel(3.0),
    Matern(1.3, nu=0.5),
    1.5 * Matern([1.0, 2.0, 3.0], nu=1.5) * RBF(1.0),
    RationalQuadratic(0.8, 1.2) + WhiteKernel(0.3),
    (2.0 * DotProduct(0.5)) ** 3,
    RBF(0.7, "fixed") * ConstantKernel(2.0),
    ConstantKernel(2.0, "fixed") * RBF(0.7) + ConstantKernel(1.0, "fixed"),
    Normalized(DotProduct(0.5)) * ConstantKernel(2.0) * ConstantKernel(3.0),
    RBF(1.0, "fixed"),
]


@pytest.mark.parametrize("kernel", ZOO, ids=str)
def test_the_contracted_gradient_is_the_gradient_contracted(kernel, X, rng):
    g = rng.normal(size=(9, 9))
    g += g.T
    _, gradient = kernel(X, eval_gradient=True)
    answer = contract_gradient(kernel, X, g)
    assert answer.shape == (kernel.n_dims,)
    np.testing.assert_allclose(answer, np.einsum("ij,ijp->p", g, gradient), rtol=1e-9, atol=1e-9)


def test_the_contracted_gradient_survives_a_far_origin(X):
    g = np.eye(9) + 1
    near, far = (contract_gradient(RBF([0.7, 2.0, 1.0]), points, g) for points in (X, X + 1e6))
    np.testing.assert_allclose(far, near, rtol=1e-6)


@pytest.mark.parametrize("kernel", ZOO, ids=str)
def test_values_are_those_of_scikit_learn(kernel, rng):
    X, Z = rng.normal(size=(300, 3)), rng.normal(size=(150, 3))  # more rows than are worked on at a time
    np.testing.assert_allclose(kernel_values(kernel, X), kernel(X), rtol=1e-15)
    np.testing.assert_allclose(kernel_values(kernel, X, Z), kernel(X, Z), rtol=1e-15)


@pytest.mark.parametrize("size", [1, 127, 128, 129, 300])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_gaussian_values_are_symmetric_with_a_diagonal_of_one_wherever_the_origin_is(size, offset, rng):
    X = rng.normal(size=(size, 4)) + offset
    values = kernel_values(RBF(0.7), X)
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_array_equal(np.diagonal(values), 1.0)
    np.testing.assert_allclose(values, RBF(0.7)(X), rtol=1e-15)


@pytest.mark.processor
@pytest.mark.parametrize("offset", [0.0, 40.0, 1e6])
@pytest.mark.parametrize("outlier", [0.0, 250.0, 1e5])
def test_gaussian_values_of_wide_points_go_by_products(offset, outlier, rng):
    X, Z = rng.normal(size=(300, 30)), rng.normal(size=(70, 30))
    X[7] = X[290]  # the same point twice
    Z[3] = X[11]
    X[5, 0] += outlier
    X, Z = X + offset, Z + offset
    values = kernel_values(RBF(2.0), X)
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_array_equal(np.diagonal(values), 1.0)
    differences = np.square((X[:, None] - X[None]) / 2.0).sum(-1)
    np.testing.assert_allclose(values, np.exp(-0.5 * differences), rtol=1e-10, atol=1e-200)
    assert values.max() == 1.0
    differences = np.square((X[:, None] - Z[None]) / 2.0).sum(-1)
    np.testing.assert_allclose(kernel_values(RBF(2.0), X, Z), np.exp(-0.5 * differences), rtol=1e-10, atol=1e-200)


def test_values_of_a_users_kernel_are_left_alone(X):
    mine = np.ones((9, 9))
    kernel_values(2.0 * CallableKernel(lambda X, Z: mine) + 3.0, X)
    np.testing.assert_array_equal(mine, 1.0)


def test_length_scales_that_do_not_fit_the_features_are_refused_by_scikit_learn(X):
    for wrong in (X, X[:, :1]):
        with pytest.raises(ValueError, match="Anisotropic kernel must have the same number of dimensions"):
            kernel_values(RBF([1.0, 2.0]), wrong)
