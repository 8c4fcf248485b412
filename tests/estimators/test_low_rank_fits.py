import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from bayespoint.exceptions import InferenceWarning, InvalidProblemError


def waves(rng, n, d=2):
    X = rng.uniform(-2, 2, size=(n, d))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.standard_normal(n) > 0, "up", "down")


ESTIMATORS = [
    BayesPointClassifier(RBF(0.8), optimizer=None),
    BayesPointClassifier(RBF(0.8), optimizer=None, noise=0.05),
    BayesianSVC(C=2.0, gamma=0.8),
    BayesianSVC(C=2.0, gamma=0.8, probability="map"),
    BayesianSVC(C=2.0, gamma=0.8, probability="mean", engine="laplace"),
    GaussianMarginClassifier("rbf"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_landmarks_predict_as_all_rows_do(estimator, rng):
    X, y = waves(rng, 300)
    new, labels = waves(rng, 500)
    exact = estimator.set_params(max_rank=None).fit(X, y)
    expected = exact.predict_proba(new)
    assert exact.approximation_ is None
    low = estimator.set_params(max_rank=120).fit(X, y)
    assert low.approximation_.rank <= 120
    assert low.approximation_.left_out < 2e-3
    np.testing.assert_allclose(low.predict_proba(new), expected, atol=0.05)
    assert log_loss(labels, low.predict_proba(new)) == pytest.approx(log_loss(labels, expected), abs=0.01)
    np.testing.assert_array_equal(low.predict(new), low.classes_[low.predict_proba(new).argmax(axis=1)])


@pytest.mark.parametrize("engine", ["billiard", "elliptical-slice"])
def test_draws_on_landmarks(engine, rng):
    X, y = waves(rng, 150)
    new, _ = waves(rng, 50)
    fits = [
        BayesPointClassifier(RBF(0.8), optimizer=None, engine=engine, max_rank=r, random_state=0).fit(X, y)
        for r in (None, 60)
    ]
    assert fits[1].approximation_.rank <= 60
    np.testing.assert_allclose(fits[0].predict_proba(new), fits[1].predict_proba(new), atol=0.08)


def test_low_rank_is_switched_on_where_it_pays_and_says_so(rng):
    X, y = waves(rng, 1600)
    few = BayesPointClassifier(RBF(0.8), optimizer=None).fit(X[:500], y[:500])
    assert few.approximation_ is None
    many = BayesPointClassifier(RBF(0.8), optimizer=None).fit(X, y)
    assert many.approximation_.rows == 1600
    assert many.approximation_.left_out < 1e-3
    assert "is left out" in str(many.approximation_)
    with_all = BayesPointClassifier(RBF(0.8), optimizer=None, max_rank=None).fit(X, y)
    new, labels = waves(rng, 2000)
    assert log_loss(labels, many.predict_proba(new)) == pytest.approx(
        log_loss(labels, with_all.predict_proba(new)), abs=0.003
    )


def test_too_many_rows_for_too_few_landmarks_are_warned_about(rng, monkeypatch):
    from bayespoint.grams.views import choice

    monkeypatch.setattr(choice, "_MANY_ROWS", 100)
    monkeypatch.setattr(choice, "_MOST_LANDMARKS", 20)
    X, y = waves(rng, 300)
    with pytest.warns(InferenceWarning, match=r"rank 20 for 300 rows.*raise max_rank"):
        BayesPointClassifier(RBF(0.02), optimizer=None).fit(X, y)


def test_tuning_on_landmarks_ends_near_the_exact_tuning(rng):
    X, y = waves(rng, 500)
    new, labels = waves(rng, 2000)
    exact, low = (BayesPointClassifier(None, max_rank=r).fit(X, y) for r in (None, 150))
    assert low.approximation_.rank <= 150
    assert low.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1.0)
    losses = [log_loss(labels, model.predict_proba(new)) for model in (exact, low)]
    assert losses[1] == pytest.approx(losses[0], abs=0.005)


def test_a_tuned_machine_climbs_on_a_sample(rng, monkeypatch):
    from bayespoint.estimators import _fit

    monkeypatch.setattr(_fit, "_SAMPLED", 80)
    X, y = waves(rng, 200)
    model = BayesianSVC(optimizer="evidence", max_rank=60, random_state=0).fit(X, y)
    assert model.approximation_.rows == 200
    assert len(model.loo_proba_) == 200
    assert model.score(X, y) > 0.8


def test_linear_kernels_go_by_their_features(rng):
    X = rng.standard_normal((1200, 4))
    y = X @ [1.0, 1.0, 0.0, -1.0] + 0.5 * rng.standard_normal(1200) > 0
    exact, fast = (BayesPointClassifier("linear", max_rank=r).fit(X, y) for r in (None, "auto"))
    assert fast.posterior_.problem.gram.factor.shape == (1200, 5)
    assert fast.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-3)
    np.testing.assert_allclose(fast.predict_proba(X), exact.predict_proba(X), atol=1e-3)
    np.testing.assert_allclose(fast.loo_proba_, exact.loo_proba_, atol=1e-3)


def test_several_classes_weights_and_sparse_rows(rng):
    X = rng.uniform(-2, 2, size=(400, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    weights = rng.integers(1, 4, size=400)
    dense, thin = (
        BayesPointClassifier(RBF(1.0), optimizer=None, max_rank=80).fit(rows, y, sample_weight=weights)
        for rows in (X, sparse.csr_array(X))
    )
    assert dense.score(X, y) > 0.9
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-8)


def test_landmarks_void_a_certificate_unless_they_are_chosen_on_other_rows(rng):
    X, y = waves(rng, 600)
    model = BayesPointClassifier(RBF(0.8), optimizer=None, max_rank=80, random_state=0).fit(X, y)
    with pytest.raises(InvalidProblemError, match="landmarks"):
        model.certificate()
    certificate = model.certificate(prior_fraction=0.5)
    exact = BayesPointClassifier(RBF(0.8), optimizer=None, max_rank=None, random_state=0).fit(X, y)
    assert certificate.gibbs.value == pytest.approx(exact.certificate(prior_fraction=0.5).gibbs.value, abs=0.02)


@pytest.mark.parametrize("value", [0, -3, 2.5, "all", True])
def test_a_wrong_rank_is_one_clear_sentence(value, rng):
    X, y = waves(rng, 30)
    with pytest.raises(InvalidProblemError, match="max_rank must be 'auto', None or a whole number"):
        BayesPointClassifier(None, max_rank=value).fit(X, y)


def test_predictions_come_in_blocks(rng, monkeypatch):
    from bayespoint.estimators import _fitted

    X, y = waves(rng, 60)
    new, _ = waves(rng, 2500)
    model = BayesPointClassifier(None, optimizer=None).fit(X, y)
    whole = model.predict_proba(new), model.latent(new).variance
    monkeypatch.setattr(_fitted, "_VALUES", 1)
    np.testing.assert_allclose(model.predict_proba(new), whole[0], atol=1e-12)
    np.testing.assert_allclose(model.latent(new).variance, whole[1], atol=1e-12)
