"""Table 1, a closer look: the paper's own billiard.

Algorithm 2 as printed on the divisions of Table 1: directions by random coefficients, a start at the support vector
machine or at a perceptron, and a stop after so many bounces (the paper: about 1,000 with 400 rows). The exact Bayes
point is that of expectation propagation on the same divisions. 100 divisions to 1,000 bounces, 10 beyond.
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
MINUTES = 8
BOUNCES = (300, 1000, 3000, 10_000, 30_000)
STOPPED = 1000  # bounces, about, of the paper with 400 rows
PRINTED = 1e-4  # TOL, about, of the paper


def errors(name: str, index: int, start: str, bounces: tuple[int, ...]) -> list[float]:
    """Test errors in percent by expectation propagation and after so many bounces; rho_2 after each."""
    warnings.simplefilter("ignore", InferenceWarning)  # that the ball was stopped early is the point
    split, kernel = division(name, index), RBF(PAPER[name][0], "fixed")
    problem = Problem(kernel(split.X_train), split.y_train, Step())
    cross = kernel(split.X_test, split.X_train)

    def error(posterior) -> float:
        return 100 * float(np.mean(np.sign(cross @ readouts.bayes_point(posterior)) != split.y_test))

    stopped = [ClassicBilliard(1e-12, max_bounces=b, start=start).infer(problem, index) for b in bounces]
    return [error(EP().infer(problem)), *map(error, stopped), *(one.info["rho_2"] for one in stopped)]


def mean_se(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def run(size: Size) -> Findings:
    names = size.pick(DATA, DATA[-1:])
    many, few = size.pick(100, 3), size.pick(10, 2)
    early, late = BOUNCES[:2], size.pick(BOUNCES, BOUNCES[:2])
    tables = {}
    for label, start, bounces, divisions in (
        ("svm", "svm", early, many),
        ("perceptron", "perceptron", early, many),
        ("long", "svm", late, few),
    ):
        found = size.map(errors, [(name, k, start, bounces) for name in names for k in range(divisions)])
        shape = (len(names), divisions, 1 + 2 * len(bounces))
        tables[label] = dict(zip(names, np.reshape(found, shape), strict=True))
    figures: list[Number | Statement] = []
    for name in names:
        figures += of_set(name, tables, early, late)
    rhos = np.concatenate([rows[:, -1] for rows in tables["svm"].values()])
    figures.append(
        Statement(
            f"rho_2 after {STOPPED:,} bounces",
            f"below TOL, about {PRINTED:g}",
            f"{np.quantile(rhos, 0.05):.3f} to {np.quantile(rhos, 0.95):.3f} (5 to 95 % of all runs)",
            bool(np.median(rhos) <= PRINTED),
            "rho_2(p_min, mu) with p_min = 0, which it is after the first segment, is 1 - mu^2: it falls as two over "
            "the number of segments of the greatest length, so that 1e-4 takes 20,000 of these. TOL and the number of "
            "bounces cannot both be as printed.",
        )
    )
    return Findings(
        figures,
        draw(tables["long"], late),
        seed="division k: generator [20010101, k]; ball k",
        conditions={"divisions": {"to 1,000 bounces": many, "beyond": few}, "bounces": late},
        details={label: {name: rows.tolist() for name, rows in table.items()} for label, table in tables.items()},
    )


def of_set(name: str, tables: dict[str, dict[str, np.ndarray]], early: tuple, late: tuple) -> list[Number | Statement]:
    """The paper's error beside that of its own billiard, by where it starts and how long it flies."""
    paper, paper_se = PAPER[name][3:5]
    rows: list[Number | Statement] = []
    for start in ("svm", "perceptron"):
        for k, bounces in enumerate(early):
            mean, se = mean_se(tables[start][name][:, 1 + k])
            what = f"{name}, error in % after {bounces:,} bounces from the {'SVM' if start == 'svm' else start}"
            is_printed = start == "svm" and bounces == STOPPED
            rows.append(
                Number(what, mean, paper if is_printed else None, se, paper_se if is_printed else 0.0, "lower", 0.05)
            )
    beyond = tables["long"][name][:, 1 : 1 + len(late)] - tables["long"][name][:, :1]
    ours = ", ".join("{:.2f} ({:.2f}) after {:,}".format(*mean_se(b), n) for b, n in zip(beyond.T, late, strict=True))
    at = tables["svm"][name]
    gap, se = mean_se(at[:, 1 + early.index(STOPPED)] - at[:, 0])
    rows.append(
        Statement(
            f"{name}: error beyond that of the exact Bayes point, in points",
            "(a check of ours) the billiard as printed errs no less than the exact Bayes point",
            f"{gap:.2f} ({se:.2f}) after {STOPPED:,}; on the first {len(beyond)} divisions {ours}",
            bool(gap > -2 * se),
        )
    )
    return rows


def draw(table: dict[str, np.ndarray], bounces: tuple[int, ...]) -> Figure:
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axis = figure.subplots()
    for k, (name, rows) in enumerate(table.items()):
        beyond = rows[:, 1 : 1 + len(bounces)] - rows[:, :1]
        se = beyond.std(axis=0, ddof=1) / np.sqrt(len(rows))
        axis.errorbar(bounces, beyond.mean(axis=0), se, marker="o", ms=4, capsize=2, color=f"C{k}", label=name)
    axis.axhline(0, color="0.5", linewidth=1)
    axis.set(xscale="log", xlabel="bounces of the paper's billiard", ylabel="error beyond the exact Bayes point, %")
    axis.legend()
    return figure
