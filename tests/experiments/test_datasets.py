from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

import datasets


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A machine without data."""
    monkeypatch.delenv("BAYESPOINT_DATA", raising=False)
    monkeypatch.setattr(datasets, "__file__", str(tmp_path / "repository" / "experiments" / "datasets.py"))
    return tmp_path


def put(place, name, **arrays):
    place.mkdir(parents=True, exist_ok=True)
    np.savez(place / f"{name}.npz", **arrays)


def test_the_neighbour_comes_before_the_named_directory(nowhere, monkeypatch):
    put(nowhere / "mine", "heart", X=[[1.0]], y=[1])
    monkeypatch.setenv("BAYESPOINT_DATA", str(nowhere / "mine"))
    assert datasets.load_arrays("heart")["X"] == 1.0
    put(nowhere / "shared" / "data", "heart", X=[[2.0]], y=[1])
    assert datasets.load_arrays("heart")["X"] == 2.0
    assert datasets.at_hand("heart")
    assert not datasets.at_hand("heart", "sonar")
    assert datasets.at_hand("waveform")  # made on the spot


def test_a_set_that_is_nowhere_gets_a_sentence(nowhere):
    with pytest.raises(
        datasets.DataNotFoundError, match=r"put crabs\.npz into a directory and name it in BAYESPOINT_DATA"
    ):
        datasets.load_arrays("crabs")


def test_a_directory_that_is_not_there_is_said(nowhere, monkeypatch):
    monkeypatch.setenv("BAYESPOINT_DATA", str(nowhere / "none"))
    with pytest.raises(datasets.DataNotFoundError, match="there is no such directory"):
        datasets.load_arrays("heart")


def test_no_network_gets_a_sentence(nowhere, monkeypatch):
    def fail(*_, **__):
        raise URLError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    with pytest.raises(datasets.DataNotFoundError, match="OpenML does not answer"):
        datasets.load_arrays("heart")


def test_two_classes_from_openml(nowhere, monkeypatch):
    asked = []

    def fetch(name, version, as_frame):
        asked.append((name, version, as_frame))
        data = pd.DataFrame({"a": [1.0, 9.0, 2.0, 6.0], "b": pd.Categorical(["x", None, "y", "x"])})
        return Bunch(data=data, target=pd.Series(["1", "1", "2", "3"], dtype="category"))

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    arrays = datasets.load_arrays("thyroid")
    assert asked == [("thyroid-new", 1, True)]
    assert arrays["y"].tolist() == [-1, 1, 1]
    np.testing.assert_allclose(arrays["X"].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(arrays["X"].std(axis=0), 1)


def test_digits_from_openml(nowhere, monkeypatch):
    def fetch(name, version, as_frame):
        rows = 9298
        return Bunch(data=pd.DataFrame(np.zeros((rows, 256))), target=pd.Series((np.arange(rows) % 10 + 1).astype(str)))

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    arrays = datasets.load_arrays("usps")
    assert arrays["X_train"].shape == (7291, 256)
    assert arrays["X_test"].shape == (2007, 256)
    assert arrays["y_train"][:3].tolist() == [0, 1, 2]


def test_waveform_is_made_where_there_is_no_file(nowhere):
    arrays = datasets.load_arrays("waveform")
    assert arrays["X"].shape == (5000, 21)
    assert 0.31 < np.mean(arrays["y"] > 0) < 0.36
    split = datasets.splits("waveform", 2)[1]
    assert split.X_train.shape == (400, 21)


def test_constant_columns_are_left_out(nowhere):
    put(nowhere / "shared" / "data", "sonar", X=np.column_stack([np.arange(10.0), np.ones(10)]), y=np.tile([-1, 1], 5))
    split = datasets.random_split("sonar", 0.6, 0)
    assert split.X_train.shape == (6, 1)
    assert sorted(np.concatenate([split.X_train, split.X_test]).ravel()) == list(range(10))
    assert not np.array_equal(split.X_train, datasets.random_split("sonar", 0.6, 1).X_train)
