import importlib
import json
import sys

import pytest

import cells


def cell(split, **more):
    return {"set": "heart", "split": split, "method": "a", "made": "x", **more}


def test_the_later_of_two_counts_and_half_a_line_does_not(tmp_path):
    path = tmp_path / "new" / "cells.jsonl"
    assert cells.read(path) == {}
    for one in (cell(0, error=1), cell(1, error=2), cell(0, error=3)):
        cells.append(path, one)
    with path.open("a") as file:
        file.write(json.dumps(cell(2))[:-5])
    assert cells.read(path) == {("heart", 0, "a", "x"): cell(0, error=3), ("heart", 1, "a", "x"): cell(1, error=2)}


SOURCE = '''LIMIT = 3
def helper(x):
    """Words."""
    return x + LIMIT
def method(x):
    return helper(x)
def other(x):
    return x
'''


@pytest.fixture
def code(tmp_path, monkeypatch):
    """The code of `method` in a module of the experiments with this text."""
    monkeypatch.setattr(cells, "HERE", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    count = iter(range(100))

    def of(text):
        name = f"written_{next(count)}"
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        found = cells.code_of(importlib.import_module(name).method)
        del sys.modules[name]
        return found

    return of


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("Words", "Other words", True),
        ("    return helper(x)", "    # why\n    return helper(x)", True),
        ("    return x\n", "    return -x\n", True),  # of a function that the method does not name
        ("x + LIMIT", "x - LIMIT", False),
        ("LIMIT = 3", "LIMIT = 4", False),
        ("helper(x)\ndef other", "helper(-x)\ndef other", False),
    ],
)
def test_code_is_that_which_makes_the_figures(code, old, new, same):
    assert old in SOURCE
    assert (code(SOURCE) == code(SOURCE.replace(old, new))) is same


def test_the_version_of_ours_knows_its_text(tmp_path, monkeypatch):
    monkeypatch.setattr(cells.bayespoint, "__file__", str(tmp_path / "__init__.py"))
    (tmp_path / "one.py").write_text("a = 1")
    before = cells.version_of_ours()
    assert cells.version_of_ours() == before
    (tmp_path / "one.py").write_text("a = 2")
    assert cells.version_of_ours() != before
