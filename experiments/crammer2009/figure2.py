"""Figure 2 of "Gaussian Margin Machines": test errors on all 45 pairs of USPS digits, against support vector machines.

    python experiments/crammer2009/figure2.py [--repeats 10] [--jobs 2] [--quick]

Images of 8 x 8 pixels (means of four), 100 training rows, settings chosen on the rest of the training images: 11 phi x
12 C for the Gaussian margin machine, the nine C from 1e-4 to 1e4 for the support vector machine. Neither has an offset,
as in the paper; a support vector machine with an intercept stands beside them in the table. Left: mean test error of
each pair over the repeats, middle: its standard deviation. Right: errors of the mean and of Gibbs draws against eta for
3 against 8.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from joblib import Parallel, delayed
from scipy import special
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).parents[1]))
from bayespoint import GaussianMarginClassifier, Hinge, Problem
from bayespoint.engines.laplace import support_vectors
from datasets import digits
from report import save

PHIS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0)
CS = np.logspace(-3, 2, 12)
SVM_CS = np.logspace(-4, 4, 9)
TRAIN = 100


def small(images: np.ndarray) -> np.ndarray:
    """Means of four adjacent pixels."""
    return images.reshape(-1, 8, 2, 8, 2).mean(axis=(2, 4)).reshape(-1, 64)


def images(pair: tuple[int, int]) -> tuple[np.ndarray, ...]:
    X, y, X_test, y_test = digits("usps", pair)
    return small(X), y, small(X_test), y_test


def machine(phi: float, C: float) -> GaussianMarginClassifier:
    return GaussianMarginClassifier(eta=float(special.ndtr(phi)), C=C, bias=0.0, tolerance=1e-4)


class SupportVectorMachine:
    """Linear and without an intercept, solved to rounding."""

    def __init__(self, C: float) -> None:
        self.C = C

    def fit(self, X: np.ndarray, y: np.ndarray) -> SupportVectorMachine:
        alpha = support_vectors(Problem(X @ X.T, y, Hinge(self.C), check=False), 1e-6).alpha
        self.weights = X.T @ (y * alpha)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.sign(X @ self.weights)


def compare(rows: tuple[np.ndarray, ...], seed: list[int]) -> list[float]:
    """Test errors of all machines with the settings that err least on the validation rows."""
    warnings.filterwarnings("ignore", "Constant features")  # white corners
    X, y, X_test, y_test = rows
    order = np.random.default_rng(seed).permutation(len(y))
    train, rest = order[:TRAIN], order[TRAIN:]
    rivals = (
        [machine(phi, C) for phi in PHIS for C in CS],
        [SupportVectorMachine(C) for C in SVM_CS],
        [SVC(C=C, kernel="linear") for C in SVM_CS],
    )
    errors = []
    for models in rivals:
        fitted = [model.fit(X[train], y[train]) for model in models]
        best = min(fitted, key=lambda model: np.mean(model.predict(X[rest]) != y[rest]))
        errors.append(float(np.mean(best.predict(X_test) != y_test)))
    return errors


def by_eta(repeats: int) -> np.ndarray:
    """Mean errors of the mean and of draws for each phi, 3 against 8, with the C best for each on validation rows."""
    warnings.filterwarnings("ignore", "Constant features")
    X, y, X_test, y_test = images((3, 8))
    table = np.empty((repeats, len(PHIS), 2))
    for repeat in range(repeats):
        order = np.random.default_rng([3, 8, repeat]).permutation(len(y))
        train, rest = order[:TRAIN], order[TRAIN:]
        for k, phi in enumerate(PHIS):
            fitted = [machine(phi, C).fit(X[train], y[train]) for C in CS]
            best = min(fitted, key=lambda model: np.mean(model.predict(X[rest]) != y[rest]))
            table[repeat, k] = np.mean(best.predict(X_test) != y_test), best.gibbs_error(X_test, y_test)
    return table.mean(axis=0)


def draw(mean: np.ndarray, sd: np.ndarray, curve: np.ndarray) -> plt.Figure:
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    for ax, values, title in ((axes[0], mean, "mean test error, %"), (axes[1], sd, "standard deviation, %")):
        top = 1.05 * 100 * values.max()
        ax.plot([0, top], [0, top], color="0.7", lw=1)
        ax.plot(100 * values[:, 0], 100 * values[:, 1], "o", ms=4)
        ax.set(
            xlabel="Gaussian margin machine", ylabel="support vector machine", title=title, xlim=(0, top), ylim=(0, top)
        )
        ax.set_aspect("equal")
    eta = special.ndtr(PHIS)
    axes[2].plot(eta, 100 * curve[:, 0], "ks-", ms=4, label="sign of the mean")
    axes[2].plot(eta, 100 * curve[:, 1], "o-", ms=4, label="Gibbs draws")
    axes[2].set(xlabel="eta", ylabel="test error, %", title="3 against 8")
    axes[2].legend()
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="three pairs, two repeats")
    options = parser.parse_args()
    start = time.perf_counter()
    pairs = list(combinations(range(10), 2))
    if options.quick:
        pairs, options.repeats = [(3, 8), (4, 9), (0, 1)], 2
    rows = {pair: images(pair) for pair in pairs}
    tasks = (delayed(compare)(rows[pair], [*pair, repeat]) for pair in pairs for repeat in range(options.repeats))
    errors = np.array(Parallel(n_jobs=options.jobs)(tasks)).reshape(len(pairs), options.repeats, 3)
    mean, sd = errors.mean(axis=1), errors.std(axis=1, ddof=1)
    curve = by_eta(min(options.repeats, 10))
    wins = {
        "wins in mean error": int(np.sum(mean[:, 0] < mean[:, 1])),
        "losses in mean error": int(np.sum(mean[:, 0] > mean[:, 1])),
        "wins in standard deviation": int(np.sum(sd[:, 0] < sd[:, 1])),
        "mean error, %": round(100 * float(mean[:, 0].mean()), 3),
        "mean error of the SVM, %": round(100 * float(mean[:, 1].mean()), 3),
        "wins in mean error, SVM with intercept": int(np.sum(mean[:, 0] < mean[:, 2])),
        "wins in standard deviation, SVM with intercept": int(np.sum(sd[:, 0] < sd[:, 2])),
        "mean error of the SVM with intercept, %": round(100 * float(mean[:, 2].mean()), 3),
        "eta of least error, mean": round(float(special.ndtr(PHIS[int(curve[:, 0].argmin())])), 3),
        "eta of least error, draws": round(float(special.ndtr(PHIS[int(curve[:, 1].argmin())])), 3),
    }
    paper = {"wins in mean error": 36, "losses in mean error": 9, "wins in standard deviation": 28}
    for name, value in wins.items():
        print(f"{name:50s}{value:>8}   paper {paper.get(name, '')}")
    print(f"{time.perf_counter() - start:.0f} s")
    save(
        "crammer2009_figure2",
        {"ours": wins, "paper": paper, "mean": mean.tolist(), "sd": sd.tolist(), "by eta": curve.tolist()},
        draw(mean, sd, curve),
        pairs=len(pairs),
        repeats=options.repeats,
        phi=PHIS,
        C=CS.tolist(),
        svm_C=SVM_CS.tolist(),
        seconds=round(time.perf_counter() - start),
    )


if __name__ == "__main__":
    main()
