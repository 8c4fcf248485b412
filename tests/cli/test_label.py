"""The labelling server by plain requests: who gets in, what is answered, what is written."""

import csv
import json
import socket
import threading
from html import unescape
from http.client import HTTPConnection

import numpy as np
import pytest

import bayespoint
from bayespoint.cli import main
from bayespoint.cli.server import LabelServer, keys_of
from bayespoint.uses.journal import Journal
from bayespoint.uses.labelling import Session
from bayespoint.uses.pools import pool_of
from bayespoint.uses.tables import Frame

EVIL = "</script><script>alert(1)</script>"
N = 40


def frame():
    rng = np.random.default_rng(0)
    age = rng.normal(40, 10, N)
    return Frame(
        {"age": np.array([f"{a:.1f}" for a in age], dtype=object), EVIL: np.array([EVIL, "b"] * (N // 2), dtype=object)}
    )


@pytest.fixture
def server(tmp_path):
    pool = pool_of(frame(), target=None, text=None, image=None, home=tmp_path)
    journal = Journal(tmp_path / "j", {"digest": "d", "classes": ["old", "young"]})
    session = Session(pool.rows, N, ["old", "young"], journal, lambda: pool.classifier())
    found = LabelServer(session, pool, EVIL, tmp_path, lambda: "exported")
    thread = threading.Thread(target=found.serve)
    thread.start()
    yield found
    found.close()
    thread.join()
    journal.close()


def request(server, method, path, body=None, **headers):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
    if body is not None:
        headers.setdefault("Content_Type", "application/json")
        body = json.dumps(body) if not isinstance(body, str) else body
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    reply = connection.getresponse()
    raw = reply.read().decode()
    connection.close()
    return reply, raw


def post(server, what, **body):
    reply, raw = request(server, "POST", f"/{server.token}/{what}", {"by": "anna", **body})
    return reply.status, json.loads(raw)


def test_a_round_of_questions(server):
    state = json.loads(request(server, "GET", f"/{server.token}/state?as=anna")[1])
    for k in range(6):
        row = state["question"]["row"]
        status, state = post(server, "answer", row=row, label="old" if k % 2 else "young")
        assert status == 200
        assert state["standing"]["labels"] == k + 1
    status, state = post(server, "undo")
    assert (state["standing"]["labels"], state["question"]["row"]) == (5, row)
    status, state = post(server, "skip", row=row)
    assert state["question"]["row"] != row
    assert post(server, "export")[1]["said"] == "exported"


def test_only_who_knows_the_token_gets_in(server):
    for path in ("/", "/state", "/wrong/state?as=anna", f"/{server.token}", f"/{server.token}x/"):
        assert request(server, "GET", path)[0].status == 403
    assert request(server, "POST", "/wrong/undo", {"by": "anna"})[0].status == 403
    inside = f"/{server.token}/state?as=anna"
    assert request(server, "GET", inside)[0].status == 200
    assert request(server, "GET", inside, Host=f"evil.example:{server.port}")[0].status == 403  # a name pointed here
    assert request(server, "GET", inside, Origin="http://evil.example")[0].status == 403
    plain = request(server, "POST", f"/{server.token}/undo", {"by": "anna"}, Content_Type="text/plain")
    assert plain[0].status == 400  # what a form of another page could send


def test_it_listens_on_this_machine_alone(server):
    assert server.http.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 24


BAD = {
    "no row": ("answer", {"row": 10**6, "label": "old"}),
    "a row of text": ("answer", {"row": "1", "label": "old"}),
    "no label": ("answer", {"row": 0, "label": "sideways"}),
    "nobody": ("undo", {"by": ""}),
    "a long name": ("undo", {"by": "x" * 100}),
    "nothing known": ("launch", {}),
}


@pytest.mark.parametrize(("what", "body"), BAD.values(), ids=BAD)
def test_wrong_requests_get_a_sentence(server, what, body):
    status, told = post(server, what, **body)
    assert status == 400
    assert told["error"].endswith(".")
    assert not server.session.labels()


def test_no_json(server):
    assert request(server, "POST", f"/{server.token}/undo", "[1")[0].status == 400
    assert request(server, "POST", f"/{server.token}/undo", '"x"')[0].status == 400
    assert request(server, "POST", f"/{server.token}/undo", "x" * 20_000)[0].status == 400


def test_a_length_that_is_no_number_gets_a_sentence(server, capfd):
    """A raised three is a digit to Python, and no part of a number."""
    for length in ("³40", "-1", "1e3", "9" * 5000):
        head = f"POST /{server.token}/undo HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: {length}\r\n"
        with socket.create_connection(("127.0.0.1", server.port), 20) as wire:
            wire.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode("latin-1"))
            assert wire.recv(100).startswith(b"HTTP/1.1 400 ")
    assert not capfd.readouterr().err


def test_a_browser_that_hangs_up_says_nothing_in_the_terminal(server, capfd):
    """Closed with the answer unread, the wire is reset under the server's hands; an error of ours is still told."""
    address = ("127.0.0.1", server.port)
    for error, told in ((ConnectionResetError(104, "reset by peer"), False), (ZeroDivisionError(), True)):
        try:
            raise error
        except Exception:
            server.http.handle_error(None, address)
        assert bool(capfd.readouterr().err) is told


def test_what_is_no_request_gets_no_page(server):
    with socket.create_connection(("127.0.0.1", server.port), 20) as wire:
        wire.sendall(b"<script>alert(1)</script>\r\n\r\n")
        wire.shutdown(socket.SHUT_WR)
        assert b"<" not in b"".join(iter(lambda: wire.recv(65536), b""))


def test_the_page_obeys_nothing_in_the_data(server):
    reply, page = request(server, "GET", f"/{server.token}/?as=anna")
    assert page.count("<script") == 1  # ours
    assert EVIL not in page
    assert reply.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in unescape(page)
    assert "http" not in page.replace("http-equiv", "")


def test_keys():
    assert keys_of(["ham", "spam"]) == [("ham", ["1", "h"]), ("spam", ["2"])]  # s is for skip
    assert keys_of(["cat", "cow", "dog"]) == [("cat", ["1"]), ("cow", ["2"]), ("dog", ["3", "d"])]
    assert keys_of([str(k) for k in range(12)])[10] == ("10", [])


# -- the command -------------------------------------------------------------------------------------------------------


def test_export_from_the_journal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["age,job", *(f"{age:.1f},{job}" for age, job in zip(rng.normal(40, 10, N), ["a", "b"] * 20, strict=True))]
    (tmp_path / "pool.csv").write_text("\n".join(lines) + "\n")
    assert main(["label", "pool.csv", "--classes", "old,young", "--export"]) == 0
    assert "0 labels" in capsys.readouterr().out
    with (tmp_path / "pool.csv.journal").open("a") as file:
        for row in range(20):
            label = "old" if float(lines[row + 1].split(",")[0]) > 40 else "young"
            file.write(json.dumps({"kind": "answer", "by": "anna", "row": row, "label": label}) + "\n")
        file.write(json.dumps({"kind": "answer", "by": "ben", "row": 0, "label": "young"}) + "\n")
        file.write(json.dumps({"kind": "answer", "by": "anna", "row": 0, "label": "old"}) + "\n")
    assert main(["label", "pool.csv", "--classes", "old,young", "--export"]) == 0
    told = list(csv.DictReader((tmp_path / "pool.labels.csv").read_text().splitlines()))
    assert len(told) == 20
    assert told[0] | {"age": ""} == {
        "row": "1",
        "age": "",
        "job": "a",
        "label": "",
        "by anna": "old",
        "by ben": "young",
    }
    assert bayespoint.load(tmp_path / "pool.labels.model").n_features_in_ == 2
    assert main(["predict", "pool.labels.model", "pool.csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= N


SENTENCES = {
    "label pool.csv": "Say what the labels are: --classes spam,ham",
    "label pool.csv --classes one": "Say what the labels are",
    "label pool.csv --classes a,b -t y": "The pool has the label 'p', which is not among --classes.",
    "label no.csv --classes a,b": "There is no file 'no.csv'.",
    "label pool.csv --classes a,b --text words": "pool.csv has no column 'words'",
    "label pool.csv --classes a,b --image x": "Row 1 names the image '1'",
    "label pool.csv --classes a,b --journal pool.csv": "'pool.csv' is no journal of labels",
}


@pytest.mark.parametrize(("line", "sentence"), SENTENCES.items())
def test_one_sentence(tmp_path, monkeypatch, capsys, line, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.csv").write_text("x,y\n1,p\n2,q\n")
    assert main(line.split()) == 2
    assert capsys.readouterr().err.startswith(f"bayespoint: {sentence}")
    assert (tmp_path / "pool.csv").read_text() == "x,y\n1,p\n2,q\n"
