"""The table kind of fit x setting: every way to a classifier checks the same settings, and works or says why not."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from bayespoint.engines import Billiard
from bayespoint.estimators import updated
from bayespoint.estimators._certificates import random_part
from bayespoint.exceptions import InvalidProblemError

da = pytest.importorskip("dask.array")

_rng = np.random.default_rng(2)
X = _rng.normal(size=(25, 2))
Y = np.where(X[:, 0] + 0.3 * _rng.normal(size=25) > 0, "yes", "no")
SENTENCE = r"^[A-Za-z][^\n]*\.$"


def inputs(model, rows=slice(None)):
    """Rows as the kernel takes them."""
    return (X @ X.T)[rows, rows] if isinstance(model.kernel, str) and model.kernel == "precomputed" else X[rows]


def by_batches(model):
    for rows in (slice(0, 12), slice(12, 25)):
        model.partial_fit(inputs(model)[rows], Y[rows], classes=["no", "yes"])
    return model


def by_blocks(model):
    return model.fit(da.from_array(inputs(model), chunks=(10, -1)), da.from_array(Y, chunks=10))


def on_a_part(model):
    return model.certificate(prior_fraction=0.5, trust_inputs=True).classifier


def by_a_row(model):
    return updated(model, X[-1:], Y[-1:], random_state=0)


def as_it_is(model):
    return model


def fitted(model):
    return model.fit(inputs(model), Y)


def but_for_a_row(model):
    return model.fit(inputs(model, slice(24)), Y[:24])


KINDS = {  # what comes before, and the fit itself
    "fit": (as_it_is, fitted),
    "partial_fit": (as_it_is, by_batches),
    "dask": (as_it_is, by_blocks),
    "certificate": (fitted, on_a_part),
    "updated": (but_for_a_row, by_a_row),
}


def downhill(obj_func, initial_theta, bounds):
    found = minimize(obj_func, initial_theta, jac=True, bounds=bounds)
    return found.x, found.fun


POINT = BayesPointClassifier(4.0 * RBF(1.0), optimizer=None, random_state=0)
MACHINE = BayesianSVC(random_state=0)
MARGIN = GaussianMarginClassifier(random_state=0)

GOOD = {
    "default": {},
    "vote": {"decision": "vote"},
    "tuned": {"kernel": "rbf", "optimizer": "evidence"},
    "own climb": {"kernel": "rbf", "optimizer": downhill},
    "noise": {"noise": "evidence", "optimizer": "evidence"},
    "no bias": {"bias": 0.0},
    "landmarks": {"max_rank": 6},
    "linear": {"kernel": "linear"},
    "function": {"kernel": lambda A, B: 1.0 + A @ B.T},
    "precomputed": {"kernel": "precomputed"},
    "sampled": {"engine": Billiard(draws=400, chains=2)},
    "sampled landmarks": {"engine": Billiard(draws=400, chains=2), "max_rank": 6},
    "class weights": {"class_weight": {"no": 2.0, "yes": 0.7}},
    "balanced": {"class_weight": "balanced"},
    "own spreads": {"kernel": None, "optimizer": "evidence"},
    "no hyper-prior": {"kernel": None, "optimizer": "evidence", "hyper_prior": None},
    "several kernels": {"kernel": "auto", "optimizer": "evidence"},
    "several noises": {"kernel": "auto", "optimizer": "evidence", "noise": "evidence"},
    "several sampled": {"kernel": "auto", "optimizer": "evidence", "engine": Billiard(draws=400, chains=2)},
    "several weighted": {"kernel": "auto", "optimizer": "evidence", "class_weight": "balanced"},
}
REFUSED = {
    "partial_fit": {
        *("precomputed", "sampled", "sampled landmarks", "several sampled"),
        *("balanced", "several weighted"),
    },
    "dask": {"precomputed", "sampled", "sampled landmarks", "several sampled"},
    "certificate": {"sampled", "sampled landmarks", "several sampled"},
    "updated": {"precomputed", "class weights", "balanced", "several weighted"},
}
MACHINES = {
    "default": (MACHINE, {}),
    "mean": (MACHINE, {"probability": "mean"}),
    "hard": (MACHINE, {"C": np.inf, "gamma": 5.0}),
    "tuned": (MACHINE, {"optimizer": "evidence"}),
    "landmarks": (MACHINE, {"max_rank": 6}),
    "several": (MACHINE, {"optimizer": "evidence", "evidence": "naive", "average": True}),
    "laplace": (MACHINE, {"engine": "laplace"}),
    "balanced": (MACHINE, {"class_weight": "balanced"}),
    "margin": (MARGIN, {}),
    "margin landmarks": (MARGIN, {"kernel": "rbf", "max_rank": 6}),
}
MACHINES_REFUSED = {
    "dask": set(MACHINES),
    "updated": {"laplace", "balanced", *(name for name in MACHINES if name.startswith("margin"))},
}


def check(model, kind, settings, refused):
    before, fit = KINDS[kind]
    model = before(clone(model).set_params(**settings))
    if refused:
        with pytest.raises((InvalidProblemError, AttributeError)) as caught:
            fit(model)
        sentence = caught.value.__cause__ or caught.value  # scikit-learn puts its own in front of an attribute's
        assert str(sentence).endswith(".")
        assert "\n" not in str(sentence)
        return
    found = fit(model)
    proba = found.predict_proba(inputs(model))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.mean(found.predict(inputs(model)) == Y) > 0.55
    assert found.posterior_.mean_weights.ndim == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GOOD)
def test_every_kind_of_fit_works_or_says_why_not(kind, name):
    check(POINT, kind, GOOD[name], name in REFUSED.get(kind, ()))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "partial_fit"])
@pytest.mark.parametrize("name", MACHINES)
def test_machines_too(kind, name):
    model, settings = MACHINES[name]
    check(model, kind, settings, name in MACHINES_REFUSED.get(kind, ()))


BAD = [
    (POINT, {"decision": "nonsense"}),
    (POINT, {"optimizer": "nonsense"}),
    (POINT, {"max_rank": 0}),
    (POINT, {"bias": -1.0}),
    (POINT, {"noise": 0.7}),
    (POINT, {"noise": "evidence"}),  # and nothing that chooses
    (POINT, {"softness": "nonsense"}),
    (POINT, {"engine": "nonsense"}),
    (MACHINE, {"probability": "nonsense"}),
    (MACHINE, {"evidence": "nonsense"}),
    (MACHINE, {"C": -1.0}),
    (MACHINE, {"engine": "nonsense"}),
    (MACHINE, {"average": True}),
    (MARGIN, {"tune": "nonsense"}),
    (MARGIN, {"bias": -1.0}),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("model", "settings"), BAD, ids=lambda part: str(part) if isinstance(part, dict) else None)
def test_every_kind_of_fit_checks_the_same_settings(kind, model, settings):
    if kind == "partial_fit" and not isinstance(model, BayesPointClassifier):
        return
    before, fit = KINDS[kind]
    model = before(clone(model)).set_params(**settings)
    expected = AttributeError if kind == "partial_fit" and "engine" in settings else InvalidProblemError
    with pytest.raises(expected) as caught:
        fit(model)
    assert str(caught.value.__cause__ or caught.value).endswith(".")
    assert set(vars(clone(model))) <= set(vars(model))  # as it was


@pytest.mark.parametrize(
    "model",
    [
        BayesPointClassifier("rbf", noise="evidence", random_state=0),
        BayesianSVC(kernel="rbf", optimizer="evidence", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_certificate_tunes_as_a_fit_on_its_part_would(model):
    rng = np.random.default_rng(17)  # on whose part the second hill of the noise is the higher one
    points = rng.normal(size=(40, 1))
    labels = (points[:, 0] > 0) ^ (rng.random(40) < 0.25)
    fit = model.fit(points, labels)
    found = fit.certificate(prior_fraction=0.5, trust_inputs=True).classifier
    rows = random_part(40, 0.5, 0)
    alone = clone(model).fit(points[rows], labels[rows])
    np.testing.assert_allclose(found.kernel_.theta, alone.kernel_.theta, rtol=1e-6, atol=1e-9)
    assert found.likelihood_ == alone.likelihood_
    assert found.bias_ == pytest.approx(alone.bias_)


def test_draws_with_weights_and_landmarks_go_by_slices():
    for model in (POINT, MACHINE):
        sampled = clone(model).set_params(engine="sample", max_rank=4, class_weight={"no": 2, "yes": 1})
        settings = sampled.fit(X[:10], Y[:10]).posterior_.info["settings"]
        assert type(settings).__name__ == "EllipticalSlice"
        settings = sampled.set_params(class_weight=None).fit(X[:10], Y[:10]).posterior_.info["settings"]
        assert type(settings).__name__ == "Billiard"
