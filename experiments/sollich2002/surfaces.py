"""Evidence over two hyper-parameters, as figures 5 and 6 of the paper show it: three kinds by three methods."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from sizes import Size
from sollich2002 import toy

NORMS = {"naive": None, "joint": "N-hat", "conditional": "N"}
METHODS = {"sampled": "exact draws", "corrected": "EP, corrected", "laplace": "Laplace (32)"}
DEPTH = 0.35  # how far below the maximum contours reach, per row


class Surface(NamedTuple):
    """Log-evidence in nats at the points of a grid, and its standard error."""

    values: np.ndarray
    errors: np.ndarray

    @property
    def top(self) -> tuple[int, int]:
        """Where it is largest."""
        return tuple(int(k) for k in np.unravel_index(self.values.argmax(), self.values.shape))

    def best(self, among: np.ndarray) -> tuple[int, int]:
        """Where it is largest among some points."""
        return tuple(int(k) for k in np.unravel_index(np.where(among, self.values, -np.inf).argmax(), among.shape))


def lead(
    data: toy.Data, kind: str, one: np.ndarray, other: np.ndarray, effort: tuple[float, int]
) -> tuple[float, float]:
    """Evidence of one point (C, K0, l) beyond that of another, with draws of its own: the chosen are lucky ones."""
    found = [np.array(toy.evidences(data, *point, *effort, seed=1)) for point in (one, other)]
    names, norm = list(toy.PARTS), NORMS[kind]
    values = [part[names.index("sampled")] for part in found]
    norms = [part[names.index(norm)] if norm else np.zeros(2) for part in found]
    gap = (values[0][0] - norms[0][0]) - (values[1][0] - norms[1][0])
    return float(gap), float(np.sqrt(sum(part[1] ** 2 for part in (*values, *norms))))


def compute(size: Size, data: toy.Data, points: np.ndarray) -> dict[tuple[str, str], Surface]:
    """Surfaces by kind and method; `points` holds C, K0 and l along its last axis."""
    effort = size.pick((0.3, 20_000), (3.0, 1_000))  # standard error, draws a level
    rows = np.array(size.map(toy.evidences, [(data, *point, *effort) for point in points.reshape(-1, 3)]))
    values, errors = (
        {name: rows[:, k, column].reshape(points.shape[:-1]) for k, name in enumerate(toy.PARTS)} for column in (0, 1)
    )
    found = {}
    for kind, norm in NORMS.items():
        for method in METHODS:
            value = values[method] - (values[norm] if norm else 0.0)
            found[kind, method] = Surface(value, np.hypot(errors[method], errors[norm] if norm else 0.0))
    return found


def maxima(surfaces: dict[tuple[str, str], Surface], points: np.ndarray, rows: int) -> dict[str, dict[str, float]]:
    """Where each surface is largest, and how large per row."""
    found = {}
    for (kind, method), surface in surfaces.items():
        C, amplitude, length = points[surface.top]
        where = {
            "C": C,
            "K0": amplitude,
            "l": length,
            "per row": surface.values.max() / rows,
            "se": surface.errors.max(),
        }
        found[f"{kind}, {method}"] = {name: float(value) for name, value in where.items()}
    return found


def show(
    across: np.ndarray, up: np.ndarray, surfaces: dict, rows: int, truth: tuple[float, float], labels: tuple[str, str]
) -> Figure:
    """Filled contours per row of the data; a star at the maximum, a cross at the truth. Surfaces: [across, up]."""
    figure = Figure(figsize=(10, 8.6), layout="constrained")
    axes = figure.subplots(3, 3, sharex=True, sharey=True)
    for kind, line in zip(NORMS, axes, strict=True):
        for (method, title), axis in zip(METHODS.items(), line, strict=True):
            surface = surfaces[kind, method]
            values, top = surface.values / rows, surface.top
            levels = np.linspace(values.max() - DEPTH, values.max(), 15)
            filled = axis.contourf(across, up, values.T, levels, extend="min", cmap="viridis")
            axis.contour(across, up, values.T, levels[::2], colors="white", linewidths=0.4)
            figure.colorbar(filled, ax=axis, format="%.2f", ticks=levels[::2])
            axis.plot(across[top[0]], up[top[1]], "*", color="red", markersize=13, clip_on=False, zorder=5)
            axis.plot(*truth, "x", color="white", markersize=8, markeredgewidth=2)
            if kind == "naive":
                axis.set_title(title)
        line[0].set_ylabel(f"{kind}\n{labels[1]}")
    for axis in axes[-1]:
        axis.set_xlabel(labels[0])
        axis.locator_params(axis="x", nbins=4)
    return figure
