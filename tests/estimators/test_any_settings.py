"""Whatever the rows and the settings: finite probabilities that add up to one, or one sentence that says what is wrong.

A search over a space that is far too large to be covered; `small` profiles walk the same examples every time.
"""

import warnings

import numpy as np
from hostile_rows import check_predictions, error_of, is_a_sentence
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from bayespoint.engines import Billiard, EllipticalSlice


@st.composite
def training_sets(draw):
    """A few rows: repeated, zero or constant ones, of any scale, of two or three classes, dense or sparse, weighted."""
    n, features = draw(st.integers(3, 12)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, features))
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]
    if draw(st.booleans()):
        X[rng.integers(0, n, 1 + n // 4)] = 0
    if draw(st.booleans()):
        X[:, 0] = draw(st.sampled_from([0.0, 3.0]))
    X *= draw(st.sampled_from([1.0, 1.0, 1e-160, 1e-90, 1e-8, 1e3, 1e40]))
    classes = draw(st.sampled_from([2, 2, 3]))
    y = np.r_[np.arange(classes), rng.integers(0, classes, n - classes)]
    weights = rng.choice([0.0, 0.1, 1.0, 2.5, 1e6], n) if draw(st.booleans()) else None
    return (sparse.csr_array(X) if draw(st.booleans()) else X), y, weights


common = {
    "bias": st.sampled_from([0.0, 1.0, 1e-6, 1e4]),
    "max_rank": st.sampled_from(["auto", None, 1, 3]),
    "class_weight": st.sampled_from([None, "balanced", {0: 1e-3}]),
    "random_state": st.just(0),
}
samplers = [Billiard(draws=20, chains=1, warmup=5), EllipticalSlice(draws=20, chains=1, warmup=5)]
models = st.one_of(
    st.builds(
        BayesPointClassifier,
        st.sampled_from(["rbf", "linear", "poly", "laplacian"]),
        noise=st.sampled_from([0.0, 0.1, 1e-9]),
        softness=st.sampled_from([0.0, 1.0, 1e-6]),
        engine=st.sampled_from(["ep", "ep", "perceptron", *samplers]),
        optimizer=st.none(),
        decision=st.sampled_from(["bayes_point", "vote"]),
        **common,
    ),
    st.builds(
        BayesianSVC,
        st.sampled_from([1e-6, 1.0, 1e4]),
        st.sampled_from(["rbf", "linear", "poly"]),
        gamma=st.sampled_from(["scale", "auto", 0.5]),
        probability=st.sampled_from(["average", "mean", "map"]),
        engine=st.sampled_from(["ep", "laplace", *samplers]),
        **common,
    ),
    st.builds(
        GaussianMarginClassifier,
        st.sampled_from(["linear", "rbf", "poly"]),
        eta=st.sampled_from([0.5, 0.6, 0.9, 0.999]),
        C=st.sampled_from([1e-6, 1.0, 1e4, np.inf]),
        variance=st.sampled_from([1.0, 1e6]),
        margin=st.sampled_from([0.0, 1.0]),
        slack=st.sampled_from(["unit", "norm", "deviation"]),
        **common,
    ),
)


def test_an_error_from_somewhere_is_no_sentence():
    assert not is_a_sentence(error_of(lambda: np.zeros(2) + np.zeros(3)))
    assert not is_a_sentence(error_of(lambda: np.linalg.cholesky(-np.eye(2))))
    assert is_a_sentence(error_of(lambda: BayesianSVC(C=-1.0).fit(np.eye(2), [0, 1])))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(models, training_sets())
def test_one_sentence_or_finite_probabilities(model, rows):
    X, y, weights = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = error_of(lambda: model.fit(X, y, sample_weight=weights))
        if error is not None:
            assert is_a_sentence(error)
            return
        new = np.vstack([X.toarray() if sparse.issparse(X) else X, np.zeros((1, X.shape[1]))])
        check_predictions(model, new)
    if hasattr(model, "loo_proba_"):
        np.testing.assert_allclose(model.loo_proba_.sum(axis=1), 1.0, rtol=1e-9)
    if isinstance(model, GaussianMarginClassifier):
        assert 0 <= model.gibbs_error(new[:-1], y) <= 1
