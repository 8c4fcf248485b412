import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.metrics import log_loss
from sklearn.preprocessing import normalize

from bayespoint import BayesPointClassifier
from bayespoint.engines import Perceptrons
from bayespoint.exceptions import InferenceWarning, InvalidProblemError

KERNEL = DotProduct(1.0, "fixed") ** 3


def classifier(**settings):
    defaults = {"engine": "perceptron", "optimizer": None, "softness": 0.0, "bias": 0.0, "random_state": 0}
    return BayesPointClassifier(KERNEL, **(defaults | settings))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = normalize(X[:, X[:100].std(axis=0) > 0])
    return X[:1000], y[:1000], X[1000:], y[1000:]


@pytest.fixture(scope="module")
def fitted(digits):
    return classifier().fit(*digits[:2])


def test_digits(digits, fitted):
    _, _, X, y = digits
    assert fitted.score(X, y) > 0.94
    outputs = fitted.decision_function(X)
    np.testing.assert_array_equal(fitted.predict(X), outputs.argmax(axis=1))  # BPM section 4.3
    confident = np.argsort(-outputs.max(axis=1))[: int(0.8 * len(y))]
    assert fitted.score(X[confident], y[confident]) > fitted.score(X, y) + 0.01
    assert log_loss(y, fitted.predict_proba(X)) < 0.5
    assert fitted.log_evidence_ is None
    assert not hasattr(fitted, "loo_proba_")
    assert fitted.score(*digits[:2]) == 1.0


def test_outputs_are_those_of_the_expansion(digits, fitted):
    train, _, X, _ = digits
    posterior = fitted.posterior_[3]
    values = KERNEL(X, train) @ posterior.mean_weights
    np.testing.assert_allclose(fitted.latent(X).mean[:, 3], values, rtol=1e-3, atol=1e-3 * np.abs(values).max())


def test_confidence_is_the_printed_one(digits):
    """BPM 4.3: f_i(x) = <x, w_i> / (|w_i| |x|), averaged over the classifiers of a class; rows of any length."""
    train, labels, X, _ = (digits[0] * np.linspace(1, 3, 1000)[:, None], digits[1], digits[2] * 2.0, digits[3])
    model = classifier(engine=Perceptrons(permutations=3)).fit(train, labels)
    gram, cross, own = KERNEL(train), KERNEL(X, train), KERNEL.diag(X)
    for c in (0, 7):
        alphas = model.posterior_[c].alpha[0]
        printed = [cross @ a / np.sqrt(a @ gram @ a) / np.sqrt(own) for a in alphas]
        np.testing.assert_allclose(model.decision_function(X)[:, c], np.mean(printed, axis=0), atol=1e-4)
    two = classifier(engine=Perceptrons(permutations=3)).fit(train, labels > 4)
    assert np.abs(two.decision_function(X)).max() <= 1
    np.testing.assert_array_equal(two.decision_function(X) > 0, two.predict(X))


@pytest.mark.processor
def test_sparse_rows_and_threads_change_nothing(digits, fitted):
    train, labels, X, _ = digits
    thin = classifier(n_jobs=2).fit(sparse.csr_array(train), labels)
    np.testing.assert_allclose(
        thin.decision_function(sparse.csr_array(X)), fitted.decision_function(X), rtol=1e-3, atol=2e-3
    )
    np.testing.assert_allclose(thin.predict_proba(X), thin.predict_proba(sparse.csr_array(X)), atol=1e-4)
    assert thin.sample_latent(sparse.csr_array(X[:3]), 5).shape == (5, 3, 10)


@pytest.mark.processor
def test_more_permutations_later(digits):
    train, labels, X, _ = digits
    once = classifier(engine=Perceptrons(permutations=6)).fit(train, labels)
    twice = classifier(engine=Perceptrons(permutations=4)).fit(train, labels).add_permutations(2)
    np.testing.assert_allclose(twice.decision_function(X), once.decision_function(X), rtol=1e-6)
    assert once.posterior_[0].draws == 6
    again = pickle.loads(pickle.dumps(twice))
    np.testing.assert_array_equal(again.predict(X), twice.predict(X))
    with pytest.raises(InvalidProblemError, match="engine='perceptron'"):
        BayesPointClassifier(None, optimizer=None).fit(train, labels > 4).add_permutations(1)


@pytest.mark.filterwarnings("ignore:.*raise softness")  # a tuned amplitude leaves little softness beside it
def test_two_classes_soft_and_tuned(rng, monkeypatch):
    monkeypatch.setattr("bayespoint.estimators._fit._SAMPLED", 150)
    X = rng.standard_normal((500, 2))
    y = np.where(X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.standard_normal(500) > 1, "yes", "no")
    model = BayesPointClassifier(None, engine=Perceptrons(permutations=5, max_epochs=200), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    assert log_loss(y, proba) < 0.45
    vote = BayesPointClassifier(None, engine=Perceptrons(permutations=5), decision="vote", random_state=0).fit(X, y)
    assert vote.score(X, y) > 0.9


def test_what_perceptrons_cannot_do_is_one_clear_sentence(digits):
    train, labels, _, _ = digits
    with pytest.raises(InvalidProblemError, match="noise=0"):
        classifier(noise=0.1).fit(train, labels)
    with pytest.raises(InvalidProblemError, match="no weights"):
        classifier().fit(train, labels, sample_weight=np.arange(1.0, 1001.0))
    with pytest.warns(InferenceWarning, match="raise softness"):
        classifier(engine=Perceptrons(max_epochs=3, permutations=2), softness=0.0).fit(
            np.r_[train, train], np.r_[labels > 4, labels <= 4]
        )


def test_a_precomputed_kernel(digits, fitted):
    train, labels, X, _ = digits
    model = BayesPointClassifier(
        "precomputed", engine="perceptron", optimizer=None, softness=0.0, bias=0.0, random_state=0
    ).fit(KERNEL(train), labels)
    assert np.mean(model.predict(KERNEL(X, train)) == fitted.predict(X)) > 0.98


def test_any_other_kernel(digits):
    train, labels, X, y = digits
    model = BayesPointClassifier(
        RBF(0.5), engine=Perceptrons(permutations=3), optimizer=None, softness=0.0, random_state=0
    ).fit(train, labels)
    assert model.score(X, y) > 0.93
