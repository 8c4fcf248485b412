"""Figure 5: how softness rounds the parameter space.

Three points in the plane, linear kernel. Weight vectors of unit length in feature space have coefficients on the
ellipsoid ``a'(G + lambda I) a = 1``; for lambda = 0 nothing bounds it along one direction, and the ellipse across that
is shown. Axes are divided by the geometric mean of the semi-axes, so that shapes can be compared.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from findings import Findings, Number, Statement
from sizes import Size

MINUTES = 0.1
SOFTNESS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
POINTS = np.array([[1.0, 0.0], [0.2, 0.98], [-0.6, 0.8]])


def semi_axes(softness: float) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the semi-axes, 0 where nothing bounds them, and their directions."""
    values, vectors = np.linalg.eigh(POINTS @ POINTS.T + softness * np.eye(len(POINTS)))
    bound = values > 1e-12
    return np.where(bound, 1 / np.sqrt(np.where(bound, values, 1.0)), 0.0), vectors


def run(size: Size) -> Findings:
    ratios = {}
    for softness in SOFTNESS[1:]:
        lengths, _ = semi_axes(softness)
        ratios[softness] = float(lengths.max() / lengths.min())
    values = list(ratios.values())
    flat = int(np.sum(semi_axes(0.0)[0] == 0))
    figures = [
        Statement(
            "lambda = 0",
            "the parameter space is a flat ellipse",
            f"{flat} of 3 dimensions is not bound by G",
            flat == 1,
        ),
        Statement(
            "growing lambda",
            "from a pancake to a ball",
            ", ".join(f"{ratio:.2f} at {softness:g}" for softness, ratio in ratios.items())
            + " (longest over shortest semi-axis)",
            bool(np.all(np.diff(values) < 0) and values[-1] < 1.5),
        ),
        Number("longest over shortest semi-axis at lambda = 1000", float(np.sqrt(1 + eigenvalue() / 1000))),
    ]
    return Findings(figures, draw(), seed="none", conditions={"points": POINTS.tolist(), "lambda": SOFTNESS})


def eigenvalue() -> float:
    return float(np.linalg.eigvalsh(POINTS @ POINTS.T).max())


def draw() -> Figure:
    figure = Figure(figsize=(10, 6.5), layout="constrained")
    angle, height = np.meshgrid(np.linspace(0, 2 * np.pi, 41), np.linspace(0, np.pi, 21))
    sphere = np.stack([np.cos(angle) * np.sin(height), np.sin(angle) * np.sin(height), np.cos(height)], axis=-1)
    for k, softness in enumerate(SOFTNESS):
        axis = figure.add_subplot(2, 3, k + 1, projection="3d")
        lengths, vectors = semi_axes(softness)
        scale = np.exp(np.mean(np.log(lengths[lengths > 0])))
        surface = (sphere * lengths / scale) @ vectors.T
        axis.plot_surface(*np.moveaxis(surface, -1, 0), color="C0", alpha=0.35, edgecolor="C0", linewidth=0.3)
        axis.set(title=rf"$\lambda$ = {softness:g}", xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), zlim=(-1.6, 1.6))
        axis.set_box_aspect((1, 1, 1))
        axis.tick_params(labelsize=6)
    return figure
