"""Expectation propagation against scikit-learn's GaussianProcessClassifier (Laplace), in one run.

    python benchmarks/ep.py [--sizes 200,1000,2000] [--repeats 3] [--as Haswell]

Same data, same start, same machine; the figure that counts is the ratio. Seconds are of processor time, the
minimum over repeats, interleaved; tuning at 2,000 rows runs once.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_info

from bayespoint import BayesPointClassifier


def make_data(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 5))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.3 * rng.normal(size=n) > 0, 1, -1)


def seconds(fit) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        fit()
        return time.process_time() - start


def become(processor: str) -> None:
    """Start again with the loops that OpenBLAS has for another processor, which it picks when it is loaded."""
    if os.environ.get("OPENBLAS_CORETYPE") != processor:
        os.environ["OPENBLAS_CORETYPE"] = processor
        os.execv(sys.executable, [sys.executable, *sys.argv])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="200,1000,2000")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--as", dest="processor", help="a processor whose loops OpenBLAS has, in place of this one")
    options = parser.parse_args()
    if options.processor:
        become(options.processor)
    print("BLAS loops of", *sorted({one["architecture"] for one in threadpool_info() if "architecture" in one}))
    X_test, y_test = make_data(2000, np.random.default_rng(1))
    print(f"{'n':>6s}{'kernel':>8s}{'ours':>10s}{'GPC':>10s}{'ratio':>8s}   log loss ours / GPC")
    for n in map(int, options.sizes.split(",")):
        X, y = make_data(n, np.random.default_rng(0))
        for tuned in (False, True):
            kernel = ConstantKernel(10.0) * RBF(2.0)
            ours = BayesPointClassifier(kernel, optimizer="evidence" if tuned else None, max_rank=None)
            theirs = GaussianProcessClassifier(kernel, optimizer="fmin_l_bfgs_b" if tuned else None)
            repeats = options.repeats if n < 2000 or not tuned else 1
            times = [(seconds(lambda: ours.fit(X, y)), seconds(lambda: theirs.fit(X, y))) for _ in range(repeats)]  # noqa: B023
            a, b = np.min(times, axis=0)
            losses = [log_loss(y_test, model.predict_proba(X_test)) for model in (ours, theirs)]
            label = "tuned" if tuned else "fixed"
            print(f"{n:6d}{label:>8s}{a:9.3f}s{b:9.3f}s{b / a:8.2f}   {losses[0]:.4f} / {losses[1]:.4f}", flush=True)


if __name__ == "__main__":
    main()
