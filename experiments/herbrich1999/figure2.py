"""Figure 2 of TR 99-11: margin bounds for linear support vector machines.

    python experiments/herbrich1999/figure2.py

(a) Corollary 2 against the margin complexity in 100 dimensions, for several training set sizes; (b) Theorem 1 and
Corollary 2 for the NIST digits (400 dimensions, 60,000 rows), and the same with the exact volume of the ball.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from bayespoint.bounds import cap_bound, linear_svm_bound, margin_bound
from report import save

DELTA = 0.05
SIZES = (1000, 2000, 5000, 10000)
NIST = {"dimension": 400, "n": 60_000}


def main() -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    complexity = np.geomspace(2, 1e5, 60)
    for n in SIZES:
        left.semilogx(complexity, [linear_svm_bound(c**-0.5, 100, n, DELTA).value for c in complexity], label=f"l={n}")
    left.set(title="Corollary 2, 100 dimensions", ylabel="bound", ylim=(0, 4))
    bounds = {
        "Theorem 1": lambda margin: margin_bound(margin, NIST["n"], DELTA),
        "Corollary 2": lambda margin: linear_svm_bound(margin, **NIST, delta=DELTA),
        "exact ball": lambda margin: cap_bound(margin, **NIST, delta=DELTA),
    }
    for name, bound in bounds.items():
        right.loglog(complexity, [bound(c**-0.5).value for c in complexity], label=name)
    right.set(title="NIST: 400 dimensions, 60,000 rows")
    for axis in (left, right):
        axis.axhline(1, color="0.5", linestyle="--", linewidth=1)
        axis.set_xlabel(r"margin complexity $1/\gamma^2$")
        axis.legend(fontsize=8)
    found = {f"margin {m:g}": {name: bound(m).value for name, bound in bounds.items()} for m in (0.3, 0.1, 0.03, 0.01)}
    for margin, values in found.items():
        print(margin, {name: round(value, 4) for name, value in values.items()})
    save("herbrich1999_figure2", found, figure, delta=DELTA, sizes=SIZES, **NIST)


if __name__ == "__main__":
    main()
