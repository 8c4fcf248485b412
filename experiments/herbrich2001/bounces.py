"""Table 1, a closer look: how long the paper's billiard has to run.

The kernel billiard as printed, stopped after so many bounces, on the four sets of Table 1 on which the exact Bayes
point errs less than the paper's machine. The paper's runs stopped by a tolerance, after about 1,000 bounces with 400
rows; the exact billiard needs no such rule. Ten divisions as in Table 1; errors are less those of the Bayes point by
expectation propagation on the same divisions.
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Problem, Step, readouts
from bayespoint.engines import EP, ClassicBilliard
from bayespoint.exceptions import InferenceWarning
from findings import Findings, Number, Statement
from herbrich2001.table1 import PAPER, division
from sizes import Size

DATA = ("banana", "diabetis", "waveform", "ionosphere")
MINUTES = 4
BOUNCES = (300, 1000, 3000, 10_000, 30_000)
EXACT = {"banana": 13.58, "diabetis": 30.66, "waveform": 11.81, "ionosphere": 10.44}  # by EP over 100 divisions


def errors(name: str, index: int, bounces: tuple[int, ...]) -> list[float]:
    """Test errors in percent after so many bounces, less that of the exact Bayes point."""
    warnings.simplefilter("ignore", InferenceWarning)  # that the ball was stopped early is the point
    split, kernel = division(name, index), RBF(PAPER[name][0], "fixed")
    problem = Problem(kernel(split.X_train), split.y_train, Step())
    cross = kernel(split.X_test, split.X_train)

    def error(posterior) -> float:
        return 100 * float(np.mean(np.sign(cross @ readouts.bayes_point(posterior)) != split.y_test))

    exact = error(EP().infer(problem))
    return [error(ClassicBilliard(1e-12, max_bounces=b).infer(problem, index)) - exact for b in bounces]


def run(size: Size) -> Findings:
    names, bounces = size.pick(DATA, DATA[-1:]), size.pick(BOUNCES, BOUNCES[:2])
    divisions = size.pick(10, 3)
    found = size.map(errors, [(name, k, bounces) for name in names for k in range(divisions)])
    table = dict(zip(names, np.reshape(found, (len(names), divisions, len(bounces))), strict=True))
    figures: list[Number | Statement] = []
    for name, rows in table.items():
        mean, se = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(divisions)
        paper = PAPER[name][3] - EXACT[name]
        figures.append(
            Statement(
                f"{name}: error beyond the exact Bayes point",
                f"{paper:.1f} points (Table 1, billiard of the paper)",
                ", ".join(f"{m:.2f} ({s:.2f}) after {b:,}" for m, s, b in zip(mean, se, bounces, strict=True)),
                bool(mean[0] + 2 * se[0] > paper > mean[-1] - 2 * se[-1]),
            )
        )
    return Findings(
        figures,
        draw(table, bounces),
        seed="division k: generator [20010101, k]; ball k",
        conditions={"divisions": divisions, "bounces": bounces},
    )


def draw(table: dict[str, np.ndarray], bounces: tuple[int, ...]) -> Figure:
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axis = figure.subplots()
    for k, (name, rows) in enumerate(table.items()):
        se = rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
        axis.errorbar(bounces, rows.mean(axis=0), se, marker="o", ms=4, capsize=2, color=f"C{k}", label=name)
        axis.axhline(PAPER[name][3] - EXACT[name], color=f"C{k}", linestyle=":", linewidth=1)
    axis.axhline(0, color="0.5", linewidth=1)
    axis.set(xscale="log", xlabel="bounces of the paper's billiard", ylabel="error beyond the exact Bayes point, %")
    axis.legend(title="dotted: the paper", title_fontsize=8)
    return figure
