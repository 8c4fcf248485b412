"""Section 3.2: mistakes of perceptrons against Novikoff's bound.

A perceptron makes at most (R / gamma)^2 mistakes, with R the longest row in feature space and gamma the margin (13) of
the support vector machine (14). Kernels and divisions of Table 1, 30 permutations on each of five divisions. The paper
expects the bound to be far below the number of rows wherever margins justify a support vector machine.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Problem, Step
from bayespoint.engines import Perceptrons
from bayespoint.engines.svm import geometric_margin, hard_margin
from findings import Findings, Number, Statement
from herbrich2001.table1 import PAPER, division
from sizes import Size

DATA = ("heart", "thyroid", "waveform", "sonar", "ionosphere")
MINUTES = 1
REASONS = {
    "bound below*": "with the kernels of Table 1 and a hard boundary margins are thin, and the bound is above the "
    "number of rows on all five sets, on sonar and ionosphere by little. Mistakes are at most half of the bound, and "
    "a third to two thirds of the rows have a weight."
}


def mistakes(name: str, index: int, permutations: int) -> list[float]:
    """Rows, Novikoff's bound, mean and most of the mistakes, mean number of rows with a weight."""
    split, kernel = division(name, index), RBF(PAPER[name][0], "fixed")
    problem = Problem(kernel(split.X_train), split.y_train, Step(), check=False)
    margin = geometric_margin(problem, problem.y * hard_margin(problem).alpha)
    bound = float(problem.diag.max()) / margin**2
    found = Perceptrons(permutations=permutations, max_epochs=100_000).infer(problem, index)
    count = found.info["mistakes"]
    return [problem.size, bound, float(count.mean()), float(count.max()), float((found.alpha != 0).sum(-1).mean())]


def run(size: Size) -> Findings:
    names, divisions = size.pick(DATA, ("thyroid", "ionosphere")), size.pick(5, 2)
    found = size.map(mistakes, [(name, k, size.pick(30, 5)) for name in names for k in range(divisions)])
    table = dict(zip(names, np.reshape(found, (len(names), divisions, 5)), strict=True))
    every = np.concatenate(list(table.values()))
    figures: list[Number | Statement] = [
        Statement(
            "mistakes of any perceptron",
            "at most Novikoff's bound",
            f"most over bound: {np.max(every[:, 3] / every[:, 1]):.2f} on the worst of {len(every)} divisions",
            bool(np.all(every[:, 3] <= every[:, 1])),
        ),
        Statement(
            "bound below the number of rows",
            "by far, where a support vector machine is justified",
            ", ".join(f"{name} {rows[:, 1].mean():.3g} ({rows[0, 0]:.0f} rows)" for name, rows in table.items()),
            bool(all(rows[:, 1].mean() < rows[0, 0] for rows in table.values())),
        ),
    ]
    for name, rows in table.items():
        se = rows[:, 2].std(ddof=1) / np.sqrt(divisions)
        figures.append(Number(f"{name}: mistakes of a perceptron", rows[:, 2].mean(), se=se))
        share = rows[:, 4] / rows[:, 0]
        figures.append(
            Number(f"{name}: share of rows with a weight", share.mean(), se=share.std(ddof=1) / divisions**0.5)
        )
    return Findings(
        figures,
        draw(table),
        seed="division k: generator [20010101, k]; permutations: k",
        conditions={"divisions": divisions, "permutations": size.pick(30, 5)},
        details={name: rows.tolist() for name, rows in table.items()},
    )


def draw(table: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axis = figure.subplots()
    for name, rows in table.items():
        axis.plot(rows[:, 1], rows[:, 2], "o", ms=4, label=name)
    ends = np.array(axis.get_xlim())
    axis.plot(ends, ends, "k--", linewidth=1, label="bound")
    axis.set(xscale="log", yscale="log", xlabel=r"$R^2 / \gamma^2$", ylabel="mistakes, mean over permutations")
    axis.legend(fontsize=8)
    return figure
