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
