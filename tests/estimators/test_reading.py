"""New inputs are read some at a time, in threads, and kernel values are worked out once for all classes."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier
from bayespoint.estimators import _fitted

SEEN = []


def counted(X, Z):
    if len(Z) == 60:  # the training points
        SEEN.append(len(X))
    return np.exp(-0.5 * np.square(X[:, None] - Z[None]).sum(-1))


@pytest.fixture(scope="module")
def model():
    X, y = make_blobs(60, centers=3, random_state=0)
    return BayesPointClassifier(counted, optimizer=None).fit(X, y)


@pytest.mark.parametrize("threads", [1, 2])
def test_in_parts_as_in_one(model, threads, monkeypatch):
    new = make_blobs(900, centers=3, random_state=1)[0]
    whole = model.predict_proba(new)
    monkeypatch.setattr(_fitted, "_VALUES", 1)  # the least number of rows at a time
    SEEN.clear()
    with threadpool_limits(threads, user_api="blas"):
        np.testing.assert_allclose(model.predict_proba(new), whole, rtol=0, atol=1e-12)
    assert sorted(SEEN) == [1, 225, 225, 225, 225]  # each row once for three classes, and one to begin with


def test_a_failure_in_a_part_is_told(model, monkeypatch):
    monkeypatch.setattr(_fitted, "_VALUES", 1)

    def refuse(new):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        model.fitted_.read(np.zeros((900, 2)), refuse)


def test_a_users_function_is_never_called_by_two_threads_at_once(monkeypatch):
    import threading

    from bayespoint._core import threads
    from bayespoint.estimators import _fitted

    monkeypatch.setattr(threads, "blas_threads", lambda: 4)
    monkeypatch.setattr(_fitted, "_VALUES", 1)
    monkeypatch.setattr(_fitted, "_ROWS", 10)
    seen = set()

    def kernel(X, Z):
        seen.add(threading.get_ident())
        return X @ Z.T + 1.0

    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    model = BayesPointClassifier(kernel, optimizer=None).fit(X, X[:, 0] > 0)
    seen.clear()
    model.predict_proba(rng.standard_normal((200, 2)))
    assert seen == {threading.get_ident()}
