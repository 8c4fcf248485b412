"""Where the average log-evidence over data sets is largest: the argument of section 4, in figures.

A normalised evidence is on average largest at the truth (17), a naive one need not be (18). Data come from the joint
model (6), for which the joint and the conditional evidence are both normalised; the inputs are those that survived.
Slopes of the log-evidence are averages over draws, without a path. C moves at fixed C K0 = 2.5, the length scale at
the true C and K0. The joint evidence has the paper's proxy for its normaliser, or (ours) the true one for inputs
uniform on [0, 1], approximated by even inputs. The paper's figures are those of its one data set (figure 6); the
standard error beside them is the standard deviation of the place over data sets.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from findings import Findings, Number, Statement
from sizes import Size
from sollich2002 import toy

MINUTES = 6
VALUES = {"C": np.geomspace(1.0, 3.2, 5), "l": toy.LENGTH * np.geomspace(0.6, 2.4, 5)}
TRUTH = {"C": toy.C, "l": toy.LENGTH}
KINDS = {"naive": "naive", "conditional": "conditional", "joint, proxy": "joint"}
PAPER = {"naive": 1.2, "conditional": 1.9, "joint, proxy": 1.9}  # C along C K0 = 2.5
EVEN = toy.Data((np.arange(50) + 0.5) / 50, np.ones(50), toy.GRID)
AGAIN = 400  # data sets drawn again from those there are


def slopes(data: toy.Data, kind: str, seed: int, draws: int) -> np.ndarray:
    """Rows: slopes in log C at each C, slopes in log l at each l."""
    by_C = [toy.slopes(data, kind, C, toy.PRODUCT / C, toy.LENGTH, seed=seed, draws=draws)[0] for C in VALUES["C"]]
    by_l = [toy.slopes(data, kind, toy.C, toy.AMPLITUDE, s, seed=seed, draws=draws)[1] for s in VALUES["l"]]
    return np.array([by_C, by_l])


def of_one_set(seed: int, draws: int, step: int) -> np.ndarray:
    """Of each kind."""
    data = toy.draw(50, 1000 + seed).thinned(step)
    return np.array([slopes(data, kind, seed, draws) for kind in KINDS.values()])


def located(log_values: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """Where the mean slope over data sets is zero, and its standard error by drawing data sets again."""
    rng = np.random.default_rng(0)
    again = [toy.root(log_values, rows[rng.integers(len(rows), size=len(rows))].mean(axis=0)) for _ in range(AGAIN)]
    return toy.root(log_values, rows.mean(axis=0)), float(np.std(again))


def run(size: Size) -> Findings:
    sets, draws = size.pick(60, 2), size.pick(400, 20)
    parts = np.array(size.map(of_one_set, [(seed, draws, size.pick(1, 5)) for seed in range(sets)]))
    rows = {name: parts[:, k] for k, name in enumerate(KINDS)}
    naive, joint = size.map(
        slopes, [(EVEN.thinned(size.pick(1, 5)), kind, 0, size.pick(20, 1) * draws) for kind in ("naive", "joint")]
    )
    rows["joint, true N"] = rows["naive"] - (naive - joint)  # less the slope of log N
    places = {
        letter: {name: located(np.log(VALUES[letter]), figures[:, k]) for name, figures in rows.items()}
        for k, letter in enumerate(VALUES)
    }
    figures: list[Number | Statement] = []
    for name, (ours, se) in places["C"].items():
        spread = se * np.sqrt(sets)  # of one data set
        what = f"C of the largest average log-evidence, {name} (truth {toy.C:g})"
        figures.append(Number(what, ours, PAPER.get(name), se, spread if name in PAPER else 0.0))
    figures += [
        Number(f"l of the largest average log-evidence, {name} (truth {toy.LENGTH})", ours, se=se)
        for name, (ours, se) in places["l"].items()
    ]
    figures += [claim(letter, places[letter]) for letter in VALUES] + [low(places["C"]), near(places["l"])]
    return Findings(
        figures,
        draw(rows, places),
        seed="data [2002, 50, 1000 + k]; draws k; even inputs 0",
        conditions={"data sets": sets, "rows": 50, "draws": draws, "error": "bootstrap over data sets"},
        details={f"standard deviation over data sets, {letter}": spreads(places[letter], sets) for letter in VALUES},
    )


def spreads(found: dict[str, tuple[float, float]], sets: int) -> dict[str, float]:
    return {name: se * float(np.sqrt(sets)) for name, (_, se) in found.items()}


def claim(letter: str, found: dict[str, tuple[float, float]]) -> Statement:
    """The normalised evidences against the truth; the proxy is not normalised."""
    away = {
        name: (found[name][0] - TRUTH[letter]) / max(found[name][1], 1e-6) for name in ("conditional", "joint, true N")
    }
    return Statement(
        f"Normalised evidences: {letter} of the largest average",
        "at the truth",
        ", ".join(f"{name} {found[name][0]:.3g}, {z:+.1f} standard errors off" for name, z in away.items()),
        all(abs(z) < 2.5 for z in away.values()),
    )


def low(found: dict[str, tuple[float, float]]) -> Statement:
    ours, se = found["naive"]
    return Statement(
        "Naive evidence: C of the largest average",
        "in general not at the truth; too small",
        f"{ours:.2f} ({se:.2f}), {(toy.C - ours) / max(se, 1e-6):.1f} standard errors below {toy.C:g}",
        bool(toy.C - ours > 2.5 * se),
    )


def near(found: dict[str, tuple[float, float]]) -> Statement:
    ours, se = found["naive"]
    return Statement(
        "Naive evidence: length scale of the largest average",
        "close to the truth, so that normalising seems not to matter for it",
        f"{ours:.3f} ({se:.3f}), {ours / toy.LENGTH:.2f} times the truth; conditional {found['conditional'][0]:.3f}",
        bool(abs(ours - toy.LENGTH) < 2.5 * se),
        why="on average over data sets the naive evidence prefers too long a scale, probably since a smoother function "
        "has fewer values in the gap, where the unnormalised likelihood is low (not tested); the paper has one set",
    )


def draw(rows: dict[str, np.ndarray], places: dict[str, dict[str, tuple[float, float]]]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    for k, (letter, axis) in enumerate(zip(VALUES, figure.subplots(1, 2), strict=True)):
        values = VALUES[letter]
        for name, figures in rows.items():
            mean, error = figures[:, k].mean(axis=0), figures[:, k].std(axis=0, ddof=1) / np.sqrt(len(figures))
            axis.errorbar(values, mean, error, label=f"{name}: {places[letter][name][0]:.3g}", capsize=2, linewidth=1)
        axis.axhline(0, color="0.5", linewidth=1)
        axis.axvline(TRUTH[letter], color="0.5", linestyle=":", linewidth=1)
        axis.set(
            xscale="log", xlabel=f"${letter}$ (dotted: truth)", ylabel=f"mean slope of the log-evidence in log {letter}"
        )
        axis.set_xticks(values, [f"{value:.2g}" for value in values])
        axis.set_xticks([], minor=True)
        axis.legend(fontsize=8, title="zero, so largest, at", title_fontsize=8)
    return figure
