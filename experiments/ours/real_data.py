"""Ten real data sets: the defaults beside four rivals in error, log loss, Brier score and calibration.

20 divisions of each set (the customary ones where there are such). Every method sees the same standardised training
rows and chooses its own hyper-parameters: BayesPointClassifier as it comes, an SVC by grid search with sigmoid
calibration, and scikit-learn's GaussianProcessClassifier, LogisticRegressionCV and HistGradientBoostingClassifier.
Ranks are those of the mean log loss on each set, from 1 (best) to 5; their standard errors come from a bootstrap over
divisions. No paper: all figures are ours.
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure
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
from bayespoint.uses import expected_calibration_error
from datasets import splits
from findings import Findings, Number, Statement
from sizes import Size

DATA = (
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
)
MINUTES = 9
SETS = list(DATA)
COLUMNS = ("error in %", "log loss", "Brier score", "calibration error")


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


def measure(name: str, index: int) -> list[list[float]]:
    """Figures of all methods on one division, of shape (method, column)."""
    split = splits(name, index + 1)[index]
    scaler = StandardScaler().fit(split.X_train)
    X_train, X_test, positive = scaler.transform(split.X_train), scaler.transform(split.X_test), split.y_test > 0
    rows = []
    for estimator in methods(X_train.shape[1]).values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p = estimator.fit(X_train, split.y_train).predict_proba(X_test)[:, 1]
        error, brier = 100 * np.mean((p > 0.5) != positive), np.mean((p - positive) ** 2)
        loss = log_loss(positive, p, labels=[False, True])
        rows.append(
            [
                float(v)
                for v in (error, loss, brier, expected_calibration_error(positive, p, n_bins=10, strategy="uniform"))
            ]
        )
    return rows


def ranks_in_log_loss(values: np.ndarray) -> np.ndarray:
    """Mean rank of each method over sets; `values` by (set, division, method, column)."""
    losses = values[..., 1].mean(axis=1)
    return (losses.argsort(axis=1).argsort(axis=1) + 1).mean(axis=0)


def bootstrap(values: np.ndarray, draws: int = 500) -> np.ndarray:
    """Standard errors of the mean ranks over divisions."""
    sets, count = values.shape[:2]
    chosen = np.random.default_rng(0).integers(count, size=(draws, sets, count))
    return np.std([ranks_in_log_loss(values[np.arange(sets)[:, None], one]) for one in chosen], axis=0)


def run(size: Size) -> Findings:
    names, count = size.pick(SETS, ["crabs", "thyroid"]), size.pick(20, 2)
    found = size.map(measure, [(name, k) for name in names for k in range(count)])
    labels = list(methods(1))
    values = np.reshape(found, (len(names), count, len(labels), len(COLUMNS)))
    ranks, se = ranks_in_log_loss(values), bootstrap(values)
    means = dict(zip(COLUMNS, values.mean(axis=(0, 1)).T, strict=True))
    figures: list[Number | Statement] = [
        Number(f"{label}, mean rank in log loss", rank, se=one)
        for label, rank, one in zip(labels, ranks, se, strict=True)
    ]
    for column in COLUMNS[:2]:
        figures += [Number(f"{label}, mean {column}", v) for label, v in zip(labels, means[column], strict=True)]
    next_best = 1 + int(ranks[1:].argmin())
    figures.append(
        Statement(
            "the defaults have the best mean rank in log loss",
            "(ours) by more than twice its standard error",
            f"{ranks[0]:.1f} ({se[0]:.1f}), next best {labels[next_best]} {ranks[next_best]:.1f} ({se[next_best]:.1f})",
            bool(ranks[next_best] - ranks[0] > 2 * np.hypot(se[0], se[next_best])),
        )
    )
    details = {name: dict(zip(labels, values[k].mean(axis=0), strict=True)) for k, name in enumerate(names)}
    seed = "divisions: customary, else generator [20010101, division]"
    conditions = {"sets": names, "divisions": count, "columns": COLUMNS}
    return Findings(figures, draw(names, labels, values), seed, conditions, details)


def draw(names: list[str], labels: list[str], values: np.ndarray) -> Figure:
    figure = Figure(figsize=(9, 4), layout="constrained")
    axis, across = figure.subplots(), np.arange(len(names))
    for k, (label, mark) in enumerate(zip(labels, "os^Dv", strict=True)):
        losses = values[:, :, k, 1]
        se = losses.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])
        axis.errorbar(across + 0.14 * (k - 2), losses.mean(axis=1), se, fmt=mark, ms=5, capsize=2, label=label)
    axis.set_xticks(across, names, rotation=20)
    axis.set(ylabel="log loss on test rows", ylim=(0, None))
    axis.legend(fontsize=8)
    return figure
