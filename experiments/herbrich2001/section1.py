"""Section 1: learning from a teacher, errors of 0.44 / zeta, 0.50 / zeta and 0.24 / sqrt(zeta).

Gaussian inputs in N dimensions, labels of a random plane through the origin, zeta N training rows, linear kernel
without bias. The laws are those of the Bayes point, of the support vector machine and of Adaline, which is least
squares on the labels. The error is the angle to the teacher over pi. The laws hold for large N and large zeta; the
table has zeta or its root times the error, whose limits they are. The Bayes point is the mean of exact draws.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayespoint import Problem, Step
from bayespoint.engines import Billiard
from bayespoint.engines.svm import hard_margin
from bayespoint.grams import LowRank
from findings import Findings, Number, Statement
from sizes import Size

MINUTES = 2
DIMENSION = 50
ZETAS = (2, 5, 10, 20)
LAWS = {"Bayes point": 0.44, "SVM": 0.50, "Adaline": 0.24}
POWERS = {"Bayes point": 1.0, "SVM": 1.0, "Adaline": 0.5}  # of zeta


def angle(weights: np.ndarray, teacher: np.ndarray) -> float:
    """Over pi: the share of inputs on which two planes disagree."""
    return float(np.arccos(weights @ teacher / np.linalg.norm(weights) / np.linalg.norm(teacher)) / np.pi)


def errors(zeta: float, dimension: int, repeat: int) -> list[float]:
    """Of the three machines, times zeta or its root."""
    rng = np.random.default_rng([2001, int(10 * zeta), dimension, repeat])
    teacher, X = rng.normal(size=dimension), rng.normal(size=(round(zeta * dimension), dimension))
    y = np.sign(X @ teacher)
    problem = Problem(LowRank(X), y, Step())
    draws = Billiard(draws=300, chains=2).infer(problem, repeat)
    adaline = np.linalg.lstsq(X, y, rcond=None)[0]
    planes = draws.mean_weights, (y * hard_margin(problem).alpha) @ X, adaline
    return [zeta**power * angle(weights, teacher) for weights, power in zip(planes, POWERS.values(), strict=True)]


def run(size: Size) -> Findings:
    repeats = size.pick({2: 40, 5: 40, 10: 30, 20: 20}, {2: 3, 5: 3})
    found = {}
    for zeta, count in repeats.items():
        found[zeta] = np.array(size.map(errors, [(zeta, DIMENSION, k) for k in range(count)]))
    largest = max(found)
    figures = []
    for k, (machine, law) in enumerate(LAWS.items()):
        for zeta, rows in found.items():
            paper = law if zeta == largest else None
            se = rows[:, k].std(ddof=1) / np.sqrt(len(rows))
            what = f"{machine}: {'zeta' if POWERS[machine] == 1 else 'root of zeta'} x error at zeta = {zeta}"
            figures.append(Number(what, rows[:, k].mean(), paper, se, rounding=0.005))
    gap = found[largest][:, 1] - found[largest][:, 0]
    figures.append(
        Statement(
            f"SVM less Bayes point at zeta = {largest}",
            "0.06: the Bayes point scales better",
            f"{gap.mean():.3f} (se {gap.std(ddof=1) / np.sqrt(len(gap)):.3f})",
            bool(gap.mean() > 2 * gap.std(ddof=1) / np.sqrt(len(gap))),
        )
    )
    return Findings(
        figures,
        draw(found),
        seed="generator [2001, 10 zeta, N, repeat]",
        conditions={"N": DIMENSION, "repeats": repeats, "billiard": "2 chains of 300 draws"},
    )


def draw(found: dict[int, np.ndarray]) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axis = figure.subplots()
    for k, (machine, law) in enumerate(LAWS.items()):
        mean = [rows[:, k].mean() for rows in found.values()]
        se = [rows[:, k].std(ddof=1) / np.sqrt(len(rows)) for rows in found.values()]
        line = axis.errorbar(list(found), mean, se, marker="o", ms=4, capsize=3, label=f"{machine}, N = {DIMENSION}")
        axis.axhline(law, color=line[0].get_color(), linestyle="--", linewidth=1, label=f"law {law:.2f}")
    axis.set(xlabel=r"$\zeta$, training rows a weight", ylabel=r"$\zeta$ or its root x error", xscale="log")
    axis.set_xticks(list(found), [f"{zeta:g}" for zeta in found])
    axis.set_xticks([], minor=True)
    axis.legend()
    return figure
