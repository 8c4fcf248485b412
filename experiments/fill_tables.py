"""Fill the cells of ours/small_tables, or print what those at hand say.

    python experiments/fill_tables.py --methods catboost,forest --splits 0-4 --sets choosing
    python experiments/fill_tables.py --summary

Cells are kept in experiments/.cells/small_tables.jsonl, or in the file named by --cells or BAYESPOINT_CELLS. Cells that
are there already are not found again; those of ours are as soon as the text of the imported package is another.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections import Counter
from collections.abc import Sequence

import cells
from ours import small_tables
from peers import METHODS


def numbers(text: str) -> list[int]:
    """0-4 or 0,3,7."""
    first, dash, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else [int(k) for k in text.split(",")]


def sets(text: str) -> list[str]:
    """A half, all, or names."""
    return sorted({"all": small_tables.DATA, **small_tables.HALVES}.get(text) or text.split(","))


def fill_all(names: Sequence[str], divisions: Sequence[int], methods: Sequence[str]) -> int:
    """One after the other; a failure is shown and stops nothing."""
    tasks, failed = small_tables.tasks(names, divisions, methods, small_tables.cells_file()), 0
    for k, task in enumerate(tasks, 1):
        try:
            cell = small_tables.fill(*task)
        except Exception:
            traceback.print_exc()
            failed += 1
            continue
        said = cell.get("skipped") or f"log loss {cell['log_loss']:.4f}, fit {cell['fit_core_seconds']:.1f} core s"
        print(f"[{k}/{len(tasks)}] {cell['set']} {cell['split']} {cell['method']}: {said}", flush=True)
    return int(failed > 0)


def summary(methods: Sequence[str], text: str) -> str:
    """Ranks and wins by half, and log loss by set, from the cells at hand of the sets that all these methods have."""
    file = small_tables.cells_file()
    found = small_tables.at_hand(methods, file, text)
    counts = Counter((cell["method"], cell["version"]) for cell in cells.read(file).values())
    lines = ["cells there are: " + ", ".join(f"{one} ({version}) {n}" for (one, version), n in counts.items())]
    tables = small_tables.means(found, methods)
    lines += ["no set has cells of all these methods"] * tables["error"].empty
    rival = small_tables.RIVAL if small_tables.RIVAL in methods else methods[-1]
    for what, label in small_tables.MEASURES.items():
        for half, part in small_tables.halves(tables[what]).items():
            figures = small_tables.compare(part, rival).sort_values("rank").round({"rank": 2, "p": 4})
            lines += [f"\n{label}, {half} ({len(part)} sets), won against {rival}:", figures.to_string()]
    lines += [f"\n{what}:\n{tables[what].round(4).to_string()}" for what in ("log_loss", "fit_core_seconds")]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Cells of ours/small_tables.")
    parser.add_argument("--methods", default=",".join(METHODS), help="names with commas (default: %(default)s)")
    parser.add_argument("--splits", type=numbers, default="0-9", help="0-4 or 0,3,7 (default: %(default)s)")
    parser.add_argument("--sets", type=sets, default="all", help="choosing, reporting, all, or names with commas")
    parser.add_argument("--cells", help="file to keep them in")
    parser.add_argument("--summary", action="store_true", help="fill nothing, print what is there")
    parser.add_argument("--version", default="", help="end of the version of ours to sum up; that imported by default")
    options = parser.parse_args(argv)
    if options.cells:
        os.environ["BAYESPOINT_CELLS"] = options.cells
    methods = options.methods.split(",")
    if options.summary:
        print(summary(methods, options.version))
        return 0
    return fill_all(options.sets, options.splits, methods)


if __name__ == "__main__":
    sys.exit(main())
