"""Weights of linear machines, in the units of the features."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_ndtr
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import DotProduct
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from bayespoint.exceptions import EmptyVersionSpaceError, InvalidProblemError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1.0, 5.0, 0.2] + [0.0, 3.0, -1.0]
    return X, np.where(X @ [1.0, 0.2, -3.0] - 3.5 + 0.7 * rng.normal(size=60) > 0, "yes", "no")


MODELS = {
    "point": BayesPointClassifier("linear", random_state=0),
    "point by features": BayesPointClassifier("linear", optimizer=None, max_rank=2),
    "point with an origin": BayesPointClassifier(2.0 * DotProduct(1.5), optimizer=None),
    "joint": BayesPointClassifier("linear", decision="joint", random_state=0),
    "machine": BayesianSVC(kernel="linear", probability="map"),
    "its mean": BayesianSVC(kernel="linear", probability="mean"),
    "margin": GaussianMarginClassifier(),
}


def of(name):
    return clone(MODELS[name])


@pytest.mark.parametrize("name", MODELS)
def test_weights_explain_the_latents(name, rows):
    X, y = rows
    model = of(name).fit(X, y)
    values = model.decision_function(X) if name == "machine" else model.latent(X).mean
    np.testing.assert_allclose(values, X @ model.coef_[0] + model.intercept_[0], rtol=1e-7, atol=1e-8)
    assert model.coef_.shape == model.coef_std_.shape == (1, 3)
    assert model.intercept_.shape == model.intercept_std_.shape == (1,)
    np.testing.assert_allclose(model.latent(np.zeros((1, 3))).variance, model.intercept_std_**2, rtol=1e-6)


@pytest.mark.parametrize("name", ["point", "joint", "machine", "margin"])
def test_several_classes_have_a_row_each(name):
    X, y = load_iris(return_X_y=True)
    model = of(name).fit(X, y)
    latents = model.decision_function(X) if name == "machine" else model.latent(X).mean
    np.testing.assert_allclose(latents, X @ model.coef_.T + model.intercept_, rtol=1e-6, atol=1e-7)
    assert model.coef_std_.shape == (3, 4)
    np.testing.assert_allclose(model.latent(np.zeros((1, 4))).variance[0], model.intercept_std_**2, rtol=1e-5)
    steps = np.vstack([np.zeros(4), np.eye(4)])
    drawn = model.sample_latent(steps, 4000, random_state=0)
    spread = (drawn[:, 1:] - drawn[:, :1]).std(axis=0).T
    np.testing.assert_allclose(spread, model.coef_std_, rtol=6 / np.sqrt(2 * 4000))


def test_deviations_are_those_of_drawn_functions(rows):
    X, y = rows
    model = of("point").fit(X, y)
    points = np.vstack([np.zeros(3), np.eye(3)])
    drawn = model.sample_latent(points, 20_000, random_state=0)
    weights = drawn[:, 1:] - drawn[:, :1]
    error = 4 / np.sqrt(2 * 20_000)
    np.testing.assert_allclose(weights.std(axis=0), model.coef_std_[0], rtol=error)
    np.testing.assert_allclose(drawn[:, 0].std(), model.intercept_std_[0], rtol=error)
    assert not np.allclose(weights.std(axis=0), 1.1 * model.coef_std_[0], rtol=error)


def test_units_of_the_columns_are_the_users():
    """Standardised within, the weights still belong to the columns as they come."""
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    unit, shift = np.array([1000.0, 0.01, 1.0, 3.0]), np.array([0.0, 5.0, -100.0, 1.0])
    one, other = (
        next(m for m in BayesPointClassifier(random_state=0).fit(rows, y).members_ if "linear" in m.fitted_.model.name)
        for rows in (X, X * unit + shift)
    )
    np.testing.assert_allclose(other.coef_ * unit, one.coef_, rtol=1e-4)
    np.testing.assert_allclose(other.coef_std_ * unit, one.coef_std_, rtol=1e-4)
    np.testing.assert_allclose(other.intercept_, one.intercept_ - other.coef_ @ shift, rtol=1e-4)
    np.testing.assert_allclose(one.latent(X).mean, X @ one.coef_[0] + one.intercept_, atol=1e-5)
    away = np.zeros((1, 4))
    np.testing.assert_allclose(one.intercept_std_**2, one.latent(away).variance, rtol=1e-4)


@pytest.mark.parametrize("columns", [3, 200])
def test_sparse_rows_have_the_weights_of_dense_ones(columns):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, columns)) * (rng.random((40, columns)) < 0.3)
    y = X[:, 0] + 0.1 * rng.normal(size=40) > 0
    dense = BayesianSVC(kernel="linear", probability="map").fit(X, y)
    thin = BayesianSVC(kernel="linear", probability="map").fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-8)
    np.testing.assert_allclose(thin.coef_std_, dense.coef_std_, atol=1e-8)
    shown = thin.support_vectors_
    shown = shown.toarray() if sparse.issparse(shown) else shown
    np.testing.assert_allclose(shown, dense.support_vectors_)


def test_the_machine_is_that_of_libsvm(rows):
    X, y = rows
    theirs = SVC(kernel="linear", C=0.7, tol=1e-10).fit(X, y)
    ours = BayesianSVC.from_svc(theirs).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=2e-3)
    np.testing.assert_array_equal(ours.support_, np.sort(theirs.support_))
    np.testing.assert_allclose(ours.support_vectors_, X[ours.support_])
    np.testing.assert_allclose(ours.coef_, ours.dual_coef_ @ ours.support_vectors_, rtol=1e-9)
    assert ours.n_iter_.shape == (1,)


def test_an_offset_is_there_for_any_kernel(rows):
    X, y = rows
    theirs = SVC(C=2.0, tol=1e-10).fit(X, y)
    ours = BayesianSVC.from_svc(theirs).fit(X, y)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    assert not hasattr(ours, "coef_")
    mean = BayesianSVC(C=2.0, probability="mean").fit(X, y)
    far = mean.latent(np.full((1, 3), 1e6)).mean  # where nothing but the offset is left
    np.testing.assert_allclose(mean.intercept_, far, rtol=1e-6)


def test_rows_of_weight_zero_are_counted_by_support(rows):
    X, y = rows
    weights = np.ones(60)
    weights[:5] = 0
    some = BayesianSVC(kernel="linear", probability="map").fit(X, y, sample_weight=weights)
    rest = BayesianSVC(kernel="linear", probability="map").fit(X[5:], y[5:])
    np.testing.assert_array_equal(some.support_, rest.support_ + 5)
    np.testing.assert_array_equal(some.support_vectors_, rest.support_vectors_)
    np.testing.assert_allclose(some.decision_function(X), rest.decision_function(X))


def test_many_rows_lead_to_probit_regression():
    """The posterior goes to the maximum of the likelihood and the inverse of its information."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2)) * [1.0, 2.0]
    y = X @ [1.0, -0.3] + 0.4 + rng.normal(size=3000) > 0
    model = BayesPointClassifier(100.0 * DotProduct(0.0, "fixed"), bias=10.0, optimizer=None).fit(X, y)
    design, sign = np.column_stack([X, np.ones(3000)]), np.where(y, 1.0, -1.0)

    best = minimize(lambda w: -log_ndtr(sign * (design @ w)).sum(), np.zeros(3)).x
    p = norm.cdf(design @ best)
    information = (design * (norm.pdf(design @ best) ** 2 / (p * (1 - p)))[:, None]).T @ design
    sd = np.sqrt(np.diag(np.linalg.inv(information)))
    found = np.r_[model.coef_[0], model.intercept_]
    np.testing.assert_allclose(found, best, atol=0.2 * sd.min())
    np.testing.assert_allclose(np.r_[model.coef_std_[0], model.intercept_std_], sd, rtol=0.03)
    logit = LogisticRegression(C=1e6, tol=1e-8).fit(X, y)
    ratio = np.r_[logit.coef_[0], logit.intercept_] / found
    assert 1.5 < ratio.min() <= ratio.max() < 1.9  # a logistic is about as wide as a normal of 1.7
    np.testing.assert_allclose(ratio, ratio.mean(), rtol=0.06)


def test_the_largest_margin():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 2))
    y = X @ [1.0, 2.0] > 0
    X[y] += [0.3, 0.6]
    theirs = SVC(kernel="linear", C=1e10, tol=1e-10).fit(X, y)
    ours = BayesianSVC.from_svc(SVC(kernel="linear", C=np.inf)).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3)
    margins = np.where(y, 1, -1) * ours.decision_function(X)
    np.testing.assert_allclose(margins.min(), 1.0, atol=1e-6)
    assert np.isinf(ours.C_)
    assert ours.noise_level_ == 0
    proba = ours.set_params(probability="average").predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    steep = BayesianSVC.from_svc(SVC(kernel="linear", C=1e7), probability="average").fit(X, y)
    np.testing.assert_allclose(proba, steep.predict_proba(X), atol=1e-4)


def test_no_margin_is_told():
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 1, 0]
    model = BayesianSVC(np.inf, kernel="linear")
    with pytest.raises(EmptyVersionSpaceError, match="give a finite C"):
        model.fit(X, y)
    with pytest.raises(InvalidProblemError, match="cannot start at infinity"):
        model.set_params(optimizer="evidence").fit(X, y)
    assert not hasattr(model, "fitted_")


def test_weights_are_shown_not_set(rows):
    model = of("point").fit(*rows)
    with pytest.raises(AttributeError):
        model.coef_ = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (BayesPointClassifier("rbf", optimizer=None), "linear kernel"),
        (BayesPointClassifier(random_state=0), "members_|linear kernel"),
        (BayesianSVC(), "linear kernel"),
        (BayesianSVC(kernel="linear", optimizer="evidence", evidence="naive", average=True), "members_"),
    ],
    ids=["point", "several", "machine", "averaged"],
)
def test_other_kernels_have_none(model, match, rows):
    with pytest.raises(AttributeError, match=match):
        _ = model.fit(*rows).coef_
    with pytest.raises(AttributeError, match=r"fitted"):
        _ = type(model)().coef_


def test_directions_of_wide_rows_have_none():
    X = np.random.default_rng(0).normal(size=(20, 60))
    model = BayesPointClassifier("linear").fit(X, X[:, 0] > 0)
    assert not hasattr(model, "coef_")
    assert "coef_" not in dir(model)


@pytest.mark.parametrize(
    ("other", "match"), [(LogisticRegression(), "got LogisticRegression"), (SVC(kernel="sigmoid"), "sigmoid")]
)
def test_only_a_machine_with_a_kernel_is_taken_over(other, match):
    with pytest.raises(InvalidProblemError, match=match):
        BayesianSVC.from_svc(other)


def test_settings_are_taken_over():
    svc = SVC(C=3.0, kernel="poly", degree=2, gamma=0.5, coef0=1.0, class_weight="balanced", random_state=7)
    ours = BayesianSVC.from_svc(svc, engine="laplace")
    assert (ours.C, ours.kernel, ours.degree, ours.gamma, ours.coef0) == (3.0, "poly", 2, 0.5, 1.0)
    assert (ours.class_weight, ours.random_state, ours.engine, ours.probability) == ("balanced", 7, "laplace", "map")
    assert BayesianSVC.from_svc(SVC(probability=True)).probability == "average"


@pytest.mark.parametrize(
    "svc",
    [
        SVC(C=2.0, tol=1e-10),
        SVC(kernel="poly", coef0=1.0, tol=1e-10),
        SVC(gamma="auto", class_weight="balanced", tol=1e-10),
    ],
    ids=str,
)
def test_decisions_are_those_of_libsvm(svc, rows):
    X, y = rows
    ours = BayesianSVC.from_svc(svc).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), svc.fit(X, y).decision_function(X), atol=2e-3)
