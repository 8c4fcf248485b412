"""Model files, tables and requests to the labelling page, each with anything in it: refused in a sentence or taken.

Nothing of them may be run, opened for writing, imported or asked of the network, and no other exception may come out.
"""

from __future__ import annotations

import contextlib
import io
import json
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from records import Record, arguments

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("files", "cli")]
import test_damage as damage
import test_label as label

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.cli.server import LabelServer
from bayespoint.exceptions import ModelFileError
from bayespoint.uses.journal import Journal
from bayespoint.uses.labelling import Session
from bayespoint.uses.pools import pool_of
from bayespoint.uses.tables import inputs_for, labels_of, read_table

MUTATIONS = 10_000
STATUS = (b"200", b"400", b"403", b"404", b"408", b"414", b"431", b"501", b"505")
EVIL = "</script><script>alert(1)</script>"
BITS = [
    "",
    '"',
    "'",
    ",",
    ";",
    "\t",
    "\n",
    "\r",
    "\x00",
    "=1+1",
    EVIL,
    "../../etc/passwd",
    "nan",
    "1e999",
    "-",
    "é",
    "\ufeff",
]
BITS += ["x" * 5000, "9" * 400, "{", "[", "null", "\u202e", "inf", "0x1", "1_000"]


def damaged(raw: bytes, rng: np.random.Generator) -> bytes:
    """Bytes changed, cut out, doubled, or with one of `BITS` put in."""
    out = bytearray(raw)
    for _ in range(rng.integers(1, 6)):
        place, kind = int(rng.integers(len(out) + 1)), rng.integers(5)
        if kind == 0 and place < len(out):
            out[place] = rng.integers(256)
        elif kind == 1:
            del out[place : place + rng.integers(1, 60)]
        elif kind == 2:
            out[place:place] = out[place : place + rng.integers(1, 60)]
        elif kind == 3:
            del out[place:]
        else:
            out[place:place] = BITS[rng.integers(len(BITS))].encode()
    return bytes(out)


# -- model files -----------------------------------------------------------------------------------------------------


def model_files(folder: Path, rng: np.random.Generator) -> Iterator[Callable[[], bool]]:
    """Half of them of damaged bytes, half with parts of anything and the right checksums."""
    path, model = folder / "model", BayesPointClassifier(optimizer=None)
    bayespoint.save(model.fit(damage.X, damage.Y), path)
    whole = path.read_bytes()
    truth = bayespoint.load(path).predict_proba(damage.X)

    def by_bytes() -> bool:
        path.write_bytes(damaged(whole, rng))
        with contextlib.suppress(ModelFileError):
            assert np.array_equal(bayespoint.load(path).predict_proba(damage.X), truth), "another model"
            return True
        return False

    def by_parts() -> bool:
        page, arrays = damage.parts_of(whole)
        for _ in range(rng.integers(1, 4)):
            damage.mutate(page, arrays, rng)
        path.write_bytes(damage.made_of(page, arrays))
        with contextlib.suppress(ModelFileError):
            bayespoint.load(path)
            return True
        return False

    while True:
        yield by_bytes
        yield by_parts


# -- tables ----------------------------------------------------------------------------------------------------------


def tables(folder: Path, rng: np.random.Generator) -> Iterator[Callable[[], bool]]:
    """A CSV file with numbers, words and gaps, as a fit and as a prediction would read it."""
    path, stream = folder / "table.csv", io.StringIO()
    stream.write("age,town,dose,label\n")
    for k in range(12):
        town = ("Ulm", '"a, b"', "")[k % 3]
        stream.write(f"{20 + k},{town},{0.5 * k if k % 4 else ''},{'yes' if k % 2 else 'no'}\n")
    whole = stream.getvalue().encode()
    path.write_bytes(whole)
    frame, labels = labels_of(read_table(path), "label")
    model = BayesPointClassifier(optimizer=None).fit(frame.typed(), labels)
    columns = frame.typed().types

    def read() -> bool:
        path.write_bytes(damaged(whole, rng))
        with contextlib.suppress(ValueError):
            read = read_table(path)
            labels_of(read, "label")
            p = model.predict_proba(inputs_for(model, read, columns))
            assert np.isfinite(p).all(), "no probability"
            return True
        return False

    while True:
        yield read


# -- requests --------------------------------------------------------------------------------------------------------


def requests(folder: Path, rng: np.random.Generator) -> Iterator[Callable[[], bool]]:
    """Raw bytes to the port of the labelling page, with the token and without."""
    pool = pool_of(label.frame(), target=None, text=None, image=None, home=folder)
    journal = Journal(folder / "j", {"digest": "d", "classes": ["old", "young"]})
    session = Session(pool.rows, label.N, ["old", "young"], journal, pool.classifier)
    server = LabelServer(session, pool, EVIL, folder, lambda: "exported")
    server.http.handle_error = lambda *ignored: broken.append(str(sys.exc_info()[1]))  # type: ignore[method-assign]
    thread, broken = threading.Thread(target=server.serve), list[str]()
    thread.start()

    def raw(method: str, path: str, body: str = "") -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
        head += "Content-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()

    t = server.token
    whole = [raw("GET", f"/{t}/?as=anna"), raw("GET", f"/{t}/state?as=anna"), raw("GET", f"/{t}/image?row=1")]
    for what in ("answer", "skip", "again", "undo", "export"):
        whole.append(raw("POST", f"/{t}/{what}", json.dumps({"by": "anna", "row": 3, "label": "old"})))

    def ask() -> bool:
        sent = damaged(whole[rng.integers(len(whole))], rng)
        with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", server.port), 20) as wire:
            wire.sendall(sent)
            wire.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: wire.recv(65536), b""))
            assert not broken, broken.pop()
            head, _, body = answer.partition(b"\r\n\r\n")
            assert not answer.startswith(b"HTTP/") or head[9:12] in STATUS, head[:80]
            pages = body if b"text/html" in head else b"" if answer.startswith(b"HTTP/") else answer
            assert b"<script>alert" not in pages, "a script came back"
            return answer[9:12] == b"200"
        return False

    try:
        while True:
            yield ask
    finally:
        server.close()
        thread.join()
        journal.close()
        labels = {one: told for one, told in session.labels().items() if told not in ("old", "young")}
        assert not labels, labels


KINDS = {"model files": model_files, "tables": tables, "requests to the labelling page": requests}


def main() -> int:
    given = arguments(__file__, minutes=30.0).parse_args()
    record = Record("Security: anything in files, tables and requests", "bytes, parts and numbers changed at random")
    warnings.simplefilter("ignore")
    end = time.monotonic() + 60 * given.minutes
    for name, kind in KINDS.items():
        rng, taken, done = np.random.default_rng(0), 0, 0
        with tempfile.TemporaryDirectory() as folder, contextlib.closing(kind(Path(folder), rng)) as tasks:
            for task in tasks:
                try:
                    with damage.watched() as events:
                        taken += task()
                    harm = set(events) - ({"socket.connect", "exec"} if kind is requests else set())  # our own
                    assert not harm, harm
                except Exception as error:
                    record.failed.append(f"{name}, number {done}: {type(error).__name__}: {error}"[:300])
                done += 1
                if done == MUTATIONS or time.monotonic() > end or len(record.failed) > 50:
                    break
        record.times += done
        record.figures |= {f"{name}, tried": done, f"{name}, taken as they are": taken}
        record.keep(given.keep)
        print(name, done, taken, record.failed[-3:], flush=True)
    return bool(record.failed)


if __name__ == "__main__":
    sys.exit(main())
