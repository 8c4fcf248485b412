"""Figure 12: the angle between two classifiers and its Euclidean proxy.

Drawn are arccos(x) / pi, the share of inputs on which two unit vectors of inner product x disagree (Figure 11), and
(1 - x) / 2, a quarter of their squared distance, which the centre of mass minimises; and Definition 9 itself, how much
the centre of mass disagrees with the posterior beyond the best single classifier, found by search on 2,000 inputs.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import DotProduct

from bayespoint import BayesPointClassifier
from bayespoint.bounds import centre_of_mass_gap
from bayespoint.engines import Billiard
from bayespoint.uses import closest_classifier
from findings import Findings, Number, Statement
from sizes import Size

MINUTES = 1
DIMENSION, ROWS, INPUTS = 10, 30, 2000
REASONS = {"condition*": "the gap between the curves falls from x = 0.771 on: 0.23 is 1 - 0.771."}


def angle(x: np.ndarray) -> np.ndarray:
    return np.arccos(x) / np.pi


def proxy(x: np.ndarray) -> np.ndarray:
    return (1 - x) / 2


def disagreeing(x: float, rng: np.random.Generator, count: int) -> float:
    """Share of Gaussian inputs on which two unit vectors of inner product x decide differently."""
    inputs = rng.normal(size=(count, 2))
    return float(np.mean((inputs[:, 0] > 0) != (inputs @ [x, np.sqrt(1 - x * x)] > 0)))


def excess(repeat: int, inputs: int) -> list[float]:
    """Disagreement with the posterior of the mean beyond the best classifier found, and its bound (Theorem 10)."""
    rng = np.random.default_rng([2001, repeat])
    X, teacher = rng.normal(size=(ROWS, DIMENSION)), rng.normal(size=DIMENSION)
    engine = Billiard(draws=500, chains=2)
    model = BayesPointClassifier(
        DotProduct(0.0, "fixed"), engine=engine, softness=0.0, bias=0.0, optimizer=None, random_state=repeat
    ).fit(X, X @ teacher > 0)
    found = closest_classifier(model, rng.normal(size=(inputs, DIMENSION)))
    bound = centre_of_mass_gap(model.posterior_)
    return [found.disagreement_of_the_mean - found.disagreement, bound.value, found.disagreement]


def run(size: Size) -> Findings:
    rng, count = np.random.default_rng(2001), size.pick(1_000_000, 10_000)
    cosines = np.array([-0.9, -0.5, 0.0, 0.5, 0.9])
    apart = np.abs([disagreeing(x, rng, count) - angle(x) for x in cosines])
    x = np.linspace(-1, 1, 200_001)
    gap = angle(x) - proxy(x)
    worst = int(gap.argmax())
    falling = float(x[worst])
    found = np.array(size.map(excess, [(k, size.pick(INPUTS, 300)) for k in range(size.pick(10, 2))]))
    figures = [
        Statement(
            "share of inputs on which two classifiers disagree (Figure 11)",
            "their angle over pi",
            f"largest difference {apart.max():.4f} at five angles, {count:,} inputs each",
            bool(apart.max() < 4 * 0.5 / np.sqrt(count)),
        ),
        Number("largest difference of the two curves", float(np.abs(gap).max()), 0.11, rounding=0.005),
        Statement(
            "condition for the smaller bound of Lemma 14",
            "epsilon < 0.23",
            f"the gap is largest at x = {falling:.3f} and falls beyond: epsilon > {falling:.3f}",
            bool(abs(falling - 0.23) < 0.01),
        ),
        Statement(
            "centre of mass beyond the Bayes point of Definition 9 (Theorem 10)",
            "at most kappa",
            f"{found[:, 0].mean():.5f} (most {found[:, 0].max():.5f}) of a disagreement of {found[:, 2].mean():.4f}; "
            f"bounds {found[:, 1].min():.3f} to {found[:, 1].max():.3f}",
            bool(np.all(found[:, 0] <= found[:, 1])),
        ),
    ]
    return Findings(
        figures,
        draw(),
        seed="inputs: 2001; repeat k: generator [2001, k]",
        conditions={"rows": ROWS, "dimensions": DIMENSION, "inputs": INPUTS, "repeats": len(found)},
        details={"excess, bound and disagreement, by repeat": found.tolist()},
    )


def draw() -> Figure:
    figure = Figure(figsize=(5.5, 4), layout="constrained")
    axis, x = figure.subplots(), np.linspace(-1, 1, 401)
    axis.plot(x, angle(x), label=r"$\arccos(x) / \pi$")
    axis.plot(x, proxy(x), "--", label=r"$(1 - x) / 2$")
    axis.plot(x, proxy(x) + 0.11, ":", color="0.5", linewidth=1, label="shifted by 0.11")
    axis.plot(x, proxy(x) - 0.11, ":", color="0.5", linewidth=1)
    axis.set(xlabel="x", ylabel="f(x)", ylim=(-0.12, 1.12))
    axis.legend()
    return figure
