"""Table 1, a closer look: the paper's own billiard.

Algorithm 2 as printed on the divisions of Table 1: directions by random coefficients, a start at the support vector
machine or at a perceptron, and a stop after so many bounces (the paper: about 1,000 with 400 rows). The exact Bayes
point is that of expectation propagation on the same divisions. 30 divisions to 1,000 bounces, 5 beyond.
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

DATA = ("heart", "thyroid", "diabetis", "waveform", "banana", "sonar", "ionosphere")
MINUTES = 5
LONG = ("diabetis", "waveform", "banana", "ionosphere")
STARTS = {"svm": "SVM", "perceptron": "perceptron"}
EARLY = (("svm", 300), ("svm", 1000), ("perceptron", 300), ("perceptron", 1000))
LATE = (("svm", 3000), ("svm", 10_000))
PRINTED = ("svm", 1000)  # bounces, about, of the paper with 400 rows
TOL = 1e-4  # about, of the paper


def errors(name: str, index: int, runs: tuple[tuple[str, int], ...]) -> list[float]:
    """Test errors in percent by expectation propagation, then of each start and number of bounces; rho_2 of each."""
    warnings.simplefilter("ignore", InferenceWarning)  # that the ball was stopped early is the point
    split, kernel = division(name, index), RBF(PAPER[name][0], "fixed")
    problem = Problem(kernel(split.X_train), split.y_train, Step(), check=False)
    cross = kernel(split.X_test, split.X_train)

    def error(posterior) -> float:
        return 100 * float(np.mean(np.sign(cross @ readouts.bayes_point(posterior)) != split.y_test))

    stopped = [ClassicBilliard(1e-12, max_bounces=b, start=start).infer(problem, index) for start, b in runs]
    return [error(EP().infer(problem)), *map(error, stopped), *(one.info["rho_2"] for one in stopped)]


def mean_se(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def run(size: Size) -> Findings:
    names = size.pick(DATA, DATA[-1:])
    many, few = size.pick(30, 3), size.pick(5, 2)
    found = size.map(errors, [(name, k, EARLY) for name in names for k in range(many)])
    early = dict(zip(names, np.reshape(found, (len(names), many, -1)), strict=True))
    long = size.pick(LONG, LONG[-1:])
    found = size.map(errors, [(name, k, LATE) for name in long for k in range(few)])
    late = dict(zip(long, np.reshape(found, (len(long), few, -1)), strict=True))
    figures: list[Number | Statement] = []
    for name in names:
        figures += of_set(name, early[name])
    for name, rows in late.items():
        beyond = rows[:, 1 : 1 + len(LATE)] - rows[:, :1]
        for (_, bounces), values in zip(LATE, beyond.T, strict=True):
            mean, se = mean_se(values)
            figures.append(
                Number(f"{name}, points beyond the exact Bayes point after {bounces:,} bounces", mean, se=se)
            )
    rhos = np.concatenate([rows[:, 1 + len(EARLY) + EARLY.index(PRINTED)] for rows in early.values()])
    figures.append(
        Statement(
            f"rho_2 after {PRINTED[1]:,} bounces",
            f"below TOL, about {TOL:g}",
            f"{np.quantile(rhos, 0.05):.3f} to {np.quantile(rhos, 0.95):.3f} (5 to 95 % of all runs)",
            bool(np.median(rhos) <= TOL),
            "rho_2(p_min, mu) with p_min = 0, which it is after the first segment, is 1 - mu^2: it falls as two over "
            "the number of segments of the greatest length, so that 1e-4 takes 20,000 of these. TOL and the number of "
            "bounces cannot both be as printed.",
        )
    )
    return Findings(
        figures,
        draw(early),
        seed="division k: generator [20010101, k]; ball k",
        conditions={"divisions": many, "divisions beyond 1,000 bounces": few, "starts and bounces": [*EARLY, *LATE]},
        details={
            "early": {n: rows.tolist() for n, rows in early.items()},
            "late": {n: r.tolist() for n, r in late.items()},
        },
    )


def of_set(name: str, rows: np.ndarray) -> list[Number | Statement]:
    """The paper's error beside that of its own billiard, by where it starts and how long it flies."""
    paper, paper_se = PAPER[name][3:5]
    figures: list[Number | Statement] = []
    for k, (start, bounces) in enumerate(EARLY):
        mean, se = mean_se(rows[:, 1 + k])
        what = f"{name}, error in % after {bounces:,} bounces from the {STARTS[start]}"
        if (start, bounces) == PRINTED:
            figures.append(Number(what, mean, paper, se, paper_se, "lower", 0.05))
        else:
            figures.append(Number(what, mean, se=se))
    mean, se = mean_se(rows[:, 0])
    figures.append(Number(f"{name}, error in % of the exact Bayes point", mean, se=se))
    return figures


def draw(table: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(8, 3.8), layout="constrained")
    axis, across = figure.subplots(), np.arange(len(table))
    labels = ["exact Bayes point", *(f"{bounces:,} from the {STARTS[start]}" for start, bounces in EARLY)]
    for k, label in enumerate(labels):
        mean, se = zip(*(mean_se(rows[:, k]) for rows in table.values()), strict=True)
        axis.errorbar(across + 0.13 * (k - 2), mean, se, fmt="o", ms=4, capsize=2, label=label)
    axis.plot(across, [PAPER[name][3] for name in table], "k_", ms=26, label="paper")
    axis.set_xticks(across, table)
    axis.set(ylabel="test error in %", ylim=(0, None))
    axis.legend(fontsize=8, ncols=2)
    return figure
