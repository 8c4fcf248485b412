"""Figure 10 of "Bayes Point Machines": the 25 images of USPS that most of the 100 perceptrons use.

    python experiments/herbrich2001/figure10.py [--seed 0]

Below each image: the number of classifiers in which it has a weight, and its class.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import DotProduct

sys.path.insert(0, str(Path(__file__).parents[1]))
from bayespoint.engines import Perceptrons
from bayespoint.kernel_rows import KernelRows
from datasets import load_arrays
from digits import classifiers, totals, unit_images
from report import save

PAPER = [39, 33, 32, 31, 31, 31, 31, 30, 30, 29, 29, 28, 28, 28, 28, 27, 27, 27, 27, 27, 27, 26, 26, 26, 26]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    split = unit_images("usps")
    rows = KernelRows(DotProduct(1.0, "fixed") ** 5, split.X_train)
    posteriors = classifiers(rows, split.y_train, Perceptrons(), options.seed)
    uses = sum((posterior.weights != 0).sum(axis=0) for posterior in posteriors)
    most = np.argsort(-uses, kind="stable")[:25]
    images, labels = posteriors[0].support[most], split.y_train[posteriors[0].support[most]]
    figure, axes = plt.subplots(5, 5, figsize=(6, 7))
    pictures = load_arrays("usps")["X_train"]
    for axis, image, count, label in zip(axes.flat, images, uses[most], labels, strict=True):
        axis.imshow(pictures[image].reshape(16, 16), cmap="gray_r", vmin=-1, vmax=1)
        axis.set(xticks=[], yticks=[])
        axis.set_xlabel(f"{count}/{label}")
    figure.tight_layout()
    found = {
        "classifiers that use each": {"ours": uses[most].tolist(), "paper": PAPER},
        "classes": labels.tolist(),
        "rows": images.tolist(),
        **totals(posteriors),
    }
    save("herbrich2001_figure10", found, figure, seed=options.seed, permutations=10, kernel="(<x, x'> + 1)^5")


if __name__ == "__main__":
    main()
