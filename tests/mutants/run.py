"""Mutants: small wrong changes of the core modules, one at a time, that the fast tests must notice.

    python tests/mutants/run.py [--number 200] [--seed 0] [--modules likelihoods/step.py ...] [--report file.json]

A mutant turns one comparison, sum, product, sign, logical word, number, or the larger into the smaller of two. It lives
in a copy of the package; the tests named beside its module run on that copy until one fails. Those of which nobody
could tell, since the change makes no difference, are listed in `equivalent.txt` with a reason.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "bayespoint"
CORE = {  # modules, and the fast tests that answer for them
    "likelihoods/step.py": ["tests/likelihoods/test_step.py"],
    "likelihoods/_fractional.py": ["tests/likelihoods/test_fractional.py"],
    "likelihoods/hinge.py": ["tests/likelihoods/test_hinge.py"],
    "likelihoods/_log_odds.py": ["tests/likelihoods/test_logistic.py", "tests/likelihoods/test_hinge.py"],
    "likelihoods/logistic.py": ["tests/likelihoods/test_logistic.py"],
    "problem.py": ["tests/test_problem.py", "tests/conformance/test_engines.py"],
    "readouts.py": ["tests/test_readouts.py", "tests/test_largest_probabilities.py"],
    "engines/ep/sites.py": ["tests/engines/ep"],
    "engines/ep/engine.py": ["tests/engines/ep"],
    "engines/ep/added_row.py": ["tests/estimators/test_updating.py", "tests/engines/ep"],
    "engines/billiard.py": ["tests/engines/test_billiard.py", "tests/statistical/test_exact.py"],
    "engines/gibbs.py": ["tests/engines/test_papers.py", "tests/statistical/test_exact.py"],
    "engines/laplace.py": ["tests/engines/test_laplace.py"],
    "engines/margin/interior.py": ["tests/engines/margin"],
    "grams/dense.py": ["tests/grams", "tests/posteriors"],
    "grams/factor.py": ["tests/grams", "tests/posteriors", "tests/engines/ep"],
    "grams/cholesky.py": ["tests/grams"],
    "posteriors/gaussian.py": ["tests/posteriors", "tests/engines/ep"],
    "posteriors/drawn.py": ["tests/posteriors", "tests/test_readouts.py"],
    "bounds/pac_bayes.py": ["tests/bounds"],
    "bounds/relative_entropy.py": ["tests/bounds"],
    "bounds/held_out.py": ["tests/bounds"],
    "bounds/version_space.py": ["tests/bounds"],
    "tuning/climb.py": ["tests/tuning"],
    "tuning/stacking.py": ["tests/tuning"],
    "tuning/calibration.py": ["tests/tuning"],
    "tuning/priors.py": ["tests/tuning"],
    "uses/rejection/thresholds.py": ["tests/uses/rejection"],
    "uses/metrics.py": ["tests/uses/test_metrics.py"],
    "estimators/_validation.py": ["tests/estimators/test_one_sentence.py", "tests/estimators/test_weights.py"],
}
OTHER = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
TWINS = {"maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "any": "all", "all": "any"}
SLOWEST = 600  # seconds after which a mutant has hung its test


class Mutant(NamedTuple):
    """One wrong change."""

    module: str
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.before}  ->  {self.after}"


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Nodes that can be turned, with what is turned in them; words, types, messages and defaults are left alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OTHER and not _is_text(node):
            yield node, "op"
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OTHER:
            yield node, "ops"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
            yield node, "drop"
        elif isinstance(node, ast.Constant) and type(node.value) is float and node.value:
            yield node, "value"
        elif isinstance(node, ast.Attribute) and node.attr in TWINS:
            yield node, "attr"


def _is_text(node: ast.AST) -> bool:
    return any(isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", 0), str) for part in ast.walk(node))


def _skipped(tree: ast.Module) -> set[int]:
    """Nodes inside annotations, defaults, messages of errors, and constants of a class or a module: not behaviour."""
    parts: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            parts += [node.args, *node.decorator_list] + ([node.returns] if node.returns else [])
        elif isinstance(node, ast.AnnAssign):
            parts.append(node.annotation)
        elif isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr) or _warns(node):
            parts.append(node)
    parts += [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    return {id(inner) for part in parts for inner in ast.walk(part)}


def _warns(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "warn"


def _turn(node: ast.AST, what: str) -> ast.AST:
    """The node with its change; for a sign, what stands behind it."""
    if what == "drop":
        return node.operand
    if what == "op":
        node.op = OTHER[type(node.op)]()
    elif what == "ops":
        node.ops = [OTHER[type(node.ops[0])]()]
    elif what == "value":
        node.value = 2 * node.value
    else:
        node.attr = TWINS[node.attr]
    return node


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def mutants_of(module: str) -> list[Mutant]:
    """All of a module, in the order of its lines."""
    text = (PACKAGE / module).read_text(encoding="utf-8")
    count = len(list(places(ast.parse(text))))
    found = []
    for k in range(count):
        tree = ast.parse(text)
        skipped = _skipped(tree)
        node, what = list(places(tree))[k]
        if id(node) in skipped:
            continue
        before = ast.unparse(node)
        new = _turn(copy.copy(node), what)
        tree = ast.fix_missing_locations(_Replace(node, new).visit(tree))
        found.append(Mutant(module, node.lineno, before, ast.unparse(new), ast.unparse(tree)))
    return sorted(found, key=lambda one: one.line)


def chosen(modules: list[str], number: int, seed: int) -> list[Mutant]:
    """About as many of each module, at random; the same for a seed."""
    rng = random.Random(seed)
    lists = [rng.sample(found, len(found)) for module in modules if (found := mutants_of(module))]
    turns = [one for group in _in_turns(lists) for one in group]
    return turns[:number]


def _in_turns(lists: list[list[Mutant]]) -> Iterator[list[Mutant]]:
    longest = max(map(len, lists))
    for k in range(longest):
        yield [one[k] for one in lists if k < len(one)]


def fails(tests: list[str], folder: Path) -> bool:
    """Whether the tests fail on the package in a folder."""
    environment = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=SLOWEST, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def known_equivalents() -> set[str]:
    """Mutants that change nothing, as listed."""
    path = Path(__file__).with_name("equivalent.txt")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {line.split("  #")[0] for line in lines if line and not line.startswith("#")}


def main() -> int:
    """Run, print survivors, and say what share was killed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--modules", nargs="+", default=list(CORE))
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    same = known_equivalents()
    wanted = [one for one in chosen(given.modules, given.number + len(same), given.seed) if str(one) not in same]
    wanted = wanted[: given.number]
    survivors: list[Mutant] = []
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        copied = Path(name) / "bayespoint"
        shutil.copytree(PACKAGE, copied)
        for module in dict.fromkeys(one.module for one in wanted):
            if fails(CORE[module], Path(name)):
                sys.exit(f"The tests of {module} fail without any change: mend them first.")
        for k, one in enumerate(wanted, 1):
            (copied / one.module).write_text(one.source, encoding="utf-8")
            killed = fails(CORE[one.module], Path(name))
            shutil.copy2(PACKAGE / one.module, copied / one.module)
            survivors += [] if killed else [one]
            print(f"{k}/{len(wanted)} {'killed  ' if killed else 'SURVIVED'} {one}", flush=True)
    killed = len(wanted) - len(survivors)
    print(f"\n{killed} of {len(wanted)} killed ({killed / len(wanted):.1%}) in {time.monotonic() - begun:.0f} s")
    if given.report:
        found = {"mutants": len(wanted), "killed": killed, "survivors": [str(one) for one in survivors]}
        given.report.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return killed < 0.95 * len(wanted)


if __name__ == "__main__":
    sys.exit(main())
