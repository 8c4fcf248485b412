"""Figure 8: evidence of a Gaussian process classifier with logistic likelihood as a function of the amplitude K0.

The data of figure 4, RBF kernel with l = 0.05, C = 2. The paper uses chaining; here the evidence comes from exact
draws around expectation propagation. The limit of large K0 is the volume of version space, the evidence of a noise-
free classifier; it is worked out, too, and says whether the curve can still come down.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayespoint import Logistic, Problem, Step
from bayespoint.evidence import Estimate, log_evidence
from findings import Findings, Number, Statement
from sizes import Size
from sollich2002 import toy

MINUTES = 0.2
LARGEST = 3.0  # log10 of K0


def evidence(data: toy.Data, amplitude: float, C: float, se: float, seed: int) -> Estimate:
    problem = Problem(toy.kernel(data.x, data.x, amplitude), data.y, Logistic(C))
    return log_evidence(problem, seed, se=se)


def run(size: Size) -> Findings:
    data, se = toy.clean_set(), size.pick(0.05, 0.2)
    logs = np.linspace(-1, LARGEST, size.pick(17, 4))
    found = size.map(evidence, [(data, 10**a, toy.C, se, k) for k, a in enumerate(logs)])
    values, errors = (np.array([getattr(one, name) for one in found]) for name in ("value", "se"))
    limit = log_evidence(Problem(toy.kernel(data.x, data.x, 1.0), data.y, Step()), 0, se=se)
    steps = np.diff(values) / np.hypot(errors[1:], errors[:-1])
    top, last = int(values.argmax()), values[-1]
    other, same = (evidence(data, a, C, se, seed) for a, C, seed in ((10.0, toy.C, 98), (40.0, toy.C / 2, 99)))
    gap = abs(other.value - same.value) / np.hypot(other.se, same.se)
    figures = [
        Statement(
            "Evidence as K0 grows",
            "increases throughout",
            f"from {values[0]:.2f} to {last:.2f} nats; the largest fall between neighbours is "
            f"{max(0.0, -steps.min()):.1f} standard errors",
            bool(steps.min() > -2.5 and last - values[0] > 5 * np.hypot(errors[0], errors[-1])),
        ),
        Statement(
            "Maximum at a finite K0",
            "none to be seen",
            f"largest on the grid at K0 = {10 ** logs[top]:.3g}: {values[top]:.2f} ({errors[top]:.2f}); limit of large "
            f"K0 {limit.value:.2f} ({limit.se:.2f})",
            bool(values[top] - limit.value < 2.5 * np.hypot(errors[top], limit.se)),
        ),
        Statement(
            "Dependence on C and K0",
            "by way of C sqrt(K0) alone",
            f"C = 2, K0 = 10: {other.value:.3f}; C = 1, K0 = 40: {same.value:.3f}; {gap:.1f} standard errors apart",
            bool(gap < 3),
        ),
        Number("Evidence per row in the limit of large K0", limit.value / len(data.y), se=limit.se / len(data.y)),
    ]
    return Findings(
        figures,
        draw(logs, values / len(data.y), errors / len(data.y), limit.value / len(data.y)),
        seed="data toy_sets.json; point k of the curve: k; C and K0: 98, 99",
        conditions={"C": toy.C, "l": toy.LENGTH, "standard error in nats": se},
        details={"K0": 10**logs, "log-evidence": values, "standard error": errors},
    )


def draw(logs: np.ndarray, values: np.ndarray, errors: np.ndarray, limit: float) -> Figure:
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axis = figure.subplots()
    axis.errorbar(10**logs, values, errors, fmt="o-", ms=4, capsize=2, label="logistic likelihood")
    axis.axhline(limit, color="0.4", linestyle="--", label="limit: noise-free classifier")
    axis.axvline(toy.AMPLITUDE, color="0.7", linestyle=":", label="$K_0$ of the data")
    axis.set(xscale="log", xlabel="$K_0$", ylabel="log-evidence per row")
    axis.legend(fontsize=8)
    return figure
