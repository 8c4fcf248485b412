"""Figure 3 of "The Kernel Gibbs Sampler": decision boundaries of 50 draws for three assumed noise levels.

    python experiments/graepel2001/figure3.py

76 points in the plane, the RBF kernel exp(-|x - x'|^2 / 2), no bias; the paper's surrogate data are not published, so
these are two interleaved crescents with some overlap. The more noise is assumed, the more diverse the classifiers are
on the training points, measured as the share of points on which two draws disagree.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF

sys.path.insert(0, str(Path(__file__).parents[1]))
from bayespoint import Problem, Step, readouts
from bayespoint.engines import Billiard
from report import save

LEVELS = (0.0, 0.1, 0.2)
SHOWN = 50


def disagreement(posterior) -> np.ndarray:
    """Probability at each training point that two independent draws disagree."""
    share = (posterior.latents > 0).mean(axis=(0, 1))
    return 2 * share * (1 - share)


def training_error(posterior) -> np.ndarray:
    return posterior.disagreement().mean()


def main() -> None:
    X, y = make_moons(76, noise=0.3, random_state=3)
    X, y = 1.5 * (X - X.mean(axis=0)), np.where(y == 1, 1.0, -1.0)
    kernel, gram = RBF(1.0), RBF(1.0)(X)
    across, up = np.meshgrid(np.linspace(-3.2, 3.2, 90), np.linspace(-2.4, 2.4, 80))
    cross = kernel(np.column_stack([across.ravel(), up.ravel()]), X)
    figure, axes = plt.subplots(1, len(LEVELS), figsize=(12, 3.6), sharey=True)
    found = {"paper": "increasing the noise level leads to more diverse classifiers on the training set"}
    for ax, q in zip(axes, LEVELS, strict=True):
        posterior = Billiard(draws=1000, chains=4).infer(Problem(gram, y, Step(noise=q)), 0)
        alpha = posterior.alpha.reshape(-1, len(y))
        for weights in alpha[:: len(alpha) // SHOWN][:SHOWN]:
            ax.contour(across, up, (cross @ weights).reshape(across.shape), [0.0], colors="0.5", linewidths=0.4)
        ax.plot(*X[y > 0].T, "kx", markersize=5)
        ax.plot(*X[y < 0].T, "o", color="C0", markersize=5, markerfacecolor="none")
        ax.set(title=f"$q$ = {q:g}")
        found[f"q = {q:g}"] = {
            name: (float(np.mean(readout(posterior))), float(error_of(readout, posterior)))
            for name, readout in (("training error of a draw", training_error), ("two draws disagree", disagreement))
        }
        print(q, found[f"q = {q:g}"])
    save("graepel2001_figure3", found, figure, rows=len(y), levels=LEVELS, shown=SHOWN)


def error_of(readout, posterior) -> float:
    return float(readouts.monte_carlo_error(lambda part: np.mean(readout(part)), posterior))


if __name__ == "__main__":
    main()
