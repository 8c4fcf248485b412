"""Mutants: small wrong changes of the core modules, one at a time, that the fast tests must notice.

    python tests/mutants/run.py [--number 200] [--seed 0] [--modules likelihoods/step.py ...] [--report file.json]
                                [--survivors] [--jobs 1]

A mutant (`changes.py`) lives in a copy of the package; the tests named beside its module run on that copy, the quickest
first, until one fails. Tests that killed are run without any change at the end, for a test that fails anyway kills
nothing. Mutants of which nobody could tell, since the change makes no difference, are listed in `equivalent.txt` with a
reason. With `--survivors` only those that survived in the kept report are tried again: for tests that were added since.

The report has a ledger with what became of each (`ledger.py`), so that a run goes on where another stopped; a mutant of
a module whose code is another by now has not been tried.

What takes long to import is imported once; each mutant has a process forked from there. A mutant of a compiled module
has a compile cache of its own, for a cached loop does not notice that one it calls has changed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "soak"))
from changes import PACKAGE, Mutant, chosen, source_of  # noqa: E402
from ledger import Ledger  # noqa: E402
from records import KEPT  # noqa: E402

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
    "engines/laplace.py": [
        "tests/evidence/svm/test_printed.py",
        "tests/engines/test_laplace.py",
        "tests/likelihoods/test_squared_hinge.py",
    ],
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
    "tuning/climb.py": ["tests/tuning/test_tuning.py", "tests/tuning", "tests/estimators/test_evidence_as_object.py"],
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
PATIENCE = 5, 60.0  # times the seconds that a test took before, and the least: then a mutant has hung it
ENOUGH = 100.0  # processor seconds of tests on one mutant, the quickest first: what they did not notice has survived
SLOWEST = 1200  # seconds after which it sleeps
GOAL = 0.95
MEMORY = 8 * 2**30
TOOLS = ("pytest", "_pytest.doctest", "hypothesis", "pandas")  # what tests import


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
    given = _parser().parse_args()
    same = known_equivalents()
    wanted = [one for one in chosen(given.modules, given.number + len(same), given.seed) if one.name not in same]
    wanted = wanted[: given.number]
    ledger = Ledger(given.report)
    turns = [one for one in wanted if not ledger.is_done(one, given.survivors)]
    import_once()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for k, (one, ending) in enumerate(tried(turns, folder, given.jobs), 1):
            ledger.add(one, ending.failed, ending.killer)
            ledger.keep(wanted, len(same))
            how = f"killed   {one}  by {ending.killer or 'a hang or an import'}" if ending.failed else f"SURVIVED {one}"
            print(f"{k}/{len(turns)} {how}", flush=True)
        for freed in ledger.prove(sound(sorted(ledger.unproven), _settled(folder / "unchanged"))):
            print(f"its killer fails without any change, so it survived: {freed}")
    share = ledger.keep(wanted, len(same))
    print(f"\n{share:.1%} killed of those of {len(wanted)} that had their turn; {time.monotonic() - begun:.0f} s")
    return share < GOAL


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--modules", nargs="+", default=list(CORE))
    parser.add_argument("--report", type=Path, default=KEPT / "mutants.json")
    parser.add_argument("--survivors", action="store_true", help="another turn for those that survived")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser


def tried(turns: list[Mutant], folder: Path, jobs: int) -> Iterator[tuple[Mutant, Ending]]:
    """Each mutant and what became of it, in the order in which they end; each process has a copy of the package."""
    with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
        waiting = {pool.submit(in_turn, one, folder): one for one in turns}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


def in_turn(one: Mutant, folder: Path) -> Ending:
    """One mutant, in the copy of this process."""
    own = _settled(folder / str(os.getpid()))
    changed, anew = own / "bayespoint" / one.module, own / "compiled anew"
    changed.write_text(source_of(one), encoding="utf-8")
    try:
        return killed(one, own, anew if _is_compiled(one.module) else own / "compiled")
    finally:
        shutil.rmtree(anew, ignore_errors=True)
        shutil.copy2(PACKAGE / one.module, changed)


def _settled(folder: Path) -> Path:
    """The folder, with a copy of the package in it."""
    if not folder.exists():
        shutil.copytree(PACKAGE, folder / "bayespoint", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def killed(one: Mutant, folder: Path, cache: Path) -> Ending:
    """What the first of its tests say, and only if they notice nothing all of them, its own examples included."""
    tests = CORE[one.module]
    ending = run(tests[:1], folder, cache)
    return ending if ending.failed else run([*tests, str(folder / "bayespoint" / one.module)], folder, cache)


def sound(killers: list[str], folder: Path) -> list[str]:
    """Those of the tests that pass on the package as it is."""
    while killers and (ending := run(killers, folder, folder / "compiled")).failed:
        if ending.killer not in killers:
            sys.exit(
                f"{(folder / 'said.txt').read_text()}\nThe tests cannot be run without any change: mend them first."
            )
        print(f"fails without any change: {ending.killer}")
        killers = [one for one in killers if one != ending.killer]
    return killers


if __name__ == "__main__":
    sys.exit(main())
