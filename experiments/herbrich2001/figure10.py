"""Figure 10: the 25 images of USPS that most of the 100 perceptrons use.

Kernel (<x, x'> + 1)^5 on images of unit length, ten permutations for each class. Below each image stand the number of
classifiers in which it has a weight, and its class. The picture here shows the counts; the images themselves are drawn
beside it, in a file with "images" in its name. Counts are means of five runs; the paper's are those of one, so the
standard error beside them is the scatter of one run of ours.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import DotProduct

from bayespoint.engines import Perceptrons
from bayespoint.grams import KernelRows
from datasets import Split, load_arrays
from digits import classifiers, totals, unit_images
from findings import Findings, Number, Statement
from sizes import Size

DATA = ("usps",)
MINUTES = 0.3
PAPER = [39, 33, 32, 31, 31, 31, 31, 30, 30, 29, 29, 28, 28, 28, 28, 27, 27, 27, 27, 27, 27, 26, 26, 26, 26]


def run(size: Size) -> Findings:
    split, seeds = unit_images("usps"), size.pick(5, 1)
    permutations = size.pick(10, 3)
    counts, rows = [], KernelRows(DotProduct(1.0, "fixed") ** 5, split.X_train)
    for seed in range(seeds):
        posteriors = classifiers(rows, split.y_train, Perceptrons(permutations=permutations), seed)
        uses = np.zeros(len(split.y_train), dtype=int)
        for posterior in posteriors:
            uses[posterior.support] += (posterior.weights != 0).sum(axis=0)
        counts.append(uses)
    most = np.argsort(-counts[0], kind="stable")[:25]
    top = np.sort(counts, axis=1)[:, ::-1][:, :25] * (10 / permutations)
    hard, all_of_them = share_near_others(split, most), share_near_others(split, np.arange(0, len(counts[0]), 10))
    figures = [
        compared("mean count of the 25 most used", top.mean(axis=1), float(np.mean(PAPER))),
        compared("count of the most used", top[:, 0], PAPER[0]),
        compared("count of the 25th", top[:, -1], PAPER[-1]),
        Statement(
            "the most used images",
            "hard to classify",
            f"{100 * hard:.0f} % of the 25 are nearest to an image of another class, {100 * all_of_them:.1f} % of all",
            bool(hard - all_of_them > 2 * np.sqrt(hard * (1 - hard) / 25 + all_of_them * (1 - all_of_them) / 729)),
        ),
    ]
    return Findings(
        figures,
        draw(top),
        seed=f"0 to {seeds - 1}",
        conditions={"permutations": permutations, "images": "of unit length"},
        details={
            "rows": most.tolist(),
            "classes": split.y_train[most].tolist(),
            "counts": counts[0][most].tolist(),
            **totals(posteriors),
        },
        extra={"images": draw_images(most, counts[0][most], split.y_train[most])},
    )


def share_near_others(split: Split, rows: np.ndarray) -> float:
    """Share of training images whose nearest neighbour among the others is of another class."""
    likeness = split.X_train[rows] @ split.X_train.T
    likeness[np.arange(len(rows)), rows] = -np.inf
    return float(np.mean(split.y_train[likeness.argmax(axis=1)] != split.y_train[rows]))


def compared(what: str, by_run: np.ndarray, paper: float) -> Number:
    """Mean over runs; the paper's is one run, so it carries the spread of one."""
    spread = by_run.std(ddof=1) if len(by_run) > 1 else 0.0
    return Number(what, by_run.mean(), paper, spread / np.sqrt(len(by_run)), spread, rounding=0.5)


def draw(top: np.ndarray) -> Figure:
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axis, across = figure.subplots(), np.arange(1, 26)
    axis.bar(across, top.mean(axis=0), color="C0", label="ours, mean of runs")
    axis.plot(across, PAPER, "ko", ms=4, label="paper")
    axis.set(xlabel="image, by rank", ylabel="classifiers that use it")
    axis.legend()
    return figure


def draw_images(rows: np.ndarray, counts: np.ndarray, labels: np.ndarray) -> Figure:
    figure = Figure(figsize=(6, 7), layout="constrained")
    pictures = load_arrays("usps")["X_train"]
    for axis, row, count, label in zip(figure.subplots(5, 5).flat, rows, counts, labels, strict=True):
        axis.imshow(pictures[row].reshape(16, 16), cmap="gray_r", vmin=-1, vmax=1)
        axis.set(xticks=[], yticks=[])
        axis.set_xlabel(f"{count}/{label}")
    return figure
