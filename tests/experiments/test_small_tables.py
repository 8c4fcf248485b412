import numpy as np
import pandas as pd
import pytest

import cells
import fill_tables
from ours import small_tables
from peers import METHODS
from sizes import Size
from tables import Division


def test_figures_of_three_rows_by_hand():
    p = np.array([[0.8, 0.2, 0.0], [0.1, 0.3, 0.6], [0.5, 0.4, 0.1]])
    found = small_tables.figures_of(np.array(["a", "c", "b"]), p, np.array(["a", "b", "c"]))
    assert found["error"] == pytest.approx(1 / 3)
    assert found["log_loss"] == pytest.approx(-np.log([0.8, 0.6, 0.4]).mean())
    assert found["brier"] == pytest.approx((0.08 + 0.26 + 0.62) / 6)
    assert found["calibration"] == pytest.approx((0.2 + 0.4 + 0.5) / 3)  # three bins: .8, .6 right, .5 wrong


def test_a_probability_of_nought_costs_much_but_not_everything():
    found = small_tables.figures_of(np.array([0, 1]), np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 1]))
    assert 15 < found["log_loss"] < 20
    assert found["calibration"] == 0.5


def losses(name, split, **values):
    return [
        {"set": name, "split": split, "method": method}
        | ({"skipped": "why"} if value is None else dict.fromkeys(small_tables.MEASURES, value))
        for method, value in values.items()
    ]


FOUND = [
    *losses("banana", 0, bayespoint=0.1, catboost=0.2, process=0.3),
    *losses("banana", 1, bayespoint=0.5, catboost=0.2, process=0.3),
    *losses("banana", 2, bayespoint=9.0, catboost=0.1),  # not all methods: left out
    *losses("crabs", 0, bayespoint=0.1, catboost=0.2, process=0.3),
    *losses("yeast", 0, bayespoint=0.1, catboost=0.3, process=None),
    *losses("sonar", 0, bayespoint=0.1),
]
THREE = ["bayespoint", "catboost", "process"]


def test_means_are_over_divisions_that_all_methods_have():
    table = small_tables.means(FOUND, THREE)["log_loss"]
    assert list(table.index) == ["banana", "crabs", "yeast"]
    np.testing.assert_allclose(table, [[0.3, 0.2, 0.3], [0.1, 0.2, 0.3], [0.1, 0.3, np.nan]])


def test_ranks_wins_and_halves():
    table = small_tables.means(FOUND, THREE)["log_loss"]
    found = small_tables.compare(table, "catboost")
    assert found["rank"].tolist() == pytest.approx([(2.5 + 1 + 1) / 3, (1 + 2 + 2) / 3, (2.5 + 3) / 2])
    assert found.loc["bayespoint", ["won", "of"]].tolist() == [2, 3]
    assert found.loc["process", ["won", "of"]].tolist() == [0, 2]
    assert found.loc["catboost", "p"] == 1.0
    parts = small_tables.halves(table)
    assert {half: list(part.index) for half, part in parts.items()} == {
        "choosing": ["banana"],
        "reporting": ["crabs", "yeast"],
        "all": ["banana", "crabs", "yeast"],
    }


def test_the_sign_of_a_clear_difference_is_seen():
    gap = pd.DataFrame({"bayespoint": np.arange(10.0), "catboost": np.arange(10.0) + np.linspace(0.1, 1, 10)})
    found = small_tables.compare(gap, "catboost").loc["bayespoint"]
    assert found["won"] == 10
    assert found["p"] == pytest.approx(2 / 2**10)  # all ten signs alike, two-sided


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Tables of 40 rows, and a file for cells."""

    def division(name, index):
        X = pd.DataFrame({"x": np.random.default_rng(index).normal(size=40)})
        y = np.where(X["x"] > 0, 1, -1)
        return Division(X[:20], y[:20], X[20:], y[20:])

    monkeypatch.setattr(small_tables, "division", division)
    monkeypatch.setenv("BAYESPOINT_CELLS", str(tmp_path / "cells.jsonl"))
    return tmp_path / "cells.jsonl"


def test_cells_are_found_once_and_new_code_of_ours_finds_ours_alone_again(small, monkeypatch, capsys):
    arguments = ["--methods", "bayespoint,boosting", "--splits", "0-1", "--sets", "crabs"]
    assert fill_tables.main(arguments) == 0
    assert "[4/4] crabs 1 boosting" in capsys.readouterr().out
    fill_tables.main(arguments)
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(cells, "version_of_ours", lambda: "bayespoint 9.9 abc")
    fill_tables.main(arguments)
    assert [line.split()[3][:-1] for line in capsys.readouterr().out.splitlines()] == ["bayespoint"] * 2
    assert len(cells.read(small)) == 6
    fill_tables.main([*arguments, "--summary"])
    said = capsys.readouterr().out
    assert "log loss, reporting (1 sets)" in said
    assert "bayespoint (bayespoint 9.9 abc) 2" in said
    assert len(small_tables.at_hand(["bayespoint"], small, "abc")) == 2
    assert len(small_tables.at_hand(["bayespoint"], small, "nothing")) == 0


def test_a_failure_is_shown_and_stops_nothing(small, monkeypatch, capsys):
    def fail(X):
        raise ValueError("broken")

    monkeypatch.setitem(METHODS, "boosting", small_tables.Method("broken", fail))
    assert fill_tables.main(["--methods", "boosting,logistic", "--splits", "0", "--sets", "crabs"]) == 1
    said = capsys.readouterr()
    assert "ValueError: broken" in said.err
    assert "[2/2] crabs 0 logistic" in said.out


def test_without_catboost_there_is_a_quick_run_but_no_full_one(monkeypatch):
    monkeypatch.setitem(METHODS, "catboost", small_tables.Method("CatBoost", None, "no_such_package"))
    methods = small_tables.methods_for(Size(quick=True))
    assert methods == [name for name in METHODS if name != "catboost"]
    with pytest.raises(ModuleNotFoundError, match="catboost, the peer to compare with, is missing"):
        small_tables.methods_for(Size())
    found = [cell | {"version": "1"} for cell in losses("crabs", 0, bayespoint=0.1, forest=0.2)]
    assert small_tables.findings(found, ["bayespoint", "forest"]).conditions["not installed"][0] == "CatBoost"
