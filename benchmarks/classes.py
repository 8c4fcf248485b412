"""Several classes: one model of all beside each class against the rest, with a given kernel and with tuned ones.

    python benchmarks/classes.py [--sizes 500,1000] [--rows 1000] [--repeats 3]

Digits of scikit-learn, ten classes, one BLAS thread, seconds of processor time. First expectation propagation alone:
the joint model (`Choice`) beside ten problems of two classes (`Step`) on the same Gram matrix, in turns, the fastest
of each; the kernel is Gaussian, its length scale half the median distance, with these variances in units of softness.
Then whole fits of `BayesPointClassifier` with everything chosen by itself, the loss of left-out training labels, and
log loss and error on the rows that are left.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from bayespoint import BayesPointClassifier, Choice, Problem, Step
from bayespoint.engines import EP
from samplers import conditions


def gram_of(X: np.ndarray) -> np.ndarray:
    squares = np.square(X).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0.0)
    return np.exp(-2 * distances / np.median(distances))


def seconds(run: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    found = run()
    return time.process_time() - start, found


def with_given_kernel(sizes: list[int], variances: list[float], repeats: int) -> None:
    X, y = load_digits(return_X_y=True)
    print(f"given kernel\n{'n':>6s}{'variance':>10s}{'joint':>10s}{'ten of two':>12s}{'ratio':>8s}   sweeps")
    for n in sizes:
        values = gram_of(X[:n])
        for variance in variances:
            joint = Problem(variance * values, y[:n], Choice(softness=1.0), n_classes=10)
            apart = [Problem(joint.gram, 2.0 * (y[:n] == c) - 1, Step(softness=1.0)) for c in range(10)]
            engine, times = EP(), []
            for _ in range(repeats):
                one, together = seconds(lambda: engine.infer(joint))  # noqa: B023
                ten, each = seconds(lambda: [engine.infer(problem) for problem in apart])  # noqa: B023
                times.append((one, ten))
            one, ten = np.min(times, axis=0)
            sweeps = f"{together.info['sweeps']} / {sum(posterior.info['sweeps'] for posterior in each)}"
            print(f"{n:6d}{variance:10g}{one:9.2f}s{ten:11.2f}s{one / ten:8.2f}   {sweeps}", flush=True)


def tuned(rows: int, repeats: int) -> None:
    X, y = load_digits(return_X_y=True)
    names = ("decision", "kernel", "fit", "left out", "log loss", "error")
    print(f"tuned on {rows} rows\n" + "".join(f"{name:>12s}" for name in names))
    for kernel in ("rbf", "auto"):
        for decision in ("bayes_point", "joint"):
            model, times = BayesPointClassifier(kernel, decision=decision), []
            for _ in range(repeats):
                times.append(seconds(lambda: model.fit(X[:rows], y[:rows]))[0])  # noqa: B023
            left_out = -np.log(model.loo_proba_[np.arange(rows), y[:rows]]).mean()
            proba = model.predict_proba(X[rows:])
            loss, error = log_loss(y[rows:], proba, labels=range(10)), np.mean(proba.argmax(axis=1) != y[rows:])
            print(
                f"{decision:>12s}{kernel:>12s}{min(times):11.2f}s{left_out:12.4f}{loss:12.4f}{error:12.4f}", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="500,1000")
    parser.add_argument("--variances", default="4,100")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tuned-repeats", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(conditions(), flush=True)
    with threadpool_limits(1):
        sizes, variances = map(int, options.sizes.split(",")), map(float, options.variances.split(","))
        with_given_kernel(list(sizes), list(variances), options.repeats)
        tuned(options.rows, options.tuned_repeats)


if __name__ == "__main__":
    main()
