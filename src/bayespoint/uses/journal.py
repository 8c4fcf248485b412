"""A journal of answers: one line of JSON each, appended and on disk before anything else happens."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from pathlib import Path
from threading import Lock
from typing import Any

from ..exceptions import InvalidProblemError

__all__ = ["Journal", "digest_of"]


def digest_of(path: str | Path) -> str:
    """What tells one file from another."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class Journal:
    """Events of one pool. A line that a crash cut off was never answered for, and is dropped."""

    def __init__(self, path: str | Path, about: dict[str, Any]) -> None:
        self.path, self._lock = Path(path), Lock()
        self.events = self._read() if self.path.exists() else []
        if self.events:
            self._check(self.events[0], about)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        if not self.events:
            self.append({"kind": "start", **about})

    def append(self, event: dict[str, Any]) -> None:
        """One more event; when this returns it is on disk."""
        line = json.dumps(event, allow_nan=False).encode() + b"\n"
        with self._lock:
            if os.write(self._file, line) != len(line):
                raise OSError(f"The journal {str(self.path)!r} could not be written: is the disk full?")
            os.fsync(self._file)
            self.events.append(event)

    def close(self) -> None:
        """No more events."""
        os.close(self._file)

    def _read(self) -> list[dict[str, Any]]:
        raw = self.path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if len(whole) < len(raw):
            warnings.warn(f"The last line of {str(self.path)!r} was cut off by a crash and is dropped.", stacklevel=4)
            os.truncate(self.path, len(whole))
        try:
            events = [json.loads(line) for line in whole.splitlines()]
        except ValueError:
            raise InvalidProblemError(
                f"{str(self.path)!r} is no journal of labels: name another file (--journal), or mend its line that "
                "is no JSON."
            ) from None
        if events and not (isinstance(events[0], dict) and events[0].get("kind") == "start"):
            raise InvalidProblemError(f"{str(self.path)!r} is no journal of labels: name another file (--journal).")
        return events

    def _check(self, start: dict[str, Any], about: dict[str, Any]) -> None:
        for key, word in (("digest", "another pool, or the pool was changed since"), ("classes", "other classes")):
            if start.get(key) != about.get(key):
                raise InvalidProblemError(
                    f"The journal {str(self.path)!r} belongs to {word}: name another file (--journal) to begin anew."
                )
