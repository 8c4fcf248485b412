"""Figure 6: evidence of the toy as a function of C and of C K0, at the true length scale.

Rows and columns as in figure 5. C K0 fixes the support vector machine; the evidence still depends on C. Where it is
largest along C K0 = 2.5 (dots) is found from its slope in C. The paper's data set is another draw from the same
model: the standard error beside its figures is the scatter of the difference of two data sets (from evidence_maxima, on
few sets), so that agreement says little here; averages over data sets are in evidence_maxima.
"""

from __future__ import annotations

import numpy as np

from findings import Findings, Number, Statement
from sizes import Size
from sollich2002 import surfaces, toy

MINUTES = 3.5
LINE = np.geomspace(0.6, 6, 9)
PAPER = {"naive": 1.2, "joint": 1.9, "conditional": 1.9}
SPREAD = {"naive": 0.2, "joint": 0.5, "conditional": 0.6}  # of the place over data sets, found by evidence_maxima
SHALLOW = (
    "another draw from the model; the fall beyond a flat top is one or two hundredths per row, about the scatter of "
    "one evidence by chaining (evidence_methods), so that a plot could hardly show it; figure 7 compares many sets"
)


def place(data: toy.Data, kind: str, values: np.ndarray, draws: int) -> float:
    """C of the largest evidence at the true C K0."""
    slopes = [toy.slopes(data, kind, C, toy.PRODUCT / C, toy.LENGTH, draws=draws)[0] for C in values]
    return toy.root(np.log(values), np.array(slopes))


def run(size: Size) -> Findings:
    data, side = toy.clean_set().thinned(size.pick(1, 10)), size.pick(9, 2)
    kinds, effort = list(surfaces.NORMS), size.pick((LINE, 2000), (LINE[::2], 20))
    best = dict(zip(kinds, size.map(place, [(data, kind, *effort) for kind in kinds]), strict=True))
    weights, products = np.linspace(-0.5, 0.9, side), np.linspace(-0.5, 2.5, side)
    points = np.array([[(10**c, 10 ** (p - c), toy.LENGTH) for p in products] for c in weights])
    found = surfaces.compute(size, data, points)
    figures: list[Number | Statement] = [
        Number(
            f"C of the largest {kind} evidence along C K0 = 2.5",
            best[kind],
            PAPER[kind],
            paper_se=2**0.5 * SPREAD[kind],
        )
        for kind in kinds
    ]
    figures.append(
        Statement(
            "Naive evidence along C K0 = 2.5",
            "largest at a C well below the true 2, the normalised ones nearer to it",
            ", ".join(f"{kind} {best[kind]:.2f}" for kind in kinds),
            bool(best["naive"] < toy.C - SPREAD["naive"] and best["naive"] < min(best["joint"], best["conditional"])),
        )
    )
    edge = np.zeros(points.shape[:2], dtype=bool)
    edge[:, -1] = True
    for kind in kinds:
        surface = found[kind, "sampled"]
        inside, end = (points[surface.best(among)] for among in (~edge, edge))
        lead, se = surfaces.lead(data, kind, inside, end, size.pick((0.1, 80_000), (3.0, 1_000)))
        where = points[surface.top]
        figures.append(
            Statement(
                f"Largest {kind} evidence as K0 grows",
                "no maximum at a finite K0",
                f"largest at C K0 = {where[0] * where[1]:.3g}; best inside the grid beyond best at its end (C K0 = "
                f"{10 ** products[-1]:.0f}): {lead:.2f} ({se:.2f}) nats",
                bool(lead < 2 * se),
                why=SHALLOW,
            )
        )
    truth = (np.log10(toy.C), np.log10(toy.PRODUCT))
    figure = surfaces.show(weights, products, found, len(data.y), truth, (r"$\log_{10} C$", r"$\log_{10} C K_0$"))
    for kind, axis in zip(kinds, figure.axes[:9:3], strict=True):
        axis.axhline(truth[1], color="white", linewidth=0.8, linestyle=":")
        axis.plot(np.log10(best[kind]), truth[1], "o", color="orange", markeredgecolor="black")
    return Findings(
        figures,
        figure,
        seed="data toy_sets.json; 0 at every point",
        conditions={"l": toy.LENGTH, "grid": f"{side} x {side}", "standard error": "0.3 nat or 20,000 draws a level"},
        details={"maxima": surfaces.maxima(found, points, len(data.y))},
    )
