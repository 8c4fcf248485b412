"""Figure 5: evidence of the toy as a function of length scale and amplitude of the kernel, at C = 2.

Rows: naive, joint and conditional evidence per training row, for the data of our figure 4, another draw than the
paper's. Columns: the naive part by exact draws (the paper: by chaining), by corrected expectation propagation (not in
the paper) and by the Laplace approximation (32); normalisers are always sampled. Star: maximum; cross: truth.
"""

from __future__ import annotations

import numpy as np

from findings import Findings, Number, Statement
from sizes import Size
from sollich2002 import surfaces, toy

MINUTES = 3.5
MODERATE = 10.0  # largest K0 at which Laplace is compared
LAPLACE = (
    "probably because (32) widens the posterior at the kinks and so gains most where many rows sit on the margin, at "
    "small l and large K0; not tested"
)


def likeness(exact: surfaces.Surface, other: surfaces.Surface, moderate: np.ndarray) -> tuple[float, float, float]:
    """Correlation of two surfaces over moderate amplitudes, mean of their difference, and its standard deviation."""
    a, b = exact.values[moderate], other.values[moderate]
    return float(np.corrcoef(a, b)[0, 1]), float(np.mean(b - a)), float(np.std(b - a))


def run(size: Size) -> Findings:
    data, side = toy.clean_set().thinned(size.pick(1, 10)), size.pick(9, 2)
    lengths, amplitudes = np.linspace(-0.7, 0.7, side), np.linspace(-1, 2, side)
    if size.quick:
        lengths = np.array([0.0, 0.7])
    points = np.array([[(toy.C, 10**a, toy.LENGTH * 10**s) for a in amplitudes] for s in lengths])
    found = surfaces.compute(size, data, points)
    step = float(np.diff(lengths)[0])
    moderate = points[..., 1] <= MODERATE * 1.001
    places = {kind: lengths[found[kind, "sampled"].top[0]] for kind in surfaces.NORMS}
    told = ", ".join(f"{kind} {toy.LENGTH * 10**place:.3f}" for kind, place in places.items())
    alike, shift, rest = likeness(found["naive", "sampled"], found["naive", "laplace"], moderate)
    by_laplace = {kind: lengths[found[kind, "laplace"].top[0]] for kind in surfaces.NORMS}
    ep = likeness(found["naive", "sampled"], found["naive", "corrected"], moderate)
    figures = [
        Statement(
            "Length scale of the largest evidence, by draws",
            "close to the true 0.05 for all three kinds",
            f"{told}; a step of the grid is a factor of {10**step:.2f}",
            all(abs(place) <= step * 1.001 for place in places.values()),
        ),
        Statement(
            "Length scale of the largest evidence, by Laplace (32)",
            "close to the true 0.05, too",
            ", ".join(f"{kind} {toy.LENGTH * 10**place:.3f}" for kind, place in by_laplace.items()),
            all(abs(place) <= step * 1.001 for place in by_laplace.values()),
            why=LAPLACE,
        ),
        Statement(
            f"Naive evidence by Laplace against draws, K0 up to {MODERATE:g}: shape",
            "much the same shape",
            f"correlation {alike:.3f}",
            alike > 0.9,
        ),
        Statement(
            f"Naive evidence by Laplace against draws, K0 up to {MODERATE:g}: size",
            "other absolute values",
            f"higher by {shift:.1f} nats on average, standard deviation {rest:.1f}",
            shift > 5 * found["naive", "sampled"].errors.max(),
        ),
        Number(f"Mean error of corrected EP in nats, K0 up to {MODERATE:g}", ep[1], se=ep[2] / np.sqrt(moderate.sum())),
    ]
    labels = (r"$\log_{10}(l / l^*)$", r"$\log_{10} K_0$")
    return Findings(
        figures,
        surfaces.show(lengths, amplitudes, found, len(data.y), (0.0, np.log10(toy.AMPLITUDE)), labels),
        seed="data [2002, 50, 2]; 0 at every point",
        conditions={"C": toy.C, "grid": f"{side} x {side}", "standard error": "0.3 nat or 20,000 draws a level"},
        details={"maxima": surfaces.maxima(found, points, len(data.y))},
    )
