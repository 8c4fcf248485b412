"""Rounds of fit, predict, sample, stream, save, load, certify and plot over all estimators: nothing may pile up.

    python tests/soak/cycles.py [--minutes 120] [--keep file.json] [--leak memory | handles | threads | files | objects]

Each turn takes one estimator through all of it, on rows that it has not seen before. After each round memory, objects,
open handles, threads and files left in the temporary folder are counted; the record is kept every minute. With `--leak`
the cycles lose something on purpose, which must be seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import os
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import matplotlib as mpl
import numpy as np
from growth import BLOCKS, WARM_UP, Growth, growth
from records import Record, arguments
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier, RejectingClassifier, load, save
from bayespoint.engines import Billiard, ClassicBilliard, EllipticalSlice, GibbsSampler, Perceptrons
from bayespoint.exceptions import InvalidProblemError
from bayespoint.plots import DecisionBoundariesDisplay, ProbabilitySurfaceDisplay, ReliabilityDisplay
from bayespoint.uses import certify

ROWS, NEW = 60, 40
FIXED = 4.0 * RBF(1.0)
CLASSIFIERS: dict[str, tuple[Any, int]] = {  # with the number of classes
    "several kernels": (BayesPointClassifier(random_state=0), 2),
    "one kernel": (BayesPointClassifier("rbf", random_state=0), 2),
    "noise": (BayesPointClassifier("rbf", noise="evidence", random_state=0), 2),
    "four classes": (BayesPointClassifier("rbf", random_state=0), 4),
    "classes as one": (BayesPointClassifier("rbf", noise=0.05, decision="joint", random_state=0), 3),
    "landmarks": (BayesPointClassifier("rbf", max_rank=10, random_state=0), 2),
    "linear, sparse": (BayesPointClassifier("linear", random_state=0), 2),
    "billiard": (BayesPointClassifier(FIXED, optimizer=None, engine=Billiard(draws=200), n_jobs=2, random_state=0), 2),
    "slices": (BayesPointClassifier(FIXED, optimizer=None, engine=EllipticalSlice(draws=100), random_state=0), 2),
    "gibbs": (BayesPointClassifier(FIXED, optimizer=None, engine=GibbsSampler(draws=50), noise=0.1, random_state=0), 2),
    "classic": (BayesPointClassifier(FIXED, optimizer=None, engine=ClassicBilliard(), random_state=0), 2),
    "perceptrons": (BayesPointClassifier(FIXED, optimizer=None, engine=Perceptrons(10), random_state=0), 2),
    "machine": (BayesianSVC(random_state=0), 3),
    "tuned machine": (BayesianSVC(optimizer="evidence", random_state=0), 2),
    "margin": (GaussianMarginClassifier(random_state=0), 2),
    "rejecting": (RejectingClassifier(BayesPointClassifier("rbf"), rate=0.2, random_state=0), 2),
}
DISPLAYS: list[tuple[Any, dict[str, int]]] = [
    (DecisionBoundariesDisplay, {"n_points": 10}),
    (ReliabilityDisplay, {"n_bins": 3}),
    (ProbabilitySurfaceDisplay, {"n_points": 10}),
]


class Turn:
    """One estimator, rows of its own, and a folder."""

    def __init__(self, name: str, seed: int, folder: Path) -> None:
        self.seed, rng = seed, np.random.default_rng(seed)
        self.unfitted, classes = CLASSIFIERS[name]
        X = rng.normal(size=(ROWS + NEW, 2))
        steps = X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) + 0.2 * rng.normal(size=len(X))
        y = np.digitize(steps, np.quantile(steps[:ROWS], np.arange(1, classes) / classes))
        X = csr_array(X) if "sparse" in name else X
        self.X, self.y, self.new, self.truth = X[:ROWS], np.array(list("abcd"))[y[:ROWS]], X[ROWS:], y[ROWS:]
        self.model, self.file = clone(self.unfitted), folder / "kept.bayespoint"

    def fit(self) -> None:
        self.model.fit(self.X, self.y)

    def predict(self) -> None:
        self.model.predict(self.new)
        p = self.model.predict_proba(self.new)
        if not np.allclose(p.sum(axis=1), 1.0):
            raise AssertionError("probabilities do not add up to one")

    def sample(self) -> None:
        if hasattr(self.model, "sample_latent"):
            self.model.sample_latent(self.new, 20, random_state=0)

    def save_and_load(self) -> None:
        save(self.model, self.file)
        if not np.array_equal(load(self.file).predict_proba(self.new), self.model.predict_proba(self.new)):
            raise AssertionError("a loaded classifier predicts something else")
        self.file.unlink()

    def stream(self) -> None:
        if hasattr(self.unfitted, "partial_fit"):
            streamed = clone(self.unfitted)
            for rows in np.split(np.arange(ROWS), 3):
                streamed.partial_fit(self.X[rows], self.y[rows], classes=np.unique(self.y))
            streamed.predict(self.new)

    def certify(self) -> None:
        certify(clone(self.unfitted), self.X, self.y, method="held-out", random_state=0)

    def certify_all_rows(self) -> None:
        if hasattr(self.model, "certificate"):
            self.model.certificate(prior_fraction=0.5)

    def plot(self) -> None:
        import matplotlib.pyplot as plt

        X = self.X.toarray() if "csr" in type(self.X).__name__ else self.X
        show, size = DISPLAYS[self.seed % len(DISPLAYS)]
        shown = show.from_estimator(self.model, X, self.y, **size)
        shown.figure_.savefig(io.BytesIO())
        plt.close("all")


STEPS = ("fit", "predict", "sample", "save_and_load", "stream", "certify", "certify_all_rows", "plot")


class Counted:
    """Counts of this process: what may not grow, and by how much it may over a whole run before anybody minds."""

    SLACK: ClassVar = {"memory": 4.0, "objects": 500.0, "handles": 0.5, "threads": 0.5, "files": 0.5}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: dict[str, list[float]] = {name: [] for name in self.SLACK}

    def count(self) -> None:
        gc.collect()
        _give_back()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.seen["memory"].append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
        self.seen["objects"].append(len(gc.get_objects()))
        self.seen["handles"].append(len(os.listdir("/proc/self/fd")))
        self.seen["threads"].append(len(os.listdir("/proc/self/task")))
        self.seen["files"].append(sum(1 for _ in self.folder.rglob("*")))

    def verdicts(self) -> dict[str, Growth]:
        rounds = len(self.seen["memory"])
        if rounds * (1 - WARM_UP) < BLOCKS + 1:
            return {}
        return {name: growth(np.array(self.seen[name]), slack) for name, slack in self.SLACK.items()}


def _give_back() -> None:
    """Free pages of the heap go back: which of them an allocator keeps is chance, tens of MB up and down."""
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)


class Leaks:
    """What a control loses each round."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kept = folder, []

    def memory(self) -> None:
        self.kept.append(bytes(os.urandom(2**20)))

    def handles(self) -> None:
        self.kept.append(open(os.devnull))  # noqa: SIM115

    def threads(self) -> None:
        threading.Thread(target=threading.Event().wait, daemon=True).start()

    def files(self) -> None:
        self.kept.append(tempfile.mkstemp(dir=self.folder)[1])

    def objects(self) -> None:
        self.kept += [[k] for k in range(100)]


def take(name: str, seed: int, folder: Path, told: Counter[str], failed: list[str]) -> None:
    """All steps of one estimator; a refusal in a sentence is an answer, any other error is not."""
    turn = Turn(name, seed, folder)
    for step in STEPS:
        try:
            getattr(turn, step)()
            told[f"{step} done"] += 1
        except InvalidProblemError:
            told[f"{step} refused"] += 1
        except Exception as error:
            told[f"{step} failed"] += 1
            failed.append(f"{name}, {step}, seed {seed}: {type(error).__name__}: {error}")


def soak(
    minutes: float, record: Record, keep: Callable[[], None], *, leak: str | None = None, names: Any = None
) -> None:
    """Rounds until the time is over, counted and kept."""
    end, told, seed, kept_at = time.monotonic() + 60 * minutes, Counter(), 0, time.monotonic()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        tempfile.tempdir, folder = name, Path(name)
        counted, leaks = Counted(folder), Leaks(folder)
        while time.monotonic() < end:
            for name in names or CLASSIFIERS:
                take(name, seed, folder, told, record.failed)
                seed += 1
            if leak:
                getattr(leaks, leak)()
            counted.count()
            if time.monotonic() > min(kept_at + 60, end):
                kept_at, record.times = time.monotonic(), seed
                _write_down(record, counted, told, kept_at - begun)
                keep()
        tempfile.tempdir = None


def _write_down(record: Record, counted: Counted, told: Counter[str], seconds: float) -> None:
    verdicts = counted.verdicts()
    series = {name: [round(value, 2) for value in values] for name, values in counted.seen.items()}
    record.figures = {"minutes": round(seconds / 60, 1), "rounds": len(counted.seen["memory"])} | dict(told)
    record.figures |= {f"growth of {name} after a third of the time": str(one) for name, one in verdicts.items()}
    record.figures["series"] = series
    grown = [f"{name} grew by {one}" for name, one in verdicts.items() if one.grows]
    record.failed = [said for said in record.failed if " grew by " not in said] + grown


def main() -> int:
    parser = arguments(__file__, minutes=120)
    parser.add_argument("--leak", choices=list(Counted.SLACK))
    parser.add_argument("--only", nargs="+", choices=list(CLASSIFIERS))
    given = parser.parse_args()
    mpl.use("Agg")
    warnings.simplefilter("ignore")
    record = Record("Long runs", "fit, predict, sample, stream, save, load, certify and plot in turns, all estimators")
    soak(given.minutes, record, lambda: record.keep(given.keep), leak=given.leak, names=given.only)
    print("\n".join(record.failed) or "nothing grew, nothing failed")
    return bool(record.failed)


if __name__ == "__main__":
    sys.exit(main())
