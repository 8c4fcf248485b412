import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

import datasets
import peers
import searches
import tables
from ours import small_tables


@pytest.fixture
def place(monkeypatch, tmp_path):
    """A machine with a table of 40 rows, sorted by class, in the directory that the environment names."""
    monkeypatch.setattr(datasets, "__file__", str(tmp_path / "repository" / "experiments" / "datasets.py"))
    monkeypatch.setenv("BAYESPOINT_DATA", str(tmp_path))
    (tmp_path / "tables").mkdir()
    mixed(40).assign(target=["yes"] * 10 + ["no"] * 30).to_csv(tmp_path / "tables" / "pets.csv", index=False)
    return tmp_path / "tables"


def mixed(n, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"row": np.arange(n), "size": rng.normal(size=n), "kind": rng.choice(["cat", "dog", "none"], n)})
    X.loc[1, "size"], X.loc[2, "kind"] = np.nan, None
    return X


def test_the_halves_are_every_second_name():
    assert sorted(small_tables.DATA) == list(small_tables.DATA)
    assert small_tables.DATA[::2] == tables.CHOOSING
    assert small_tables.DATA[1::2] == tables.REPORTING
    assert set(tables.NUMERIC) < set(small_tables.DATA)


def test_divisions_keep_the_shares_of_classes_and_lose_no_row(place):
    one = tables.division("pets", 0)
    assert (len(one.y_train), len(one.y_test)) == (28, 12)
    assert np.sum(one.y_train == "yes") == 7
    assert sorted([*one.X_train["row"], *one.X_test["row"]]) == list(range(40))
    rows = one.X_train["row"].to_numpy()
    np.testing.assert_array_equal(one.y_train == "yes", rows < 10)
    np.testing.assert_array_equal(rows, tables.division("pets", 0).X_train["row"])
    assert set(rows) != set(tables.division("pets", 1).X_train["row"])


def test_large_tables_are_cut(place, monkeypatch):
    monkeypatch.setattr(tables, "MOST_TRAINED", 20)
    monkeypatch.setattr(tables, "MOST_TESTED", 8)
    one = tables.division("pets", 0)
    assert (len(one.y_train), len(one.y_test)) == (20, 8)
    assert not set(one.X_train["row"]) & set(one.X_test["row"])


def test_none_is_a_value_and_an_empty_field_a_gap(place):
    X, _ = tables.load("pets")
    assert X["kind"].isna().sum() == 1
    assert "none" in set(X["kind"])
    assert tables.nominal(X) == ["kind"]


def test_a_table_that_is_nowhere_gets_a_sentence(place):
    assert tables.at_hand("pets", "waveform")
    assert not tables.at_hand("pets", "cars")
    with pytest.raises(datasets.DataNotFoundError, match=r"put cars\.csv into the folder tables"):
        tables.division("cars", 0)


def test_numeric_sets_keep_their_customary_divisions():
    ours, theirs = tables.division("waveform", 1), datasets.splits("waveform", 2)[1]
    np.testing.assert_array_equal(ours.X_train, theirs.X_train)
    np.testing.assert_array_equal(ours.y_test, theirs.y_test)


# -- methods ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_searches(monkeypatch):
    """Few trees, few settings."""
    monkeypatch.setattr(searches, "MOST_TREES", 30)
    monkeypatch.setattr(searches, "MOST_ROUNDS", 30)
    monkeypatch.setattr(searches.HistogramsByLogLoss, "LEAVES", (4,))
    monkeypatch.setattr(searches.ForestByLogLoss, "LEAVES", (1, 5))
    monkeypatch.setattr(searches.ForestByLogLoss, "forest", lambda self, *_: RandomForestClassifier(30, random_state=0))


@pytest.mark.parametrize("name", peers.METHODS)
def test_methods_take_text_gaps_and_words_never_seen(name, small_searches):
    method = peers.METHODS[name]
    if not method.installed:
        pytest.skip(f"{method.package} is not installed: pip install 'bayespoint[bench]'")
    X, new = mixed(60), mixed(30, seed=1).assign(kind=["fish", *["cat", "dog"] * 14, None])
    classes = np.array(["big", "cat", "small"])
    y = np.where(X["kind"] == "cat", "cat", np.where(X["size"] > 0, "big", "small"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = method.make(X).fit(X, y)
        p = model.predict_proba(new)
    np.testing.assert_array_equal(model.classes_, classes)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    cats = (new["kind"] == "cat").to_numpy()
    assert p[cats, 1].min() > p[(new["kind"] == "dog").to_numpy(), 1].max()


def test_too_many_classes_are_refused_with_the_reason():
    assert "6 classes" in peers.METHODS["process"].refusal(np.arange(6))
    assert not peers.METHODS["process"].refusal(np.arange(5))
    assert "19 classes" in peers.METHODS["catboost"].refusal(np.arange(19))
    assert not peers.METHODS["forest"].refusal(np.arange(50))


def test_a_process_sees_few_of_many_rows(monkeypatch):
    monkeypatch.setattr(peers, "ROWS_OF_A_PROCESS", 20)
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.tile([0, 1], 25)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = peers.GaussianProcess().fit(X, y).model_
    assert np.bincount(model.base_estimator_.y_train_).tolist() == [10, 10]


@pytest.mark.parametrize("classes", [2, 3])
def test_the_grid_is_judged_by_the_calibration_that_is_used(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=80), [0, 1][: classes - 1])
    parts = searches.folds(X, y)
    model = CalibratedClassifierCV(SVC(C=2.0, gamma=0.3), cv=parts, ensemble=False).fit(X, y)
    (used,) = model.calibrated_classifiers_
    held_out = cross_val_predict(SVC(C=2.0, gamma=0.3), X, y, cv=parts, method="decision_function").reshape(80, -1)
    p = np.column_stack([one.predict(f) for one, f in zip(used.calibrators, held_out.T, strict=True)])
    p = np.column_stack([1 - p, p]) if classes == 2 else p / p.sum(axis=1, keepdims=True)
    assert searches.CalibratedGrid.loss(X, y, parts, 2.0, 0.3) == pytest.approx(log_loss(y, p), rel=1e-9)


def test_the_best_number_of_trees_is_that_of_the_mean_over_folds():
    curves = {
        (1,): [np.array([3.0, 1.0, 4.0]), np.array([1.0, 2.0])],
        (2,): [np.array([1.9, 1.6]), np.array([1.6, 1.2])],
    }
    assert searches.best_of(curves) == ((2,), 2)  # means 2, 1.5 and 1.75, 1.4
    assert searches.best_of({(1,): curves[(1,)]}) == ((1,), 2)


def test_a_label_never_seen_costs_the_least_probability():
    p, classes = np.array([[0.25, 0.75], [1.0, 0.0]]), np.array(["a", "c"])
    assert searches.loss_of_the_labels(p, classes, np.array(["c", "a"])) == pytest.approx(-np.log(0.75) / 2)
    expected = -(np.log(0.25) + np.log(searches.LEAST)) / 2
    assert searches.loss_of_the_labels(p, classes, np.array(["a", "b"])) == pytest.approx(expected)


def test_a_search_finds_more_trees_where_there_is_more_to_learn(small_searches):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    coin, rule = rng.integers(2, size=120), (X["a"] * X["b"] > 0).to_numpy().astype(int)
    search = searches.HistogramsByLogLoss
    trees = [search().fit(X, y).model_.n_iter_ for y in (coin, rule)]
    assert trees[0] < 5 < trees[1]
