"""Queries over a large pool beside scikit-activeml's with the same classifier, and one-row updates beside fits.

    python benchmarks/active.py [--pool 100000] [--labels 100]

Needs scikit-activeml (``bayespoint[bench]``), whose strategies fit the classifier they are given before they ask it.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from _timing import timed
from bayespoint import BayesPointClassifier, query
from bayespoint.estimators import updated


def make_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n) > 0).astype(int)


def queries(size: int, labels: int) -> None:
    X, y = make_rows(labels + size, 0)
    model = BayesPointClassifier().fit(X[:labels], y[:labels])
    pool = X[labels:]
    print(f"query of {size:,} points after a fit to {labels} labels")
    ours = {}
    for strategy in ("entropy", "bald", "vote"):
        ours[strategy], _ = timed(lambda s=strategy: query(model, pool, 1, s))
        print(f"  {strategy:12} {ours[strategy]:.2f} s")
    print(f"  batch-bald, 10 points {timed(lambda: query(model, pool, 10, 'batch-bald', random_state=0))[0]:.2f} s")
    sampled = BayesPointClassifier(model.kernel_, optimizer=None, engine="sample", random_state=0)
    sampled.fit(X[:labels], y[:labels])
    for strategy in ("bald", "vote"):
        print(f"  {strategy:12} {timed(lambda s=strategy: query(sampled, pool, 1, s))[0]:.2f} s on draws")

    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import QueryByCommittee, UncertaintySampling

    known = np.full(len(X), np.nan)
    known[:labels] = y[:labels]
    rivals = {
        "UncertaintySampling": (UncertaintySampling(method="entropy", random_state=0), "clf", "entropy"),
        "QueryByCommittee": (QueryByCommittee(random_state=0), "ensemble", "vote"),
    }
    for fitted in (False, True):
        clf = SklearnClassifier(BayesPointClassifier(), classes=[0.0, 1.0]).fit(X[:labels], known[:labels])
        for name, (strategy, slot, like) in rivals.items():
            value = clf if slot == "clf" else [clf, clf, clf]
            options = {slot: value, ("fit_clf" if slot == "clf" else "fit_ensemble"): not fitted}
            seconds, _ = timed(lambda s=strategy, o=options: s.query(X, known, **o), 1)
            how = "given a fitted classifier" if fitted else "as it comes (fits first)"
            print(f"  scikit-activeml {name}, {how}: {seconds:.2f} s, {seconds / ours[like]:.1f} x ours", flush=True)


def updates(n: int) -> None:
    X, y = make_rows(n + 1, 0)
    print(f"one more label at n = {n}")
    for name, settings in {
        "kernel fixed": {"kernel": 4.0 * RBF(1.5), "optimizer": None},
        "kernel by evidence": {"max_rank": None},
    }.items():
        some = BayesPointClassifier(**settings).fit(X[:n], y[:n])
        some = updated(some, X[n - 1 : n], y[n - 1 : n])  # rows go on from rows
        ours, _ = timed(lambda some=some: updated(some, X[n:], y[n:]), 7)
        full, _ = timed(lambda s=settings: BayesPointClassifier(**s).fit(X, y), 3)
        print(f"  {name}: update {1e3 * ours:.1f} ms, fit {1e3 * full:.1f} ms, {full / ours:.1f} times as long")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=100)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    updates(500)
    queries(options.pool, options.labels)


if __name__ == "__main__":
    main()
