"""Figure 1: class probabilities as functions of the latent value, unnormalised and normalised, at C = 2.

Left: the hinge likelihood Q of either label and their sum v, which is below one but for |theta| = 1. Right: the
normalised probabilities P = Q / v. All curves come from the library's `Hinge`; the identities of section 2 are
checked on a fine grid, slopes by differences on either side of the kinks.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import brentq
from scipy.special import expit

from bayespoint import Hinge
from findings import Findings, Number, Statement
from sizes import Size

MINUTES = 0.1
C = 2.0
ROUNDING = 1e-12


def unnormalised(theta: np.ndarray, C: float = C) -> np.ndarray:
    """Q(y | theta) for y = +1 and -1."""
    return np.exp([Hinge(C).log_likelihood(np.full_like(theta, y), theta) for y in (1.0, -1.0)])


def normalised(theta: np.ndarray, C: float = C) -> np.ndarray:
    """P(y = 1 | theta)."""
    return expit(Hinge(C).log_odds(theta))


def slope(theta: float, C: float, step: float) -> float:
    """Of P(y = 1) on the side of the step."""
    ends = normalised(np.array([theta, theta + step]), C)
    return float((ends[1] - ends[0]) / step)


def surplus_in_the_gap(C: float) -> float:
    """v in the middle of the gap less v far away."""
    v = unnormalised(np.array([0.0, 50.0]), C).sum(axis=0)
    return float(v[0] - v[1])


def run(size: Size) -> Findings:
    theta = np.linspace(-3, 3, size.pick(60_001, 601))
    q, p = unnormalised(theta), normalised(theta)
    v = q.sum(axis=0)
    away = np.abs(np.abs(theta) - 1) > 0.01
    at_one = unnormalised(np.array([-1.0, 1.0])).sum(axis=0)
    beyond = np.abs(theta) > 1
    printed = [expit(C * (y * theta + np.sign(theta))) for y in (1, -1)]  # (11) to the letter
    excess = float(np.abs(printed[0] + printed[1] - 1)[beyond].max())
    gap = float(np.abs(q[0] / v - p).max())
    sides = [slope(1.0, C, step) for step in (-1e-6, 1e-6)]
    origin = {c: slope(0.0, c, 1e-6) / c for c in (0.5, 1.0, 2.0, 4.0)}
    figures = [
        Statement(
            "Sum of both unnormalised probabilities",
            "at most one, and one only where |theta| = 1",
            f"largest beyond 0.01 from the kinks {v[away].max():.4f}; at the kinks 1 + {np.abs(at_one - 1).max():.0e}",
            bool(v.max() <= 1 + ROUNDING and v[away].max() < 1 and np.abs(at_one - 1).max() < ROUNDING),
        ),
        Statement(
            "Normalised probabilities are Q / v",
            "a sigmoid in theta, (10)",
            f"largest difference {gap:.0e}, increasing everywhere: {bool((np.diff(p) > 0).all())}",
            bool(gap < ROUNDING and (np.diff(p) > 0).all()),
        ),
        Statement(
            "Slope of P at theta = 1",
            "changes there",
            f"{sides[0]:.5f} inside, {sides[1]:.5f} outside: a factor of {sides[0] / sides[1]:.3f}",
            bool(abs(sides[0] / sides[1] - 2) < 1e-3),
        ),
        Statement(
            "Slope of P at the origin",
            "proportional to C",
            "slope / C for C = 0.5, 1, 2, 4: " + ", ".join(f"{value:.4f}" for value in origin.values()),
            bool(np.ptp(list(origin.values())) < 1e-4),
        ),
        Statement(
            "Equation (11) as printed, both labels together beyond the gap",
            "normalised",
            f"the sum differs from one by up to {excess:.3f}; with the label before the whole bracket it is one",
            excess < ROUNDING,
            why="a misprint: the label must multiply sgn(theta), too; (10) has it right, and so has Hinge",
        ),
        Number("C above which v is smallest in the gap", brentq(surplus_in_the_gap, 0.1, 2), np.log(2), rounding=1e-9),
    ]
    return Findings(figures, draw(theta, q, p), seed="none", conditions={"C": C, "grid": len(theta)})


def draw(theta: np.ndarray, q: np.ndarray, p: np.ndarray) -> Figure:
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    left.plot(theta, q[0], label="$Q(y = 1)$")
    left.plot(theta, q[1], "--", label="$Q(y = -1)$")
    left.plot(theta, q.sum(axis=0), "k", linewidth=1, label=r"$\nu(\theta)$, their sum")
    right.plot(theta, p, label="$P(y = 1)$")
    right.plot(theta, 1 - p, "--", label="$P(y = -1)$")
    for axis, title in ((left, "unnormalised"), (right, "normalised")):
        for kink in (-1, 1):
            axis.axvline(kink, color="0.7", linestyle=":", linewidth=1)
        axis.set(xlabel=r"$\theta$", title=title)
        axis.legend(fontsize=8)
    return figure
