"""Figure 10: the posterior mean of the latent function beside the support vector machine, the posterior's maximum.

True hyper-parameters. The picture is for the data of figure 4, with the middle 80 % of the posterior in grey; shares
are means over inputs spread evenly, with standard errors over data sets of the same model. Skewness is that of the
posterior of theta(x), counted as positive when its longer tail points away from zero.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from scipy.special import ndtri

from bayespoint.grams import DensePoints
from findings import Findings, Statement
from sizes import Size
from sollich2002 import toy
from sollich2002.predictions import DIAG, draws_for, machine

MINUTES = 0.8


def compare(data: toy.Data, seed: int, draws: int) -> dict[str, np.ndarray]:
    """On the grid: both functions, the posterior's standard deviation, and its skewness away from zero."""
    at = draws_for(data, seed, draws).at(DensePoints(toy.kernel(toy.GRID, data.x), DIAG))
    means = at.outputs.reshape(-1, len(toy.GRID))
    mean = means.mean(axis=0)
    sd = np.sqrt(means.var(axis=0) + at.orthogonal)  # given the latents at the rows, theta(x) is Gaussian
    skewness = np.sign(mean) * ((means - mean) ** 3).mean(axis=0) / sd**3
    return {"mean": mean, "SVM": machine(data), "sd": sd, "skewness": skewness}


def of_one_set(seed: int, draws: int) -> list[float]:
    """Share of inputs where |mean| > |SVM|, mean of |mean| - |SVM|, share with positive skewness, mean skewness."""
    return summary(compare(toy.draw(50, 2000 + seed), seed, draws))


def summary(found: dict[str, np.ndarray]) -> list[float]:
    beyond = np.abs(found["mean"]) - np.abs(found["SVM"])
    skewness = found["skewness"]
    return [float(value.mean()) for value in (beyond > 0, beyond, skewness > 0, skewness)]


def run(size: Size) -> Findings:
    sets, draws = size.pick(20, 2), size.pick(1000, 200)
    data = toy.clean_set()
    found = compare(data, 0, size.pick(4000, 500))
    here = summary(found)
    table = np.array(size.map(of_one_set, [(seed, draws) for seed in range(sets)]))
    mean, se = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(sets)
    figures = [
        Statement(
            "Share of inputs at which |mean| is larger than |SVM|",
            "in general",
            f"{here[0]:.2f} in the picture; {mean[0]:.3f} ({se[0]:.3f}) over {sets} sets",
            bool(here[0] > 0.5 and mean[0] - 0.5 > 2 * se[0]),
        ),
        Statement(
            "Mean of |mean| - |SVM|",
            "above zero",
            f"{here[1]:.3f} in the picture; {mean[1]:.3f} ({se[1]:.3f}) over {sets} sets",
            bool(here[1] > 0 and mean[1] > 2 * se[1]),
        ),
        Statement(
            "Skewness of the posterior of theta(x) away from zero",
            "more mass towards larger |theta|",
            f"mean {here[3]:.3f}, positive at a share {here[2]:.2f} of inputs in the picture; mean {mean[3]:.3f} "
            f"({se[3]:.3f}), share {mean[2]:.3f} ({se[2]:.3f}) over {sets} sets",
            bool(here[3] > 0 and mean[3] > 2 * se[3]),
        ),
    ]
    return Findings(
        figures,
        draw(data, found),
        seed="data [2002, 50, 2000 + k]; draws k; picture toy_sets.json and 0",
        conditions={"data sets": sets, "rows": 50, "draws": 4 * draws, "inputs": len(toy.GRID)},
    )


def draw(data: toy.Data, found: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    width = ndtri(0.9) * found["sd"]
    top.fill_between(toy.GRID, found["mean"] - width, found["mean"] + width, color="0.9", label="80 % of the posterior")
    top.plot(toy.GRID, data.target, color="black", linewidth=0.8, label="target")
    top.plot(toy.GRID, found["mean"], "C1--", label=r"posterior mean $\bar\theta(x)$")
    top.plot(toy.GRID, found["SVM"], "C2-", label=r"support vector machine $\theta^*(x)$")
    top.plot(data.x, data.y, "|", color="0.4", markersize=7)
    top.set(ylabel=r"$\theta(x)$")
    top.legend(fontsize=8, ncols=2)
    bottom.plot(toy.GRID, found["skewness"], "C0", label="skewness away from zero")
    bottom.axhline(0, color="0.5", linewidth=0.8)
    bottom.set(xlabel="$x$")
    bottom.legend(fontsize=8)
    return figure
