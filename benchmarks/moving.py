"""What moving in costs: processor time to fit and log loss, beside the classifiers of scikit-learn one comes from.

    python benchmarks/moving.py

Half of the rows are for training, columns standardised. Ratios of processor time are to the first of each group.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayespoint import BayesianSVC, BayesPointClassifier

KERNEL = 1.0 * RBF(3.0)
GROUPS: list[dict[str, Any]] = [
    {
        "SVC, no probabilities": SVC(),
        "SVC in CalibratedClassifierCV": CalibratedClassifierCV(SVC()),
        "BayesianSVC.from_svc": BayesianSVC.from_svc(SVC(), probability="average"),
        "BayesianSVC, C and kernel by evidence": BayesianSVC(optimizer="evidence", evidence="naive"),
    },
    {
        "GaussianProcessClassifier": GaussianProcessClassifier(KERNEL),
        "BayesPointClassifier, same kernel": BayesPointClassifier(KERNEL),
    },
    {
        "LogisticRegression": LogisticRegression(max_iter=1000),
        "BayesPointClassifier('linear')": BayesPointClassifier("linear"),
        "BayesPointClassifier()": BayesPointClassifier(),
    },
]


def sets() -> dict[str, tuple[Any, Any]]:
    digits = load_digits(return_X_y=True)
    return {
        "moons, 400 rows": make_moons(800, noise=0.3, random_state=0),
        "breast cancer, 284 rows": load_breast_cancer(return_X_y=True),
        "digits, 450 rows, 10 classes": (digits[0][::2], digits[1][::2]),
    }


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.simplefilter("ignore")
    for name, (X, y) in sets().items():
        X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=0.5, stratify=y, random_state=0)
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
        print(f"{name:42} {'seconds':>8} {'ratio':>7} {'log loss':>9} {'error':>6}")
        for group in GROUPS:
            first = None
            for label, model in group.items():
                model.fit(X_train[:20], np.arange(20) % 2)  # compiled loops are loaded
                start = time.process_time()
                model.fit(X_train, y_train)
                seconds = time.process_time() - start
                first = first or seconds
                loss = log_loss(y_test, model.predict_proba(X_test)) if hasattr(model, "predict_proba") else np.nan
                error = 1 - model.score(X_test, y_test)
                print(f"  {label:40} {seconds:8.3f} {seconds / first:7.1f} {loss:9.3f} {error:6.3f}", flush=True)


if __name__ == "__main__":
    main()
