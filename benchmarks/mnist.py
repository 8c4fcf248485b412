"""Ten classes of 60,000 images: perceptrons on permutations against scikit-learn's support vector machine, in one run.

    python benchmarks/mnist.py [--jobs 1] [--cache 6000] [--small-cache 2000] [--rows 60000] [--no-svc]

Both see images of unit length and the kernel (<x, x'> + 1)^5 (for the perceptrons divided by 32, which changes
nothing). Scikit-learn's machine works on one core; --jobs 1 keeps the perceptrons to one, too, and processor time
compares. Its cache holds the whole Gram matrix of any two classes. Peak memory is that of the process until the
perceptrons were done. --small-cache fits once more with a smaller store of kernel rows and
checks that the weights are the same to the last bit.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import DotProduct
from sklearn.svm import SVC

from bayespoint.engines import Perceptrons
from bayespoint.grams import KernelRows

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments"))
from digits import classifiers, errors_by_rejection, outputs, totals, unit_images

SVC_CACHE = 1000  # MB; two classes have 13,000 rows at the most, and libsvm holds single precision
KERNEL = 2.0**-5 * DotProduct(1.0, "fixed") ** 5


class Seconds(NamedTuple):
    """On the clock, and of all cores together: on a machine shared with others only the latter can be compared."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.cpu:.1f} s of processor time)"

    def ratio(self, other: Seconds) -> str:
        return f"{self.wall / other.wall:.1f} times as long ({self.cpu / other.cpu:.1f} in processor time)"


def timed(function):
    wall, cpu = time.perf_counter(), time.process_time()
    answer = function()
    return answer, Seconds(time.perf_counter() - wall, time.process_time() - cpu)


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--cache", type=float, default=6000)
    parser.add_argument("--small-cache", type=float, default=None)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-svc", action="store_true")
    options = parser.parse_args()
    split = unit_images("mnist")
    X, y = split.X_train[: options.rows], split.y_train[: options.rows]
    few = X[:: max(1, len(X) // 2000)]
    classifiers(KernelRows(KERNEL, few), y[:: max(1, len(X) // 2000)], Perceptrons(1), 0)  # compiles

    def fit(cache: float):
        engine = Perceptrons(cache_size=cache, n_jobs=options.jobs)
        return classifiers(KernelRows(KERNEL, X), y, engine, options.seed)

    ours, fitting = timed(lambda: fit(options.cache))
    print(f"perceptrons: fit {fitting}, peak memory {peak_gigabytes():.2f} GB, {totals(ours)}", flush=True)
    values, predicting = timed(lambda: outputs(ours, split.X_test))
    error, rejecting = errors_by_rejection(values, split.y_test, [0.0, 0.1])
    print(f"    predict {predicting}, error {error:.2f} %, at 10 % rejection {rejecting:.3f} %", flush=True)
    if options.small_cache is not None:
        again, seconds = timed(lambda: fit(options.small_cache))
        same = all(np.array_equal(one.weights, two.weights) for one, two in zip(ours, again, strict=True))
        computed = again[0].info["rows_computed"]
        print(f"    {options.small_cache:g} MB: fit {seconds}, {computed} rows computed, same weights: {same}")
    if not options.no_svc:
        machine, theirs = timed(
            lambda: SVC(kernel="poly", degree=5, gamma=1.0, coef0=1.0, cache_size=SVC_CACHE).fit(X, y)
        )
        print(f"support vector machine: fit {theirs}, {theirs.ratio(fitting)}", flush=True)
        predicted, seconds = timed(lambda: machine.predict(split.X_test))
        wrong = 100 * np.mean(predicted != split.y_test)
        print(f"    predict {seconds}, {seconds.ratio(predicting)}, error {wrong:.2f} %")


if __name__ == "__main__":
    main()
