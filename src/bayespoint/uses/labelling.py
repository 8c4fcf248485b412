"""Active labelling by one person or several: what to ask whom, what the answers say so far, when it is enough.

All state is the journal's: a session is what its events make of it, so a crash loses nothing that was answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from time import time
from typing import Any, NamedTuple

import numpy as np

from .._core.scikit import safe_indexing
from .._core.typing import Array
from ..bounds import binomial_bound
from ..exceptions import InvalidProblemError
from .active import utilities
from .journal import Journal

__all__ = ["Advice", "Question", "Session", "Standing"]

_CHECK = 4  # of so many questions one is a row at random, by which the error is measured
_BOTH = 5  # of so many questions one is a row that another person has answered
_CANDIDATES = 5000  # rows of a large pool that are looked at for the next question
_DELTA = 0.05
_ENOUGH = 0.05  # bits below which a label tells next to nothing
_LEAST = 10  # labels before any advice


class Question(NamedTuple):
    """A row for somebody, why it is asked, and what its label is expected to tell."""

    row: int
    why: str  # "gain", "check", "both", "random", "again"
    bits: float | None
    predicted: str | None


class Advice(NamedTuple):
    """Whether to go on."""

    enough: bool
    words: str


@dataclass(frozen=True)
class Standing:
    """How far a labelling is."""

    labels: int
    pool: int
    counts: dict[str, int]
    checks: int  # random rows that were predicted before their label was known
    mistakes: int  # among them
    bound: float | None  # on the error, at 95 %
    expected_error: float | None  # over the pool, by the model itself
    next_bits: float | None
    advice: Advice
    disputed: list[dict[str, Any]]
    compared: int  # rows with more than one answer


class _Learned(NamedTuple):
    model: Any
    labels: frozenset[tuple[int, str]]
    order: list[int]  # rows of the pool, the most informative first
    bits: dict[int, float]
    predicted: list[str]  # for every row of the pool
    expected_error: float


class Session:
    """A pool, its classes, and the answers of people.

    `make` gives an unfitted classifier, `rows` the pool as it takes it; `known` are labels that were there before, by
    row.
    """

    def __init__(
        self,
        rows: Any,
        size: int,
        classes: Sequence[str],
        journal: Journal,
        make: Callable[[], Any],
        *,
        known: dict[int, str] | None = None,
        seed: int = 0,
    ) -> None:
        self.rows, self.size, self.classes, self.journal, self.make = rows, size, list(classes), journal, make
        self.known = dict(known or {})
        self._random = np.random.default_rng(seed).permutation(size).tolist()
        self._lock = RLock()
        self._answers: dict[str, dict[int, dict[str, Any]]] = {}  # by person and row, in the order they came
        self._open: dict[str, Question] = {}
        self._learned: _Learned | None = None
        for event in journal.events:
            self._take(event)

    # -- what people do ------------------------------------------------------------------------------------------------

    def question(self, by: str) -> Question | None:
        """What to ask a person: the same until it is answered; None if there is nothing left."""
        with self._lock:
            if by not in self._open:
                found = self._choose(by)
                if found is None:
                    return None
                self._open[by] = found
            return self._open[by]

    def answer(self, by: str, row: int, label: str | None) -> None:
        """A label, or None to skip the row; on disk when this returns."""
        with self._lock:
            asked = self._open.get(by)
            if asked is None or asked.row != row:
                raise InvalidProblemError(f"Row {row + 1} is not the one that was asked: load the page again.")
            if label is not None and label not in self.classes:
                raise InvalidProblemError(f"{label!r} is not one of the classes {', '.join(self.classes)}.")
            event: dict[str, Any] = {
                "kind": "skip" if label is None else "answer",
                "by": by,
                "row": row,
                "time": round(time(), 3),
            }
            if label is not None:
                event |= {"label": label, "why": asked.why, "bits": asked.bits, "predicted": asked.predicted}
            self.journal.append(event)
            self._take(event)
            del self._open[by]

    def undo(self, by: str) -> bool:
        """Take the last answer back, and ask that row again; false if there is none."""
        with self._lock:
            given = self._answers.get(by)
            if not given:
                return False
            last = next(reversed(given.values()))
            event = {"kind": "undo", "by": by, "row": last["row"], "time": round(time(), 3)}
            self.journal.append(event)
            self._take(event)
            why = last.get("why", "again")
            self._open[by] = Question(last["row"], why, last.get("bits"), last.get("predicted"))
            return True

    def again(self, by: str, row: int) -> None:
        """Ask a person for a row again, such as one that is disputed."""
        with self._lock:
            if row not in self._answers.get(by, {}):
                raise InvalidProblemError(f"{by} has not answered row {row + 1}.")
            self._open[by] = Question(row, "again", None, None)

    # -- what it amounts to --------------------------------------------------------------------------------------------

    def labels(self) -> dict[int, str]:
        """Rows on which all who answered agree."""
        with self._lock:
            said: dict[int, set[str]] = {row: {label} for row, label in self.known.items()}
            for given in self._answers.values():
                for row, event in given.items():
                    if event["kind"] == "answer":
                        said.setdefault(row, set()).add(event["label"])
            return {row: next(iter(labels)) for row, labels in said.items() if len(labels) == 1}

    def opinions(self) -> dict[int, dict[str, str]]:
        """What each person said of each row."""
        with self._lock:
            found: dict[int, dict[str, str]] = {}
            for by, given in self._answers.items():
                for row, event in given.items():
                    if event["kind"] == "answer":
                        found.setdefault(row, {})[by] = event["label"]
            return found

    def disputed(self) -> list[int]:
        """Rows on which people disagree."""
        return [row for row, said in self.opinions().items() if len(set(said.values())) > 1]

    def learn(self) -> bool:
        """Fit to the labels so far and rank the pool; false if there is nothing new or a class alone."""
        labels = self.labels()
        if len(set(labels.values())) < 2:
            return False
        if self._learned is not None and self._learned.labels == frozenset(labels.items()):
            return False
        where = np.array(sorted(labels))
        model = self.make().fit(safe_indexing(self.rows, where), np.array([labels[row] for row in where.tolist()]))
        proba = np.asarray(model.predict_proba(self.rows))
        names = [str(model.classes_[k]) for k in proba.argmax(axis=1)]
        free = [row for row in self._random if row not in labels][:_CANDIDATES]
        gains: Array = np.zeros(0) if not free else utilities(model, safe_indexing(self.rows, np.array(free)))
        ranked = np.argsort(-gains, kind="stable")
        order = [free[k] for k in ranked.tolist()]
        bits = {free[k]: float(gains[k]) for k in range(len(free))}
        expected = float(np.mean(1 - proba.max(axis=1)))
        with self._lock:
            self._learned = _Learned(model, frozenset(labels.items()), order, bits, names, expected)
        return True

    @property
    def model(self) -> Any:
        """The last that was fitted; None before there are two classes."""
        return None if self._learned is None else self._learned.model

    def standing(self) -> Standing:
        """Counts, the measured error with its bound, and advice."""
        with self._lock:
            labels, opinions, learned = self.labels(), self.opinions(), self._learned
            checks = [event for given in self._answers.values() for event in given.values() if _is_check(event)]
            mistakes = sum(event["label"] != event["predicted"] for event in checks)
            left = [] if learned is None else [row for row in learned.order if row not in labels]
            bits = None if learned is None or not left else learned.bits[left[0]]
            return Standing(
                labels=len(labels),
                pool=self.size,
                counts={label: sum(one == label for one in labels.values()) for label in self.classes},
                checks=len(checks),
                mistakes=mistakes,
                bound=binomial_bound(mistakes, len(checks), _DELTA).value if checks else None,
                expected_error=None if learned is None else learned.expected_error,
                next_bits=bits,
                advice=self._advice(len(labels), bits, learned),
                disputed=[{"row": row, "said": opinions[row]} for row in self.disputed()],
                compared=sum(len(said) > 1 for said in opinions.values()),
            )

    # -- inside --------------------------------------------------------------------------------------------------------

    def _advice(self, labels: int, bits: float | None, learned: _Learned | None) -> Advice:
        if labels >= self.size:
            return Advice(True, "All rows have a label.")
        if learned is None:
            return Advice(False, "Go on: there is nothing to learn from before two classes have a label.")
        if labels < _LEAST:
            return Advice(False, f"Go on: {labels} labels are too few to say.")
        if bits is not None and bits < _ENOUGH:
            return Advice(True, f"Enough: no label is expected to tell more than {bits:.2f} bits.")
        return Advice(False, f"Go on: the best label is expected to tell {0 if bits is None else bits:.2f} bits.")

    def _take(self, event: dict[str, Any]) -> None:
        """What an event changes; the journal has it."""
        if event["kind"] == "start":
            return
        given = self._answers.setdefault(event["by"], {})
        given.pop(event["row"], None)  # the last answer counts, and comes last
        if event["kind"] != "undo":
            given[event["row"]] = event

    def _choose(self, by: str) -> Question | None:
        own = self._answers.get(by, {})
        labels, opinions = self.labels(), self.opinions()
        elsewhere = {asked.row for other, asked in self._open.items() if other != by}
        count = len(own)
        others = [row for row, said in opinions.items() if by not in said and row not in own and row not in elsewhere]
        if others and count % _BOTH == _BOTH - 1:
            return Question(others[-1], "both", None, None)
        free = [row for row in self._random if row not in own and row not in opinions and row not in labels]
        free = [row for row in free if row not in elsewhere]
        learned = self._learned
        if not free:
            skipped = [row for row, event in own.items() if event["kind"] == "skip" and row not in opinions]
            rest = [*(row for row in others if row not in own), *skipped]
            return Question(rest[0], "again", None, None) if rest else None
        if learned is None:
            return Question(free[0], "random", None, None)
        if count % _CHECK == 1:
            return Question(free[0], "check", learned.bits.get(free[0]), learned.predicted[free[0]])
        allowed = set(free)
        best = next((row for row in learned.order if row in allowed), free[0])
        return Question(best, "gain", learned.bits.get(best), None)


def _is_check(event: dict[str, Any]) -> bool:
    """A row at random whose label was predicted before it was known."""
    return event["kind"] == "answer" and event.get("why") == "check" and event.get("predicted") is not None
