"""Labelling: what is asked, what is kept, and what a crash may not take away."""

import json
import os

import numpy as np
import pytest
from scipy.stats import binom

from bayespoint import BayesPointClassifier
from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses.journal import Journal, digest_of
from bayespoint.uses.labelling import Session
from bayespoint.uses.pools import image_path, pool_of
from bayespoint.uses.tables import Frame

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
TRUTH = np.where(X[:, 0] > 0, "up", "down")
ABOUT = {"digest": "d", "classes": ["down", "up"]}


def session(tmp_path, name="journal", **options):
    def make():
        return BayesPointClassifier(None, optimizer=None)

    return Session(X, 60, ["down", "up"], Journal(tmp_path / name, ABOUT), make, **options)


def answered(one, by, count, labels=TRUTH):
    for _ in range(count):
        question = one.question(by)
        one.answer(by, question.row, labels[question.row])
        one.learn()


def test_answers_are_on_disk_before_the_next_question(tmp_path):
    one = session(tmp_path)
    for k in range(12):
        question = one.question("anna")
        one.answer("anna", question.row, TRUTH[question.row])
        lines = (tmp_path / "journal").read_text().splitlines()
        assert len(lines) == k + 2  # the first says whose journal it is
        assert json.loads(lines[-1])["row"] == question.row
        one.learn()


def test_every_answer_is_brought_to_disk(tmp_path, monkeypatch):
    """Not only handed to the system, which a failing power supply would lose."""
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((tmp_path / "journal").read_text().count("\n")))
    one = session(tmp_path)
    answered(one, "anna", 3)
    one.undo("anna")
    assert synced == [1, 2, 3, 4, 5]


def test_a_session_is_what_its_journal_says(tmp_path):
    one = session(tmp_path)
    answered(one, "anna", 9)
    one.answer("anna", one.question("anna").row, None)
    answered(one, "anna", 2)
    one.undo("anna")
    again = session(tmp_path)
    assert again.labels() == one.labels()
    assert len(again.labels()) == 10
    again.learn()
    one.learn()
    assert again.standing() == one.standing()


def test_a_line_cut_off_is_dropped_and_no_other(tmp_path):
    one = session(tmp_path)
    answered(one, "anna", 5)
    path = tmp_path / "journal"
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    with pytest.warns(UserWarning, match="cut off by a crash"):
        again = session(tmp_path)
    assert len(again.labels()) == 4
    answered(again, "anna", 1)
    assert len(session(tmp_path).labels()) == 5  # what was appended since is whole


def test_the_question_stays_until_it_is_answered(tmp_path):
    one = session(tmp_path)
    answered(one, "anna", 6)
    first = one.question("anna")
    one.learn()
    assert one.question("anna") is first
    with pytest.raises(InvalidProblemError, match="not the one that was asked"):
        one.answer("anna", (first.row + 1) % 60, "up")
    with pytest.raises(InvalidProblemError, match="'sideways' is not one of the classes down, up"):
        one.answer("anna", first.row, "sideways")
    assert one.question("anna") is first


def test_undo_asks_the_same_row_again(tmp_path):
    one = session(tmp_path)
    assert not one.undo("anna")
    answered(one, "anna", 5)
    before = dict(one.labels())
    question = one.question("anna")
    one.answer("anna", question.row, "up")
    assert one.undo("anna")
    assert one.labels() == before
    assert one.question("anna").row == question.row


def test_what_tells_most_is_asked(tmp_path):
    one = session(tmp_path)
    answered(one, "anna", 10)
    question = one.question("anna")
    while question.why != "gain":
        one.answer("anna", question.row, TRUTH[question.row])
        one.learn()
        question = one.question("anna")
    assert question.bits == pytest.approx(one.standing().next_bits)
    gains = [event["bits"] for event in one.journal.events if event.get("why") == "gain"]
    assert gains


def test_skipped_rows_come_back_only_in_the_end(tmp_path):
    one = session(tmp_path)
    row = one.question("anna").row
    one.answer("anna", row, None)
    seen = []
    for _ in range(59):
        question = one.question("anna")
        seen.append(question.row)
        one.answer("anna", question.row, TRUTH[question.row])
    assert row not in seen
    assert sorted([*seen, row]) == list(range(60))
    assert one.question("anna").row == row
    one.answer("anna", row, "up")
    assert one.question("anna") is None
    assert one.standing().advice.enough


def test_the_error_is_measured_on_random_rows_predicted_before(tmp_path):
    one = session(tmp_path)
    answered(one, "anna", 30)
    standing = one.standing()
    events = [event for event in one.journal.events if event.get("why") == "check"]
    wrong = sum(event["label"] != event["predicted"] for event in events)
    assert (standing.checks, standing.mistakes) == (len(events), wrong)
    assert 5 <= standing.checks <= 8
    assert binom.cdf(wrong, len(events), standing.bound) == pytest.approx(0.05, abs=1e-6)


def test_two_people_get_different_rows_and_see_where_they_disagree(tmp_path):
    one = session(tmp_path)
    wrong = np.where(TRUTH == "up", "down", "up")
    assert one.question("anna").row != one.question("ben").row
    for _ in range(10):
        answered(one, "anna", 1)
        answered(one, "ben", 1, wrong)
    standing = one.standing()
    assert standing.compared >= 2
    assert len(standing.disputed) == standing.compared
    row = standing.disputed[0]["row"]
    assert set(standing.disputed[0]["said"]) == {"anna", "ben"}
    assert row not in one.labels()  # nothing is learned from it
    one.again("ben", row)
    one.answer("ben", row, TRUTH[row])
    assert row in one.labels()
    assert len(one.standing().disputed) == standing.compared - 1


def test_labels_that_were_there_are_not_asked_for(tmp_path):
    one = session(tmp_path, known={0: "up", 1: "down"})
    assert one.learn()
    assert one.question("anna").row not in (0, 1)
    assert one.standing().labels == 2


@pytest.mark.parametrize(("text", "sentence"), [("nonsense\n", "no journal"), ('{"kind": "answer"}\n', "no journal")])
def test_some_other_file_is_no_journal(tmp_path, text, sentence):
    (tmp_path / "journal").write_text(text)
    with pytest.raises(InvalidProblemError, match=sentence):
        session(tmp_path)


def test_a_journal_of_another_pool(tmp_path):
    session(tmp_path)
    with pytest.raises(InvalidProblemError, match="another pool, or the pool was changed"):
        Journal(tmp_path / "journal", {**ABOUT, "digest": "e"})
    with pytest.raises(InvalidProblemError, match="other classes"):
        Journal(tmp_path / "journal", {**ABOUT, "classes": ["a", "b"]})


def test_digests_tell_files_apart(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    assert digest_of(tmp_path / "a") != digest_of(tmp_path / "b")


def texts(*values):
    return np.array(values, dtype=object)


def test_pools_of_text(tmp_path):
    frame = Frame({"t": texts("good film", "bad film", None), "y": texts("+", "-", None)})
    pool = pool_of(frame, target="y", text="t", image=None, home=tmp_path)
    assert pool.rows == ["good film", "bad film", ""]
    assert pool.known == {0: "+", 1: "-"}
    assert pool.classifier().fit(pool.rows[:2], ["+", "-"]).predict(["good"]) == ["+"]


def test_pools_of_images(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name, shade in (("a.png", 20), ("b.png", 220)):
        image.new("L", (30, 20), shade).save(tmp_path / name)
    pool = pool_of(Frame({"f": texts("a.png", "b.png")}), target=None, text=None, image="f", home=tmp_path)
    assert pool.rows.shape == (2, 256)
    np.testing.assert_allclose(pool.rows.mean(axis=1), [20 / 255, 220 / 255], atol=0.01)
    (tmp_path / "half.png").write_bytes(b"\x89PNG")
    with pytest.raises(InvalidProblemError, match="no image"):
        pool_of(Frame({"f": texts("half.png")}), target=None, text=None, image="f", home=tmp_path)


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "notes.txt", "..", "missing.png"])
def test_images_are_beside_the_pool(tmp_path, name):
    home = tmp_path / "pool"
    home.mkdir()
    (tmp_path / "secret.png").write_bytes(b"x")
    with pytest.raises(InvalidProblemError, match="Row 1 names the image"):
        image_path(Frame({"f": texts(name)}), "f", home, 0)
