"""Figure 4: the toy data, a target function with 50 labelled inputs, and the noise-free support vector machine.

C = 2, K0 = 1.25, l = 0.05. The paper's data set is not printed: ours is another draw from the same model, one in
which, as in the paper's, no label looks wrong. The noise-free machine (no slack, C K0 to infinity) has the true
length scale.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayespoint import Hinge, Problem
from bayespoint.engines.svm import support_vectors
from findings import Findings, Statement
from sizes import Size
from sollich2002 import toy

MINUTES = 0.1


def machine(data: toy.Data, C: float) -> tuple[np.ndarray, float]:
    """The support vector machine of unit amplitude on the grid, and its smallest margin."""
    found = support_vectors(Problem(toy.kernel(data.x, data.x, 1.0), data.y, Hinge(C)))
    return toy.kernel(toy.GRID, data.x, 1.0) @ (found.alpha * data.y), float((data.y * found.latents).min())


def run(size: Size) -> Findings:
    data = toy.clean_set()
    (nearly, _), (fit, margin) = (machine(data, C) for C in (1e4, 1e8))
    limit = float(np.abs(fit - nearly).max())
    inside = np.interp(data.x, toy.GRID, fit)
    same_sign = float(np.mean(np.sign(fit) == np.sign(data.target)))
    regions = [1 + int(np.sum(np.diff(np.sign(f)) != 0)) for f in (data.target, fit)]
    largest = [float(np.abs(f).max()) for f in (data.target, fit)]
    figures = [
        Statement(
            "Labels that look wrong",
            "none in this set",
            f"{int(np.sum(data.margins < 0))} of {len(data.y)} against the target; smallest y theta(x) is "
            f"{data.margins.min():.2f}",
            bool(data.margins.min() > 0),
        ),
        Statement(
            "Noise-free support vector machine on the training rows",
            "fits all of them without slack",
            f"smallest margin 1 {margin - 1:+.0e}; from C K0 = 1e4 to 1e8 the fit moves by {limit:.0e}",
            bool(margin > 1 - 1e-6 and limit < 1e-6),
        ),
        Statement(
            "Noise-free fit against the target",
            "looks plausible",
            f"same sign on {100 * same_sign:.0f} % of the interval; {regions[1]} decision regions, the target has "
            f"{regions[0]}; largest |theta| {largest[1]:.2f}, of the target {largest[0]:.2f}",
            bool(same_sign > 0.8 and largest[1] < 2 * largest[0]),
        ),
    ]
    details = {"x": data.x, "y": data.y, "fit at the inputs": inside}
    conditions = {"n": len(data.y), "C": toy.C, "K0": toy.AMPLITUDE, "l": toy.LENGTH}
    return Findings(figures, draw(data, fit), "toy_sets.json", conditions, details)


def draw(data: toy.Data, fit: np.ndarray) -> Figure:
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axis = figure.subplots()
    axis.axhspan(-1, 1, color="0.93", zorder=0)
    axis.plot(toy.GRID, data.target, "k", label=r"target $\theta(x)$")
    axis.plot(toy.GRID, fit, "C1:", linewidth=2, label="noise-free support vector machine")
    axis.plot(data.x, data.y, "o", mfc="none", label="labels")
    axis.set(xlabel="$x$", ylabel=r"$\theta(x)$ (grey: the gap)")
    axis.legend(fontsize=8)
    return figure
