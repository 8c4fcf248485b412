import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss

from bayespoint import BayesPointClassifier
from bayespoint.estimators import _streaming
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.uses import array_batches, parquet_batches


def linear_data(rng, n=3000):
    X = rng.standard_normal((n, 5))
    return X, (X @ [1.0, -1.0, 0.5, 0.0, 0.2] + 0.3 + 0.7 * rng.standard_normal(n) > 0).astype(int)


def curved_data(rng, n=3000):
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.standard_normal(n) > 0).astype(int)


def streamed(model, X, y, batches, order=None, **options):
    order = np.arange(len(y)) if order is None else order
    for rows in np.array_split(order, batches):
        model.partial_fit(X[rows], y[rows], classes=np.unique(y), **options)
    return model


@pytest.mark.parametrize(("kernel", "data"), [("linear", linear_data), (RBF(0.7), curved_data)])
def test_batches_come_close_to_all_rows_at_once_in_any_order(kernel, data, rng):
    X, y = data(rng, 4000)
    new, labels = data(rng, 4000)
    whole = BayesPointClassifier(kernel, optimizer=None, max_rank=200).fit(X, y)
    expected = log_loss(labels, whole.predict_proba(new))
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(X))
        model = streamed(BayesPointClassifier(kernel, optimizer=None, max_rank=200), X, y, 100, order)
        assert log_loss(labels, model.predict_proba(new)) == pytest.approx(expected, abs=0.005)
    assert expected < 0.6


def test_one_batch_is_a_fit(rng):
    X, y = linear_data(rng, 1500)
    whole = BayesPointClassifier("linear", optimizer=None).fit(X, y)
    assert whole.approximation_ is None
    model = BayesPointClassifier("linear", optimizer=None).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-5)
    assert model.n_seen_ == 1500
    np.testing.assert_array_equal(model.class_count_, np.bincount(y))


def test_the_log_evidence_of_a_stream_is_what_each_batch_was_predicted_with(rng):
    X, y = linear_data(rng, 60)
    model, total = BayesPointClassifier("linear", optimizer=None), 0.0
    for i in range(60):
        if i:
            total += np.log(model.predict_proba(X[i : i + 1])[0, y[i]])
        else:
            total += np.log(0.5)
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    assert model.log_evidence_ == pytest.approx(total, abs=1e-6)


def test_a_stream_goes_on_from_a_fit(rng):
    X, y = curved_data(rng, 1200)
    whole = BayesPointClassifier(RBF(0.7), optimizer=None).fit(X, y)
    model = BayesPointClassifier(RBF(0.7), optimizer=None).fit(X[:300], y[:300])
    assert model.approximation_ is None
    kernel = model.kernel_
    streamed(model, X[300:], y[300:], 9)
    assert model.kernel_ == kernel
    assert model.n_seen_ == 1200
    assert not hasattr(model, "loo_proba_")
    new, labels = curved_data(rng, 2000)
    assert log_loss(labels, model.predict_proba(new)) == pytest.approx(
        log_loss(labels, whole.predict_proba(new)), abs=0.01
    )
    model.fit(X[:100], y[:100])  # and a fit begins anew
    assert not hasattr(model, "n_seen_")
    assert hasattr(model, "loo_proba_")


def test_landmarks_are_added_where_new_rows_need_them(rng):
    X, y = curved_data(rng, 400)
    model = BayesPointClassifier(RBF(0.5), optimizer=None)
    model.partial_fit(X[:100], y[:100], classes=[0, 1])
    near = model.approximation_.rank
    before = model.predict_proba(X)
    far = X[100:200] + 20.0
    model.partial_fit(far, y[100:200])
    assert model.approximation_.rank > 1.5 * near
    np.testing.assert_allclose(model.predict_proba(X), before, atol=0.02)  # but for the bias nothing was learned here
    assert (
        BayesPointClassifier(RBF(0.5), optimizer=None, max_rank=20)
        .partial_fit(X, y, classes=[0, 1])
        .partial_fit(far, y[100:200])
        .approximation_.rank
        <= 20
    )


def test_several_classes_that_come_late(rng):
    X = rng.standard_normal((900, 2))
    y = np.array(["a", "b", "c"])[np.argmax(X @ rng.standard_normal((2, 3)), axis=1)]
    model = BayesPointClassifier("linear", optimizer=None)
    model.partial_fit(X[:10], y[:10], classes=["c", "a", "b"])
    for rows in np.array_split(np.arange(10, 900), 9):
        model.partial_fit(X[rows], y[rows])
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert pickle.loads(pickle.dumps(model)).partial_fit(X[:5], y[:5]).n_seen_ == 905


def test_forgetting_follows_a_change(rng):
    X, y = linear_data(rng)
    keeps, forgets = (
        streamed(BayesPointClassifier("linear", optimizer=None), X, y, 30, forgetting=f) for f in (1.0, 0.7)
    )
    for model in (keeps, forgets):
        streamed(model, X[:300], 1 - y[:300], 3)
    assert forgets.score(X, 1 - y) > 0.7 > 0.5 > keeps.score(X, 1 - y)


def test_weights_are_copies(rng):
    X, y = linear_data(rng, 200)
    weights = rng.integers(0, 3, size=200)
    copies = np.repeat(np.arange(200), weights)
    one = BayesPointClassifier("linear", optimizer=None).partial_fit(X, y, [0, 1], sample_weight=weights)
    two = BayesPointClassifier("linear", optimizer=None).partial_fit(X[copies], y[copies], [0, 1])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-6)


def test_sparse_batches(rng):
    X, y = linear_data(rng, 300)
    dense, thin = (
        streamed(BayesPointClassifier("linear", optimizer=None), rows, y, 3) for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(dense.predict_proba(X), thin.predict_proba(sparse.csr_array(X)), atol=1e-9)


def test_a_sorted_stream_is_warned_about(rng):
    X, y = linear_data(rng, 600)
    order = np.argsort(y, kind="stable")
    with pytest.warns(InferenceWarning, match="all have the label 0") as caught:
        streamed(BayesPointClassifier("linear", optimizer=None), X, y, 20, order)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("settings", "call", "match"),
    [
        ({}, {}, "needs all classes"),
        ({}, {"classes": [0]}, "at least two classes"),
        ({}, {"classes": [0, 2]}, "label .*1.* not among the declared classes"),
        ({}, {"classes": [0, 1], "forgetting": 0.0}, "forgetting must be"),
        ({"max_rank": 0}, {"classes": [0, 1]}, "max_rank must be"),
    ],
)
def test_bad_input_is_one_clear_sentence_and_leaves_nothing_behind(settings, call, match, rng):
    X, y = curved_data(rng, 30)
    model = BayesPointClassifier(**settings)
    with pytest.raises(ValueError, match=match):
        model.partial_fit(X, y, **call)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"engine": "billiard"}, "engine='ep'"),
        ({"kernel": "precomputed"}, "in batches"),
        ({"class_weight": "balanced"}, "dict"),
    ],
)
def test_settings_that_cannot_stream_have_no_partial_fit(settings, match):
    model = BayesPointClassifier(**settings)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as error:
        model.partial_fit([[0.0]], [1], classes=[0, 1])
    assert match in f"{error.value} {error.value.__cause__}"


def test_a_bad_batch_loses_nothing(rng):
    X, y = linear_data(rng, 100)
    model = BayesPointClassifier("linear", optimizer=None).partial_fit(X, y, classes=[0, 1])
    before = model.predict_proba(X)
    for bad in (X[:, :3], np.full_like(X, np.nan)):
        with pytest.raises(ValueError):  # noqa: PT011
            model.partial_fit(bad, y)
    with pytest.raises(ValueError, match="not what was declared"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.n_seen_ == 100
    with pytest.raises(InvalidProblemError, match="no longer at hand"):
        model.certificate()


def test_batches_of_an_array_on_disk(rng, tmp_path):
    X, y = linear_data(rng, 105)
    np.save(tmp_path / "X.npy", X)
    on_disk = np.load(tmp_path / "X.npy", mmap_mode="r")
    parts = list(array_batches(on_disk, y, 20))
    assert [len(labels) for _, labels in parts] == [20, 20, 20, 20, 20, 5]
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in parts]), X)
    assert not isinstance(parts[0][0], np.memmap)
    shuffled = list(array_batches(on_disk, y, 20, rng=0))
    assert {len(labels) for _, labels in shuffled} == {20, 5}
    assert not np.array_equal(np.concatenate([rows for rows, _ in shuffled]), X)
    with pytest.raises(InvalidProblemError, match="one for each row"):
        next(array_batches(X, y[:5]))
    with pytest.raises(InvalidProblemError, match="size must be"):
        next(array_batches(X, y, 0))


def test_batches_of_a_parquet_file(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = linear_data(rng, 105)
    frame = pandas.DataFrame(X, columns=list("abcde")).assign(label=np.where(y, "yes", "no"), note="x")
    frame.to_parquet(tmp_path / "data.parquet", index=False, row_group_size=30)
    parts = list(parquet_batches(tmp_path / "data.parquet", "label", 50, features=list("edcba")))
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in parts]), X[:, ::-1])
    np.testing.assert_array_equal(np.concatenate([labels for _, labels in parts]), frame["label"])
    with pytest.raises(InvalidProblemError, match="no column 'z'"):
        next(parquet_batches(tmp_path / "data.parquet", "z"))
    with pytest.raises(InvalidProblemError, match="no numbers"):
        next(parquet_batches(tmp_path / "data.parquet", "label"))


def test_weights_of_classes_count_in_every_batch(rng):
    """Also in one that lacks a class, and as weights of rows would."""
    X = rng.normal(size=(30, 2))
    y = np.r_[np.arange(20) % 2, np.zeros(10, int)]
    weighted, by_rows = (
        BayesPointClassifier(1.0 * RBF(1.0), optimizer=None, class_weight=w) for w in ({0: 3.0, 1: 1.0}, None)
    )
    for some in (slice(0, 20), slice(20, 30)):
        weighted.partial_fit(X[some], y[some], classes=[0, 1])
        by_rows.partial_fit(X[some], y[some], classes=[0, 1], sample_weight=np.where(y[some] == 0, 3.0, 1.0))
    np.testing.assert_allclose(weighted.predict_proba(X), by_rows.predict_proba(X), atol=1e-10)
    plain = clone(weighted).set_params(class_weight=None).partial_fit(X, y, classes=[0, 1])
    assert np.abs(weighted.predict_proba(X) - plain.predict_proba(X)).max() > 0.01


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("kernel", ["linear", "auto"])
def test_a_first_batch_of_fewer_rows_than_columns_does_not_say_where_functions_live(kernel, size, rng):
    X = rng.standard_normal((120, 5))
    y = X @ [3.0, -2.0, 0.0, 0.0, 0.0] > 0
    rows = sparse.csr_array(X) if kernel == "auto" else X
    assert streamed(BayesPointClassifier(kernel), rows, y, 120 // size).score(rows, y) > 0.9


# -- the noise level along the stream --------------------------------------------------------------------------------


@pytest.mark.parametrize("flipped", [0.0, 0.12])
def test_the_noise_level_is_learned_along_the_stream(flipped, rng):
    X = rng.standard_normal((4000, 4))
    y = ((X @ [2.0, -2.0, 1.0, 0.5] + rng.standard_normal(4000) > 0) ^ (rng.random(4000) < flipped)).astype(int)
    model = streamed(BayesPointClassifier("linear", noise="evidence"), X, y, 8)
    level = model.fitted_.model.likelihood.noise
    assert level == pytest.approx(flipped, abs=0.02)
    assert model.posterior_.problem.likelihood.noise == level  # predictions and sites are of the same model
    known = streamed(BayesPointClassifier("linear", noise=max(flipped, 1e-6)), X, y, 8)
    np.testing.assert_allclose(model.predict_proba(X), known.predict_proba(X), atol=0.05)


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize(("flipped", "spread"), [(0.0, 1.5), (0.15, 0.0)])
def test_the_noise_level_does_not_depend_on_how_small_batches_are(size, flipped, spread, rng):
    """Each batch by itself knows extremes alone: no label flipped, or all of them."""
    X = rng.standard_normal((500, 2))
    y = ((X @ [3.0, -2.0] + spread * rng.standard_normal(500) > 0) ^ (rng.random(500) < flipped)).astype(int)
    model = streamed(BayesPointClassifier("linear", noise="evidence"), X, y, 500 // size)
    assert model.likelihood_.noise == pytest.approx(flipped, abs=0.08)
    assert model.posterior_.problem.likelihood.noise == model.likelihood_.noise


def test_a_noise_level_from_a_fit_is_learned_on(rng):
    X = rng.standard_normal((2000, 3))
    y = ((X @ [3.0, -3.0, 1.0] > 0) ^ (rng.random(2000) < 0.15)).astype(int)
    model = BayesPointClassifier("linear", noise="evidence").fit(X[:100], y[:100])
    first = model.fitted_.model.likelihood.noise
    streamed(model, X[100:], y[100:], 4)
    level = model.fitted_.model.likelihood.noise
    assert level != first
    assert level == pytest.approx(0.15, abs=0.03)
    given = BayesPointClassifier("linear", noise=0.05).fit(X[:100], y[:100])
    assert streamed(given, X[100:], y[100:], 4).fitted_.model.likelihood.noise == 0.05


@pytest.mark.parametrize("noise", [1e-6, 0.03, 0.3])
def test_the_likeliest_noise_is_that_of_a_grid(noise, rng):
    right = rng.uniform(0.02, 1.0, 200)  # probabilities of labels that are not flipped
    weights = rng.integers(1, 4, 200).astype(float)
    found = _streaming._likeliest_noise(noise + (1 - 2 * noise) * right, noise, weights)
    grid = np.linspace(1e-6, 0.49, 20_001)
    height = [weights @ np.log(q + (1 - 2 * q) * right) for q in grid]
    assert found == pytest.approx(grid[np.argmax(height)], abs=5e-5)
    assert 1e-3 < found < 0.48
    copies = np.repeat(noise + (1 - 2 * noise) * right, weights.astype(int))
    assert _streaming._likeliest_noise(copies, noise, np.ones(len(copies))) == pytest.approx(found, abs=1e-7)


def test_labels_that_are_all_right_or_all_wrong_have_noise_at_a_bound():
    levels = [_streaming._likeliest_noise(np.full(5, p), 0.1, np.ones(5)) for p in (0.85, 0.15)]
    assert levels == [1e-6, 0.49]


def test_a_softness_to_be_chosen_is_refused_by_a_stream(rng):
    X, y = linear_data(rng, 100)
    match = r"^A stream tunes nothing but noise: give softness as a number, or fit on some rows first\.$"
    with pytest.raises(InvalidProblemError, match=match):
        BayesPointClassifier("linear", softness="evidence").partial_fit(X, y, classes=[0, 1])


def test_a_stream_that_forgets_follows_its_noise(rng):
    X = rng.standard_normal((4000, 3))
    flipped = np.where(np.arange(4000) < 2000, 0.0, 0.2)
    y = ((X @ [3.0, -3.0, 1.0] + rng.standard_normal(4000) > 0) ^ (rng.random(4000) < flipped)).astype(int)
    kept, forgot = (
        streamed(BayesPointClassifier("linear", noise="evidence"), X, y, 8, forgetting=share) for share in (1.0, 0.5)
    )
    assert kept.fitted_.model.likelihood.noise == pytest.approx(0.1, abs=0.03)
    assert forgot.fitted_.model.likelihood.noise > 0.15
