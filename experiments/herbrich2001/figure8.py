"""Figure 8: soft boundaries against quadratic slack, on the toy of Figure 6 and on heart.

Both machines see the same Gram matrix with lambda added to its diagonal. Toy: linear kernel, mean over 200 random
planes (billiard). Heart: RBF kernel of width 3, no bias, mean over 100 divisions 60:40 (expectation propagation). Bars
are one standard error.
"""

from __future__ import annotations

import soft_boundaries
from findings import Findings
from sizes import Size

DATA = ("heart",)
MINUTES = 0.7
REASONS = {
    "*points of error": "the difference at lambda = 400 is no smaller than with a hard boundary; within the range of "
    "the plot the curves cross, since labels with little noise want a hard boundary and a soft one costs the BPM more."
}
SOFTNESS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def run(size: Size) -> Findings:
    return soft_boundaries.compare(size, "heart", 3.0, SOFTNESS)
