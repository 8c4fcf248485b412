"""The report: one page that says what the figures say, asks nothing of the network, and obeys nothing in the data."""

import csv
from html.parser import HTMLParser

import numpy as np
import pytest

import bayespoint
from bayespoint import BayesPointClassifier, engines
from bayespoint.cli import main
from bayespoint.uses.report import examine, rejection_table
from bayespoint.uses.tables import Frame

EVIL = "<script>alert(1)</script>"
QUOTES = "\"'><img src=x onerror=alert(2)>"


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    age = np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 10, n))
    job = rng.choice(np.array(["clerk", "$smith$", EVIL, None], dtype=object), n)
    y = np.where(np.nan_to_num(age, nan=40) + 10 * (job == "clerk") + rng.normal(0, 4, n) > 43, "o<b>ld", "young")
    return Frame({"age": age, QUOTES: job}), y


def written(path, frame, y=None):
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([*frame.columns, *([] if y is None else ["y"])])
        for i in range(len(frame)):
            lines.writerow([*frame.row(i).values(), *([] if y is None else [y[i]])])


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    home = tmp_path_factory.mktemp("report")
    frame, y = people()
    model = BayesPointClassifier(None, random_state=0).fit(frame, y)
    columns = [column._asdict() for column in frame.types]
    bayespoint.save(model, home / "a.model", notes={"target": "y", "columns": columns, "certificate": EVIL})
    written(home / "test.csv", *people(50, 1))
    written(home / "bare.csv", people(50, 1)[0])
    return home, model


class Seen(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.words, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.words.append(data)


def seen(path):
    parser = Seen()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def made(house, monkeypatch, line):
    home, _ = house
    monkeypatch.chdir(home)
    assert main(line.split()) == 0
    return seen(home / "r.html")


def test_nothing_in_the_data_is_obeyed(house, monkeypatch):
    page = made(house, monkeypatch, "report a.model test.csv -o r.html")
    assert "script" not in page.tags
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert EVIL in "".join(page.words)  # it is shown, as text
    assert QUOTES in "".join(page.words)
    policy = next(value for tag, name, value in page.attributes if tag == "meta" and name == "content")
    assert policy.startswith("default-src 'none'")


def test_nothing_is_asked_of_the_network(house, monkeypatch):
    page = made(house, monkeypatch, "report a.model test.csv -o r.html")
    sources = [value for _, name, value in page.attributes if name in ("src", "href", "action", "data")]
    assert len(sources) == 3
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert "link" not in page.tags
    assert "url(" not in (house[0] / "r.html").read_text()


def test_all_sections(house, monkeypatch):
    words = "".join(made(house, monkeypatch, "report a.model test.csv -o r.html --top 3").words)
    for title in ("Error, log loss, rejection", "Guarantee", "Kernels and evidence", "Relevance of columns", "Data"):
        assert title in words
    assert "Most uncertain rows" in words
    assert "Sampler" not in words  # there are no draws


def test_without_labels(house, monkeypatch):
    words = "".join(made(house, monkeypatch, "report a.model bare.csv -o r.html").words)
    assert "labels left out" in words
    assert "Most suspicious labels" not in words
    assert "error at most" not in words


def test_without_matplotlib(house, monkeypatch):
    def missing(found):
        raise ImportError("no matplotlib")

    monkeypatch.setattr("bayespoint.cli.pages.report.pictures_of", missing)
    page = made(house, monkeypatch, "report a.model test.csv -o r.html")
    assert "bayespoint[plot]" in "".join(page.words)
    assert "img" not in page.tags


def test_figures_are_those_of_the_rows(house):
    _, model = house
    frame, y = people(50, 1)
    found = examine(model, Frame({**frame.data, "y": y.astype(object)}), frame.types, "y", top=5)
    proba = model.predict_proba(frame)
    assert found.scores.error.value == np.mean(model.predict(frame) != y)
    least = min(found.suspicious, key=lambda row: row.probability)
    codes = np.searchsorted(model.classes_, y)
    wrong = proba.argmax(axis=1) != codes
    assert least.probability == proba[np.arange(50), codes][wrong].min()
    assert [row.probability for row in found.uncertain] == sorted(proba.max(axis=1))[:5]
    assert found.bound.value > found.scores.error.value
    assert sorted(one.name for one in found.relevance) == sorted(frame.columns)


def test_rejection_by_hand():
    proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.45, 0.55]])
    table = dict(rejection_table(np.array([0, 1, 1, 0]), proba))
    assert table[0.0] == 0.5  # the two in the middle are wrong
    assert table[0.5] == 0.0


def test_draws_have_diagnostics(house):
    pytest.importorskip("arviz_stats")
    frame, y = people()
    engine = engines.Billiard(draws=300, chains=2)
    model = BayesPointClassifier(None, optimizer=None, engine=engine, random_state=0).fit(frame, y)
    assert examine(model, frame, frame.types, None).diagnosis.ess > 0
