"""Evidence over two hyper-parameters, as figures 5 and 6 of the paper show it: three kinds by three methods."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import toy
from joblib import Parallel, delayed

KINDS = {"naive": None, "joint": "N-hat", "conditional": "N"}
METHODS = ("sampled", "corrected", "laplace")
TITLES = {"sampled": "exact draws", "corrected": "EP, corrected", "laplace": "Laplace (32)"}
DEPTH = 0.35  # how far below the maximum contours reach


def compute(data: toy.Data, points: np.ndarray, jobs: int) -> dict[str, dict[str, np.ndarray]]:
    """Evidence per row of each kind by each method; `points` holds C, K0 and l along its last axis."""
    flat = points.reshape(-1, 3)
    rows = Parallel(n_jobs=jobs)(delayed(toy.evidences)(toy.problem(data, *point)) for point in flat)
    parts = {name: np.reshape([row[name] for row in rows], points.shape[:-1]) for name in rows[0]}
    return {
        kind: {method: parts[method] - (parts[norm] if norm else 0.0) for method in METHODS}
        for kind, norm in KINDS.items()
    }


def show(across: np.ndarray, up: np.ndarray, surfaces: dict, truth: tuple[float, float], labels: tuple[str, str]):
    """Filled contours; a star at the maximum, a cross at the truth. Surfaces are indexed [across, up]."""
    figure, axes = plt.subplots(3, 3, figsize=(11, 9.5), sharex=True, sharey=True, layout="constrained")
    found = {}
    for kind, row in zip(KINDS, axes, strict=True):
        for method, axis in zip(METHODS, row, strict=True):
            values = surfaces[kind][method]
            top = np.unravel_index(values.argmax(), values.shape)
            levels = np.linspace(values.max() - DEPTH, values.max(), 15)
            filled = axis.contourf(across, up, values.T, levels, extend="min", cmap="viridis")
            axis.contour(across, up, values.T, levels[::2], colors="white", linewidths=0.4)
            figure.colorbar(filled, ax=axis, format="%.2f", ticks=levels[::2])
            axis.plot(across[top[0]], up[top[1]], "*", color="red", markersize=13, clip_on=False, zorder=5)
            axis.plot(*truth, "x", color="white", markersize=8, markeredgewidth=2)
            found[f"{kind}, {method}"] = {
                "maximum": float(values.max()),
                labels[0]: float(across[top[0]]),
                labels[1]: float(up[top[1]]),
            }
        row[0].set_ylabel(f"{kind}\n{labels[1]}")
    for axis, method in zip(axes[0], METHODS, strict=True):
        axis.set_title(TITLES[method])
    for axis in axes[-1]:
        axis.set_xlabel(labels[0])
        axis.locator_params(axis="x", nbins=4)
    return figure, found
