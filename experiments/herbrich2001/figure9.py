"""Figure 9 of "Bayes Point Machines": error against rejection rate on MNIST and USPS, ten perceptrons a class.

    python experiments/herbrich2001/figure9.py [--mnist-seeds 3] [--usps-seeds 10]

The kernel is the paper's (25) on images of unit length. Its grey values go up to 255, next to which the constant of the
kernel is nothing; so it is also drawn without. On USPS five-fold cross-validation of the training images says which.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import DotProduct, Kernel

sys.path.insert(0, str(Path(__file__).parents[1]))
from bayespoint.engines import Perceptrons
from bayespoint.kernel_rows import KernelRows
from datasets import Split
from digits import classifiers, errors_by_rejection, outputs, totals, unit_images
from report import save

KERNELS = {
    r"$(\langle x, x' \rangle + 1)^5$": DotProduct(1.0, "fixed") ** 5,
    r"$\langle x, x' \rangle^5$": DotProduct(0.0, "fixed") ** 5,
}
PAPER = {"mnist": (1.46, 1.4, 0.1), "usps": (4.73, 4.6, None)}  # Bayes point, SVM, at 10 % rejection
RATES = np.linspace(0, 0.1, 41)


def curves(split: Split, kernel: Kernel, seeds: int) -> tuple[np.ndarray, dict]:
    found, seconds = [], []
    for seed in range(seeds):
        rows = KernelRows(kernel, split.X_train)
        start = time.perf_counter()
        posteriors = classifiers(rows, split.y_train, Perceptrons(), seed)
        seconds.append(time.perf_counter() - start)
        found.append(errors_by_rejection(outputs(posteriors, split.X_test), split.y_test, RATES))
    return np.array(found), {"seconds to fit": seconds, **totals(posteriors)}


def cross_validated(split: Split, kernel: Kernel, folds: int = 5) -> float:
    """Error in percent on the training images."""
    fold = np.random.default_rng(0).permutation(len(split.y_train)) % folds
    wrong = 0
    for k in range(folds):
        rows = KernelRows(kernel, split.X_train[fold != k])
        posteriors = classifiers(rows, split.y_train[fold != k], Perceptrons(), 0)
        wrong += (outputs(posteriors, split.X_train[fold == k]).argmax(axis=0) != split.y_train[fold == k]).sum()
    return 100 * float(wrong) / len(fold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mnist-seeds", type=int, default=3)
    parser.add_argument("--usps-seeds", type=int, default=10)
    options = parser.parse_args()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    found = {}
    for name, seeds, axis in zip(PAPER, (options.mnist_seeds, options.usps_seeds), axes, strict=True):
        split = unit_images(name)
        bayes_point, svm, rejecting = PAPER[name]
        for label, kernel in KERNELS.items():
            errors, facts = curves(split, kernel, seeds)
            line = axis.plot(100 * RATES, errors.mean(axis=0), label=f"{label}, mean of {seeds} runs")
            axis.plot(100 * RATES, errors.T, color=line[0].get_color(), alpha=0.25, linewidth=0.8)
            facts |= {"error": errors[:, 0].tolist(), "error at 10 % rejection": errors[:, -1].tolist()}
            if name == "usps":
                facts["error by cross-validation of the training images"] = cross_validated(split, kernel)
            found[f"{name}, {kernel}"] = facts
            print(name, kernel, {key: np.round(value, 3) for key, value in facts.items() if "error" in key}, flush=True)
        found[f"{name}, paper"] = {"error": bayes_point, "SVM": svm, "error at 10 % rejection": rejecting}
        axis.plot(0, bayes_point, "k^", clip_on=False, label="Bayes point, paper")
        axis.plot(0, svm, "kv", clip_on=False, label="SVM, paper")
        if rejecting is not None:
            axis.plot(10, rejecting, "k^", clip_on=False)
        axis.set(xlabel="rejection rate in %", ylabel="test error in %", title=name.upper(), xlim=(0, 10))
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=8)
    save("herbrich2001_figure9", found, figure, permutations=10, softness=0, images="scaled to unit length")


if __name__ == "__main__":
    main()
