"""The labelling page's server: on this machine only, behind a token, with nothing in it but the session's answers."""

from __future__ import annotations

import hmac
import json
import re
import secrets
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..exceptions import InvalidProblemError
from ..uses.labelling import Question, Session
from ..uses.pools import IMAGES, Pool, image_path
from ._data import as_json
from .pages.label import label_page

__all__ = ["LabelServer", "keys_of"]

_LARGEST = 10_000  # bytes of a request
_LONGEST = 40  # characters of a person's name


def keys_of(classes: list[str]) -> list[tuple[str, list[str]]]:
    """Keys for each class: its number, and its first letter where no other has it and it is not skip or undo."""
    first = [label[:1].lower() for label in classes]
    found = []
    for k, label in enumerate(classes):
        keys = [str(k + 1)] if k < 9 else []
        if first[k].isalpha() and first.count(first[k]) == 1 and first[k] not in "su":
            keys.append(first[k])
        found.append((label, keys))
    return found


class LabelServer:
    """Serves one session until it is closed, and fits the model while people think."""

    def __init__(
        self, session: Session, pool: Pool, name: str, home: Path, export: Callable[[], str], port: int = 0
    ) -> None:
        self.session, self.pool, self.name, self.home, self.export = session, pool, name, home, export
        self.token = secrets.token_urlsafe(18)
        self.http = _QuietServer(("127.0.0.1", port), type("Handler", (_Handler,), {"app": self}))
        self.changed, self._closing = Event(), Event()
        self._learner = Thread(target=self._learn, daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.http.server_address[1])

    def url(self, person: str) -> str:
        """The address for one person."""
        from urllib.parse import quote

        return f"http://127.0.0.1:{self.port}/{self.token}/?as={quote(person)}"

    def serve(self) -> None:
        """Until `close` or an interrupt."""
        self.changed.set()
        self._learner.start()
        try:
            self.http.serve_forever(poll_interval=0.2)
        finally:
            self._closing.set()
            self.changed.set()
            self.http.server_close()

    def close(self) -> None:
        """Stop serving."""
        self.http.shutdown()

    def _learn(self) -> None:
        while not self._closing.is_set():
            self.changed.wait()
            self.changed.clear()
            if not self._closing.is_set():
                try:
                    self.session.learn()
                except ValueError as error:  # such as features that are all constant so far: go on with what there is
                    self.problem = str(error)

    problem: str | None = None

    def state(self, person: str, said: str = "") -> dict[str, Any]:
        """What the page shows."""
        question = self.session.question(person)
        shown = None if question is None else self._shown(question)
        return {
            "question": shown,
            "standing": self.session.standing(),
            "keys": keys_of(self.session.classes),
            "said": said,
        }

    def _shown(self, question: Question) -> dict[str, Any]:
        values = self.pool.shown.row(question.row)
        text = None if self.pool.text is None else str(values.pop(self.pool.text) or "")
        image = None
        if self.pool.image is not None:
            values.pop(self.pool.image, None)
            image = f"image?row={question.row}"
        plain = [[name, None if value is None else str(value)] for name, value in values.items()]
        about = {"row": question.row, "why": question.why, "bits": question.bits}
        return about | {"values": plain, "text": text, "image": image}

    def act(self, what: str, told: dict[str, Any]) -> dict[str, Any]:
        """An answer, a skip, an undo, a second look, an export."""
        person, said = _person(told.get("by")), ""
        if what in ("answer", "skip", "again"):
            row = told.get("row")
            if type(row) is not int or not 0 <= row < self.session.size:
                raise InvalidProblemError("There is no such row.")
            if what == "again":
                self.session.again(person, row)
            else:
                self.session.answer(person, row, told.get("label") if what == "answer" else None)
        elif what == "undo":
            said = "" if self.session.undo(person) else "There is nothing to undo."
        elif what == "export":
            said = self.export()
        else:
            raise InvalidProblemError("There is no such thing to do.")
        self.changed.set()
        return self.state(person, said)


def _person(name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST or not name.isprintable():
        raise InvalidProblemError(f"A person has a name of at most {_LONGEST} letters: add ?as=name to the address.")
    return name.strip()


class _QuietServer(ThreadingHTTPServer):
    """Says nothing of a browser that hung up before its answer was through: nobody is there to read it."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell of an error of ours; a closed connection is none."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Requests of a browser on this machine that knows the token."""

    app: LabelServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "bayespoint", ""
    error_message_format, error_content_type = "%(explain)s\n", "text/plain; charset=utf-8"  # of what is no request

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        asked, what = parse_qs(address.query), self._inside(address.path)
        if what is None:
            return
        try:
            if what == "":
                person, nonce = _person(asked.get("as", [""])[0]), secrets.token_urlsafe(12)
                page = label_page(self.app.name, person, f"/{self.app.token}/", nonce)
                self._reply(200, page.encode(), "text/html; charset=utf-8")
            elif what == "state":
                self._json(200, self.app.state(_person(asked.get("as", [""])[0])))
            elif what == "image" and self.app.pool.image is not None:
                row = int(asked.get("row", ["-1"])[0])
                if not 0 <= row < self.app.session.size:
                    raise InvalidProblemError("There is no such row.")
                path = image_path(self.app.pool.shown, self.app.pool.image, self.app.home, row)
                self._reply(200, path.read_bytes(), IMAGES[path.suffix.lower()])
            else:
                self._json(404, {"error": "There is nothing here."})
        except (ValueError, OSError) as error:
            self._json(400, {"error": " ".join(str(error).split())})

    def do_POST(self) -> None:
        what = self._inside(urlsplit(self.path).path)
        if what is None:
            return
        size = self.headers.get("Content-Length", "")
        if (
            not re.fullmatch("[0-9]{1,9}", size)
            or int(size) > _LARGEST
            or self.headers.get_content_type() != "application/json"
        ):
            self.close_connection = True
            self._json(400, {"error": "This is no request of the page."})
            return
        try:
            told = json.loads(self.rfile.read(int(size)))
            if not isinstance(told, dict):
                raise InvalidProblemError("This is no request of the page.")
            self._json(200, self.app.act(what, told))
        except (ValueError, OSError) as error:
            self._json(400, {"error": " ".join(str(error).split())})

    def _inside(self, path: str) -> str | None:
        """What is asked for behind the token; None, and refused, where the token or the host is wrong."""
        _, token, *rest = path.split("/", 2) if path.count("/") >= 2 else ["", "", ""]
        hosts = {f"127.0.0.1:{self.app.port}", f"localhost:{self.app.port}"}  # not a name that somebody points here
        origin = self.headers.get("Origin")
        known = self.request_version != "HTTP/0.9"  # whose answers have no headers that say what they are
        fits = origin is None or origin in {f"http://{host}" for host in hosts}
        if not (
            hmac.compare_digest(token.encode(), self.app.token.encode())
            and self.headers.get("Host") in hosts
            and known
            and fits
        ):
            self.close_connection = True
            self._json(403, {"error": "The address has not the right token: use the one that the program printed."})
            return None
        return rest[0]

    def _json(self, status: int, value: Any) -> None:
        self._reply(status, as_json(value).encode(), "application/json")

    def _reply(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for people."""
