"""Figure 8: soft boundaries against quadratic slack, on the toy of Figure 6 and on heart.

Both machines see the same Gram matrix with lambda added to its diagonal. Toy: linear kernel, mean over 200 random
planes (billiard; at lambda = 400, which stands for infinity, expectation propagation). Heart: RBF kernel of width 3,
no bias, mean over 100 divisions 60:40 (expectation propagation). Bars are one standard error.
"""

from __future__ import annotations

import soft_boundaries
from findings import Findings
from sizes import Size

DATA = ("heart",)
MINUTES = 0.7
SOFTNESS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def run(size: Size) -> Findings:
    return soft_boundaries.compare(size, "heart", 3.0, SOFTNESS)
