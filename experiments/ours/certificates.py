"""Certificates: proven bounds on the error, from the training rows alone, beside what a test set says.

Two kinds for each set: "part" learns preprocessing, length scale and prior on a fifth of 5,000 rows (banana: 4,000) and
evaluates the bound on the others, for the better of two amplitudes; "grid" takes the best of eight priors that were
fixed beforehand, on the first 2,000 rows. Both pay for the choice. Bounds are at confidence 95 %: on the mean error of
the posterior's classifiers (Gibbs) and on that of the classifier that predicts (Bayes point). The picture marks values
published for support vector machines with data-dependent priors, waveform 0.17 and ringnorm 0.10, on rows and by a
protocol of their own. The test-set bound is what the test rows say of the same classifier, by the binomial tail.
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure
from scipy.special import ndtr
from sklearn.decomposition import PCA
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.pipeline import make_pipeline

from bayespoint import BayesPointClassifier
from bayespoint.bounds import Certificate, binomial_bound
from bayespoint.exceptions import InferenceWarning
from bayespoint.uses import BoundSearch
from datasets import Split, digits, generate, load_arrays
from findings import Findings, Number, Statement
from sizes import Size

DATA = ("banana", "mnist")
MINUTES = 12
DELTA = 0.05
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5)
SETS = ("waveform", "ringnorm", "twonorm", "banana", "mnist-3-8")
PUBLISHED = {"waveform": 0.17, "ringnorm": 0.10}
MARKS = {
    "Gibbs bound": "v",
    "Gibbs test error": "^",
    "point bound": "s",
    "point test error": "o",
    "test-set bound": "_",
}


def rows_of(name: str, n: int) -> Split:
    rng = np.random.default_rng(0)
    if name == "mnist-3-8":
        X, y, X_test, y_test = digits("mnist", (3, 8))
        order = rng.permutation(len(y))[:n]
        return Split(X[order], y[order], X_test, y_test)
    if name == "banana":
        arrays = load_arrays(name)
        X, y, order = arrays["X"].astype(float), arrays["y"], rng.permutation(len(arrays["y"]))
        train, test = order[: min(n, 4000)], order[4000:]
        return Split(X[train], y[train], X[test], y[test])
    return Split(*generate(name, n, rng), *generate(name, 10_000, rng))


def part(name: str, X: np.ndarray, y: np.ndarray) -> Certificate:
    """Length scale, preprocessing and prior from a fifth of the rows."""
    model, prefix = BayesPointClassifier(max_rank=None), ""
    if name == "mnist-3-8":
        model, prefix = make_pipeline(PCA(50, random_state=0), model), "bayespointclassifier__"
    scale = np.sqrt(50 if prefix else X.shape[1])  # where the search starts
    kernels = [ConstantKernel(amplitude, "fixed") * RBF(scale) for amplitude in (3.0, 30.0)]
    search = BoundSearch(model, {f"{prefix}kernel": kernels}, delta=DELTA, prior_fraction=0.2, random_state=0)
    return search.fit(X, y).certificate_


def grid(name: str, X: np.ndarray, y: np.ndarray) -> Certificate:
    """The best of eight priors; their scales were written down with the kind of features alone in mind."""
    scales = {"banana": (0.5, 1.0), "mnist-3-8": (4.0, 8.0)}.get(name, (6.0, 12.0))
    kernels = [amplitude * RBF(scale) for scale in scales for amplitude in (1.0, 3.0, 10.0, 100.0)]
    search = BoundSearch(BayesPointClassifier(optimizer=None, max_rank=None), {"kernel": kernels}, delta=DELTA)
    return search.fit(X, y).certificate_


KINDS = {"part": part, "grid": grid}


def gibbs_test_error(classifier: object, X: np.ndarray, y: np.ndarray) -> float:
    """Mean error of the posterior's classifiers on a test set."""
    *steps, last = [step for _, step in classifier.steps] if hasattr(classifier, "steps") else [classifier]
    for step in steps:
        X = step.transform(X)
    mean, variance = last.latent(X)
    return float(ndtr(-y * mean / np.sqrt(variance)).mean())


def measure(name: str, kind: str, n: int) -> dict[str, float | str]:
    """One certificate, and the test rows' opinion of it."""
    warnings.filterwarnings("ignore", message="Constant features")  # the margins of the images
    warnings.simplefilter("ignore", InferenceWarning)
    X, y, X_test, y_test = rows_of(name, n)
    found = KINDS[kind](name, X, y)
    errors = int(np.sum(found.classifier.predict(X_test) != y_test))
    return {
        "rows": len(y),
        "Gibbs bound": found.gibbs.value,
        "Gibbs test error": gibbs_test_error(found.classifier, X_test, y_test),
        "point bound": found.bayes_point.value,
        "point test error": errors / len(y_test),
        "test-set bound": binomial_bound(errors, len(y_test), DELTA).value,
        "basis": found.basis,
    }


def run(size: Size) -> Findings:
    names = size.pick(SETS, ("waveform", "banana"))
    tasks = [
        (name, kind, n)
        for kind, n in (("part", size.pick(5000, 300)), ("grid", size.pick(2000, 150)))
        for name in names
    ]
    found = {(name, kind): one for (name, kind, _), one in zip(tasks, size.map(measure, tasks), strict=True)}
    figures: list[Number | Statement] = []
    for (name, kind), one in found.items():
        what = f"{name}, {kind}, {one['rows']:,} rows"
        figures.append(Number(f"{what}, Gibbs bound", one["Gibbs bound"]))
        figures.append(Number(f"{what}, Bayes point bound", one["point bound"]))
    for what in ("Gibbs", "point"):
        gaps = [one[f"{what} bound"] - one[f"{what} test error"] for one in found.values()]
        span = f"{min(gaps):.3f} to {max(gaps):.3f} above the test error"
        claim = f"bounds on the {'mean error of draws' if what == 'Gibbs' else 'Bayes point'} hold on the test rows"
        figures.append(Statement(claim, "each with probability 95 %", span, min(gaps) > 0))
    conditions = {"delta": DELTA, "test rows": "10,000; banana 1,300; mnist-3-8 1,984"}
    details = {f"{name}, {kind}": one for (name, kind), one in found.items()}
    return Findings(figures, draw(found), seed=0, conditions=conditions, details=details)


def draw(found: dict[tuple[str, str], dict[str, float | str]]) -> Figure:
    figure = Figure(figsize=(9.5, 4), layout="constrained")
    axis, across = figure.subplots(), np.arange(len(found))
    for what, mark in MARKS.items():
        axis.semilogy(across, [one[what] for one in found.values()], mark, ms=8, label=what)
    known = [(k, PUBLISHED[name]) for k, (name, kind) in enumerate(found) if name in PUBLISHED and kind == "part"]
    axis.plot(*np.transpose(known), "k*", ms=9, label="published Gibbs bound")
    axis.set_xticks(across, [f"{name}\n{kind}, {one['rows']:,}" for (name, kind), one in found.items()], fontsize=8)
    axis.set_yticks(TICKS, TICKS)
    axis.minorticks_off()
    axis.set(ylabel="error")
    axis.legend(fontsize=8, ncols=3)
    return figure
