"""Table 1, a closer look: how long the paper's billiard has to run.

The kernel billiard as printed, stopped after so many bounces, on the four sets of Table 1 on which the exact Bayes
point errs less than the paper's machine. The paper's runs stopped by a tolerance, after about 1,000 bounces with 400
rows (banana, waveform); the exact billiard needs no such rule. Ten divisions as in Table 1; the exact Bayes point is
that of expectation propagation on the same divisions.
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
MINUTES = 1.2
REASONS = {
    "ionosphere*": "210 rows with a narrow kernel: version space is not elongated, and 300 bounces do. So stopping is "
    "not why the paper's figure for ionosphere is higher than ours."
}
BOUNCES = (300, 1000, 3000, 10_000, 30_000)
STOPPED = 1000  # bounces, about, after which the paper's tolerance stopped with 400 rows


def errors(name: str, index: int, bounces: tuple[int, ...]) -> list[float]:
    """Test errors in percent by expectation propagation, and after so many bounces."""
    warnings.simplefilter("ignore", InferenceWarning)  # that the ball was stopped early is the point
    split, kernel = division(name, index), RBF(PAPER[name][0], "fixed")
    problem = Problem(kernel(split.X_train), split.y_train, Step())
    cross = kernel(split.X_test, split.X_train)

    def error(posterior) -> float:
        return 100 * float(np.mean(np.sign(cross @ readouts.bayes_point(posterior)) != split.y_test))

    exact = error(EP().infer(problem))
    return [exact, *(error(ClassicBilliard(1e-12, max_bounces=b).infer(problem, index)) for b in bounces)]


def run(size: Size) -> Findings:
    names, bounces = size.pick(DATA, DATA[-1:]), size.pick(BOUNCES, BOUNCES[:2])
    divisions = size.pick(10, 3)
    found = size.map(errors, [(name, k, bounces) for name in names for k in range(divisions)])
    table = dict(zip(names, np.reshape(found, (len(names), divisions, 1 + len(bounces))), strict=True))
    figures: list[Number | Statement] = []
    for name, rows in table.items():
        beyond = rows[:, 1:] - rows[:, :1]
        mean, se = beyond.mean(axis=0), beyond.std(axis=0, ddof=1) / np.sqrt(divisions)
        at = bounces.index(STOPPED)
        figures.append(
            Statement(
                f"{name}: error beyond that of the exact Bayes point, in points",
                f"(a check of ours) {STOPPED:,} bounces are too few",
                ", ".join(f"{m:.2f} ({s:.2f}) after {b:,}" for m, s, b in zip(mean, se, bounces, strict=True)),
                bool(mean[at] > 2 * se[at]),
            )
        )
        error = rows[:, 1 + at]
        what = f"{name}, error in % after {STOPPED:,} bounces"
        figures.append(Number(what, error.mean(), se=error.std(ddof=1) / np.sqrt(divisions)))
    return Findings(
        figures,
        draw(table, bounces),
        seed="division k: generator [20010101, k]; ball k",
        conditions={"divisions": divisions, "bounces": bounces},
        details={name: rows.tolist() for name, rows in table.items()},
    )


def draw(table: dict[str, np.ndarray], bounces: tuple[int, ...]) -> Figure:
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axis = figure.subplots()
    for k, (name, rows) in enumerate(table.items()):
        beyond = rows[:, 1:] - rows[:, :1]
        se = beyond.std(axis=0, ddof=1) / np.sqrt(len(rows))
        axis.errorbar(bounces, beyond.mean(axis=0), se, marker="o", ms=4, capsize=2, color=f"C{k}", label=name)
    axis.axhline(0, color="0.5", linewidth=1)
    axis.set(xscale="log", xlabel="bounces of the paper's billiard", ylabel="error beyond the exact Bayes point, %")
    axis.legend()
    return figure
