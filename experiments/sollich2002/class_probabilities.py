"""Class probabilities of the toy: averaged over the posterior (33), at its mean (36), at the SVM (37).

    python experiments/sollich2002/class_probabilities.py [--quick]

Hyper-parameters are the true ones, so that (33) by exact draws is what the others approximate. The log loss is its
expectation under the true class probabilities, for inputs spread evenly and for inputs as the model has them (12).
The picture redraws figures 9 and 10 of the paper.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import toy
from scipy.special import expit

sys.path.insert(0, str(Path(__file__).parents[1]))
from bayespoint import Hinge, readouts
from bayespoint.engines import EP, EllipticalSlice, Laplace
from report import save

HINGE = Hinge(toy.C)
PAPER = {
    "(33) draws": "the reference",
    "(33) EP": "not in the paper",
    "(36) mean": "rather too over-confident",
    "(37) SVM": "quite a reasonable estimate of the full average",
}


def predictions(data: toy.Data, seed: int, draws: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """P(y = 1) on the grid by each method, and latent functions: posterior mean and support vector machine."""
    problem = toy.problem(data)
    cross, diag = toy.kernel(toy.GRID, data.x), np.full(len(toy.GRID), toy.AMPLITUDE)
    exact = EllipticalSlice(draws=draws).infer(problem, seed)
    mean = readouts.latent(exact, cross, diag).mean
    machine = readouts.latent(Laplace().infer(problem), cross, diag).mean
    rng = np.random.default_rng([2002, seed])

    def at_a_draw(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:  # quicker than its average over the variance
        return expit(HINGE.log_odds(mean + np.sqrt(variance) * rng.standard_normal(mean.shape)))

    p = {
        "(33) draws": exact.expectation(at_a_draw, cross, diag),
        "(33) EP": readouts.class_probability(EP().infer(problem), cross, diag),
        "(36) mean": expit(HINGE.log_odds(mean)),
        "(37) SVM": expit(HINGE.log_odds(machine)),
    }
    return p, {"posterior mean": mean, "support vector machine": machine}


def judge(data: toy.Data, p: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """Distance from the full average, confidence beyond it, and both log losses."""
    truth = expit(HINGE.log_odds(data.target))
    share = np.exp(np.logaddexp(*(HINGE.log_likelihood(y, data.target) for y in (1.0, -1.0))))  # v(theta)
    full = p["(33) draws"]
    rows = {}
    for name, values in p.items():
        loss = -truth * np.log(values) - (1 - truth) * np.log(1 - values)
        beyond = np.abs(values - 0.5) - np.abs(full - 0.5)
        rows[name] = [
            np.abs(values - full).mean(),
            np.abs(values - full).max(),
            beyond.mean(),
            loss.mean(),
            np.average(loss, weights=share),
        ]
    return rows


def show(data: toy.Data, p: dict[str, np.ndarray], latents: dict[str, np.ndarray]) -> plt.Figure:
    figure, (top, left, right) = plt.subplots(3, 1, figsize=(9, 9), sharex=True, layout="constrained")
    for axis, fold in ((top, lambda q: q), (left, lambda q: np.minimum(q, 1 - q))):
        axis.plot(toy.GRID, fold(expit(HINGE.log_odds(data.target))), color="black", label="truth")
        for (name, values), style in zip(p.items(), ("C0-", "C3:", "C1-.", "C2--"), strict=True):
            axis.plot(toy.GRID, fold(values), style, label=name, linewidth=1.3)
    top.plot(data.x, (data.y > 0) * 1.0, "|", color="0.4", markersize=9)
    top.set(ylabel="P(y = 1)")
    left.set(ylabel="min P(y)", ylim=(0, 0.5))
    right.plot(toy.GRID, data.target, color="black", label="target")
    for (name, values), style in zip(latents.items(), ("C1-.", "C2--"), strict=True):
        right.plot(toy.GRID, values, style, label=name, linewidth=1.3)
    right.axhspan(-1, 1, color="0.93", zorder=0)
    right.set(xlabel="$x$", ylabel=r"$\theta(x)$")
    top.legend(fontsize=8, ncols=5, loc="center", bbox_to_anchor=(0.5, 1.08))
    right.legend(fontsize=8)
    return figure


def main() -> None:
    quick = "--quick" in sys.argv
    start = time.perf_counter()
    sets, draws = (3, 500) if quick else (60, 3000)
    columns = ["mean |p - full|", "max |p - full|", "confidence beyond full", "log loss", "log loss, model inputs"]
    rows = []
    for seed in range(sets):
        data = toy.draw(50, 2000 + seed)
        rows.append(judge(data, predictions(data, seed, draws)[0]))
    found = {}
    print(" " * 14 + "".join(f"{column:>24s}" for column in columns))
    for name in PAPER:
        figures = np.array([row[name] for row in rows])
        mean = figures.mean(axis=0)
        found[name] = dict(zip(columns, mean.tolist(), strict=True)) | {"paper": PAPER[name]}
        gap = figures[:, 3] - [row["(33) draws"][3] for row in rows]
        found[name]["log loss beyond (33), +- se"] = [float(gap.mean()), float(gap.std() / np.sqrt(sets))]
        print(f"{name:14s}" + "".join(f"{value:24.4f}" for value in mean))
    data = toy.clean_set()
    save(
        "sollich2002_class_probabilities" + ("_quick" if quick else ""),
        found,
        show(data, *predictions(data, 0, draws)),
        data=f"{sets} sets of 50 rows from the joint model, seeds (2002, 50, 2000..); picture: (2002, 50, 2)",
        hyper_parameters="true",
        draws=4 * draws,
        inputs=f"{len(toy.GRID)} evenly spaced",
        seconds=round(time.perf_counter() - start),
    )


if __name__ == "__main__":
    main()
