"""BayesianSVC with hyper-parameters by evidence on the ten sets of ../real_data.py, beside its rivals.

    python experiments/sollich2002/ten_sets.py [--quick] [--splits 5] [--jobs 2]

The same splits, standardised inputs and rivals as there; the one to beat is a grid search for the support vector
machine with calibration. Ranks are in mean log loss of a set. "Averaged" keeps several sets of
hyper-parameters, weighted by evidence.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1]))
from bayespoint import BayesianSVC
from datasets import DataNotFoundError, splits
from real_data import SETS, methods
from report import save

COLUMNS = ["error", "log loss", "seconds"]
RIVAL = "SVC grid + calibration"


def measure(name: str, index: int) -> dict[str, list[float]]:
    """Figures of all methods on one split."""
    split = splits(name, index + 1)[index]
    scaler = StandardScaler().fit(split.X_train)
    X, X_test = scaler.transform(split.X_train), scaler.transform(split.X_test)
    rows = {}
    ours = {
        "BayesianSVC": BayesianSVC(optimizer="evidence", random_state=0),
        "BayesianSVC, averaged": BayesianSVC(optimizer="evidence", average=True, random_state=0),
    }
    for label, estimator in (ours | methods(X.shape[1])).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            p = estimator.fit(X, split.y_train).predict_proba(X_test)[:, 1]
            seconds = time.perf_counter() - start
        wrong = 100 * float(np.mean((p > 0.5) != (split.y_test > 0)))
        rows[label] = [wrong, float(log_loss(split.y_test > 0, p, labels=[False, True])), seconds]
    return rows


def summary(table: dict[str, dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Mean rank in log loss and mean log loss over the sets."""
    labels = list(next(iter(table.values())))
    losses = np.array([[row[label]["log loss"] for label in labels] for row in table.values()])
    ranks = losses.argsort(axis=1).argsort(axis=1) + 1.0
    wins = (losses < losses[:, [labels.index(RIVAL)]]).sum(axis=0)
    columns = zip(labels, ranks.mean(axis=0), losses.mean(axis=0), wins, strict=True)
    return {
        label: {"mean rank": float(rank), "mean log loss": float(loss), "sets better than the rival": int(win)}
        for label, rank, loss, win in columns
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    names, count = (["heart", "crabs"], 1) if options.quick else (SETS, options.splits)
    table: dict[str, dict[str, dict[str, float]]] = {}
    for name in names:
        try:
            rows = Parallel(n_jobs=options.jobs)(delayed(measure)(name, i) for i in range(count))
        except DataNotFoundError as error:
            sys.exit(str(error))
        table[name] = {
            label: dict(zip(COLUMNS, np.mean([row[label] for row in rows], axis=0).tolist(), strict=True))
            for label in rows[0]
        }
        print(f"\n{name:30s}" + "".join(f"{column:>12s}" for column in COLUMNS))
        for label, figures in table[name].items():
            print(f"  {label:28s}" + "".join(f"{value:12.3f}" for value in figures.values()), flush=True)
    ranks = summary(table)
    print("\nmean rank in log loss, mean log loss, sets better than the rival")
    for label, row in ranks.items():
        print(f"  {label:28s}" + "".join(f"{value:10.4g}" for value in row.values()))
    save(
        "sollich2002_ten_sets" + ("_quick" if options.quick else ""),
        {"sets": table, "ranks": ranks},
        splits=count,
        rival=RIVAL,
        seed=0,
    )


if __name__ == "__main__":
    main()
