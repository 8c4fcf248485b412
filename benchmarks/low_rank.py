"""Expectation propagation on landmarks: time beside a calibrated SVC, growth with rows, and what it costs in log loss.

python benchmarks/low_rank.py
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from _timing import timed
from bayespoint import BayesPointClassifier

KERNEL = ConstantKernel(10.0) * RBF(2.0)


def make_data(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Six features, a curved boundary, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3:].sum(axis=1)
    return X, (f + 0.5 * rng.standard_normal(n) > 0).astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--exact", type=int, default=5000, help="rows at which to compare with the exact Gram matrix")
    options = parser.parse_args()
    test = make_data(10_000, 1)

    def ours(**settings):
        return BayesPointClassifier(KERNEL, optimizer=None, **settings)

    def loss(model):
        return log_loss(test[1], model.predict_proba(test[0]))

    print("n = 2,000, fixed kernel against CalibratedClassifierCV(SVC(), ensemble=False), and tuned against itself")
    X, y = make_data(2000, 0)
    rivals = {
        "calibrated SVC": lambda: CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y),
        "max_rank='auto'": lambda: ours().fit(X, y),
        "max_rank=200": lambda: ours(max_rank=200).fit(X, y),
        "tuned, 'auto'": lambda: BayesPointClassifier().fit(X, y),
    }
    base = None
    for name, fit in rivals.items():
        seconds, model = timed(fit, options.repeats)
        base = base or seconds
        print(f"  {name:16} {seconds:7.2f} s, {base / seconds:5.2f} x as fast, log loss {loss(model):.4f}")

    print("what landmarks cost in held-out log loss")
    X, y = make_data(options.exact, 0)
    seconds, exact = timed(lambda: ours(max_rank=None).fit(X, y), 1)
    print(f"  n = {options.exact:,} exact {seconds:.1f} s, log loss {loss(exact):.4f}")
    for rank in (100, 300, "auto"):
        spent, model = timed(lambda rank=rank: ours(max_rank=rank).fit(X, y), 1)
        print(
            f"  {model.approximation_}: {spent:.1f} s ({seconds / spent:.0f} x as fast), "
            f"log loss {loss(model) - loss(exact):+.4f}"
        )

    print("growth with the rows at rank 300")
    sizes, times = (2500, 5000, 10_000, 20_000), []
    for n in sizes:
        X, y = make_data(n, 0)
        seconds, model = timed(lambda X=X, y=y: ours(max_rank=300).fit(X, y), options.repeats)
        times.append(seconds)
        print(f"  n = {n:,}: {seconds:.2f} s, log loss {loss(model):.4f}")
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"  seconds grow as n^{exponent:.2f}")


if __name__ == "__main__":
    main()
