"""Figure 6 of the paper: evidence of the toy as a function of C and of C K0, at the true length scale.

    python experiments/sollich2002/figure6.py [--quick]

As figure 5. C K0 fixes the support vector machine; the evidence still depends on C. Where it is largest along
C K0 = 2.5 is found from its slope in C, which is cheaper and sharper than the surface.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import surfaces
import toy

from report import save

LINE = np.geomspace(0.6, 6, 9)


def along_the_line(data: toy.Data, draws: int) -> dict[str, float]:
    """C of the largest evidence of each kind at the true C K0."""
    values = {}
    for kind in surfaces.KINDS:
        slopes = [toy.slopes(data, kind, C, toy.PRODUCT / C, toy.LENGTH, draws=draws)[0] for C in LINE]
        values[kind] = toy.root(np.log(LINE), np.array(slopes))
    return values


def main() -> None:
    quick = "--quick" in sys.argv
    start = time.perf_counter()
    weights, products = np.linspace(-0.5, 0.9, 4 if quick else 9), np.linspace(-0.5, 2.5, 4 if quick else 9)
    points = np.array([[(10**c, 10 ** (p - c), toy.LENGTH) for p in products] for c in weights])
    data = toy.clean_set()
    best = along_the_line(data, 200 if quick else 2000)
    print("largest along C K0 = 2.5:", {kind: round(C, 2) for kind, C in best.items()}, flush=True)
    found = surfaces.compute(data, points, jobs=1)
    truth = (np.log10(toy.C), np.log10(toy.PRODUCT))
    labels = (r"$\log_{10} C$", r"$\log_{10} C K_0$")
    figure, maxima = surfaces.show(weights, products, found, truth, labels)
    for kind, row in zip(surfaces.KINDS, figure.axes[:9:3], strict=True):
        row.axhline(truth[1], color="white", linewidth=0.8, linestyle=":")
        row.plot(np.log10(best[kind]), truth[1], "o", color="orange", markeredgecolor="black")
    for name, where in maxima.items():
        print(f"{name:24s}" + "  ".join(f"{value:7.3f}" for value in where.values()))
    paper = {"naive": 1.2, "joint": 1.9, "conditional": 1.9}
    save(
        "sollich2002_figure6" + ("_quick" if quick else ""),
        {
            "C of the largest evidence along C K0 = 2.5": {k: {"ours": best[k], "paper": paper[k]} for k in best},
            "maxima": maxima,
            "note": "the paper's data set is another draw from the same model; evidence_maxima.py has averages",
        },
        figure,
        data="one set of 50 rows from the joint model, seed (2002, 50, 2): no label looks wrong",
        l=toy.LENGTH,
        grid=points.shape[:2],
        standard_error="0.3 nat or 20,000 draws a level, seed 0 at every point",
        seconds=round(time.perf_counter() - start),
    )


if __name__ == "__main__":
    main()
