import json

import pytest

import reliability

RECORD = {
    "item": "Long runs",
    "tried": "fits | and draws",
    "times": 1200,
    "failed": ["it grew"],
    "lost": [],
    "figures": {
        "largest": 1.23456e-9,
        "growth": {"memory": 0.5},
        "series": {"memory": list(range(20))},
        "ledger": {str(k): ["code"] for k in range(20)},
    },
    "date": "2026-01-02",
    "versions": {"numpy": "2.0"},
}


@pytest.fixture
def made(tmp_path):
    (tmp_path / "cycles.json").write_text(json.dumps(RECORD))
    (tmp_path / "counted.json").write_text(json.dumps(RECORD | {"item": "Counts", "failed": 0, "lost": 0}))
    return reliability.page(tmp_path)


def test_what_was_tried_how_often_what_failed_and_what_was_lost(made):
    assert r"| [Long runs: cycles](#long-runs-cycles) | fits \| and draws | 1,200 | 1 | nothing |" in made
    assert "| [Counts: counted](#counts-counted) | " in made
    assert "| nothing | nothing |" in made
    assert made.index("## Counts") < made.index("## Long runs")
    assert "- failed: it grew" in made


def test_figures_are_shown_and_series_are_not(made):
    assert "| largest | 1.23e-09 |" in made
    assert "| growth | memory 0.5 |" in made
    assert "series" not in made
    assert "ledger" not in made
    assert "2026-01-02; numpy 2.0." in made


def test_the_page_is_that_of_the_records():
    assert reliability.PAGE.read_text(encoding="utf-8") == reliability.page(), "run experiments/reliability.py"


def test_records_say_all_that_the_page_shows():
    for name, record in reliability.load(reliability.RECORDS).items():
        assert set(record) == set(RECORD), name
