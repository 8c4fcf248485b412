"""Active learning against random choice: test error after each of 50 labels, on four sets.

    python experiments/active_learning.py [--repeats 20] [--queries 50] [--sets banana thyroid ionosphere digits]

Both begin with the same ten labels of a pool and choose their kernels by evidence.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.stats import wilcoxon
from sklearn.datasets import load_digits

import report
from bayespoint import ActiveLearner, BayesPointClassifier
from bayespoint.exceptions import InferenceWarning
from datasets import load_arrays

SETS = ("banana", "thyroid", "ionosphere", "digits")
FIRST = 10


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        keep = np.isin(y, (3, 8))
        X = X[keep][:, X[keep].std(axis=0) > 0]
        return X / 16, np.where(y[keep] == 3, 1, -1)
    arrays = load_arrays(name)
    X = arrays["X"]
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), arrays["y"].astype(int)


def split(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the first labels (of both classes), of the pool, and of the test set."""
    order = rng.permutation(len(y))[:3000]
    test, pool = order[: len(order) // 3], order[len(order) // 3 :]
    while len(np.unique(y[pool[:FIRST]])) < 2:
        pool = rng.permutation(pool)
    return pool[:FIRST], pool[FIRST:], test


def errors(X, y, rows, strategy: str, queries: int, rng: np.random.Generator) -> list[float]:
    """Test error with the first labels, and after each further one."""
    first, pool, test = rows
    learner = ActiveLearner(BayesPointClassifier(), X[first], y[first], random_state=rng)
    curve = [1 - learner.model.score(X[test], y[test])]
    for _ in range(queries):
        asked = learner.ask(X[pool]) if strategy == "bald" else rng.integers(len(pool), size=1)
        learner.tell(X[pool[asked]], y[pool[asked]])
        pool = np.delete(pool, asked)
        curve.append(1 - learner.model.score(X[test], y[test]))
    return curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--sets", nargs="*", default=SETS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", InferenceWarning)
    warnings.filterwarnings("ignore", message="Constant features")
    start = time.perf_counter()
    table, curves = {}, {}
    for name in options.sets:
        X, y = load(name)
        both = {"bald": [], "random": []}
        for repeat in range(options.repeats):
            rows = split(X, y, np.random.default_rng(repeat))
            for strategy, found in both.items():
                found.append(errors(X, y, rows, strategy, options.queries, np.random.default_rng(1000 + repeat)))
        area = {strategy: 100 * np.mean(found, axis=1) for strategy, found in both.items()}
        p = float(wilcoxon(area["bald"], area["random"], alternative="less").pvalue)
        table[name] = {
            "active": float(area["bald"].mean()),
            "random": float(area["random"].mean()),
            "difference": float((area["bald"] - area["random"]).mean()),
            "se": float((area["bald"] - area["random"]).std(ddof=1) / np.sqrt(options.repeats)),
            "p": p,
        }
        curves[name] = {strategy: np.array(found) for strategy, found in both.items()}
        print(name, {key: round(value, 5) for key, value in table[name].items()}, flush=True)
    report.save(
        "active_learning",
        {"mean test error in percent over the queries": table, "repeats": options.repeats, "queries": options.queries},
        figure=draw(curves),
        seconds=time.perf_counter() - start,
    )


def draw(curves):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(3.4 * len(curves), 3), layout="constrained", squeeze=False)
    for ax, (name, found) in zip(axes[0], curves.items(), strict=True):
        for strategy, values in found.items():
            mean, se = 100 * values.mean(axis=0), 100 * values.std(axis=0) / np.sqrt(len(values))
            labels = FIRST + np.arange(len(mean))
            ax.plot(labels, mean, label={"bald": "asked for", "random": "at random"}[strategy])
            ax.fill_between(labels, mean - 2 * se, mean + 2 * se, alpha=0.25)
        ax.set(title=name, xlabel="labels", ylabel="test error, %")
    axes[0, 0].legend()
    return figure


if __name__ == "__main__":
    main()
