"""The default on tables that spoil a fit, beside the default as it was: log loss and accuracy on rows left out.

    python benchmarks/defaults.py

As it was: a Gaussian kernel in the units of the columns, tuned by the evidence alone, one class against the rest.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from bayespoint import BayesPointClassifier

BEFORE = {"kernel": "rbf", "hyper_prior": None, "calibration": None, "decision": "one-vs-rest"}


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, rows, labels."""
    rng = np.random.default_rng(0)
    wine, cancer = load_wine(return_X_y=True), load_breast_cancer(return_X_y=True)
    yield "wine, unscaled", *wine
    yield "wine, columns times 1e-6 to 1e6", wine[0] * 10.0 ** rng.uniform(-6, 6, wine[0].shape[1]), wine[1]
    yield "breast cancer, unscaled", *cancer
    X, y = cancer
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    yield "the same, standardised, heavy tails", np.exp(2 * standard), y
    yield "the same with a wild entry", np.where(rng.random(X.shape) < 0.002, 1e4, standard), y
    yield "the same with 30 constant columns", np.c_[standard, np.ones((len(X), 30))], y
    yield "the same with 70 columns of noise", np.c_[standard, rng.standard_normal((len(X), 70))], y
    codes = rng.integers(0, 8, (500, 6))
    yield "names as numbers", codes.astype(float), ((codes[:, 0] % 3 == 0) ^ (codes[:, 1] % 2 == 0)).astype(int)
    wide = rng.standard_normal((120, 5000))
    yield "120 x 5,000", wide, (wide[:, :20].sum(axis=1) > 0).astype(int)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':38} {'as it was':>16} {'default':>16}")
    for name, X, y in tables():
        X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=0.5, stratify=y, random_state=0)
        shown = []
        for settings in (BEFORE, {}):
            model = BayesPointClassifier(**settings).fit(X_train, y_train)
            loss = log_loss(y_test, model.predict_proba(X_test), labels=model.classes_)
            shown.append(f"{loss:8.3f} / {model.score(X_test, y_test):.3f}")
        print(f"{name:38} {shown[0]:>16} {shown[1]:>16}", flush=True)


if __name__ == "__main__":
    main()
