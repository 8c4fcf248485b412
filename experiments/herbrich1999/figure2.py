"""Figure 2: margin bounds for linear support vector machines.

(a) Corollary 2 against the margin complexity in 100 dimensions, for several training set sizes; (b) Theorem 1 and
Corollary 2 for the NIST digits (400 dimensions, 60,000 rows) and, which is ours, the same with the exact volume of the
report's ball, whose chord is the margin, and of the largest ball inside version space, whose angle is its arcsine.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayespoint.bounds import ball_bound, cap_bound, linear_svm_bound, log_ball_ratio, log_cap_ratio, margin_bound
from findings import Findings, Number, Statement
from sizes import Size

MINUTES = 0.1

DELTA = 0.05
SIZES = (1000, 2000, 5000, 10000)
NIST = {"dimension": 400, "n": 60_000}


BOUNDS = {
    "Theorem 1": lambda margin: margin_bound(margin, NIST["n"], DELTA).value,
    "Corollary 2": lambda margin: linear_svm_bound(margin, **NIST, delta=DELTA).value,
    "exact ball": lambda margin: cap_bound(margin, **NIST, delta=DELTA).value,
    "largest ball": lambda margin: ball_bound(margin, **NIST, delta=DELTA).value,
}
COMPLEXITY = np.geomspace(2, 1e5, 60)  # 1 / margin^2


def gain(margin: float) -> float:
    """Nats of the largest ball over the ball whose chord is the margin."""
    return log_cap_ratio(margin, NIST["dimension"]) - log_ball_ratio(margin, NIST["dimension"])


def run(size: Size) -> Findings:
    nist = {name: np.array([bound(c**-0.5) for c in COMPLEXITY]) for name, bound in BOUNDS.items()}
    at_ten, at_twenty = (linear_svm_bound(0.1, 100, n, DELTA).value for n in (1000, 2000))
    figures = [
        Statement(
            "NIST, Theorem 1",
            "above 1 whatever the margin",
            f"least value {nist['Theorem 1'].min():.3g}",
            bool(nist["Theorem 1"].min() > 1),
        ),
        Statement(
            "NIST, Corollary 2",
            "says something even for margins of 0.01 and less",
            f"{BOUNDS['Corollary 2'](0.01):.3f} at margin 0.01, {nist['Corollary 2'][-1]:.3f} at 0.003",
            bool(BOUNDS["Corollary 2"](0.01) < 1),
        ),
        Statement(
            "100 dimensions",
            "predictive from about 20 rows a dimension on",
            f"{at_twenty:.2f} at margin 0.1 with 20 rows a dimension, {at_ten:.2f} with 10",
            bool(at_twenty < 1 < at_ten),
        ),
        Statement(
            "NIST, largest inscribable ball",
            "(a check of ours) never smaller than the ball whose chord is the margin",
            "; ".join(f"{gain(m):.2g} nats larger at margin {m:g}" for m in (0.01, 0.1, 0.18)),
            bool(all(gain(c**-0.5) >= 0 for c in COMPLEXITY)),
        ),
        *(Number(f"NIST at margin {m:g}, {name}", bound(m)) for m in (0.1, 0.01) for name, bound in BOUNDS.items()),
    ]
    conditions = {"delta": DELTA, "l": SIZES, "NIST": NIST}
    return Findings(figures, draw(nist), seed="none", conditions=conditions)


def draw(nist: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for n in SIZES:
        left.semilogx(COMPLEXITY, [linear_svm_bound(c**-0.5, 100, n, DELTA).value for c in COMPLEXITY], label=f"l={n}")
    left.set(title="Corollary 2, 100 dimensions", ylabel="bound", ylim=(0, 4))
    for name, values in nist.items():
        right.loglog(COMPLEXITY, values, label=name)
    right.set(title="NIST: 400 dimensions, 60,000 rows")
    for axis in (left, right):
        axis.axhline(1, color="0.5", linestyle="--", linewidth=1)
        axis.set_xlabel(r"margin complexity $1/\gamma^2$")
        axis.legend(fontsize=8)
    return figure
