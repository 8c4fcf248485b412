import json

import pytest

import page
from catalogue import experiments
from findings import NEEDS_REASON, Findings, Number, Statement
from runner import record_of
from sizes import Size

EXPERIMENTS = {one.name: one for one in experiments()}
RECORDS = {name: page.load(one) for name, one in EXPERIMENTS.items()}
FIGURES = [
    Number("error | %", 12.345, 13.0, se=0.1, paper_se=0.2, goal="lower"),
    Statement("shape", "round", "flat", False, why="it was squeezed"),
    Number("alone", 1234567.0),
]


@pytest.fixture
def one(tmp_path, monkeypatch):
    """A page with results of the first experiment alone."""
    first = experiments()[0]
    record = record_of(first, Findings(FIGURES, None, 7, {"rows": 10}), Size(), 3.2, 6.1)
    (tmp_path / f"{first.stem}.json").write_text(json.dumps(record))
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    return page.section(first, page.load(first))


def test_both_figures_stand_side_by_side(one):
    assert r"| error \| % | 13 (0.2) | 12.35 (0.1) | **better** |" in one
    assert "| shape | round | flat | **does not hold** |" in one
    assert "| alone |  | 1.23e+06 | ours alone |" in one


def test_differences_have_their_reasons(one):
    assert "- *shape*: it was squeezed" in one
    assert r"- *error \| %*: no reason found." in one


def test_conditions_seed_and_time_are_said(one):
    assert "rows: 10. Seed: 7. 3 s (6 s of processor time)" in one


def test_results_of_an_older_form_are_as_good_as_none(one, tmp_path):
    first = experiments()[0]
    (tmp_path / f"{first.stem}.json").write_text('{"figures": []}')
    assert page.load(first) is None


def test_results_of_older_code_are_marked(one, tmp_path):
    first = experiments()[0]
    path = tmp_path / f"{first.stem}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"fingerprint": "other"}))
    assert "**by older code**" in page.section(first, page.load(first))
    assert "**by older code**" not in one


def test_what_has_not_run_is_said(one):
    assert "Not run yet." in page.section(experiments()[1], None)


@pytest.mark.parametrize("name", RECORDS)
def test_the_page_has_full_results_of_every_experiment(name):
    assert RECORDS[name] is not None, f"{name} has not run: make experiments"
    assert RECORDS[name]["size"] == "full"


@pytest.mark.parametrize("name", RECORDS)
def test_results_are_of_the_code_as_it_is(name):
    assert RECORDS[name]["fingerprint"] == EXPERIMENTS[name].fingerprint, f"{name} is out of date: make experiments"


@pytest.mark.parametrize("name", RECORDS)
def test_every_difference_from_a_paper_has_a_reason(name):
    for row in RECORDS[name]["figures"]:
        assert row["why"] or row["verdict"] not in NEEDS_REASON, row["what"]


def test_the_page_is_the_one_made_from_the_results():
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "out of date: python experiments/page.py"


def test_links_and_pictures_are_there():
    text = page.page()
    for one in experiments():
        assert f"### {one.name}\n" in text
        assert f"(#{page.anchor(one.name)})" in text
        assert (page.RESULTS / f"{one.stem}.png").is_file()


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.00012345, "0.0001234"), (1e-7, "1.00e-07"), (12345.6, "12346"), (-2.5, "-2.5")]
)
def test_numbers_as_a_person_would_write_them(value, text):
    assert page.number(value) == text
