"""Fits with everything chosen by themselves: seconds against the number of rows, beside rivals in the same run.

    python benchmarks/fit.py [--rows 300 500 1000 2000] [--curve 100 200 ... 50000] [--repeats 1]

Ours are the default (several kernels), one kernel, and each step of the curve one kernel alone. Rivals: CatBoost as it
comes, an SVC by grid search in log loss with calibration, and GaussianProcessClassifier up to 1,000 rows. Log loss is
that of 4,000 further rows of the same problem. A curve shows whether there is a step at some number of rows.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _timing import timed
from bayespoint import BayesPointClassifier
from bayespoint._core.threads import blas_threads

TEST = 4000
GRID = {"estimator__C": 10.0 ** np.arange(-1, 4), "estimator__gamma": 10.0 ** np.arange(-3, 2)}


def problem(rows: int, most: int, features: int) -> tuple[np.ndarray, ...]:
    """The first `rows` of a problem that has `most`, and rows to test by: the same problem whatever the size."""
    X, y = make_classification(
        most + TEST, features, n_informative=features // 2, n_clusters_per_class=3, flip_y=0.05, random_state=0
    )
    return X[TEST : TEST + rows], y[TEST : TEST + rows], X[:TEST], y[:TEST]


def grid_search() -> Any:
    """Every setting calibrated on folds within the folds, then judged by log loss."""
    machine = CalibratedClassifierCV(SVC(), ensemble=False, cv=3)
    return make_pipeline(StandardScaler(), GridSearchCV(machine, GRID, scoring="neg_log_loss", cv=3))


def rivals(rows: int, features: int) -> dict[str, Any]:
    """By what they are called."""
    found: dict[str, Any] = {
        "bayespoint": BayesPointClassifier(),
        "bayespoint, one kernel": BayesPointClassifier(None),
        f"SVC grid, scikit-learn {sklearn.__version__}": grid_search(),
    }
    if rows <= 1000:
        kernel = ConstantKernel(1.0) * RBF(np.sqrt(features), (0.1, 1e3)) + ConstantKernel(1.0)
        found["GaussianProcessClassifier"] = make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel))
    try:
        import catboost
    except ImportError:
        return found
    found[f"CatBoost {catboost.__version__}"] = catboost.CatBoostClassifier(verbose=0, allow_writing_files=False)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[300, 500, 1000, 2000])
    parser.add_argument(
        "--curve", type=int, nargs="*", default=[100, 400, 401, 1000, 1500, 1501, 4000, 4001, 20_000, 50_000]
    )
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    most = max([*options.rows, *options.curve])
    BayesPointClassifier().fit(*problem(60, most, options.features)[:2])
    print(
        f"{options.features} features, {blas_threads()} BLAS threads; seconds of a fit, log loss of {TEST} other rows"
    )
    for rows in options.rows:
        X, y, new, truth = problem(rows, most, options.features)
        seconds = {}
        for name, model in rivals(rows, options.features).items():
            seconds[name], fitted = timed(lambda model=model, X=X, y=y: model.fit(X, y), options.repeats)
            ratio = seconds[name] / seconds["bayespoint"]
            loss = log_loss(truth, fitted.predict_proba(new))
            print(f"  {rows:6,} rows  {name:34} {seconds[name]:7.2f} s {ratio:7.2f} x  {loss:.4f}", flush=True)
    print("one kernel, row by row of the curve (20 features)")
    for rows in options.curve:
        X, y, new, truth = problem(rows, most, 20)
        took, fitted = timed(lambda X=X, y=y: BayesPointClassifier(None).fit(X, y), options.repeats)
        print(f"  {rows:6,} rows {took:7.2f} s  {log_loss(truth, fitted.predict_proba(new)):.4f}", flush=True)


if __name__ == "__main__":
    main()
