"""Soft boundaries and quadratic slack on one Gram matrix: Figure 8 of "Bayes Point Machines", Figure 6 of TR 99-11."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Problem, Step, readouts
from bayespoint.engines import EP
from bayespoint.engines.svm import hard_margin
from datasets import random_split
from findings import Findings, Number, Statement
from herbrich2001 import toy
from sizes import Size

MACHINES = ("SVM", "BPM")
TOY = np.linspace(0, 4, 9)
LIMIT = 400.0  # softness that stands for no end of it


def on_toy(seed: int) -> list[list[float]]:
    """Errors in percent by softness: support vector machine, Bayes point."""
    data = toy.draw(seed)
    found = [
        [data.error(toy.support_vector_machine(data.X, data.y, s)), data.error(toy.bayes_point(data, s))] for s in TOY
    ]
    limit = Problem(data.X @ data.X.T, data.y, Step(softness=LIMIT))
    point = readouts.bayes_point(EP().infer(limit)) @ data.X  # draws would be next to all noise of the boundary
    return [*found, [data.error(toy.support_vector_machine(data.X, data.y, LIMIT)), data.error(point)]]


def on_set(name: str, sigma: float, softness: tuple[float, ...], index: int) -> list[list[float]]:
    """The same on one random division 60:40 of a data set."""
    split, kernel = random_split(name, 0.6, index), RBF(sigma, "fixed")
    gram, cross = kernel(split.X_train), kernel(split.X_test, split.X_train)
    y, found = split.y_train.astype(float), []
    for s in (*softness, LIMIT):
        problem = Problem(gram, y, Step(softness=s), check=False)
        svm, bpm = y * hard_margin(problem).alpha, readouts.bayes_point(EP().infer(problem))
        found.append([100 * float(np.mean(np.sign(cross @ a) != split.y_test)) for a in (svm, bpm)])
    return found


def curves(size: Size, name: str, sigma: float, softness: tuple[float, ...]) -> dict[str, tuple[Any, np.ndarray]]:
    """For the toy and the data set: softness, and errors of shape (repeat, softness and the limit, machine)."""
    softness = size.pick(softness, softness[::4])
    first = size.map(on_toy, [(seed,) for seed in range(size.pick(200, 10))])
    second = size.map(on_set, [(name, sigma, softness, k) for k in range(size.pick(100, 3))])
    return {"toy": (TOY, np.array(first)), name: (softness, np.array(second))}


def figures(found: dict[str, tuple[Any, np.ndarray]]) -> list[Number | Statement]:
    rows: list[Number | Statement] = []
    for name, (softness, errors) in found.items():
        plotted, count = errors[:, :-1], len(errors)
        mean = plotted.mean(axis=0)
        best = mean.argmin(axis=0)
        gap = plotted[:, best[0], 0] - plotted[:, best[1], 1]
        se = gap.std(ddof=1) / np.sqrt(count)
        at = {machine: (mean[b, k], softness[b]) for k, (machine, b) in enumerate(zip(MACHINES, best, strict=True))}
        text = ", ".join(f"{machine} {error:.2f} % at {s:g}" for machine, (error, s) in at.items())
        rows.append(
            Statement(
                f"{name}: least errors over lambda",
                "the SVM comes within reach of the BPM (here: a tenth of its error) and not below it",
                f"{text}; difference {gap.mean():.2f} (se {se:.2f})",
                bool(-2 * se <= gap.mean() <= 0.1 * mean[best[1], 1] + 2 * se),
            )
        )
        apart = errors[:, :, 0] - errors[:, :, 1]
        ends = [(apart[:, k].mean(), apart[:, k].std(ddof=1) / np.sqrt(count)) for k in (0, -2, -1)]
        closer = np.sign(ends[0][0]) * apart[:, 0] - np.sign(ends[-1][0]) * apart[:, -1]  # of distances, set by set
        rows.append(
            Statement(
                f"{name}: SVM less BPM, points of error",
                "the SVM tends to the BPM as lambda goes to infinity",
                "; ".join(
                    f"{gap:.2f} (se {se:.2f}) at lambda = {s:g}"
                    for (gap, se), s in zip(ends, (0, softness[-1], LIMIT), strict=True)
                ),
                bool(closer.mean() > 2 * closer.std(ddof=1) / np.sqrt(count)),
            )
        )
    return rows


def draw(found: dict[str, tuple[Any, np.ndarray]]) -> Figure:
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    for axis, (name, (softness, errors)) in zip(figure.subplots(1, 2), found.items(), strict=True):
        mean, se = errors[:, :-1].mean(axis=0), errors[:, :-1].std(axis=0, ddof=1) / np.sqrt(len(errors))
        for k, machine in enumerate(MACHINES):
            axis.errorbar(softness, mean[:, k], se[:, k], marker="o", ms=3, capsize=2, label=machine)
        axis.set(title=name, xlabel=r"$\lambda$", ylabel="test error in %")
        axis.legend()
    return figure


def compare(size: Size, name: str, sigma: float, softness: tuple[float, ...]) -> Findings:
    """All of it, for the toy and one data set."""
    found = curves(size, name, sigma, softness)
    return Findings(
        figures(found),
        draw(found),
        seed="toy k: generator [2001, k]; division k: generator [20010101, k]",
        conditions={"sigma": sigma, "repeats": {one: len(errors) for one, (_, errors) in found.items()}},
        details={one: {"lambda": [*s, LIMIT], "mean": errors.mean(axis=0)} for one, (s, errors) in found.items()},
    )
