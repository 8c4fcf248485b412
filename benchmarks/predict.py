"""Predictions of many rows: before and after a short root, beside other libraries, and what files hold.

python benchmarks/predict.py
"""

from __future__ import annotations

import argparse
import pickle
import warnings

import numpy as np
from scipy.linalg import blas
from sklearn.datasets import make_moons
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.svm import SVC

from _timing import timed
from bayespoint import BayesPointClassifier
from bayespoint._core.threads import blas_threads
from bayespoint.kernels import kernel_values
from low_rank import make_data

KERNEL = ConstantKernel(10.0) * RBF(2.0)


def plain_variance(model: BayesPointClassifier, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """``k(x, x) - |plus k|^2`` by triangular products with the threads of BLAS: the way it was."""
    kernel, gaussian = model.fitted_.kernel, model.posterior_.gaussian
    parts = []
    for start in range(0, len(Z), 2048):
        rows = Z[start : start + 2048]
        white = blas.dtrmm(1.0, gaussian.plus, kernel_values(kernel, rows, X).T, lower=1)
        parts.append(kernel.diag(rows) - np.square(white).sum(axis=0))
    return np.concatenate(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--train", type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = {
        "six features": (make_data(options.train, 0), make_data(options.rows, 1)[0]),
        "moons": (
            make_moons(options.train, noise=0.3, random_state=0),
            make_moons(options.rows, noise=0.3, random_state=1)[0],
        ),
    }
    print(f"predict_proba of {options.rows:,} rows from n = {options.train:,}, {blas_threads()} BLAS threads")
    for name, ((X, y), Z) in sets.items():
        ours = BayesPointClassifier(KERNEL, optimizer=None).fit(X, y)
        before, variance = timed(lambda ours=ours, X=X, Z=Z: plain_variance(ours, X, Z), 1)
        few = slice(0, max(options.rows // 20, 1))  # of the slow ones, scaled up
        rivals = {
            "predict_proba": (ours, slice(None)),
            "SVC(probability=True)": (SVC(probability=True, random_state=0).fit(X, y), slice(None)),
            "GaussianProcessClassifier": (GaussianProcessClassifier(KERNEL, optimizer=None).fit(X, y), few),
        }
        short = ours.posterior_.gaussian.short_root
        columns = "none that pays" if short is None else f"{short.shape[1]} columns"
        error = np.abs(ours.latent(Z).variance - variance).max() / ours.fitted_.kernel.diag(Z[:1])[0]
        print(f"  {name}: short root {columns}, variance off by {error:.1g} of the prior's")
        print(f"    {'plain formula':26} {before:6.2f} s")
        for rival, (model, rows) in rivals.items():
            seconds, _ = timed(lambda model=model, rows=rows, Z=Z: model.predict_proba(Z[rows]), options.repeats)
            seconds *= len(Z) / len(Z[rows])
            print(f"    {rival:26} {seconds:6.2f} s, {before / seconds:5.2f} x as fast as the plain formula")

    print("files, and the first 1,000 predictions from one")
    Z = make_data(1000, 1)[0]
    for n, rank in ((2000, None), (2000, "auto"), (20_000, "auto")):
        X, y = make_data(n, 0)
        model = BayesPointClassifier(KERNEL, optimizer=None, max_rank=rank).fit(X, y)
        held = pickle.dumps(model)
        read, again = timed(lambda held=held: pickle.loads(held), 1)
        first, proba = timed(lambda again=again: again.predict_proba(Z), 1)
        second, _ = timed(lambda again=again: again.predict_proba(Z), 1)
        gram = model.posterior_.problem.gram.signature.nbytes
        print(
            f"  n = {n:,}, max_rank={rank}: {len(held) / 1e6:.1f} MB (Gram matrix as held: {gram / 1e6:.0f}), "
            f"read in {read:.2f} s, first {first:.2f} s, then {second:.2f} s, "
            f"off by {np.abs(proba - model.predict_proba(Z)).max():.1g}"
        )


if __name__ == "__main__":
    main()
