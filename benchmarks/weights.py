"""Balanced classes: seconds beside those without weights, and balanced accuracy beside logistic regression.

    python benchmarks/weights.py [--rows 1500,5000] [--seeds 3] [--sets gaussians,ball,clusters]

Three imbalanced sets of different geometry: Gaussians with 3 % positives (the boundary is a plane, and logistic
regression the right model), a ball of 2 % positives inside the negatives, and two clusters of 5 % positives among six
features that say nothing. Ratios of seconds are those of fits to the same rows in one run.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from _timing import timed
from bayespoint import BayesPointClassifier

TEST_ROWS = 20_000


def gaussians(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(len(y), 5))
    X[y == 1] += 1.5 / np.sqrt(5)
    return X


def ball(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(len(y), 2))
    return np.where(y[:, None] == 1, 0.5 + 0.5 * X, 1.5 * X)


def clusters(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(len(y), 8))
    side = rng.choice([-2.0, 2.0], len(y))
    X[:, :2] = np.where(y[:, None] == 1, np.c_[side, np.ones(len(y))] + 0.5 * X[:, :2], X[:, :2])
    return X


SETS = {"gaussians": (gaussians, 0.03), "ball": (ball, 0.02), "clusters": (clusters, 0.05)}


def one_run(name: str, rows: int, seed: int) -> dict[str, float]:
    """Balanced accuracies on new rows, and the ratio of seconds."""
    make, share = SETS[name]
    rng = np.random.default_rng([seed, rows])
    y, y_new = ((rng.random(n) < share).astype(int) for n in (rows, TEST_ROWS))
    X, X_new = make(y, rng), make(y_new, rng)
    plain_seconds, plain = timed(lambda: BayesPointClassifier().fit(X, y), 1)
    seconds, balanced = timed(lambda: BayesPointClassifier(class_weight="balanced").fit(X, y), 1)
    models = {
        "balanced": balanced,
        "unweighted": plain,
        "logistic": LogisticRegression(class_weight="balanced", max_iter=1000).fit(X, y),
    }
    found = {label: balanced_accuracy_score(y_new, model.predict(X_new)) for label, model in models.items()}
    return found | {"ratio": seconds / plain_seconds, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="1500,5000")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("balanced accuracy on new rows, and seconds with weights over seconds without (means over seeds)")
    print(f"{'set':>10s}{'rows':>6s}{'balanced':>10s}{'logistic':>10s}{'unweighted':>12s}{'ratio':>8s}{'seconds':>9s}")
    for name in options.sets.split(","):
        for rows in map(int, options.rows.split(",")):
            runs = [one_run(name, rows, seed) for seed in range(options.seeds)]
            mean = {key: np.mean([run[key] for run in runs]) for key in runs[0]}
            print(
                f"{name:>10s}{rows:6d}{mean['balanced']:10.3f}{mean['logistic']:10.3f}{mean['unweighted']:12.3f}"
                f"{mean['ratio']:8.2f}{mean['seconds']:9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
