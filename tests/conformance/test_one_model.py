"""Several classes as one model: calibration x weights x what is done with the fit; works or says why not."""

import pickle
from functools import cache
from itertools import product

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bayespoint import BayesPointClassifier
from bayespoint.estimators import updated
from bayespoint.exceptions import InvalidProblemError
from bayespoint.files import load, save

SIZES = [14, 18, 22]
N = sum(SIZES)
Y = np.repeat(["a", "b", "c"], SIZES)
X = 2.0 * np.repeat([[0, 0], [1, 0], [0, 1]], SIZES, axis=0) + 0.3 * np.random.default_rng(4).normal(size=(N, 2))
THIRD = np.arange(N) % 3 == 0
WEIGHTS = {  # of rows, and settings
    "none": (None, {}),
    "copies": (np.where(THIRD, 2.0, 1.0), {}),
    "half, hard walls": (np.where(THIRD, 0.5, 1.0), {"softness": 0.0, "noise": 0.05}),
    "classes": (None, {"class_weight": {"a": 2.0, "b": 1.0, "c": 3.0}}),
}
TOO_SMALL = {  # weights below one at a soft boundary
    "half": (np.where(THIRD, 0.5, 1.0), {}),
    "balanced": (None, {"class_weight": "balanced"}),
}
KERNEL = ConstantKernel(0.5, "fixed") * RBF(1.0, "fixed")  # so modest that left-out labels ask for a power
CALIBRATIONS = (None, "loo")
TABLE = list(product(CALIBRATIONS, WEIGHTS))


def model_of(calibration, settings):
    fixed = {"softness": 1.0, "decision": "joint", "random_state": 0} | settings
    return BayesPointClassifier(KERNEL, calibration=calibration, **fixed)


@cache
def fitted(calibration, weights):
    of_rows, settings = WEIGHTS[weights]
    return model_of(calibration, settings).fit(X, Y, sample_weight=of_rows)


@pytest.mark.parametrize(("calibration", "weights"), TABLE)
def test_a_fit_works_and_files_keep_it(calibration, weights, tmp_path):
    model = fitted(calibration, weights)
    assert (model.calibration_ > 1.1) == (calibration == "loo" and weights != "classes")
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.mean(model.predict(X) == Y) > 0.8
    save(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model")):
        np.testing.assert_allclose(again.predict_proba(X), proba, rtol=1e-10)


def test_a_row_of_weight_two_is_two_rows():
    rows = np.repeat(np.arange(N), np.where(THIRD, 2, 1))
    copied = model_of(None, {}).fit(X[rows], Y[rows])
    np.testing.assert_allclose(fitted(None, "copies").predict_proba(X), copied.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize(("calibration", "weights"), list(product(CALIBRATIONS, TOO_SMALL)))
def test_weights_below_one_need_hard_walls(calibration, weights):
    of_rows, settings = TOO_SMALL[weights]
    with pytest.raises(InvalidProblemError, match=r"^Of several classes a soft boundary takes weights [^\n]*\.$"):
        model_of(calibration, settings).fit(X, Y, sample_weight=of_rows)


@pytest.mark.parametrize(("calibration", "weights"), TABLE)
def test_certificates_of_the_largest_mean_and_no_more_rows(calibration, weights):
    model = fitted(calibration, weights)
    with pytest.raises(InvalidProblemError, match=r"^No certificate: the kernel was tuned [^\n]*\.$"):
        model.certificate(trust_inputs=True)
    certificate = model.certificate(trust_inputs=True, prior_fraction=0.5)
    assert (certificate.kind, certificate.classifier.decision) == ("largest-mean", "largest-mean")
    assert 0 < certificate.gibbs.value < certificate.bound.value
    with pytest.raises(InvalidProblemError, match=r"^[^\n]*\.$"):
        updated(model, X[:1], Y[:1], random_state=0)
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        model.partial_fit(X, Y)
    assert str(caught.value.__cause__).endswith(".")
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)  # as it was
