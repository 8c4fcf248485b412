"""Model files: the same predictions bit for bit, for every kind of model; nothing is lost on the way to disk."""

import copy
import os
import warnings
from collections import UserList
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_moons
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PowerTransformer, StandardScaler

import bayespoint
from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier, RejectingClassifier, engines
from bayespoint.estimators import updated
from bayespoint.exceptions import ModelFileError
from bayespoint.files import describe, model
from bayespoint.kernels import Normalized
from bayespoint.uses.tables import Frame

KERNEL = ConstantKernel(4.0) * RBF(1.0)
X, Y = make_moons(60, noise=0.3, random_state=0)
IRIS = load_iris()


def fixed(kernel=KERNEL, **settings):
    return BayesPointClassifier(kernel, optimizer=None, random_state=0, **settings)


def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"number": X[:, 0], "text": np.where(X[:, 1] > 0, "above", "below"), "truth": X[:, 0] > 1})
    frame["category"] = pd.Categorical(rng.choice(["u", "v", "w"], len(X)))
    frame["gaps"] = np.where(rng.random(len(X)) < 0.2, np.nan, X[:, 1])
    return frame


def words():
    rows = sparse.random(50, 300, density=0.05, random_state=0, format="csr")
    return rows, np.where(rows[:, :150].sum(axis=1) > rows[:, 150:].sum(axis=1), "p", "q").ravel()


def texts():
    return [f"{a} {b}" for a in ("good", "bad") for b in ("film", "play", "book", "song", "walk")] * 3


def mixed(**settings):
    numbers = make_pipeline(SimpleImputer(), PowerTransformer())
    return make_column_transformer((numbers, ["number", "gaps"]), (OneHotEncoder(), ["text", "category"]), **settings)


MODELS = {
    "several kernels": (BayesPointClassifier(random_state=0), X, Y),
    "one kernel": (BayesPointClassifier(None), X, Y),
    "fixed": (fixed(), X, Y),
    "several classes": (fixed(None), IRIS.data[::3], IRIS.target_names[IRIS.target[::3]]),
    "a table": (fixed(None), table(), np.where(Y, "yes", "no")),
    "a tuned table": (BayesPointClassifier(random_state=0), table(), Y > 0),
    "landmarks": (fixed(max_rank=12), X, Y),
    "linear": (fixed("linear", max_rank=5), X, Y),
    "sparse": (BayesPointClassifier(), *words()),
    "sparse, fixed": (fixed("linear"), *words()),
    "precomputed": (fixed("precomputed"), X @ X.T + 1, Y),
    "weights": (fixed(class_weight={0: 2.0, 1: 1.0}), X, Y),
    "other kernels": (fixed(Matern(1.5) + Normalized(DotProduct(1.0)) + WhiteKernel(0.1)), X, Y),
    "a generator": (clone(fixed()).set_params(random_state=np.random.default_rng(3)), X, Y),
    "draws": (fixed(engine=engines.Billiard(draws=50)), X, Y),
    "votes": (fixed(engine=engines.Billiard(draws=50), decision="vote"), X, Y),
    "slices": (fixed(engine=engines.EllipticalSlice(draws=50), class_weight="balanced"), X, Y),
    "perceptrons": (fixed(engine="perceptron"), X, Y),
    "support vectors": (BayesianSVC(), X, Y),
    "averaged support vectors": (BayesianSVC(optimizer="evidence", average=True, random_state=0), X[:30], Y[:30]),
    "margins": (GaussianMarginClassifier(), X, Y),
    "margins of a kernel": (GaussianMarginClassifier(RBF(1.0)), X, Y),
    "margins of three classes": (GaussianMarginClassifier("rbf", variance=100.0), X, np.arange(len(X)) % 3),
    "rejection": (RejectingClassifier(fixed(), rate=0.2, random_state=0), X, Y),
    "scaled": (make_pipeline(StandardScaler(), SelectKBest(k=1), fixed()), X, Y),
    "columns": (make_pipeline(mixed(), fixed()), table(), Y),
    "all columns": (make_pipeline(mixed(remainder="passthrough"), fixed()), table(), Y),
    "text": (make_pipeline(TfidfVectorizer(), fixed("linear")), texts(), [0, 1] * 15),
    "union": (make_pipeline(make_union(CountVectorizer(), TfidfVectorizer()), fixed()), texts(), [0, 1] * 15),
    "logarithms": (make_pipeline(FunctionTransformer(np.log1p), fixed()), np.abs(X), Y),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    unfitted, rows, labels = MODELS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(unfitted).fit(rows, labels), copy.deepcopy(rows)  # kernels may know their own training rows


def through_a_file(estimator, directory):
    path = directory / "model.bayespoint"
    bayespoint.save(estimator, path)
    return bayespoint.load(path)


def test_predictions_are_the_same_bit_for_bit(fitted, tmp_path):
    estimator, rows = fitted
    again = through_a_file(estimator, tmp_path)
    for method in ("predict_proba", "decision_function", "predict"):
        ours, before = (getattr(one, method)(rows) for one in (again, estimator))
        assert ours.dtype == before.dtype
        np.testing.assert_array_equal(ours, before)
    np.testing.assert_array_equal(again.classes_, estimator.classes_)
    assert again.classes_.dtype == estimator.classes_.dtype
    assert again.get_params().keys() == estimator.get_params().keys()


def test_a_file_of_a_file_is_the_same(fitted, tmp_path):
    estimator, rows = fitted
    once = through_a_file(estimator, tmp_path)
    twice = through_a_file(once, tmp_path)
    np.testing.assert_array_equal(twice.predict_proba(rows), estimator.predict_proba(rows))


def test_work_goes_on_after_reading(tmp_path):
    before = fixed().fit(X[:-1], Y[:-1])
    again = through_a_file(before, tmp_path)
    ours, theirs = (updated(one, X[-1:], Y[-1:]).predict_proba(X) for one in (again, before))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(again.loo_proba_, before.loo_proba_)
    assert again.posterior_ is again.fitted_.posteriors[0]  # what was one thing is one thing
    assert again.fit(X, Y).n_features_in_ == 2


LABELS = {
    "text": ["no", "yes"],
    "numbers": [-1, 7],
    "truth values": [False, True],
    "floats": [0.5, 1.5],
    "objects": np.array(["a", "b"], dtype=object),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_any_type(labels, tmp_path):
    y = np.asarray(labels)[Y]
    before = fixed().fit(X, y) if y.dtype.kind != "f" else fixed().fit(X, y.astype(str))
    again = through_a_file(before, tmp_path)
    assert again.classes_.dtype == before.classes_.dtype
    np.testing.assert_array_equal(again.predict(X), before.predict(X))


def test_what_a_file_says_of_itself(tmp_path):
    path = tmp_path / "model"
    bayespoint.save(fixed(None).fit(table(), Y), path, notes={"target": "moon", "rows": 60, "of": ["a", {"b": 1.5}]})
    told = describe(path)
    assert told["model"] == "BayesPointClassifier"
    assert told["library"] == bayespoint.__version__
    assert told["classes"] == [0, 1]
    kinds = {feature["name"]: feature["type"] for feature in told["features"]}
    assert kinds == dict.fromkeys(["text", "truth", "category"], "nominal") | {"number": "number", "gaps": "number"}
    assert told["notes"] == {"target": "moon", "rows": 60, "of": ["a", {"b": 1.5}]}


def test_no_gram_matrix_is_kept(tmp_path):
    """But for half of the triangular matrix that predictions need."""
    rows, labels = make_moons(300, noise=0.3, random_state=0)
    path = tmp_path / "model"
    bayespoint.save(fixed().fit(rows, labels), path)
    assert os.path.getsize(path) < 8 * (300 * 301 / 2 + 40 * 300) + 20_000
    bayespoint.save(fixed(max_rank=20).fit(rows, labels), path)
    assert os.path.getsize(path) < 8 * (20 * 300 + 40 * 300) + 20_000


def test_a_list_of_an_older_scikit_learn_is_kept_as_a_plain_one(tmp_path):
    """Whose class later versions do not have; to look into it would warn."""

    class Columns(UserList):
        __module__ = "sklearn.compose._column_transformer"

        def __getitem__(self, index):
            raise FutureWarning

    before = make_pipeline(mixed(remainder="passthrough"), fixed()).fit(table(), Y)
    expected = before.predict_proba(table())
    columns, left = before[0], Columns([2])
    columns._remainder = (*columns._remainder[:2], left)
    columns.transformers_ = [*columns.transformers_[:-1], (*columns.transformers_[-1][:2], left)]
    again = through_a_file(before, tmp_path)
    assert again[0]._remainder[2] == [2]
    assert again[0].transformers_[-1][2] is again[0]._remainder[2]
    assert type(again[0]._remainder[2]) is list
    np.testing.assert_array_equal(again.predict_proba(table()), expected)


def test_lists_of_strangers_are_refused(tmp_path):
    strange = make_pipeline(CountVectorizer(), fixed("linear")).fit(texts(), [0, 1] * 15)
    strange[0].stop_words_ = UserList(["film"])
    with pytest.raises(ModelFileError, match=r"do not know collections\.UserList"):
        bayespoint.save(strange, tmp_path / "model")


def test_watchers_stay_outside(tmp_path):
    watched = fixed()
    if hasattr(watched, "set_callbacks"):
        watched.set_callbacks(bayespoint.Progress(quiet=True))
    again = through_a_file(watched.fit(X, Y), tmp_path)
    np.testing.assert_array_equal(again.predict(X), watched.predict(X))


# -- what is not for files -------------------------------------------------------------------------------------------


def my_kernel(A, B):
    return A @ B.T


REFUSED = {
    "holds no code.*'my_kernel'": lambda: fixed(my_kernel).fit(X, Y),
    "holds no code.*'<lambda>'": lambda: make_pipeline(FunctionTransformer(lambda A: A), fixed()).fit(X, Y),
    "do not know sklearn.*LogisticRegression": lambda: make_pipeline(
        RejectingClassifier(LogisticRegression(), rate=0.2, random_state=0)
    ).fit(X, Y),
    "no pipeline with a cache": lambda: (
        make_pipeline(StandardScaler(), fixed(), memory=os.devnull + "x")
        .set_params(memory=None)
        .fit(X, Y)
        .set_params(memory="somewhere")
    ),
    "holds a fitted classifier, got StandardScaler": lambda: StandardScaler().fit(X),
    "holds a fitted classifier, got str": lambda: "model",
}


@pytest.mark.parametrize(("sentence", "make"), REFUSED.items(), ids=REFUSED)
def test_what_files_do_not_know_is_named(sentence, make, tmp_path):
    with pytest.raises(ModelFileError, match=sentence):
        bayespoint.save(make(), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_notes_are_plain(tmp_path):
    with pytest.raises(ModelFileError, match="plain values"):
        bayespoint.save(fixed().fit(X, Y), tmp_path / "model", notes={"a": object()})


# -- writing ---------------------------------------------------------------------------------------------------------


def test_the_old_file_stays_if_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "model"
    bayespoint.save(fixed().fit(X, Y), path)
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        bayespoint.save(fixed("linear").fit(X, Y), path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["model"]


def test_the_same_model_makes_the_same_file(tmp_path):
    paths = tmp_path / "a", tmp_path / "b"
    for path in paths:
        bayespoint.save(fixed().fit(X, Y), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_no_such_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no directory"):
        bayespoint.save(fixed().fit(X, Y), tmp_path / "missing" / "model")


# -- versions --------------------------------------------------------------------------------------------------------


def test_old_versions_stay_readable(tmp_path, monkeypatch):
    """A file of this version, read by a later library in which a class has another name and one more part."""
    path = tmp_path / "model"
    before = fixed().fit(X, Y)
    bayespoint.save(before, path)
    seen = []

    def upgrade(page):
        seen.append(page["version"])
        return page | {"version": 2}

    monkeypatch.setattr(model, "_VERSION", 2)
    monkeypatch.setattr(model, "_UPGRADES", {1: upgrade})
    np.testing.assert_array_equal(bayespoint.load(path).predict_proba(X), before.predict_proba(X))
    assert seen == [1]


def test_a_file_of_the_first_version():
    """Written once, read for ever: these are the numbers that it was written with."""
    path = Path(__file__).with_name("version-1.bayespoint")
    word = np.array(["a", "b", None, "a", "b", "a", "b", "a"], dtype=object)
    rows = Frame({"x": np.array([-2.0, -1.5, -1.0, -0.5, 0.5, np.nan, 1.5, 2.0]), "word": word})
    again = bayespoint.load(path)
    expected = [0.38240830062, 0.29684449190, 0.34541899197, 0.53195654546, 0.48847940217, 0.62191029776, 0.59274535806]
    np.testing.assert_allclose(again.predict_proba(rows)[:7, 1], expected, rtol=0, atol=1e-9)
    assert describe(path)["classes"] == ["no", "yes"]
