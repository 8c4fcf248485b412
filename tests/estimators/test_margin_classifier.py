"""`GaussianMarginClassifier`: what is fitted, what follows from it, and what is refused."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs, make_moons
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayespoint import GaussianMarginClassifier, load, save
from bayespoint.bounds import gaussian_divergence, mcallester_bound, seeger_bound
from bayespoint.engines.margin.hildreth import hildreth as sweep
from bayespoint.exceptions import EmptyVersionSpaceError, InvalidProblemError
from bayespoint.grams import Dense, LowRank
from bayespoint.readouts import largest_probabilities
from bayespoint.uses import BoundSearch, certify


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 4)) + 0.3
    y = np.where(X @ [1.0, -2.0, 0.5, 0.0] + 0.3 + 0.5 * rng.normal(size=80) > 0, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def fitted(rows):
    return GaussianMarginClassifier(eta=0.95, C=0.7).fit(*rows)


def test_weights_explain_the_latents(fitted, rows):
    X = rows[0][:7] + 0.1
    mean, variance = fitted.latent(X)
    np.testing.assert_allclose(mean, X @ fitted.mean_ + fitted.intercept_, rtol=1e-9)
    assert fitted.covariance_.shape == (4, 4)
    no_offset = GaussianMarginClassifier(eta=0.95, C=0.7, bias=0.0).fit(*rows)
    mean, variance = no_offset.latent(X)
    np.testing.assert_allclose(variance, np.einsum("ij,jk,ik->i", X, no_offset.covariance_, X), rtol=1e-8)
    assert no_offset.intercept_ == 0


def test_the_objective_is_what_the_weights_say(rows):
    """KL and slack from mean and covariance alone, against the solver's own figure, and against nearby Gaussians."""
    X, y = rows
    sign = np.where(y == "yes", 1.0, -1.0)
    model = GaussianMarginClassifier(eta=0.95, C=0.7, bias=0.0, variance=2.0).fit(X, y)

    def objective(mean, covariance):
        deviations = np.sqrt(np.einsum("ij,jk,ik->i", X, covariance, X))
        slack = np.maximum(0.0, ndtri(0.95) * deviations - sign * (X @ mean))
        return gaussian_divergence(mean / np.sqrt(2.0), covariance / 2.0) + 0.7 * slack.sum()

    best = objective(model.mean_, model.covariance_)
    assert best == pytest.approx(model.posterior_.info["solution"].primal, rel=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(20):
        bent = np.eye(4) + 0.01 * rng.normal(size=(4, 4))
        assert objective(model.mean_ + 0.01 * rng.normal(size=4), bent @ model.covariance_ @ bent.T) > best - 1e-6


def test_probabilities_are_those_of_the_gaussian(fitted, rows):
    X = rows[0]
    mean, variance = fitted.latent(X)
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], ndtr(mean / np.sqrt(variance)), rtol=1e-10)
    np.testing.assert_allclose(ndtr(fitted.decision_function(X)), fitted.predict_proba(X)[:, 1], rtol=1e-10)
    np.testing.assert_array_equal(fitted.predict(X), np.where(mean > 0, "yes", "no"))


def test_the_chance_constraints_hold_without_slack():
    X, y = make_blobs(60, centers=[[-4, 0], [4, 1]], random_state=0)
    model = GaussianMarginClassifier(eta=0.97, C=np.inf, tolerance=1e-9).fit(X, y)
    right = model.predict_proba(X)[np.arange(60), y]
    assert right.min() == pytest.approx(0.97, abs=1e-6)
    found = model.bounds()
    assert found["exact"].value < found["corollary 4"].value
    assert found["corollary 4"].value == pytest.approx(found["corollary 5"].value, rel=1e-6)


def test_rows_as_a_factor_and_as_a_gram_matrix(rows):
    X, y = rows
    linear = GaussianMarginClassifier(eta=0.9, C=0.3, tolerance=1e-10).fit(X, y)
    as_kernel = GaussianMarginClassifier(lambda A, B: A @ B.T, eta=0.9, C=0.3, tolerance=1e-10).fit(X, y)
    assert isinstance(linear.posterior_.problem.gram, LowRank)
    assert isinstance(as_kernel.posterior_.problem.gram, Dense)
    np.testing.assert_allclose(as_kernel.predict_proba(X + 0.1), linear.predict_proba(X + 0.1), atol=1e-7)
    few = GaussianMarginClassifier(eta=0.9, C=0.3, tolerance=1e-10).fit(X[:4], ["a", "b", "a", "b"])
    assert isinstance(few.posterior_.problem.gram, Dense)  # fewer rows than features: the Gram matrix is smaller
    spread = np.einsum("ij,jk,ik->i", X[:4], few.covariance_, X[:4])
    no_offset = GaussianMarginClassifier(eta=0.9, C=0.3, bias=0.0).fit(X[:4], ["a", "b", "a", "b"])
    assert spread.shape == (4,)
    np.testing.assert_allclose(
        np.einsum("ij,jk,ik->i", X[:4], no_offset.covariance_, X[:4]), no_offset.latent(X[:4]).variance, rtol=1e-6
    )


def test_kernels(rows):
    X, y = make_moons(100, noise=0.1, random_state=0)
    by_name = GaussianMarginClassifier(RBF(0.5), C=10.0).fit(X, y)
    assert by_name.score(X, y) > 0.97
    gram = rbf_kernel(X, gamma=2.0)
    precomputed = GaussianMarginClassifier("precomputed", C=10.0).fit(gram, y)
    np.testing.assert_allclose(precomputed.predict_proba(gram), by_name.predict_proba(X), atol=1e-6)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = by_name.mean_
    assert not hasattr(by_name, "covariance_")
    own = GaussianMarginClassifier(DotProduct(1.5), bias=0.5).fit(*rows)
    np.testing.assert_allclose(own.latent(rows[0]).mean, rows[0] @ own.mean_ + own.intercept_, rtol=1e-9)


def test_eta_of_one_half_is_a_support_vector_machine(rows):
    X, y = rows
    model = GaussianMarginClassifier(eta=0.5, margin=1.0, C=0.5, bias=0.0, tolerance=1e-10).fit(X, y)
    gram = X @ X.T
    rival = SVC(kernel="precomputed", C=0.5, tol=1e-10).fit(gram + 0.0, y)
    assert rival.n_support_.sum() > 0
    from bayespoint import Hinge, Problem
    from bayespoint.engines.svm import support_vectors

    machine = support_vectors(Problem(gram, np.where(y == "yes", 1.0, -1.0), Hinge(0.5)))
    np.testing.assert_allclose(model.latent(X).mean, machine.latents, atol=1e-6)
    np.testing.assert_allclose(model.latent(X).variance, np.square(X).sum(1), rtol=1e-9)  # the prior's


def test_gibbs_errors(rows):
    X, y = rows
    model = GaussianMarginClassifier(eta=0.9, random_state=3).fit(X, y)
    many = np.repeat(X, 500, axis=0)
    drawn = np.mean(model.predict_gibbs(many) != np.repeat(y, 500))
    assert drawn == pytest.approx(model.gibbs_error(X, y), abs=4.5 * np.sqrt(0.25 / len(many)))
    X, y = load_iris(return_X_y=True)
    model = GaussianMarginClassifier(C=5.0, random_state=3).fit(X, y)
    many = np.repeat(X, 300, axis=0)
    drawn = np.mean(model.predict_gibbs(many) != np.repeat(y, 300))
    assert drawn == pytest.approx(model.gibbs_error(X, y), abs=4.5 * np.sqrt(0.25 / len(many)))
    assert model.gibbs_error(X[:2], [7, 7]) == 1.0  # a label that nobody knows


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    model = GaussianMarginClassifier(C=10.0).fit(X, y)
    assert model.mean_.shape == (3, 4)
    assert model.covariance_.shape == (3, 4, 4)
    assert model.intercept_.shape == (3,)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_allclose(
        GaussianMarginClassifier(C=10.0, n_jobs=2).fit(X, y).predict_proba(X), model.predict_proba(X)
    )
    assert 0 < model.certificate().gibbs.value < 1


def without_power(model, X):
    """Class probabilities as they were before left-out labels raised them."""
    p = model.predict_proba(X) ** (1 / model.calibration_)
    return p / p.sum(axis=1, keepdims=True)


def test_the_class_whose_latent_is_the_largest(tmp_path):
    """Probabilities are shares of draws that take the class; certificates speak of each class against the rest."""
    X, y = load_iris(return_X_y=True)
    model = GaussianMarginClassifier(random_state=0).fit(X, y)
    drawn = model.predict_gibbs(np.repeat(X[100:101], 20000, axis=0))
    p = without_power(model, X[100:101])[0]
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 20000, p, atol=4 * np.sqrt(0.25 / 20000))
    certified = model.certificate().classifier
    z = certified.decision_function(X)
    p = without_power(certified, X)
    np.testing.assert_allclose(p, ndtr(z) / ndtr(z).sum(axis=1, keepdims=True), rtol=1e-7)
    np.testing.assert_array_equal(certified.predict(X), z.argmax(axis=1))
    assert np.any(certified.predict(X) != model.predict(X))
    save(certified, tmp_path / "certified.model")  # a file keeps what the certificate speaks of
    np.testing.assert_array_equal(load(tmp_path / "certified.model").predict_proba(X), certified.predict_proba(X))
    assert model.score(X, y) > certified.score(X, y)


def test_left_out_labels_say_how_bold_probabilities_are():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)  # half of the rows is not looked at; scales are no labels
    model = GaussianMarginClassifier("rbf", variance=100.0).fit(X[::2], y[::2])
    assert model.calibration_ > 1.1
    plain = largest_probabilities(*model.latent(X))
    np.testing.assert_allclose(without_power(model, X), plain, rtol=1e-7)
    np.testing.assert_array_equal(model.predict(X), plain.argmax(axis=1))
    assert log_loss(y[1::2], model.predict_proba(X[1::2])) < log_loss(y[1::2], plain[1::2]) - 0.02
    alone = without_power(clone(model).fit(X[2::2], y[2::2]), X[:1])
    without = model.loo_proba_[:1] ** (1 / model.calibration_)
    np.testing.assert_allclose(without / without.sum(), alone, atol=0.02)
    weighted = clone(model).set_params(class_weight="balanced").fit(X[::2], y[::2])
    assert weighted.calibration_ == 1.0


def test_weights_multiply_the_price(rows):
    X, y = rows
    weight = np.where(np.arange(80) < 40, 2.0, 0.5)
    one = GaussianMarginClassifier(C=0.3).fit(X, y, sample_weight=weight)
    other = GaussianMarginClassifier(C=0.6).fit(X, y, sample_weight=weight / 2)
    np.testing.assert_allclose(one.mean_, other.mean_, rtol=1e-5, atol=1e-6)
    assert np.all(one.posterior_.info["solution"].alpha <= 0.3 * weight + 1e-9)


def test_the_length_of_a_row_makes_the_price_free_of_scale(rows):
    X, y = rows
    for slack, same in (("norm", True), ("unit", False)):
        small, large = (
            GaussianMarginClassifier(slack=slack, bias=0.0, tolerance=1e-9).fit(scale * X, y) for scale in (1.0, 100.0)
        )
        close = np.allclose(small.predict_proba(X), large.predict_proba(100 * X), atol=1e-5)
        assert close == same


def test_deviations_as_units_of_slack_lower_the_bound(rows):
    X, y = rows
    plain = GaussianMarginClassifier(eta=0.99, C=1.0).fit(X, y)
    local = GaussianMarginClassifier(eta=0.99, C=1.0, slack="deviation").fit(X, y)
    assert local.is_local_optimum_
    assert not plain.is_local_optimum_

    def objective(model):
        z = model.posterior_.problem.y * model.posterior_.mean / np.sqrt(model.posterior_.variance)
        kl = gaussian_divergence_of(model)
        return kl + np.maximum(0.0, ndtri(0.99) - z).sum()

    assert objective(local) < objective(plain)


def gaussian_divergence_of(model):
    from bayespoint.bounds import divergence

    return divergence(model.posterior_)


@pytest.mark.processor
def test_sweeps_find_the_same(rows):
    newton = GaussianMarginClassifier(C=0.3).fit(*rows)
    sweeps = GaussianMarginClassifier(C=0.3, solver="hildreth", tolerance=1e-5).fit(*rows)
    np.testing.assert_allclose(sweeps.predict_proba(rows[0]), newton.predict_proba(rows[0]), atol=1e-2)
    assert sweeps.gap_ < 1e-5


def test_sweeps_over_a_grid_are_made_once(rows, monkeypatch):
    made = []
    monkeypatch.setattr(
        "bayespoint.engines.margin.hildreth.hildreth",
        lambda *args, **options: made.append(args[2]) or sweep(*args, **options),
    )
    sweeps = GaussianMarginClassifier(tune="bound", solver="hildreth", tolerance=1e-3).fit(*rows)
    newton = GaussianMarginClassifier(tune="bound", tolerance=1e-3).fit(*rows)
    assert (sweeps.eta_, sweeps.C_) == (newton.eta_, newton.C_)
    assert len(made) == 1
    assert sweeps.posterior_.engine.solver == "hildreth"


def test_divergence_and_bounds_from_the_weights(rows):
    X, y = rows
    model = GaussianMarginClassifier(eta=0.95, C=0.7, bias=0.0, variance=3.0).fit(X, y)
    kl = gaussian_divergence(model.mean_ / np.sqrt(3), model.covariance_ / 3)
    certificate = model.certificate()
    assert certificate.gibbs.value == pytest.approx(seeger_bound(model.gibbs_error(X, y), kl, 80, 0.05).value, rel=1e-6)
    z = model.posterior_.problem.y * model.decision_function(X)
    loss = np.maximum(ndtr(-z), 1 - 0.95).mean()
    assert model.bounds()["corollary 5"].value == pytest.approx(mcallester_bound(loss, kl, 80, 0.05).value, rel=1e-6)
    assert "corollary 4" not in model.bounds()


def test_tuning_by_the_bound(rows):
    X, y = rows
    grid = {"eta": [0.7, 0.95, 0.99], "C": [0.01, 0.1, 1.0]}
    model = GaussianMarginClassifier(tune=grid).fit(X, y)
    every = [
        GaussianMarginClassifier(eta=eta, C=C).fit(X, y).certificate().gibbs.value
        for eta in grid["eta"]
        for C in grid["C"]
    ]
    assert model.certificate().gibbs.value == pytest.approx(min(every), rel=1e-6)
    assert model.eta_ in grid["eta"]
    assert model.C_ in grid["C"]
    only = GaussianMarginClassifier(eta=0.8, tune={"C": [0.1]}).fit(X, y)
    assert (only.eta_, only.C_) == (0.8, 0.1)


def test_machines_that_the_bound_chooses_are_certified_on_a_part(rows):
    """Once vacuous: the posterior was chosen beside N(0, K), and then held against a prior of other settings."""
    X, y = rows
    grid = {"eta": [0.8, 0.9, 0.999], "C": [0.1, 1.0, 100.0]}
    tuned, plain = (
        certify(GaussianMarginClassifier(tune=tune), X, y, method="pac-bayes", prior_fraction=0.5, random_state=0)
        for tune in (grid, None)
    )
    assert tuned.gibbs.terms["divergence"] < 2 * plain.gibbs.terms["divergence"]
    assert tuned.bound.value < 1.1 * plain.bound.value
    own = GaussianMarginClassifier(tune=grid, random_state=0).fit(X, y).certificate(prior_fraction=0.5)
    assert own.bound.value == pytest.approx(tuned.bound.value, rel=1e-6)
    assert own.classifier.tune == grid


@pytest.mark.processor
def test_a_grid_warns_of_the_chosen_machine_alone():
    """Once wrong: a warning for each machine that rounding had kept from the last digit."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150], y[:150]
    grid = {"eta": [0.95, 0.98, 0.99, 0.999], "C": [3.0, 10.0, 30.0, 100.0]}
    with warnings.catch_warnings(record=True) as every:
        warnings.simplefilter("always")
        for eta in grid["eta"]:
            GaussianMarginClassifier(eta=eta, C=100.0).fit(X, y)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = GaussianMarginClassifier(tune=grid).fit(X, y)
    assert len(every) > 1
    assert len(told) == (model.gap_ > 1e-9)


def test_certificates_refuse_what_voids_them(rows):
    X, y = rows
    scaled = StandardScaler().fit_transform(X)
    with pytest.raises(InvalidProblemError, match="preprocessing was learned from these very rows"):
        GaussianMarginClassifier().fit(scaled, y).certificate()
    with pytest.raises(InvalidProblemError, match="spread of the features"):
        GaussianMarginClassifier("rbf").fit(X, y).certificate()
    part = GaussianMarginClassifier(C=0.1, random_state=0).fit(X, y).certificate(prior_fraction=0.5)
    assert part.n == 40
    whole = certify(
        make_pipeline(StandardScaler(), GaussianMarginClassifier(C=0.1)), X, y, method="pac-bayes", random_state=0
    )
    assert whole.classifier.predict(X).shape == (80,)


def test_variances_on_a_grid_are_paid_for(rows):
    X, y = rows
    search = BoundSearch(GaussianMarginClassifier(slack="norm"), {"variance": [0.1, 1.0, 10.0]}).fit(X, y)
    assert search.certificate_.gibbs.terms["grid"] == pytest.approx(np.log(3) / 80)


def test_feature_confidences(rows):
    table = GaussianMarginClassifier(eta=0.95).fit(*rows).feature_confidences(["a", "b", "c", "d"])
    assert table[0].name == "b"
    z = [abs(row.z) for row in table]
    assert z == sorted(z, reverse=True)
    with pytest.raises(InvalidProblemError, match="4 names"):
        GaussianMarginClassifier().fit(*rows).feature_confidences(["a"])


def test_models_can_be_kept_and_cloned(fitted, rows):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(rows[0]), fitted.predict_proba(rows[0]))
    assert clone(fitted).eta == 0.95
    np.testing.assert_array_equal(again.loo_proba_, fitted.loo_proba_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eta": 1.0}, "eta must be at least 0.5 and below 1"),
        ({"eta": "high"}, "eta must be a number"),
        ({"C": 0.0}, "C must be above 0"),
        ({"margin": -1.0}, "margin must be"),
        ({"variance": 0.0}, "variance must be"),
        ({"slack": "none"}, "slack must be"),
        ({"solver": "magic"}, "solver must be"),
        ({"slack": "deviation", "C": np.inf}, "needs solver='newton' and a finite C"),
        ({"tune": "loss"}, "tune must be"),
        ({"tune": {"gamma": [1.0]}}, "values for 'eta' and 'C'"),
        ({"tune": {"C": []}}, "values for 'eta' and 'C'"),
    ],
)
def test_settings_without_sense(settings, message, rows):
    with pytest.raises(InvalidProblemError, match=message):
        GaussianMarginClassifier(**settings).fit(*rows)


def test_labels_that_cannot_be_separated(rows):
    X, y = rows
    y = y.copy()
    y[::7] = np.where(y[::7] == "yes", "no", "yes")
    with pytest.raises(EmptyVersionSpaceError, match=r"use a finite C\.$"):
        GaussianMarginClassifier(C=np.inf).fit(X, y)
