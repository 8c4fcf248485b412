"""Files hold what predictions and updates need; a Gram matrix is made again when somebody asks for it."""

import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bayespoint import BayesianSVC, BayesPointClassifier
from bayespoint._core.files import packed_triangle, unpacked_triangle
from bayespoint.estimators.updating import updated

KERNEL = ConstantKernel(4.0) * RBF(1.0)


def by_joblib(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    return joblib.load(io.BytesIO(buffer.getvalue()))


def by_pickle(model):
    return pickle.loads(pickle.dumps(model))


MODELS = {
    "exact": BayesPointClassifier(KERNEL, optimizer=None, max_rank=None),
    "landmarks": BayesPointClassifier(KERNEL, optimizer=None, max_rank=20),
    "linear": BayesPointClassifier("linear", optimizer=None, max_rank=5),
    "draws": BayesPointClassifier(KERNEL, optimizer=None, engine="sample", random_state=0),
    "svc": BayesianSVC(optimizer=None),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    X, y = make_moons(200, noise=0.3, random_state=0)
    return MODELS[request.param].fit(X, y), X, y


@pytest.mark.parametrize("through_a_file", [by_pickle, by_joblib])
def test_predictions_are_the_same(fitted, through_a_file):
    model, X, _ = fitted
    again = through_a_file(model)
    np.testing.assert_allclose(again.predict_proba(X + 0.1), model.predict_proba(X + 0.1), rtol=0, atol=1e-12)
    assert again.posterior_ is again.fitted_.posteriors[0]


def test_the_gram_matrix_is_made_when_asked_for(fitted):
    model, X, _ = fitted
    again = by_pickle(model)
    again.predict_proba(X)  # not so many that a short root pays
    name = type(model.posterior_.problem.gram)._values
    assert name not in vars(again.posterior_.problem.gram)  # predictions do without
    for values in ("dense", "diag"):
        ours, before = (getattr(one.posterior_.problem.gram, values) for one in (again, model))
        np.testing.assert_allclose(ours, before, rtol=0, atol=1e-12)
    assert name in vars(again.posterior_.problem.gram)


def test_all_else_goes_on(fitted):
    model, X, y = fitted
    again = by_pickle(by_pickle(model))  # nothing was asked in between
    one, other = (m.posterior_ for m in (model, again))
    if hasattr(one, "covariance"):
        np.testing.assert_allclose(other.covariance, one.covariance, rtol=0, atol=1e-9)
    if model.posterior_.engine.can_grow:
        new = np.array([[0.2, 0.3]])
        ours, before = (updated(m, new, y[:1], random_state=0).predict_proba(X[:9]) for m in (again, model))
        np.testing.assert_allclose(ours, before, rtol=0, atol=1e-7)


def test_how_much_a_file_holds():
    X, y = make_moons(400, noise=0.3, random_state=0)
    for rank, triangle in ((20, 20 * 21 / 2), (None, 400 * 401 / 2)):
        model = BayesPointClassifier(KERNEL, optimizer=None, max_rank=rank).fit(X, y)
        model.posterior_.covariance  # noqa: B018  (worked out, and kept)
        model.predict_proba(np.tile(X, (3, 1)))
        assert len(pickle.dumps(model)) < 8 * (triangle + 25 * len(X)) + 10_000


def test_classes_share_the_points():
    X, y = make_blobs(300, centers=3, random_state=0)
    sizes = [len(pickle.dumps(MODELS["landmarks"].fit(X, np.minimum(y, most)))) for most in (1, 2)]
    assert sizes[1] < 3 * sizes[0]


def test_a_stream_keeps_its_rows():
    X, y = make_moons(200, noise=0.3, random_state=0)
    model = BayesPointClassifier(KERNEL, optimizer=None)
    for part in (slice(0, 150), slice(150, 200)):
        model.partial_fit(X[part], y[part], classes=[0, 1])
    again = by_pickle(model)
    assert "factor" in vars(again.posterior_.problem.gram)
    np.testing.assert_array_equal(again.posterior_.covariance, model.posterior_.covariance)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_a_triangle_there_and_back(n):
    lower = np.asfortranarray(np.tril(np.arange(1.0, n * n + 1).reshape(n, n)))
    np.testing.assert_array_equal(unpacked_triangle(packed_triangle(lower)), lower)
