"""The page with all results beside the papers': experiments/README.md.

    python experiments/page.py

Made from the JSON files in ``results`` and from what the experiments say of themselves; nothing on it is typed by hand.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from catalogue import FOLDERS, HERE, Experiment, experiments
from datasets import GENERATED, OPENML, OPENML_DIGITS
from findings import AGREES, BETTER, DIFFERS, FAILS, HOLDS, NEEDS_REASON, OURS_ALONE, WORSE

PAGE = HERE / "README.md"
RESULTS = HERE / "results"
SPEED = RESULTS / "benchmarks"
HEAD = """# Every table and figure of the five papers

<!-- made by experiments/page.py from experiments/results; do not edit -->

Our figures beside the papers'. Each experiment is one short file on the public API; its results are in
`experiments/results` as JSON with conditions, seed, versions and time.

    bayespoint reproduce --list                 # what there is
    bayespoint reproduce herbrich2001/table1    # one of them
    make experiments                            # all; goes on where it was stopped
    make experiments-quick                      # all in a size that only shows that they run

**Verdicts.** A number *agrees* when it is within two standard errors of the difference (theirs and ours, plus half a
unit of the last digit printed); else it is *better* or *worse*, or it *differs* where neither side is better. What a
paper says in words *holds* or *does not hold*, by a comparison that the experiment computes. *Ours alone* marks figures
that the paper does not have. Standard errors are in brackets. What two experiments share is counted once in the sum.
"""
DATA_HEAD = """## Data

Looked for in `../shared/data` beside the repository, then in the directory named by `BAYESPOINT_DATA` (files
`name.npz`; `experiments/datasets.py` says what is in them), then on OpenML through scikit-learn. Tables with text and
gaps are files `tables/name.csv` there (`experiments/tables.py`).

| set | without a file | needed by |
|---|---|---|
"""
SPEED_HEAD = """## Speed

What the programs in `benchmarks` printed; `make bench` runs them. Figures that count are ratios of two programs in one
run.
"""


def load(experiment: Experiment) -> dict[str, Any] | None:
    """Its record, with reasons; None if it has not run."""
    path = RESULTS / f"{experiment.stem}.json"
    if not path.is_file():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    if "core_seconds" not in record:  # of an older form
        return None
    record["current"] = record["fingerprint"] == experiment.fingerprint
    for row in record["figures"]:
        if row["verdict"] in NEEDS_REASON:
            row["why"] = row["why"] or experiment.reason(row["what"])
    return record


def anchor(name: str) -> str:
    """Of a heading with this text, as code hosts make it."""
    return "".join(c for c in name.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def cell(text: str) -> str:
    """What can stand in a table: one line, no bars, and nothing that looks like a tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def number(value: float) -> str:
    """Four digits that matter, no exponent where a person would write none."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        text = f"{value:.4g}"
        return f"{value:.0f}" if "e" in text else text
    return f"{value:.2e}"


def sides(row: dict[str, Any]) -> tuple[str, str]:
    """The paper's side and ours of one figure."""
    if row["kind"] == "statement":
        return row["paper"], row["ours"]
    paper = "" if row["paper"] is None else number(row["paper"])
    if row["paper"] is not None and row["paper_se"]:
        paper += f" ({row['paper_se']:.2g})"
    return paper, number(row["ours"]) + (f" ({row['se']:.2g})" if row["se"] else "")


def verdict(row: dict[str, Any]) -> str:
    strong = row["verdict"] in NEEDS_REASON
    return f"**{row['verdict']}**" if strong else row["verdict"]


def figure_rows(record: dict[str, Any]) -> Iterable[str]:
    yield "| | paper | ours | |"
    yield "|---|---|---|---|"
    for row in record["figures"]:
        paper, ours = sides(row)
        yield f"| {cell(row['what'])} | {cell(paper)} | {cell(ours)} | {verdict(row)} |"


def plain_text(conditions: dict[str, Any]) -> str:
    return "; ".join(f"{key}: {json.dumps(value).strip(chr(34))}" for key, value in conditions.items())


def section(experiment: Experiment, record: dict[str, Any] | None) -> str:
    lines = [f"### {experiment.name}", "", f"**{cell(experiment.title)}** {cell(experiment.text)}", ""]
    if record is None:
        return "\n".join([*lines, "Not run yet.", ""])
    lines += [f"![{experiment.title}](results/{experiment.stem}.png)", "", *figure_rows(record), ""]
    reasons: dict[str, list[str]] = {}
    for row in record["figures"]:
        if row["verdict"] in NEEDS_REASON:
            reasons.setdefault(row["why"] or "no reason found.", []).append(row["what"])
    lines += [f"- *{cell(', '.join(whats))}*: {cell(why)}" for why, whats in reasons.items()] + [""] * bool(reasons)
    made = f"Seed: {record['seed']}. {record['seconds']:.0f} s ({record['core_seconds']:.0f} s of processor time), "
    made += f"{record['date']}, " + ("" if record["current"] else "**by older code**, ")
    made += f"bayespoint {record['versions']['bayespoint']}. [JSON](results/{experiment.stem}.json)"
    conditions = plain_text(record["conditions"])
    return "\n".join([*lines, f"<sub>{cell(conditions)}. {cell(made)}</sub>", ""])


def summary(records: dict[str, dict[str, Any] | None], names: dict[str, Experiment]) -> str:
    heads = (AGREES, HOLDS, BETTER, WORSE, DIFFERS, FAILS, OURS_ALONE)
    lines = ["## Summary", "", "| | " + " | ".join(heads) + " | core minutes |"]
    lines.append("|---" * (len(heads) + 2) + "|")
    total, minutes, seen = Counter(), 0.0, set()
    for name, record in records.items():
        counts = Counter(row["verdict"] for row in record["figures"]) if record else Counter()
        for row in record["figures"] if record else ():
            same = row["what"], *sides(row)  # a statement that two experiments share is one
            total[row["verdict"]] += same not in seen
            seen.add(same)
        minutes += record["core_seconds"] / 60 if record else 0.0
        took = f"{record['core_seconds'] / 60:.1f}" if record else "not run"
        figures = " | ".join(str(counts[head] or "") for head in heads)
        lines.append(f"| [{name}](#{anchor(name)}) {names[name].title.split(':')[0]} | {figures} | {took} |")
    lines.append("| **all** | " + " | ".join(f"**{total[head]}**" for head in heads) + f" | **{minutes:.0f}** |")
    return "\n".join([*lines, ""])


def differences(records: dict[str, dict[str, Any] | None]) -> str:
    """All that is not as the papers have it, in one place."""
    lines = [
        "## Where we differ from the papers, or miss what we claim",
        "",
        "| | | paper | ours | | reason found |",
        "|---" * 6 + "|",
    ]
    for name, record in records.items():
        for row in record["figures"] if record else ():
            if row["verdict"] in NEEDS_REASON:
                paper, ours = sides(row)
                why = row["why"] or "none found"
                entry = (f"[{name}](#{anchor(name)})", row["what"], paper, ours, row["verdict"], why)
                lines.append("| " + " | ".join(cell(text) for text in entry) + " |")
    return "\n".join([*lines, ""])


def data_table(everything: Sequence[Experiment]) -> str:
    lines = []
    for name in sorted({name for one in everything for name in one.data}):
        if name in GENERATED:
            source = "made anew by Breiman's rule"
        elif name in OPENML or name in OPENML_DIGITS:
            remote, version = (OPENML_DIGITS.get(name) or OPENML[name])[:2]
            source = f"OpenML `{remote}`, version {version}"
        else:
            source = "there is no other source: a file is needed"
        users = ", ".join(f"[{one.name}](#{anchor(one.name)})" for one in everything if name in one.data)
        lines.append(f"| {name} | {source} | {users} |")
    return DATA_HEAD + "\n".join(lines) + "\n"


def speed() -> str:
    """What benchmarks printed, if they ran."""
    parts = [SPEED_HEAD]
    for path in sorted(SPEED.glob("*.txt")):
        parts.append(f"### benchmarks/{path.stem}\n\n```\n{path.read_text(encoding='utf-8').rstrip()}\n```\n")
    return "\n".join(parts) if len(parts) > 1 else ""


def page() -> str:
    everything = experiments()
    records = {one.name: load(one) for one in everything}
    parts = [
        HEAD,
        summary(records, {one.name: one for one in everything}),
        differences(records),
        data_table(everything),
    ]
    for folder, title in FOLDERS.items():
        mine = [one for one in everything if one.folder == folder]
        parts += [f"## {title}\n"] * bool(mine) + [section(one, records[one.name]) for one in mine]
    return "\n".join([*parts, speed()]).rstrip() + "\n"


def write_page(path: Path = PAGE) -> None:
    path.write_text(page(), encoding="utf-8")
    print(f"written: {path.name}")


if __name__ == "__main__":
    write_page()
