"""Rows with more columns than there are rows: linear machines that generalise, on sparse rows as on dense ones."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import log_loss

from bayespoint import BayesPointClassifier
from bayespoint.kernels import directions

pytestmark = pytest.mark.filterwarnings("ignore:Constant features")  # words that no training row has


@pytest.fixture
def texts(rng):
    """Counts of words, of which some are more frequent in one of two classes; three classes where asked for."""
    frequency = rng.permutation(1 / np.arange(3, 403))
    tilt = np.exp(0.7 * rng.standard_normal((3, 400)))

    def draw(n, classes=2):
        y = rng.integers(0, classes, n)
        X = rng.poisson(8 * frequency[None] * tilt[y]) + 0.0
        return sparse.csr_array(X / np.sqrt(1 + np.square(X).sum(axis=1, keepdims=True))), y

    return draw


@pytest.fixture
def leading(monkeypatch):
    """So few rows are held that the range finder has its turn."""
    monkeypatch.setattr(directions, "_HELD", 100)
    monkeypatch.setattr(directions, "_RANK", 40)


def as_arrays(*parts):
    return [part.toarray() if sparse.issparse(part) else part for part in parts]


@pytest.mark.usefixtures("leading")
@pytest.mark.parametrize("n", [80, 150])
@pytest.mark.parametrize("classes", [2, 3])
def test_sparse_rows_are_as_good_as_dense_ones(n, classes, texts):
    (X, y), (new, _) = texts(n, classes), texts(30, classes)
    thin = BayesPointClassifier("linear").fit(X, y)
    dense = BayesPointClassifier("linear").fit(*as_arrays(X, y))
    expected = dense.predict_proba(new.toarray())
    np.testing.assert_allclose(thin.predict_proba(new), expected, atol=1e-3)
    np.testing.assert_allclose(thin.predict_proba(new.toarray()), thin.predict_proba(new), atol=1e-10)
    np.testing.assert_allclose(thin.predict_proba(new[:1]), thin.predict_proba(new)[:1], atol=1e-10)
    again = pickle.loads(pickle.dumps(thin))
    np.testing.assert_allclose(again.predict_proba(new), thin.predict_proba(new), atol=1e-10)


def test_weights_are_copies(texts):
    X, y = texts(40)
    twice = np.where(np.arange(40) < 15, 2.0, 1.0)
    weighted = BayesPointClassifier("linear").fit(X, y, sample_weight=twice)
    copied = BayesPointClassifier("linear").fit(sparse.vstack([X, X[:15]]), np.r_[y, y[:15]])
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-3)


def test_a_prior_by_directions_predicts_better_than_one_that_treats_them_alike(texts):
    """On the rows that the evidence has not seen; the plain kernel is what no hyper-prior leaves of it."""
    (X, y), (new, truth) = texts(100), texts(1000)
    ours = BayesPointClassifier("linear", calibration=None).fit(X, y)
    plain = BayesPointClassifier("linear", hyper_prior=None, calibration=None).fit(X, y)
    losses = [-np.log(model.predict_proba(new)[np.arange(1000), truth]) for model in (ours, plain)]
    gain = losses[1] - losses[0]
    assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))
    assert ours.log_evidence_ > plain.log_evidence_ + 5


@pytest.mark.usefixtures("leading")
def test_what_is_left_out_is_said(texts):
    X, y = texts(150)
    model = BayesPointClassifier("linear").fit(X, y)
    assert model.approximation_.rank == 41
    coordinates = model.kernel_.features(X)
    scales = model.kernel_.kernel.k2.scales() * model.kernel_.kernel.k1.constant_value
    left = scales[-1] * np.square(coordinates[:, -1])
    prior = np.square(coordinates) @ scales + model.bias_**2
    np.testing.assert_allclose(model.approximation_.left_out, left.sum() / prior.sum(), rtol=1e-6)
    assert 0 < model.approximation_.left_out < 0.5


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_array.toarray], ids=["sparse", "dense"])
def test_the_default_takes_wide_rows(form, texts):
    (X, y), (new, truth) = texts(60), texts(300)
    model = BayesPointClassifier().fit(form(X), y)
    assert "linear" in model.weights_
    assert log_loss(truth, model.predict_proba(form(new))) < 0.6
    assert model.score(form(new), truth) > 0.75


def test_rows_that_come_later(texts):
    (X, y), (more, labels) = texts(60), texts(30)
    model = BayesPointClassifier("linear").fit(X, y)
    before = log_loss(labels, model.predict_proba(more))
    model.partial_fit(more, labels)
    assert model.n_seen_ == 90
    assert log_loss(labels, model.predict_proba(more)) < before
