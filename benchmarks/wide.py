"""Rows of many columns: the linear kernel and the default beside linear machines, log loss, accuracy and time.

python benchmarks/wide.py [--rows 5000]
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.svm import LinearSVC

from _timing import timed
from bayespoint import BayesPointClassifier

NEW = 3000


def texts(n: int, words: int, seed: int, *, flipped: float = 0.03) -> tuple[sparse.csr_array, np.ndarray]:
    """Tf-idf of texts on twenty subjects: frequencies by Zipf's law, a fifth of the words tell the class."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(3, words + 3)
    subjects = frequency * rng.lognormal(0, 1, (20, words))
    subjects /= subjects.sum(axis=1, keepdims=True)
    tilt = np.exp(0.5 * rng.standard_normal(words) * (rng.random(words) < 0.2))
    y = rng.integers(0, 2, n)
    rows = []
    for label in y:
        share = rng.dirichlet(np.full(20, 0.1)) @ subjects * (tilt if label else 1 / tilt)
        rows.append(sparse.csr_array(rng.multinomial(rng.poisson(120) + 5, share / share.sum())[None] * 1.0))
    X = TfidfTransformer(sublinear_tf=True).fit_transform(sparse.vstack(rows, format="csr"))
    return sparse.csr_array(X), np.where(rng.random(n) < flipped, 1 - y, y)


def factors(n: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Five hidden factors, two of which make the label, in all columns."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 5))
    X = 0.5 * hidden @ rng.standard_normal((5, columns)) + rng.standard_normal((n, columns))
    return X, (2 * hidden[:, 0] + hidden[:, 1] + 0.3 * rng.standard_normal(n) > 0).astype(int)


def shifts(n: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Independent columns, a hundred of which have another mean in either class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, columns))
    X[:, :100] += 0.4 * (2 * y[:, None] - 1)
    return X, y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5000, help="rows of the largest set of texts")
    options = parser.parse_args()
    sets = {
        "texts, 60 x 5,000": (60, texts(60 + NEW, 5000, 0)),
        "factors, 60 x 5,000": (60, factors(60 + NEW, 5000, 0)),
        "shifts, 60 x 5,000": (60, shifts(60 + NEW, 5000, 0)),
        "texts, 600 x 4,000": (600, texts(600 + NEW, 4000, 2)),
        f"texts, {options.rows:,} x 15,000": (options.rows, texts(options.rows + NEW, 15_000, 5)),
    }
    for name, (n, (X, y)) in sets.items():
        print(name)
        models = {
            "LinearSVC, calibrated": CalibratedClassifierCV(LinearSVC(), ensemble=False),
            "BPM 'linear'": BayesPointClassifier("linear"),
            "BPM 'linear', noise": BayesPointClassifier("linear", noise="evidence"),
            "BPM auto": BayesPointClassifier(),
        }
        if n <= 600:
            models["LogisticRegressionCV"] = LogisticRegressionCV(scoring="neg_log_loss", max_iter=1000)
            models["BPM None"] = BayesPointClassifier(None)
            models["BPM, directions alike"] = BayesPointClassifier("linear", hyper_prior=None)
        base = None
        for label, model in models.items():
            seconds, fitted = timed(lambda model=model, n=n, X=X, y=y: model.fit(X[:n], y[:n]), 1)
            base = base or seconds
            proba = fitted.predict_proba(X[n:])
            left = getattr(fitted, "approximation_", None)
            print(
                f"  {label:22} log loss {log_loss(y[n:], proba):.4f}, accuracy "
                f"{accuracy_score(y[n:], proba.argmax(axis=1)):.4f}, {seconds:7.2f} s, {seconds / base:6.1f} x"
                + (f"; {left}" if left is not None else ""),
                flush=True,
            )


if __name__ == "__main__":
    main()
