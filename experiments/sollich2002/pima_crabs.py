"""Pima and Crabs, the benchmarks at the end of section 7: kernels by evidence, beside grid search and other models.

    python experiments/sollich2002/pima_crabs.py [--quick]

Pima: Ripley's 200 training and 332 test rows. Crabs: ten random divisions into 80 and 120. Every method sees inputs
standardised on the training rows. "ARD" is a length scale for each input; "map" and "average" are class probabilities
at the support vector machine (37) and over the posterior (33), of one and the same fit.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).parents[1]))
from bayespoint import BayesianSVC, BayesPointClassifier
from datasets import DataNotFoundError, Split, splits
from report import save

COLUMNS = ["errors", "log loss", "seconds"]
PAPER = {"pima-ripley": "18.9 %, 62.7 errors: ARD by gradient ascent on the naive evidence, C chosen optimally"}


def kernel(n_features: int, ard: bool) -> ConstantKernel:
    scale = np.sqrt(n_features)
    lengths = np.full(n_features, scale) if ard else scale
    return ConstantKernel(1.0, (1e-3, 1e5)) * RBF(lengths, (scale / 100, scale * 100))


class CalibratedGridSearch:
    """C and gamma on a grid of ten by ten by five-fold cross-validation, then sigmoid calibration of the best."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> CalibratedClassifierCV:
        grid = {"C": np.logspace(-2, 3, 10), "gamma": np.logspace(-3, 1, 10)}
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        best = GridSearchCV(SVC(), grid, cv=folds).fit(X, y).best_params_
        return CalibratedClassifierCV(SVC(**best), cv=folds).fit(X, y)


def methods(n_features: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for ard in (True, False):
        for evidence in ("conditional", "naive"):
            name = f"BayesianSVC {'ARD' if ard else 'one scale'}, {evidence}"
            options = {"optimizer": "evidence", "evidence": evidence, "random_state": 0}
            found[name] = BayesianSVC(kernel=kernel(n_features, ard), **options)
    return found | {
        "GaussianProcessClassifier ARD": GaussianProcessClassifier(kernel(n_features, True), random_state=0),
        "SVC grid + calibration": CalibratedGridSearch(),
        "LogisticRegression": LogisticRegression(),
        "BayesPointClassifier ARD": BayesPointClassifier(kernel=kernel(n_features, True), random_state=0),
        "BayesPointClassifier": BayesPointClassifier(random_state=0),
    }


def measure(split: Split) -> dict[str, list[float]]:
    """Errors, log loss and time to fit of every method on one split."""
    scaler = StandardScaler().fit(split.X_train)
    X, X_test = scaler.transform(split.X_train), scaler.transform(split.X_test)
    rows = {}
    for name, estimator in methods(X.shape[1]).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            model = estimator.fit(X, split.y_train)
            seconds = time.perf_counter() - start
        for mode in ("average", "map") if isinstance(model, BayesianSVC) else ("",):
            if mode:
                model.set_params(probability=mode)
            p = model.predict_proba(X_test)[:, 1]
            errors = int(np.sum((p > 0.5) != (split.y_test > 0)))
            label = f"{name}, {mode}" if mode else name
            rows[label] = [errors, float(log_loss(split.y_test > 0, p, labels=[False, True])), seconds]
    return rows


def main() -> None:
    quick = "--quick" in sys.argv
    found = {}
    for name, count in (("pima-ripley", 1), ("crabs", 1 if quick else 10)):
        try:
            rows = [measure(split) for split in splits(name, count)]
        except DataNotFoundError as error:
            sys.exit(str(error))
        found[name] = {
            label: dict(zip(COLUMNS, np.mean([r[label] for r in rows], axis=0), strict=True)) for label in rows[0]
        }
        for label in found[name]:
            found[name][label]["each split"] = [row[label][:2] for row in rows]
        found[name]["paper"] = PAPER.get(name, "no figure")
        print(f"\n{name:44s}" + "".join(f"{column:>10s}" for column in COLUMNS))
        for label in rows[0]:
            print(f"  {label:42s}" + "".join(f"{found[name][label][column]:10.3f}" for column in COLUMNS), flush=True)
    save(
        "sollich2002_pima_crabs" + ("_quick" if quick else ""),
        found,
        splits="pima-ripley: Ripley's 200/332; crabs: ten random 80/120, seeds (20010101, 0..9)",
        grid="10 x 10, C 0.01..1000, gamma 0.001..10, five folds",
    )


if __name__ == "__main__":
    main()
