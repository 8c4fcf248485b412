"""Figure 5 of the paper: evidence of the toy as a function of length scale and amplitude of the kernel, at C = 2.

    python experiments/sollich2002/figure5.py [--quick]

Rows: naive, joint and conditional evidence per training row. Columns: naive part by draws (the paper: by chaining), by
corrected expectation propagation (not in the paper) and by the Laplace approximation (32). Star: maximum; cross: truth.
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


def main() -> None:
    quick = "--quick" in sys.argv
    start = time.perf_counter()
    lengths, amplitudes = np.linspace(-0.7, 0.7, 4 if quick else 9), np.linspace(-1, 2, 4 if quick else 9)
    points = np.array([[(toy.C, 10**a, toy.LENGTH * 10**s) for a in amplitudes] for s in lengths])
    found = surfaces.compute(toy.clean_set(), points, jobs=1)
    truth = (0.0, np.log10(toy.AMPLITUDE))
    labels = (r"$\log_{10}(l / l^*)$", r"$\log_{10} K_0$")
    figure, maxima = surfaces.show(lengths, amplitudes, found, truth, labels)
    for name, where in maxima.items():
        print(f"{name:24s}" + "  ".join(f"{value:7.3f}" for value in where.values()))
    save(
        "sollich2002_figure5" + ("_quick" if quick else ""),
        {"maxima": maxima, "paper": "all three kinds have their maximum at l close to l*; K0 goes to infinity"},
        figure,
        data="one set of 50 rows from the joint model, seed (2002, 50, 2): no label looks wrong",
        C=toy.C,
        grid=points.shape[:2],
        standard_error="0.3 nat or 20,000 draws a level, seed 0 at every point",
        seconds=round(time.perf_counter() - start),
    )


if __name__ == "__main__":
    main()
