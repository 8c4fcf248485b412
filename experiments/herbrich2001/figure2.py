"""Figure 2: a version space in three dimensions.

The sphere of weight vectors, cut by one great circle for each of ten training points; the classifiers that put every
point right are the cell that holds the Bayes point. Its area is known in closed form (a spherical polygon), which
checks the volume that `bayespoint.evidence` estimates for a problem of any dimension.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayespoint import Problem, Step
from bayespoint.evidence import log_evidence
from bayespoint.plots import VersionSpaceDisplay
from findings import Findings, Statement
from herbrich2001 import toy
from sizes import Size

MINUTES = 0.1
SHOWN = 3


def corners(walls: np.ndarray) -> np.ndarray:
    """Of the polygon on the sphere, in order: where two walls meet and no other is crossed."""
    first, second = np.triu_indices(len(walls), 1)
    where = np.cross(walls[first], walls[second])
    where /= np.linalg.norm(where, axis=1, keepdims=True)
    both = np.concatenate([where, -where])
    inside = both[np.all(both @ walls.T > -1e-9, axis=1)]
    middle = inside.mean(axis=0)
    across = inside[0] - (inside[0] @ middle) / (middle @ middle) * middle
    up = np.cross(middle, across)
    return inside[np.argsort(np.arctan2(inside @ up / np.linalg.norm(up), inside @ across / np.linalg.norm(across)))]


def area(polygon: np.ndarray) -> float:
    """Of a convex spherical polygon as a share of the sphere, by its angles (Girard)."""
    before, after = np.roll(polygon, 1, axis=0), np.roll(polygon, -1, axis=0)
    left, right = (np.cross(polygon, other) for other in (before, after))
    cosines = np.sum(left * right, axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    return float((np.arccos(np.clip(cosines, -1, 1)).sum() - (len(polygon) - 2) * np.pi) / (4 * np.pi))


def run(size: Size) -> Findings:
    data = toy.draw(SHOWN)
    walls = data.y[:, None] * data.X
    polygon = corners(walls)
    exact = np.log(area(polygon))
    found = log_evidence(Problem(data.X @ data.X.T, data.y, Step()), 0, se=size.pick(0.02, 0.05))
    inside = np.min(walls @ toy.bayes_point(data)) > 0
    figures = [
        Statement(
            "shape",
            "a convex polyhedron that holds the Bayes point",
            f"{len(polygon)} of {len(walls)} points are walls; the Bayes point is {'in' if inside else 'out'}side",
            bool(inside and len(polygon) >= 3),
        ),
        Statement(
            "log-volume by draws",
            "(a check of ours) the closed form, by the angles of the polygon",
            f"{found.value:.3f} (se {found.se:.3f}), exactly {exact:.3f}",
            bool(abs(found.value - exact) < 4 * found.se),
        ),
    ]
    return Findings(figures, draw(data), seed=f"data set {SHOWN}: generator [2001, {SHOWN}]", conditions={"points": 10})


def draw(data: toy.Toy) -> Figure:
    figure = Figure(figsize=(8, 5.4), layout="constrained")
    VersionSpaceDisplay.from_problem(data.X, data.y, view="globe", n_bounces=0, ax=figure.subplots())
    return figure
