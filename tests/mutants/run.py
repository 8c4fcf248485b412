"""Mutants: small wrong changes of the core modules, one at a time, that the fast tests must notice.

    python tests/mutants/run.py [--number 200] [--seed 0] [--modules likelihoods/step.py ...] [--report file.json]
                                [--survivors]

A mutant turns one comparison, sum, product, sign, logical word, number, or the larger into the smaller of two. It lives
in a copy of the package; the tests named beside its module run on that copy, the quickest first, until one fails. Tests
that killed are run without any change at the end, for a test that fails anyway kills nothing. Mutants of which nobody
could tell, since the change makes no difference, are listed in `equivalent.txt` with a reason. With `--survivors` only
those that survived in the kept report are tried again: for tests that were added since.

What takes long to import is imported once; each mutant has a process forked from there. A mutant of a compiled module
has a compile cache of its own, for a cached loop does not notice that one it calls has changed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "soak"))
from records import KEPT, Record  # noqa: E402

PACKAGE = ROOT / "src" / "bayespoint"
CORE = {  # modules, and the fast tests that answer for them; the first of them alone at first
    "likelihoods/step.py": ["tests/likelihoods/test_step.py"],
    "likelihoods/_fractional.py": ["tests/likelihoods/test_fractional.py"],
    "likelihoods/hinge.py": ["tests/likelihoods/test_hinge.py"],
    "likelihoods/_log_odds.py": ["tests/likelihoods/test_logistic.py", "tests/likelihoods/test_hinge.py"],
    "likelihoods/logistic.py": ["tests/likelihoods/test_logistic.py"],
    "problem.py": [
        "tests/test_problem.py",
        "tests/engines/test_choice_billiard.py",
        "tests/conformance/test_engines.py",
    ],
    "readouts.py": ["tests/test_readouts.py", "tests/test_largest_probabilities.py", "tests/posteriors/test_drawn.py"],
    "engines/ep/sites.py": [
        "tests/engines/ep/test_hypothesis.py",
        "tests/engines/ep",
        "tests/estimators/test_updating.py",
    ],
    "engines/ep/engine.py": ["tests/engines/ep/test_hypothesis.py", "tests/engines/ep"],
    "engines/ep/added_row.py": ["tests/estimators/test_updating.py", "tests/engines/ep"],
    "engines/billiard.py": ["tests/engines/test_billiard.py", "tests/statistical/test_exact.py"],
    "engines/gibbs.py": ["tests/engines/test_papers.py", "tests/statistical/test_exact.py"],
    "engines/laplace.py": ["tests/engines/test_laplace.py", "tests/likelihoods/test_squared_hinge.py"],
    "engines/margin/interior.py": ["tests/engines/margin"],
    "grams/dense.py": ["tests/grams/test_dense.py", "tests/grams", "tests/posteriors"],
    "grams/_dense_gaussian.py": ["tests/posteriors/test_gaussian.py", "tests/grams", "tests/posteriors"],
    "grams/factor.py": [
        "tests/grams/test_coordinates.py",
        "tests/grams",
        "tests/posteriors",
        "tests/engines/ep",
    ],
    "grams/cholesky.py": ["tests/grams/test_views.py", "tests/grams"],
    "posteriors/gaussian.py": [
        "tests/posteriors/test_gaussian.py",
        "tests/posteriors",
        "tests/grams/test_views.py",
        "tests/engines/test_laplace.py",
        "tests/engines/ep",
    ],
    "posteriors/drawn.py": ["tests/posteriors", "tests/test_readouts.py"],
    "bounds/pac_bayes.py": ["tests/bounds/test_pac_bayes.py", "tests/bounds"],
    "bounds/relative_entropy.py": ["tests/bounds/test_relative_entropy.py", "tests/bounds"],
    "bounds/held_out.py": ["tests/bounds/test_held_out.py", "tests/bounds"],
    "bounds/version_space.py": ["tests/bounds/test_volume_bounds.py", "tests/bounds"],
    "tuning/climb.py": ["tests/tuning/test_tuning.py", "tests/tuning"],
    "tuning/stacking.py": ["tests/tuning/test_stacking.py", "tests/tuning"],
    "tuning/calibration.py": ["tests/tuning/test_power.py", "tests/tuning"],
    "tuning/priors.py": ["tests/tuning/test_priors.py", "tests/tuning"],
    "uses/rejection/thresholds.py": ["tests/uses/rejection/test_thresholds.py", "tests/uses/rejection"],
    "uses/metrics.py": ["tests/uses/test_metrics.py"],
    "estimators/_validation.py": [
        "tests/estimators/test_one_sentence.py",
        "tests/estimators/test_weights.py",
        "tests/estimators/test_streaming.py",
    ],
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
PATIENCE = 5, 60.0  # times the seconds that a test took before, and the least: then a mutant has hung it
ENOUGH = 100.0  # processor seconds of tests on one mutant, the quickest first: what they did not notice has survived
SLOWEST = 1200  # seconds after which it sleeps
GOAL = 0.95
MEMORY = 8 * 2**30
TOOLS = ("pytest", "_pytest.doctest", "hypothesis", "pandas")  # what tests import


class Mutant(NamedTuple):
    """One wrong change."""

    module: str
    function: str
    line: int
    before: str
    after: str
    place: int  # among all of its module

    @property
    def name(self) -> str:
        """The same wherever its function stands in the module."""
        return f"{self.module} {self.function}: {self.before}  ->  {self.after}"

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.function}: {self.before}  ->  {self.after}"


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
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    skipped = _skipped(tree)
    found = []
    for place, (node, what) in enumerate(places(tree)):
        if id(node) not in skipped:
            words = ast.unparse(node), ast.unparse(_turn(copy.copy(node), what))
            found.append(Mutant(module, _function_around(tree, node.lineno), node.lineno, *words, place))
    return sorted(found, key=lambda one: one.line)


def source_of(one: Mutant) -> str:
    """Its module with the change."""
    tree = ast.parse((PACKAGE / one.module).read_text(encoding="utf-8"))
    node, what = list(places(tree))[one.place]
    return ast.unparse(ast.fix_missing_locations(_Replace(node, _turn(copy.copy(node), what)).visit(tree)))


def _function_around(tree: ast.Module, line: int) -> str:
    """The innermost that has the line."""
    around = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = [node for node in around if node.lineno <= line <= (node.end_lineno or 0)]
    return max(inner, key=lambda node: node.lineno).name if inner else "(module)"


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


class Ending(NamedTuple):
    """How tests ended on one state of the package: the code, and the test that failed."""

    failed: bool
    killer: str = ""


class _Quickest:
    """Plugin: tests in the order of the seconds they took before; one that takes far longer ends the process."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds, self.killer, self.enough = seconds, "", False

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: self.seconds.get(item.nodeid, 0.5))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        signal.setitimer(signal.ITIMER_PROF, max(PATIENCE[0] * self.seconds.get(nodeid, 0.0), PATIENCE[1]))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.killer = report.nodeid
        elif report.when == "call":
            self.seconds[report.nodeid] = report.duration

    def pytest_runtest_protocol(self, item: Any) -> None:
        self.enough = time.process_time() > ENOUGH
        item.session.shouldstop = self.enough


def run(tests: list[str], folder: Path, cache: Path) -> Ending:
    """The tests on the package in a folder, in a process forked for them."""
    answer = folder / "killer"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()
        _be_tested(tests, folder, cache, answer)
    code = _wait(child)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return Ending(code != 0, answer.read_text() if answer.exists() else "")


def _be_tested(tests: list[str], folder: Path, cache: Path, answer: Path) -> None:
    """In the forked process: never returns."""
    said = os.open(folder / "said.txt", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(said, stream)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    importlib.import_module("numba").config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(cache)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    os.chdir(ROOT)
    timed, code = folder / "seconds.json", 1
    try:
        plugin = _Quickest(json.loads(timed.read_text()) if timed.exists() else {})
        arguments = ["-x", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *tests]
        code = int(importlib.import_module("pytest").main(arguments, plugins=[plugin]))
        code = 0 if plugin.enough and not plugin.killer else code
        timed.write_text(json.dumps(plugin.seconds), encoding="utf-8")
        answer.write_text(plugin.killer, encoding="utf-8")
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int) -> int:
    """How it ended; one that sleeps too long is ended."""
    end = time.monotonic() + SLOWEST
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def import_once() -> None:
    """All that the package and its tests import, but for the package itself, so that forked processes have it."""
    os.environ |= {"OMP_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    program = f"import sys, bayespoint, bayespoint.engines.billiard, {', '.join(TOOLS)}\nprint(*sys.modules)"
    there = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    said = subprocess.run([sys.executable, "-c", program], env=there, capture_output=True, text=True, check=True)
    for name in said.stdout.split():
        if name.partition(".")[0] not in ("bayespoint", "__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def _is_compiled(module: str) -> bool:
    return "compiled(" in (PACKAGE / module).read_text(encoding="utf-8")


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
    parser.add_argument("--report", type=Path, default=KEPT / "mutants.json")
    parser.add_argument("--survivors", action="store_true")
    given = parser.parse_args()
    same = known_equivalents()
    wanted = [one for one in chosen(given.modules, given.number + len(same), given.seed) if one.name not in same]
    wanted = wanted[: given.number]
    before = len(wanted)  # killed before, and not tried again
    if given.survivors:
        survived = json.loads(given.report.read_text(encoding="utf-8"))["failed"]
        wanted = [one for one in wanted if f"survived: {one}" in survived]
    before -= len(wanted)
    import_once()
    survivors: list[str] = []
    killers: dict[str, list[str]] = {}  # tests, and the mutants they killed
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for k, (one, ending) in enumerate(tried(wanted, folder), 1):
            survivors += [] if ending.failed else [str(one)]
            if ending.killer:
                killers.setdefault(ending.killer, []).append(str(one))
            how = f"killed   {one}  by {ending.killer or 'a hang or an import'}" if ending.failed else f"SURVIVED {one}"
            print(f"{k}/{len(wanted)} {how}", flush=True)
            if not given.survivors:
                _keep(given.report, k, survivors, len(same))
        survivors += [one for killer in without_change(list(killers), folder) for one in killers[killer]]
    _keep(given.report, before + len(wanted), survivors, len(same))
    killed = len(wanted) - len(survivors)
    print(f"\n{killed} of {len(wanted)} killed ({killed / len(wanted):.1%}) in {time.monotonic() - begun:.0f} s")
    return killed < GOAL * len(wanted)


def tried(wanted: list[Mutant], folder: Path) -> Iterator[tuple[Mutant, Ending]]:
    """Each mutant and what became of it."""
    copied, cache = folder / "bayespoint", folder / "compiled"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    for one in wanted:
        (copied / one.module).write_text(source_of(one), encoding="utf-8")
        own = folder / "compiled anew"
        yield one, killed(one, folder, own if _is_compiled(one.module) else cache)
        shutil.rmtree(own, ignore_errors=True)
        shutil.copy2(PACKAGE / one.module, copied / one.module)


def killed(one: Mutant, folder: Path, cache: Path) -> Ending:
    """What the first of its tests say, and only if they notice nothing all of them, its own examples included."""
    tests = CORE[one.module]
    ending = run(tests[:1], folder, cache)
    return ending if ending.failed else run([*tests, str(folder / "bayespoint" / one.module)], folder, cache)


def without_change(killers: list[str], folder: Path) -> Iterator[str]:
    """Those of the tests that fail on the package as it is."""
    while killers and (ending := run(killers, folder, folder / "compiled")).failed:
        if ending.killer not in killers:
            sys.exit(
                f"{(folder / 'said.txt').read_text()}\nThe tests cannot be run without any change: mend them first."
            )
        print(f"fails without any change, so what it killed survived: {ending.killer}")
        killers = [one for one in killers if one != ending.killer]
        yield ending.killer


def _keep(path: Path, number: int, survivors: list[str], equivalent: int) -> None:
    killed = number - len(survivors)
    record = Record("Mutants", "one wrong change of a core module at a time; the fast tests must fail", number)
    record.failed = [f"survived: {one}" for one in survivors]
    record.figures = {"killed": killed, "share killed": round(killed / number, 4), "known equivalents": equivalent}
    record.keep(path)


if __name__ == "__main__":
    sys.exit(main())
