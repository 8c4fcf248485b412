"""Figure 9: class probabilities averaged over the posterior (33), at its mean (36), and at the SVM (37).

Hyper-parameters are the true ones, so that (33) by exact draws is what the others approximate. The picture is for the
data of figure 4; the figures are means over many data sets of the same model. Confidence is |p - 1/2|; the log loss
is its expectation under the true class probabilities for inputs spread evenly. The version of (33) by expectation
propagation is not in the paper.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from findings import Findings, Number, Statement
from sizes import Size
from sollich2002 import toy
from sollich2002.predictions import class_probabilities, probability

MINUTES = 2.4
FULL, EP, MEAN, SVM = METHODS = ("(33) draws", "(33) EP", "(36) mean", "(37) SVM")


def judge(seed: int, draws: int) -> np.ndarray:
    """Of each method on one data set: mean and largest distance from (33), confidence beyond it, log loss."""
    data = toy.draw(50, 2000 + seed)
    p, truth = class_probabilities(data, seed, draws), probability(data.target)
    rows = []
    for values in p.values():
        away = np.abs(values - p[FULL])
        beyond = np.abs(values - 0.5) - np.abs(p[FULL] - 0.5)
        loss = -truth * np.log(values) - (1 - truth) * np.log1p(-values)
        rows.append([away.mean(), away.max(), beyond.mean(), loss.mean()])
    return np.array(rows)


def run(size: Size) -> Findings:
    sets, draws = size.pick(60, 2), size.pick(2000, 200)
    table = np.array(size.map(judge, [(seed, draws) for seed in range(sets)]))
    away, _, beyond, loss = (dict(zip(METHODS, table[:, :, k].T, strict=True)) for k in range(4))

    def told(values: np.ndarray) -> str:
        return f"{values.mean():.4f} ({error(values):.4f})"

    def above(values: np.ndarray) -> bool:
        return bool(values.mean() > 2 * error(values))

    figures = [
        Statement(
            "Confidence beyond that of the full average",
            "the full average is the most moderate of the three",
            f"at the mean {told(beyond[MEAN])}, at the SVM {told(beyond[SVM])}",
            above(beyond[MEAN]) and above(beyond[SVM]),
        ),
        Statement(
            "Probabilities at the posterior mean",
            "too confident",
            f"confidence beyond (33) {told(beyond[MEAN])}; log loss beyond (33) {told(loss[MEAN] - loss[FULL])}",
            above(beyond[MEAN]) and above(loss[MEAN] - loss[FULL]),
        ),
        Statement(
            "Probabilities at the SVM against those at the mean: distance from the full average",
            "the SVM comes closer to the full average",
            f"SVM {told(away[SVM])}, mean {told(away[MEAN])}; difference {told(away[MEAN] - away[SVM])}",
            above(away[MEAN] - away[SVM]),
        ),
        Statement(
            "Confidence: the SVM makes up for part of what the mean has too much",
            "in part",
            f"mean beyond SVM {told(beyond[MEAN] - beyond[SVM])}, SVM beyond (33) {told(beyond[SVM])}",
            above(beyond[MEAN] - beyond[SVM]) and above(beyond[SVM]),
        ),
        *(Number(f"Log loss, {name}", loss[name].mean(), se=error(loss[name])) for name in METHODS),
        Number("Mean distance from (33) of its version by EP", away[EP].mean(), se=error(away[EP])),
    ]
    data = toy.clean_set()
    return Findings(
        figures,
        show(data, class_probabilities(data, 0, size.pick(4000, 200))),
        seed="data [2002, 50, 2000 + k]; draws k; picture toy_sets.json and 0",
        conditions={"data sets": sets, "rows": 50, "draws": 4 * draws, "inputs": len(toy.GRID)},
        details={
            "columns": ["mean |p - (33)|", "max |p - (33)|", "confidence beyond (33)", "log loss"],
            "means": dict(zip(METHODS, table.mean(axis=0), strict=True)),
        },
    )


def error(values: np.ndarray) -> float:
    """Standard error of the mean over data sets."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def show(data: toy.Data, p: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(9, 6), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    for axis, fold in ((top, lambda q: q), (bottom, lambda q: np.minimum(q, 1 - q))):
        axis.plot(toy.GRID, fold(probability(data.target)), color="black", label="truth")
        for (name, values), style in zip(p.items(), ("C0--", "C3:", "C1-.", "C2-"), strict=True):
            axis.plot(toy.GRID, fold(values), style, label=name, linewidth=1.3)
    top.plot(data.x, (data.y > 0) * 1.0, "|", color="0.4", markersize=9)
    top.set(ylabel="$P(y = 1)$")
    bottom.set(xlabel="$x$", ylabel="smaller of both probabilities", ylim=(0, 0.5))
    top.legend(fontsize=8, ncols=5, loc="center", bbox_to_anchor=(0.5, 1.08))
    return figure
