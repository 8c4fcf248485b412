"""`fit` on collections of dask, with dask's threads; see tests/cluster for workers that are processes."""

import numpy as np
import pytest

from bayespoint import BayesianSVC, BayesPointClassifier
from bayespoint.engines import Billiard
from bayespoint.exceptions import InvalidProblemError

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

from bayespoint.distributed import gather_sample  # noqa: E402


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((1500, 4))
    y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.3 + 0.7 * rng.standard_normal(1500) > 0, "yes", "no")
    return X, y


def lazy(X, y, size=400):
    return da.from_array(X, chunks=(size, 2)), da.from_array(y, chunks=size)


def test_all_blocks_are_one_machine(rows):
    X, y = rows
    whole = BayesPointClassifier("linear", optimizer=None).fit(X, y)
    model = BayesPointClassifier("linear", optimizer=None).fit(*lazy(X, y))
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-7)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)
    assert model.n_seen_ == 1500
    np.testing.assert_array_equal(model.class_count_, [np.sum(y == "no"), np.sum(y == "yes")])
    with pytest.raises(InvalidProblemError, match="no longer at hand"):
        model.certificate()


def test_weights_of_rows_and_classes(rows, rng):
    X, y = rows
    weights = rng.integers(0, 3, size=1500).astype(float)
    settings = {"kernel": "linear", "optimizer": None, "class_weight": {"no": 2.0, "yes": 0.5}}
    whole = BayesPointClassifier(**settings).fit(X, y, sample_weight=weights)
    model = BayesPointClassifier(**settings).fit(*lazy(X, y), sample_weight=weights)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    balanced = {"kernel": "linear", "optimizer": None, "class_weight": "balanced"}
    for own in (None, np.where(y == "yes", 3.0, 1.0)):
        np.testing.assert_allclose(
            BayesPointClassifier(**balanced).fit(*lazy(X, y), sample_weight=own).predict_proba(X),
            BayesPointClassifier(**balanced).fit(X, y, sample_weight=own).predict_proba(X),
            atol=1e-5,
        )


def test_landmarks_and_kernel_from_a_sample(rng):
    X = rng.uniform(-2, 2, size=(1200, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(1200) > 0
    model = BayesPointClassifier(None, max_rank=100).fit(*lazy(X, y))
    assert model.approximation_.rank <= 100
    assert model.score(X, y) > 0.88
    whole = BayesPointClassifier(None, max_rank=100).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=0.15)


def test_data_frames_of_several_classes_go_on_as_a_stream(rows):
    X, _ = rows
    y = np.array(["u", "v", "w"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    collection = dd.from_pandas(frame, npartitions=3)
    model = BayesPointClassifier("linear", optimizer=None).fit(collection[list("abcd")], collection["label"])
    whole = BayesPointClassifier("linear", optimizer=None).fit(frame[list("abcd")], y)
    np.testing.assert_allclose(
        model.predict_proba(frame[list("abcd")]), whole.predict_proba(frame[list("abcd")]), atol=1e-6
    )
    np.testing.assert_array_equal(model.feature_names_in_, list("abcd"))
    assert model.partial_fit(frame[list("abcd")][:50], y[:50]).n_seen_ == 1550


@pytest.mark.parametrize("kind", ["text", "truth", "whole numbers", "unlike blocks"])
def test_nominal_columns_are_as_in_a_table_at_hand(rng, kind):
    names = rng.integers(0, 4, 600)
    column = {"text": np.array(list("abcd"))[names], "truth": names > 1}.get(kind, 10 * names)
    frame = pd.DataFrame({"size": rng.standard_normal(600), "kind": column})
    y = frame["size"].to_numpy() + np.where(names % 3 == 0, 2.0, -2.0) > 0
    collection = dd.from_pandas(frame, npartitions=3)
    if kind in ("whole numbers", "unlike blocks"):
        frame["kind"] = frame["kind"].astype("category")
        collection = dd.from_pandas(frame, npartitions=3)
    if kind == "unlike blocks":  # each knows only the categories that it has
        collection = collection.map_partitions(
            lambda part: part.assign(kind=part["kind"].astype(int).astype("category"))
        )
    whole = BayesPointClassifier(None, optimizer=None).fit(frame, y)
    model = BayesPointClassifier(None, optimizer=None).fit(collection, y)
    np.testing.assert_allclose(model.predict_proba(frame), whole.predict_proba(frame), atol=0.02)
    with pytest.raises(ValueError, match="nominal columns"):
        model.predict(frame.to_numpy())
    more = model.predict_proba(frame)
    np.testing.assert_allclose(model.partial_fit(frame[:5], y[:5]).predict_proba(frame), more, atol=0.1)


def test_a_sample_is_a_fair_one(rng):
    X = da.from_array(np.arange(1000.0)[:, None], chunks=((10, 190, 800), 1))
    y = X[:, 0] >= 500
    seen = np.zeros(1000)
    for seed in range(60):
        found = gather_sample(X, y, 100, seed=seed)
        assert len(np.unique(found.X)) == 100
        np.testing.assert_array_equal(found.counts, [500, 500])
        np.testing.assert_array_equal(found.y, found.X[:, 0] >= 500)
        seen[found.X[:, 0].astype(int)] += 1
    assert abs(seen[:200].mean() - 6) < 4 * np.sqrt(6 / 200)
    assert abs(seen[200:].mean() - 6) < 4 * np.sqrt(6 / 800)


def test_a_rare_class_and_classes_without_weight(rows, rng):
    X, _ = rows
    rare = np.zeros(1500, dtype=int)
    rare[1234] = 1
    many = np.repeat(X, 3, axis=0)
    labels = np.repeat(rare, 3)
    model = BayesPointClassifier("linear", optimizer=None).fit(*lazy(many, labels, 1500))
    np.testing.assert_array_equal(model.class_count_, [4497, 3])
    found = gather_sample(*lazy(many, labels, 1500), 100)
    assert set(found.y) == {0, 1}
    third = np.where(X[:, 0] > 0, 1, 0)
    third[:5] = 2
    weights = np.ones(1500)
    weights[:5] = 0
    settings = {"kernel": "linear", "optimizer": None, "class_weight": "balanced"}
    model = BayesPointClassifier(**settings).fit(*lazy(X, third), sample_weight=weights)
    np.testing.assert_array_equal(model.classes_, [0, 1])


def test_the_sample_has_the_weights_of_the_rows(rows, rng):
    X, y = rows
    weights = rng.integers(0, 4, size=1500).astype(float)
    X = X * np.where(weights > 2, 3.0, 1.0)[:, None]
    whole = BayesPointClassifier(None, optimizer=None, max_rank=50).fit(X, y, sample_weight=weights)
    model = BayesPointClassifier(None, optimizer=None, max_rank=50).fit(*lazy(X, y), sample_weight=weights)
    assert model.kernel_ == whole.kernel_


def test_sparse_blocks(rows):
    sparse = pytest.importorskip("scipy.sparse")
    X, y = rows
    blocks, labels = da.from_array(X, chunks=(400, 4)).map_blocks(sparse.csr_matrix), lazy(X, y)[1]
    model = BayesPointClassifier("linear", optimizer=None).fit(blocks, labels)
    np.testing.assert_allclose(
        model.predict_proba(X), BayesPointClassifier("linear", optimizer=None).fit(X, y).predict_proba(X), atol=1e-6
    )


def test_bad_input_is_one_clear_sentence_and_loses_nothing(rows):
    X, y = rows
    model = BayesPointClassifier("linear", optimizer=None).fit(*lazy(X, y))
    before = model.predict_proba(X)
    bad = X.copy()
    bad[1400, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(*lazy(bad, y))
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(lazy(X, y)[0], np.full(1500, "yes"))
    with pytest.raises(InvalidProblemError, match="1500 rows, y has 10"):
        model.fit(lazy(X, y)[0], y[:10])
    np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(InvalidProblemError, match="engine='ep'"):
        BayesPointClassifier(None, engine=Billiard()).fit(*lazy(X, y))
    with pytest.raises(InvalidProblemError, match="does not take arrays of dask"):
        BayesianSVC().fit(*lazy(X, y))
