"""Figure 6: soft boundaries against quadratic slack, on the toy of Figure 4 and on thyroid.

Both machines see the same Gram matrix with lambda added to its diagonal. Toy: linear kernel, mean over 200 random
planes (billiard). Thyroid: RBF kernel of width 3, no bias, mean over 100 divisions 60:40 (expectation propagation).
Bars are one standard error.
"""

from __future__ import annotations

from matplotlib.figure import Figure

import soft_boundaries
from findings import Findings
from sizes import Size

DATA = ("thyroid",)
MINUTES = 0.7
SIGMA, SOFTNESS = 3.0, (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def run(size: Size) -> Findings:
    found = soft_boundaries.curves(size, "thyroid", SIGMA, SOFTNESS)
    picture = Figure(figsize=(10, 3.8), layout="constrained")
    soft_boundaries.draw(picture, found)
    return Findings(
        soft_boundaries.figures(found),
        picture,
        seed="toy k: generator [2001, k]; division k: generator [20010101, k]",
        conditions={"sigma": SIGMA, "repeats": {name: len(errors) for name, (_, errors) in found.items()}},
        details={name: {"lambda": s, "mean": errors.mean(axis=0)} for name, (s, errors) in found.items()},
    )
