"""Figure 5: how softness rounds the parameter space.

Three points in the plane, linear kernel. Drawn is the ellipsoid of outputs at the training points of all weight vectors
of unit length, ``t'(G + lambda I)^-1 t = 1``, in its principal axes and divided by their geometric mean, so that shapes
can be compared.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from findings import Findings, Number, Statement
from sizes import Size

MINUTES = 0.1
REASONS = {
    "the same for coefficients*": "a'(G + lambda I) a = 1, as the paper has it, has semi-axes of one over the root of "
    "an eigenvalue: the direction that G leaves free is then the longest, without end at lambda = 0. The picture and "
    "the words fit the outputs (G + lambda I) a, whose semi-axes are the roots themselves."
}
SOFTNESS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
POINTS = np.array([[1.0, 0.0], [0.2, 0.98], [-0.6, 0.8]])


def semi_axes(softness: float) -> np.ndarray:
    """Of the outputs, shortest first."""
    values = np.linalg.eigvalsh(POINTS @ POINTS.T)
    return np.sqrt(np.where(values > 1e-12, values, 0.0) + softness)


def run(size: Size) -> Findings:
    flat = semi_axes(0.0)
    ratios = {softness: float(semi_axes(softness)[-1] / semi_axes(softness)[0]) for softness in (*SOFTNESS[1:], 1000.0)}
    values = list(ratios.values())
    coefficients = 1 / semi_axes(SOFTNESS[1])
    figures = [
        Statement(
            "lambda = 0",
            "a flat ellipse",
            "semi-axes " + ", ".join(f"{axis:.3f}" for axis in flat),
            bool(flat[0] == 0 < flat[1]),
        ),
        Statement(
            "growing lambda",
            "from a pancake to a ball",
            "longest over shortest semi-axis " + ", ".join(f"{r:.2f} at {s:g}" for s, r in ratios.items()),
            bool(np.all(np.diff(values) < 0) and values[-2] < 1.5),
        ),
        Statement(
            "the same for coefficients of the training points",
            "the ellipsoid is that of the coefficients",
            f"at lambda = {SOFTNESS[1]:g} the axis that is short in outputs ({semi_axes(SOFTNESS[1])[0]:.2f}) is the "
            f"longest in coefficients ({', '.join(f'{axis:.2f}' for axis in coefficients)})",
            bool(coefficients[0] == coefficients.min()),
        ),
        Number("longest over shortest semi-axis at lambda = 2.5", ratios[2.5]),
    ]
    return Findings(figures, draw(), seed="none", conditions={"points": POINTS.tolist(), "lambda": SOFTNESS})


def draw() -> Figure:
    figure = Figure(figsize=(10, 6.2), layout="constrained")
    angle, height = np.meshgrid(np.linspace(0, 2 * np.pi, 41), np.linspace(0, np.pi, 21))
    sphere = np.stack([np.cos(height), np.cos(angle) * np.sin(height), np.sin(angle) * np.sin(height)], axis=-1)
    for k, softness in enumerate(SOFTNESS):
        axis = figure.add_subplot(2, 3, k + 1, projection="3d")
        lengths = semi_axes(softness)
        scale = np.exp(np.mean(np.log(lengths[lengths > 0])))
        third, first, second = np.moveaxis(sphere * lengths / scale, -1, 0)
        axis.plot_surface(first, second, third, color="C0", alpha=0.5, edgecolor="C0", linewidth=0.3)
        axis.set(title=rf"$\lambda$ = {softness:g}", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), zlim=(-1.3, 1.3))
        axis.view_init(elev=12)
        axis.set_box_aspect((1, 1, 1))
        axis.tick_params(labelsize=6)
    return figure
