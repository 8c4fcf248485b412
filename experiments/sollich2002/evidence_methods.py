"""Five ways to the naive evidence (27) of the toy: bias, scatter and processor time, against a long run.

Laplace (32) and expectation propagation, with and without its second-order correction, have a bias; draws and the
paper's chaining have a scatter. That of chaining is measured over repeats, as links that have not mixed make its own
standard error too small. The time to reach 0.05 nat grows with the square of the scatter. Data from the joint model;
the Ornstein-Uhlenbeck kernel, on the same data, makes rows that hold less of each other.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from matplotlib.figure import Figure

from bayespoint import Hinge, Problem
from bayespoint.evidence import log_evidence
from bayespoint.evidence.svm import svm_log_evidence
from bayespoint.exceptions import InferenceWarning
from findings import Findings, Number, Statement
from sizes import Size
from sollich2002 import toy

MINUTES = 3.5
GOAL = 0.05
METHODS = ("laplace", "ep", "corrected", "sampled", "chaining")
CASES = {"RBF, n = 50": (50, 5), "RBF, n = 200": (200, 2), "Ornstein-Uhlenbeck, n = 50": (50, 5)}  # rows, data sets
SWEEPS = {50: 1000, 200: 500}  # of each link of the chain
LONG = {50: 0.01, 200: 0.02}  # standard error of the reference
COLUMNS = ("bias", "rms", "own standard error", "seconds")


def problem(case: str, seed: int) -> Problem:
    data = toy.draw(CASES[case][0], seed)
    if case.startswith("RBF"):
        return toy.problem(data)
    return Problem(
        toy.AMPLITUDE * np.exp(-np.abs(np.subtract.outer(data.x, data.x)) / toy.LENGTH), data.y, Hinge(toy.C)
    )


def measure(here: Problem, method: str, truth: float, repeats: int, options: dict[str, float]) -> list[float]:
    """Bias, root mean square error, own standard error and processor time of one evidence."""
    values, errors, times = [], [], []
    for seed in range(repeats):
        start = time.process_time()
        found = svm_log_evidence(here, seed, "naive", method, **options)
        times.append(time.process_time() - start)
        values.append(found.value - truth)
        errors.append(found.se or 0.0)
    return [
        float(np.mean(values)),
        float(np.sqrt(np.mean(np.square(values)))),
        float(np.mean(errors)),
        float(np.median(times)),
    ]


def compare(case: str, seed: int, repeats: int, quick: bool) -> np.ndarray:
    """All methods on one data set."""
    here, n = problem(case, seed), CASES[case][0]
    effort = {"sampled": {"se": GOAL, "max_draws": 1_000_000}, "chaining": {"sweeps": 50 if quick else SWEEPS[n]}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        for method in METHODS:  # compile and cache before the clock runs
            svm_log_evidence(here, 0, "naive", method, sweeps=10, se=1.0)
        truth = log_evidence(here, 2002, se=0.05 if quick else LONG[n], max_draws=3_000_000).value
        return np.array([measure(here, m, truth, repeats if m in effort else 3, effort.get(m, {})) for m in METHODS])


def time_to_goal(rows: np.ndarray, method: str) -> float:
    """Mean over data sets of the seconds until the scatter is down to the goal."""
    k = METHODS.index(method)
    return float(np.mean(rows[:, k, 3] * np.maximum(1.0, rows[:, k, 1] / GOAL) ** 2))


def run(size: Size) -> Findings:
    cases = size.pick(list(CASES), ["RBF, n = 50"])
    repeats = size.pick(6, 2)
    tasks = [(case, seed, repeats, size.quick) for case in cases for seed in range(size.pick(CASES[case][1], 1))]
    found = size.map(compare, tasks)
    table = {case: np.array([row for task, row in zip(tasks, found, strict=True) if task[0] == case]) for case in cases}
    figures: list[Number | Statement] = []
    for case, rows in table.items():
        bias = dict(zip(METHODS, rows[:, :, 0].mean(axis=0), strict=True))
        rms = dict(zip(METHODS, np.sqrt(np.mean(rows[:, :, 1] ** 2, axis=0)), strict=True))
        factor = time_to_goal(rows, "chaining") / time_to_goal(rows, "sampled")
        figures += [
            Statement(
                f"Laplace (32) against draws, {case}",
                "other absolute values than by Monte Carlo",
                f"off by {bias['laplace']:+.1f} nats; EP {bias['ep']:+.2f}, corrected {bias['corrected']:+.2f}",
                bool(abs(bias["laplace"]) > 10 * rms["sampled"]),
            ),
            Number(f"Error of one chaining in nats, {case}", rms["chaining"]),
            Number(f"Error of draws in nats, asked for {GOAL}, {case}", rms["sampled"]),
            Number(f"Time of chaining over that of draws for an error of {GOAL} nat, {case}", factor),
        ]
    return Findings(
        figures,
        draw(table),
        seed="data [2002, n, k]; methods 0 to 5; reference 2002",
        conditions={"repeats": repeats, "sweeps": SWEEPS, "standard error of the reference": LONG, "data sets": CASES},
        details={
            "columns": COLUMNS,
            "means": {c: dict(zip(METHODS, r.mean(axis=0), strict=True)) for c, r in table.items()},
        },
    )


def draw(table: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axis = figure.subplots()
    for (case, rows), mark in zip(table.items(), "osv", strict=False):
        for k in range(len(METHODS)):
            label = case if k == 0 else None
            axis.loglog(rows[:, k, 3].mean(), np.sqrt(np.mean(rows[:, k, 1] ** 2)), mark, color=f"C{k}", label=label)
    for k, method in enumerate(METHODS):
        axis.plot([], [], "-", color=f"C{k}", linewidth=5, label=method)
    axis.axhline(GOAL, color="0.6", linestyle=":")
    axis.set(xlabel="processor seconds an evidence", ylabel="root mean square error in nats")
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
