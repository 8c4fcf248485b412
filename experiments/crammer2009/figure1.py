"""Figure 1: a Gaussian over weight vectors in the plane, and the example ((0.5, 1), +1).

The paper draws some Gaussian and colours its weight vectors by whether they put the example right. Here it is the one
that the machine learns from that example alone: the closest to the prior N(0, I) of all that put it right with
probability eta. Draws are counted on either side.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import norm

from bayespoint import Problem, Step
from bayespoint.engines import Margin
from bayespoint.grams import LowRank
from findings import Findings, Statement
from sizes import Size

MINUTES = 0.1
EXAMPLE, ETA = np.array([0.5, 1.0]), 0.8


def gaussian(eta: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the weight vectors."""
    posterior = Margin(eta=eta).infer(Problem(LowRank(EXAMPLE[None]), [1], Step()))
    covariance = np.linalg.inv(np.eye(2) + posterior.tau[0] * np.outer(EXAMPLE, EXAMPLE))
    return posterior.mean_weights, covariance


def closest(eta: float) -> tuple[float, float]:
    """Mean and variance along the example of the Gaussian closest to N(0, 1) with Phi(mean / sd) = eta: (13) by hand.

    Only along the example does the prior change, and mean = phi sd there: the divergence
    (sd^2 (1 + phi^2) - 1) / 2 - log sd is least at sd^2 = 1 / (1 + phi^2).
    """
    phi = norm.ppf(eta)
    sd = 1 / np.sqrt(1 + phi * phi)
    return phi * sd, sd * sd


def run(size: Size) -> Findings:
    mean, covariance = gaussian(ETA)
    along = EXAMPLE / np.linalg.norm(EXAMPLE)
    by_hand = closest(ETA)
    ours = float(along @ mean), float(along @ covariance @ along)
    draws = np.random.default_rng(2009).multivariate_normal(mean, covariance, size.pick(100_000, 1000))
    right = float(np.mean(draws @ EXAMPLE > 0))
    error = np.sqrt(ETA * (1 - ETA) / len(draws))
    figures = [
        Statement(
            "weight vectors that put the example right",
            "a majority",
            f"{100 * right:.2f} % of {len(draws):,} draws; eta = {ETA}",
            bool(abs(right - ETA) < 4 * error and right > 0.5),
        ),
        Statement(
            "mean and variance along the example",
            "(a check of ours) those of (13) solved by hand",
            f"{ours[0]:.6f} and {ours[1]:.6f}; by hand {by_hand[0]:.6f} and {by_hand[1]:.6f}",
            bool(np.allclose(ours, by_hand, atol=1e-6)),
        ),
    ]
    return Findings(figures, draw(draws[:1500], mean), seed="2009", conditions={"eta": ETA, "draws": len(draws)})


def draw(draws: np.ndarray, mean: np.ndarray) -> Figure:
    figure = Figure(figsize=(5, 4.6), layout="constrained")
    axis = figure.subplots()
    right = draws @ EXAMPLE > 0
    axis.plot(*draws[right].T, ".", color="tab:blue", ms=3, label="right")
    axis.plot(*draws[~right].T, ".", color="tab:green", ms=3, label="wrong")
    axis.plot(*mean, "ko", ms=8, label="mean")
    axis.annotate("", EXAMPLE, (0, 0), arrowprops={"arrowstyle": "->", "color": "k"})
    axis.set(xlabel="$w_1$", ylabel="$w_2$", aspect="equal")
    axis.legend()
    return figure
