"""Many new points are read from a short root of what the data explain; the exact formula is the witness."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import Dense, DensePoints, _dense_gaussian

pytestmark = pytest.mark.processor  # rounding differs


def setting(kind, n=150):
    """A Gaussian on n points of a line (nearly dependent) or of a wide space (independent), and new points."""
    rng = np.random.default_rng(0)
    d = 12 if kind == "independent" else 1
    X, Z = rng.standard_normal((n, d)), 2 * rng.standard_normal((2 * n, d))
    X[1] = X[0]  # the same point twice
    kernel = ConstantKernel(9.0) * RBF(1.0) + ConstantKernel(1.0)
    tau = rng.uniform(0, 1, n) ** 4
    if kind == "weighted":
        tau *= rng.integers(1, 20, n)
    if kind == "silent":
        tau[::3] = 0.0
    if kind == "negative":
        tau[[3, 70]] = -1e-3
    gaussian = Dense(kernel(X)).conditioned(tau, rng.standard_normal(n))
    return gaussian, kernel(Z, X), kernel.diag(Z), tau


def exact_variance(gaussian, cross, diag, tau):
    """``k(x, x) - k' (K + T^-1)^-1 k`` by ``T - T (K^-1 + T)^-1 T = T (I + K T)^-1``."""
    w = tau[:, None] * np.linalg.inv(np.eye(len(tau)) + gaussian.gram * tau)
    return diag - np.einsum("ij,jk,ik->i", cross, w, cross)


@pytest.mark.parametrize("kind", ["plain", "weighted", "silent", "negative"])
def test_many_points_by_a_short_root(kind):
    gaussian, cross, diag, tau = setting(kind)
    exact = exact_variance(gaussian, cross, diag, tau)
    mean, variance = gaussian.at(DensePoints(cross, diag))
    assert gaussian.short_root is not None
    assert gaussian.short_root.shape[1] < len(tau) / 4
    assert np.all(np.abs(variance - exact) <= 2e-9 * diag)  # one for the root, one for the rounding of the witness
    few = [gaussian.at(DensePoints(cross[rows], diag[rows])) for rows in np.split(np.arange(len(diag)), 3)]
    np.testing.assert_allclose(mean, np.concatenate([part[0] for part in few]), rtol=0, atol=1e-11)
    assert np.all(np.abs(variance - np.concatenate([part[1] for part in few])) <= 1e-9 * diag)


def test_the_witness_sees_a_root_that_is_too_short(monkeypatch):
    monkeypatch.setattr(_dense_gaussian, "_LEFT_OUT", 1e-3)
    gaussian, cross, diag, tau = setting("plain")
    error = np.abs(gaussian.at(DensePoints(cross, diag))[1] - exact_variance(gaussian, cross, diag, tau)) / diag
    assert 2e-9 < error.max() <= 1e-3


def test_independent_points_have_no_short_root():
    gaussian, cross, diag, tau = setting("independent")
    assert gaussian.short_root is None
    variance = gaussian.at(DensePoints(cross, diag))[1]
    np.testing.assert_allclose(variance, exact_variance(gaussian, cross, diag, tau), atol=1e-10)


def test_no_short_root_where_rounding_is_larger():
    gaussian, *_ = setting("plain")
    assert Dense(1e8 * gaussian.gram).conditioned(gaussian.tau, gaussian.nu).short_root is None


def test_few_points_are_not_worth_a_short_root():
    gaussian, cross, diag, _ = setting("plain")
    gaussian.at(DensePoints(cross[:10], diag[:10]))
    assert "short_root" not in vars(gaussian)
    gaussian.at(DensePoints(cross[:10], diag[:10]).among_many(300))  # some of many are
    assert "short_root" in vars(gaussian)


def test_one_point_goes_with_itself_and_two_have_to_say_how():
    np.testing.assert_array_equal(DensePoints(np.ones((1, 3)), [2.0]).among, [[2.0]])
    with pytest.raises(InvalidProblemError, match="how they go together"):
        _ = DensePoints(np.ones((2, 3)), [2.0, 2.0]).among


@pytest.mark.parametrize(("cross", "diag"), [(np.ones(3), np.ones(3)), (np.ones((2, 3)), np.ones(3))])
def test_new_points_of_another_shape_are_refused(cross, diag):
    with pytest.raises(InvalidProblemError, match="one row a point"):
        DensePoints(cross, diag)


def test_latents_that_are_always_zero_are_lifted_in_proportion():
    gram = np.diag([4.0, 0.0, 1.0])
    lifted, small = Dense(gram)._lifted, Dense(1e-9 * gram)._lifted
    assert 0 < lifted[1, 1] < 1e-11
    np.testing.assert_allclose(small, 1e-9 * lifted, rtol=1e-12)
    assert Dense(np.zeros((2, 2)))._lifted[0, 0] > 0
