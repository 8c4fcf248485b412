"""The page with all that was tried to break the library: docs/reliability.md.

    python experiments/reliability.py

Made from the JSON files in ``results/reliability``, which `make soak` and `make mutants` leave.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from catalogue import HERE
from page import anchor, cell, number

RECORDS = HERE / "results" / "reliability"
PAGE = HERE.parent / "docs" / "reliability.md"
HEAD = """# Reliability

<!-- made by experiments/reliability.py from experiments/results/reliability; do not edit -->

What was done to break the library, how often, what failed and what was lost. `make soak` and `make mutants` do it again
and make this page anew. A small part of each runs with every change as a test. What stands under *failed* is open: what
was found and mended has a test of its own and is in the change log.
"""


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """Records by the name of their file, in the order of their headings."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    return dict(sorted(found.items(), key=lambda pair: str(pair[1]["item"])))


def sentences(said: Any) -> list[str]:
    """What failed or was lost, whether it was counted or told."""
    if isinstance(said, list):
        return [str(one) for one in said]
    return [] if not said else [str(said)]


def amount(said: Any) -> str:
    """How much of it, in a cell."""
    if isinstance(said, list):
        return str(len(said)) if said else "nothing"
    return str(said) if said else "nothing"


def shown(value: Any) -> str:
    """A figure: numbers with four digits, tables as their entries; None for series, which stay in the file."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return "; ".join(f"{key} {shown(one)}" for key, one in value.items())
    return ", ".join(shown(one) for one in value)


def is_series(value: Any) -> bool:
    """Whether it is too long for a page."""
    parts = value.values() if isinstance(value, dict) else [value]
    return len(parts) > 12 or any(isinstance(part, list) and len(part) > 12 for part in parts)


def section(name: str, record: dict[str, Any]) -> str:
    lines = [f"## {cell(str(record['item']))}: {cell(name)}", "", f"{cell(str(record['tried']))}.", ""]
    figures = {key: value for key, value in record["figures"].items() if not is_series(value)}
    if figures:
        lines += ["| figure | |", "|---|---|"]
        lines += [f"| {cell(key)} | {cell(shown(value))} |" for key, value in figures.items()] + [""]
    for word in ("failed", "lost"):
        lines += [f"- {word}: {cell(one)}" for one in sentences(record[word])]
    versions = ", ".join(f"{key} {value}" for key, value in record["versions"].items())
    return "\n".join([*lines, "", f"<sub>{record['date']}; {versions}.</sub>", ""])


def summary(records: dict[str, dict[str, Any]]) -> str:
    lines = ["| | tried | times | failed | lost |", "|---" * 5 + "|"]
    for name, record in records.items():
        title = f"{record['item']}: {name}"
        entries = [f"[{cell(title)}](#{anchor(title)})", cell(str(record["tried"])), f"{record['times']:,}"]
        lines.append("| " + " | ".join([*entries, cell(amount(record["failed"])), cell(amount(record["lost"]))]) + " |")
    return "\n".join([*lines, ""])


def page(folder: Path = RECORDS) -> str:
    records = load(folder)
    parts = [HEAD, summary(records), *(section(name, record) for name, record in records.items())]
    return "\n".join(parts).rstrip() + "\n"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE.name}")


if __name__ == "__main__":
    main()
