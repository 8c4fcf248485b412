"""The commands as users call them: what they print, what they write, and one sentence where it cannot be done."""

import csv
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import bayespoint
from bayespoint.cli import main
from bayespoint.cli.app import app


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A table with text and gaps, a model fitted to it, and new rows."""
    home = tmp_path_factory.mktemp("house")
    rng = np.random.default_rng(0)
    for name, n in (("data", 60), ("test", 40)):
        age, job = rng.normal(40, 10, n), rng.choice(["clerk", "smith", ""], n)
        y = np.where(age + 10 * (job == "clerk") + rng.normal(0, 3, n) > 43, "old", "young")
        with (home / f"{name}.csv").open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["age", "job", "y"])
            lines.writerows(zip([f"{a:.2f}" if i % 9 else "" for i, a in enumerate(age)], job, y, strict=True))
    (home / "half.model").write_bytes(b"PK\x03\x04 and no more")
    (home / "empty.csv").write_text("")
    (home / "dates.csv").write_text("a,when,y\n1,2020-01-02,p\n2,2020-01-03,q\n")
    (home / "strange.csv").write_text("age,job,y\nmany,clerk,old\n")
    assert main(["fit", str(home / "data.csv"), "-t", "y", "-o", str(home / "a.model"), "-q"]) == 0
    return home


@pytest.fixture
def run(house, monkeypatch, capsys):
    monkeypatch.chdir(house)
    capsys.readouterr()

    def call(line):
        status = main(line.split())
        return status, *capsys.readouterr()

    return call


def test_fit(run, house):
    status, out, err = run("fit data.csv --target y -o b.model --kernel auto --seed 1")
    assert status == 0
    assert "60 rows, 2 columns" in out
    assert "labels left out" in out
    assert "saved b.model" in out
    assert "fitted in" in err
    assert bayespoint.load(house / "b.model").classes_.tolist() == ["old", "young"]
    told = bayespoint.files.describe(house / "b.model")["notes"]
    assert told["target"] == "y"
    assert told["columns"] == [{"name": "age", "type": "number"}, {"name": "job", "type": "nominal"}]


def test_predict(run, house):
    status, out, err = run("predict a.model test.csv")
    rows = list(csv.DictReader(out.splitlines()))
    assert (status, err, len(rows)) == (0, "", 40)
    for row in rows:
        p = {label: float(row[f"p({label})"]) for label in ("old", "young")}
        assert row["prediction"] == max(p, key=p.get)
        assert sum(p.values()) == pytest.approx(1, abs=1e-5)
    assert run("predict a.model test.csv -o p.csv")[0] == 0
    assert (house / "p.csv").read_text() == out
    assert json.loads(run("predict a.model test.csv --json")[1])[0]["prediction"] == rows[0]["prediction"]


def test_evaluate(run):
    status, out, err = run("evaluate a.model test.csv")
    assert (status, err) == (0, "")
    assert "40 rows, 95 % intervals" in out
    told = json.loads(run("evaluate a.model test.csv --json")[1])
    assert told["error"]["low"] <= told["error"]["value"] <= told["error"]["high"] < told["constant_error"]
    assert "flatter" in run("evaluate a.model data.csv")[2]


def test_compare(run, monkeypatch):
    monkeypatch.setattr("bayespoint.uses.evaluation._has_catboost", lambda: False)
    status, out, _ = run("compare data.csv --target y --folds 2 --rows 50")
    assert status == 0
    assert "50 rows, 2 splits" in out
    assert [name in out for name in ("BayesPointClassifier", "SVC, calibrated", "logistic regression")] == [True] * 3


def test_certify(run, house):
    status, out, _ = run("certify data.csv --target y --test test.csv -o c.model")
    assert status == 0
    assert "Certificate at confidence 95 %" in out
    assert "the same by a test set" in out
    assert run("predict c.model test.csv")[0] == 0
    assert 0 < json.loads(run("certify data.csv --target y --json")[1])["bound"] <= 1


def test_evidence(run):
    status, out, _ = run("evidence a.model")
    assert status == 0
    assert "kernel, weight" in out
    told = json.loads(run("evidence a.model --json")[1])
    assert sum(one["weight"] for one in told["kernels"]) == pytest.approx(1)


def test_query(run):
    status, out, _ = run("query a.model test.csv -n 3")
    rows = list(csv.DictReader(out.splitlines()))
    assert (status, len(rows)) == (0, 3)
    assert float(rows[0]["bits"]) >= float(rows[2]["bits"])
    told = json.loads(run("query a.model test.csv -n 3 --json")[1])
    assert [one["row"] for one in told] == [int(row["row"]) for row in rows]


def test_clean(run, house):
    status, out, _ = run("clean data.csv --target y --threshold 0.3 -o cleaned.csv -q")
    assert status == 0
    assert "labels" in out
    left = list(csv.DictReader((house / "cleaned.csv").read_text().splitlines()))
    found = json.loads(run("clean data.csv --target y --threshold 0.3 --json")[1])
    assert len(left) == 60 - len(found["doubtful"])
    assert set(left[0]) == {"age", "job", "y"}


SENTENCES = {
    "fit no.csv -t y -o m": "There is no file 'no.csv'.",
    "fit empty.csv -t y -o m": "'empty.csv' is empty",
    "fit data.csv -t z -o m": "data.csv has no column 'z'; it has 'age', 'job', 'y'.",
    "fit dates.csv -t y -o m": "Column 'when' holds dates, such as '2020-01-02'",
    "fit data.csv -t y -o nowhere/m": "There is no directory 'nowhere' to write 'm' to.",
    "fit data.csv -t y -o m --noise much": "noise is a share below 0.5, or 'evidence', got 'much'.",
    "fit data.csv -t y -o m --estimator svc": "Column 'job' holds text",
    "fit data.csv -t y -o m --drop nothing": "data.csv has no column 'nothing'",
    "predict half.model test.csv": "The model file 'half.model' cannot be read: it is no model file, or only a part",
    "predict no.model test.csv": "There is no model file 'no.model'.",
    "predict data.csv test.csv": "The model file 'data.csv' cannot be read",
    "predict a.model dates.csv": "dates.csv has no column 'age'",
    "predict a.model strange.csv": "Column 'age' held numbers when the model was fitted, and row 1 of",
    "evaluate a.model test.csv -t job": "Column 'job' of test.csv has the label",
    "clean a.model -t y": "'a.model' is neither CSV nor parquet",
}


@pytest.mark.parametrize(("line", "sentence"), SENTENCES.items())
def test_one_sentence(run, house, line, sentence):
    before = sorted(house.iterdir())
    status, out, err = run(line)
    assert (status, out) == (2, "")
    assert err.startswith(f"bayespoint: {sentence}")
    assert err.count("\n") == 1
    assert sorted(house.iterdir()) == before


@pytest.mark.parametrize("line", ["frobnicate", "fit data.csv", "query a.model test.csv -n 0"])
def test_wrong_use(run, line):
    status, out, err = run(line)
    assert (status, out) == (2, "")
    assert "for help." in err


def test_every_command_has_an_example(capsys):
    for name, command in app.commands.items():
        assert command.epilog.startswith("Example: bayespoint " + name)
        if name != "reproduce":  # which hands on its arguments
            assert main([name, "--help"]) == 0
            assert "Example: bayespoint" in capsys.readouterr().out
    assert main(["--help"]) == 0
    assert main(["--version"]) == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete(capsys, shell):
    assert main(["completion", shell]) == 0
    assert "_BAYESPOINT_COMPLETE" in capsys.readouterr().out


def test_extras_that_a_message_names_are_there():
    root = Path(bayespoint.__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = [name for path in root.glob("src/**/*.py") for name in re.findall(r"bayespoint\[(\w+)\]", path.read_text())]
    assert {"plot", "parquet", "label"} <= set(named) <= set(extras)
