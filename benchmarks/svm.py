"""The support vector machine and its evidence: against scikit-learn's solver, and method against method, in one run.

    python benchmarks/svm.py [--sizes 1000,4000] [--rows 50,200]

The solver works to rounding, scikit-learn's to a violation of 1e-3 (its default). The second table is the naive
evidence of data from the model itself (C = 2, RBF of amplitude 1.25 and length scale 0.05): generalised Laplace
approximation, expectation propagation, draws, and the paper's chaining.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC

from bayespoint import Hinge, Problem
from bayespoint.engines.svm import support_vectors
from bayespoint.evidence import log_evidence
from bayespoint.evidence.svm import sample_svm_data, svm_log_evidence
from bayespoint.kernels import kernel_values


def timed(function):
    start = time.process_time()
    answer = function()
    return answer, time.process_time() - start


def quickest(function, repeats=3):
    """Of a few, since the first one pays for memory that is new to the process, and others share the machine."""
    return min((timed(function) for _ in range(repeats)), key=lambda answer: answer[1])


def machines(sizes: list[int]) -> None:
    print(f"{'n':>6s}{'C':>8s}{'Gram':>9s}{'solve':>9s}{'SVC':>9s}{'ratio':>8s}{'violation':>12s}")
    support_vectors(Problem(np.eye(2), [1, -1], Hinge(2.0)))  # compiles
    for n in sizes:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 5))
        y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
        for C in (1.0, 10.0, 1000.0):
            gram, before = quickest(lambda: kernel_values(RBF(2.0), X))  # noqa: B023
            found, ours = quickest(lambda: support_vectors(Problem(gram, y, Hinge(C), check=False)))  # noqa: B023
            _, theirs = quickest(lambda: SVC(C=C, gamma=1 / 8).fit(X, y))  # noqa: B023
            ratio = theirs / (before + ours)
            print(
                f"{n:6d}{C:8g}{before:8.3f}s{ours:8.3f}s{theirs:8.3f}s{ratio:8.2f}{found.violation:12.1e}", flush=True
            )


def evidences(sizes: list[int]) -> None:
    print(f"\n{'n':>6s}{'method':>10s}{'value':>10s}{'se':>8s}{'off by':>9s}{'seconds':>9s}")
    x = np.linspace(0, 1, 1000)[:, None]
    for n in sizes:
        data = sample_svm_data(1.25 * RBF(0.05)(x), n, C=2.0, rng=0)
        problem = Problem(1.25 * RBF(0.05)(x[data.rows]), data.labels, Hinge(2.0), check=False)
        truth = log_evidence(problem, 1, se=0.02)
        for method in ("laplace", "ep", "sampled", "chaining"):
            svm_log_evidence(problem, 0, "naive", method, se=1.0, sweeps=2)  # compiles
            found, seconds = timed(lambda: svm_log_evidence(problem, 0, "naive", method, se=0.05))  # noqa: B023
            se = "" if found.se is None else f"{found.se:.3f}"
            print(
                f"{n:6d}{method:>10s}{found.value:10.3f}{se:>8s}{found.value - truth.value:9.3f}{seconds:9.3f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000,4000")
    parser.add_argument("--rows", default="50,200")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    machines([int(n) for n in options.sizes.split(",")])
    evidences([int(n) for n in options.rows.split(",")])


if __name__ == "__main__":
    main()
