"""Sparse rows with more columns than rows: what was learned on them goes on as on dense ones."""

import numpy as np
import pytest
from scipy import sparse

from bayespoint import BayesPointClassifier, query
from bayespoint.estimators import updated
from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses import joint_label_probabilities

pytestmark = pytest.mark.filterwarnings("ignore:Constant features")  # of the dense copies


@pytest.fixture
def words(rng):
    X = sparse.random_array((60, 300), density=0.05, rng=rng, format="csr")
    return X, (X[:, :150].sum(axis=1) > X[:, 150:].sum(axis=1)).astype(int)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("max_rank", [None, 25])
def test_batches_after_a_fit(kernel, max_rank, words):
    X, y = words
    thin, dense = (
        BayesPointClassifier(kernel, optimizer=None, max_rank=max_rank)
        .fit(rows[:40], y[:40])
        .partial_fit(rows[40:], y[40:])
        for rows in (X, X.toarray())
    )
    np.testing.assert_allclose(thin.predict_proba(X), dense.predict_proba(X.toarray()), atol=0.02 if max_rank else 1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_functions_at_new_rows_jointly(kernel, words):
    X, y = words
    thin, dense = (BayesPointClassifier(kernel, optimizer=None).fit(rows[:20], y[:20]) for rows in (X, X.toarray()))
    covariances = [
        np.cov(model.sample_latent(rows[40:43], 20_000, 0).T) for model, rows in ((thin, X), (dense, X.toarray()))
    ]
    np.testing.assert_allclose(*covariances, atol=0.05 * covariances[1].max())
    joint = [
        joint_label_probabilities(model, rows[40:42], random_state=0).probability
        for model, rows in ((thin, X), (dense, X.toarray()))
    ]
    np.testing.assert_allclose(*joint, atol=0.03)
    assert len(query(thin, X, 3, "batch-bald", random_state=0)) == 3


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_updates(kernel, words):
    X, y = words
    some = BayesPointClassifier(kernel, optimizer=None).fit(X[:50], y[:50])
    more = updated(some, X[50:], y[50:])
    whole = BayesPointClassifier(some.kernel_, optimizer=None).fit(X, y)
    np.testing.assert_allclose(more.predict_proba(X), whole.predict_proba(X), atol=1e-5)
    low = BayesPointClassifier("rbf", optimizer=None, max_rank=20).fit(X[:50], y[:50])
    with pytest.raises(InvalidProblemError, match="landmarks cannot be updated"):
        updated(low, X[50:], y[50:])


def test_a_user_s_function_gets_sparse_batches(words):
    X, y = words

    def kernel(a, b):
        assert sparse.issparse(a) == sparse.issparse(b)
        product = a @ b.T
        return (1 + (product.toarray() if sparse.issparse(product) else product)) ** 2

    model = BayesPointClassifier(kernel, optimizer=None)
    for rows in np.array_split(np.arange(60), 4):
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    model.partial_fit(X[:5].toarray(), y[:5])
    assert model.n_seen_ == 65
    assert model.score(X, y) > 0.7
