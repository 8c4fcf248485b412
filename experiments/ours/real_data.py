"""The defaults on ten real data sets beside four rivals: error, log loss, Brier score, calibration error, time.

    python experiments/real_data.py [--splits 20] [--sets heart,sonar] [--jobs 2]

Every method sees the same standardised training rows and chooses its own hyper-parameters. Prints a table a set and the
mean rank in log loss, and writes results/real_data.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier
from datasets import splits

SETS = [
    "heart",
    "thyroid",
    "ionosphere",
    "sonar",
    "breast-cancer",
    "diabetis",
    "banana",
    "waveform",
    "pima-ripley",
    "crabs",
]
COLUMNS = ["error", "log loss", "Brier", "calibration", "seconds"]


class CalibratedGridSearch:
    """C and gamma by five-fold cross-validation, then sigmoid calibration of the best on five folds."""

    def __init__(self, grid: dict) -> None:
        self.grid = grid

    def fit(self, X: np.ndarray, y: np.ndarray) -> CalibratedClassifierCV:
        best = GridSearchCV(SVC(), self.grid, cv=5).fit(X, y).best_params_
        return CalibratedClassifierCV(SVC(**best)).fit(X, y)


def methods(n_features: int) -> dict[str, object]:
    """Fresh estimators by name; length scales start at the size of standardised data."""
    grid = {"C": 10.0 ** np.arange(-1, 4), "gamma": 10.0 ** np.arange(-2, 2) / n_features}
    scale = np.sqrt(n_features)
    return {
        "bayespoint": BayesPointClassifier(),
        "SVC grid + calibration": CalibratedGridSearch(grid),
        "GaussianProcess": GaussianProcessClassifier(ConstantKernel(1.0) * RBF(scale, (scale / 100, scale * 100))),
        "LogisticRegressionCV": LogisticRegressionCV(l1_ratios=(0,), use_legacy_attributes=False, max_iter=1000),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    }


def calibration_error(y: np.ndarray, p: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error of P(+1) over `bins` bins of equal width, weighted by their share."""
    bin_of = np.minimum((p * bins).astype(int), bins - 1)
    gaps = [abs(np.mean(p[bin_of == b] - (y[bin_of == b] > 0))) * np.mean(bin_of == b) for b in np.unique(bin_of)]
    return float(np.sum(gaps))


def measure(name: str, index: int, only: list[str] | None) -> dict[str, list[float]]:
    """Figures of all methods on one split."""
    split = splits(name, index + 1)[index]
    scaler = StandardScaler().fit(split.X_train)
    X_train, X_test = scaler.transform(split.X_train), scaler.transform(split.X_test)
    rows = {}
    for label, estimator in methods(X_train.shape[1]).items():
        if only and label not in only:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            p = estimator.fit(X_train, split.y_train).predict_proba(X_test)[:, 1]
            seconds = time.perf_counter() - start
        y = split.y_test
        rows[label] = [
            100 * float(np.mean((p > 0.5) != (y > 0))),
            float(log_loss(y > 0, p, labels=[False, True])),
            float(np.mean((p - (y > 0)) ** 2)),
            calibration_error(y, p),
            seconds,
        ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--methods", default="")
    parser.add_argument("--out", default=str(Path(__file__).parent / "results" / "real_data.json"))
    options = parser.parse_args()
    names = options.sets.split(",")
    only = [m for m in options.methods.split(",") if m]

    table: dict[str, dict[str, list[list[float]]]] = {}
    for name in names:
        rows = Parallel(n_jobs=options.jobs)(delayed(measure)(name, i, only) for i in range(options.splits))
        table[name] = {label: [row[label] for row in rows] for label in rows[0]}
        print(f"\n{name:24s}" + "".join(f"{column:>13s}" for column in COLUMNS), flush=True)
        for label, figures in table[name].items():
            print(f"  {label:22s}" + "".join(f"{value:13.3f}" for value in np.mean(figures, axis=0)), flush=True)

    labels = list(next(iter(table.values())))
    losses = np.array([[np.mean(table[name][label], axis=0)[1] for label in labels] for name in names])
    ranks = losses.argsort(axis=1).argsort(axis=1) + 1
    print("\nmean rank in log loss over the sets")
    for label, rank, loss in zip(labels, ranks.mean(axis=0), losses.mean(axis=0), strict=True):
        print(f"  {label:22s}{rank:13.2f}   mean log loss {loss:.4f}")
    out = Path(options.out)
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps({"columns": COLUMNS, "splits": options.splits, "figures": table}, indent=1))


if __name__ == "__main__":
    main()
