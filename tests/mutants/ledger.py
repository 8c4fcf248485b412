"""What became of every mutant that had its turn: by its name, and by the code of its module at that time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from changes import Mutant, code_of
from records import Record

KILLED, LATER, SURVIVED = "killed", "killed by tests added for it", "survived"


class Ledger:
    """Outcomes, kept with the record: a mutant whose module has other code by now has not been tried."""

    def __init__(self, path: Path) -> None:
        self.path = path
        figures = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.exists() else {}
        self.codes: dict[str, str] = {}
        self.outcomes: dict[str, list[str]] = {}  # by name: the code, what became of it, the test
        for name, (code, *outcome) in figures.get("ledger", {}).items():
            if code == self.code(name.partition(" ")[0]):
                self.outcomes[name] = [code, *outcome]
        self.unproven: set[str] = set(figures.get("killers to be run without a change", []))

    def code(self, module: str) -> str:
        if module not in self.codes:
            self.codes[module] = code_of(module)
        return self.codes[module]

    def is_done(self, one: Mutant, survivors: bool) -> bool:
        """Whether it needs no turn, or, if survivors have another one, no other."""
        outcome = self.outcomes.get(one.name)
        return (outcome is None or outcome[1] != SURVIVED) if survivors else outcome is not None

    def add(self, one: Mutant, is_killed: bool, killer: str) -> None:
        before = self.outcomes.get(one.name)
        killed = LATER if before and before[1] != KILLED else KILLED
        self.outcomes[one.name] = [self.code(one.module), killed if is_killed else SURVIVED, killer]
        self.unproven |= {killer} if killer else set()

    def prove(self, sound: Sequence[str]) -> list[str]:
        """Tests that fail without any change killed nothing; names of their mutants."""
        doubtful, self.unproven = self.unproven - set(sound), set()
        freed = [name for name, outcome in self.outcomes.items() if outcome[2] in doubtful]
        for name in freed:
            self.outcomes[name][1:] = [SURVIVED, ""]
        return freed

    def keep(self, wanted: Sequence[Mutant], equivalent: int) -> float:
        """Write the record of these mutants; the share killed of those that had their turn."""
        tried = [(one, self.outcomes[one.name][1]) for one in wanted if one.name in self.outcomes]
        counts = {word: sum(how == word for _, how in tried) for word in (KILLED, LATER, SURVIVED)}
        share = (counts[KILLED] + counts[LATER]) / max(len(tried), 1)
        record = Record("Mutants", "one wrong change of a core module at a time; the fast tests must fail", len(tried))
        record.failed = [f"survived: {one}" for one, how in tried if how == SURVIVED]
        record.figures = self._figures(len(wanted), len(tried), counts, share) | {"known equivalents": equivalent}
        record.figures |= {"killers to be run without a change": sorted(self.unproven), "ledger": self.outcomes}
        record.keep(self.path)
        return share

    def _figures(self, wanted: int, tried: int, counts: dict[str, int], share: float) -> dict[str, Any]:
        return {
            "chosen": wanted,
            "had their turn": tried,
            "not tried yet": wanted - tried,
            "killed at first": counts[KILLED],
            "share killed at first": round(counts[KILLED] / max(tried, 1), 4),
            "killed by tests added for those that survived": counts[LATER],
            "survive": counts[SURVIVED],
            "share killed": round(share, 4),
        }
