"""Figure 3: decision boundaries of 50 draws for three assumed levels of label noise.

76 points in the plane, the RBF kernel exp(-|x - x'|^2 / 2), no bias, draws from the posterior by the exact billiard.
The paper's data are not published: these are two interleaved crescents with some overlap. Diversity on the training
set is measured here as the probability that two draws disagree about a training point, and by the entropy of votes
S(x, z) of section 4.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Problem, Step, readouts
from bayespoint.engines import Billiard
from bayespoint.grams import DensePoints
from bayespoint.posteriors import SampledPosterior
from findings import Findings, Number, Statement
from sizes import Size

MINUTES = 0.3
LEVELS = (0.0, 0.1, 0.2)
SHOWN, KERNEL = 50, RBF(1.0)


def crescents() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_moons(76, noise=0.3, random_state=3)
    return 1.5 * (X - X.mean(axis=0)), np.where(y == 1, 1.0, -1.0)


def diversity(posterior: SampledPosterior) -> float:
    """Probability that two independent draws disagree, mean over the training points."""
    share = (posterior.latents > 0).mean(axis=(0, 1))
    return float(np.mean(2 * share * (1 - share)))


def entropy(posterior: SampledPosterior) -> float:
    """Of votes, in bits, mean over the training points."""
    gram = posterior.problem.gram
    return float(readouts.vote_entropy(posterior, DensePoints(gram.dense, gram.diag)).mean())


def training_error(posterior: SampledPosterior) -> float:
    return float(posterior.disagreement().mean())


READOUTS = {
    "two draws disagree": diversity,
    "entropy of votes, of a bit": entropy,
    "training error of a draw": training_error,
}


def run(size: Size) -> Findings:
    X, y = crescents()
    gram, engine = KERNEL(X), Billiard(draws=size.pick(1000, 100), chains=4)
    posteriors = {q: engine.infer(Problem(gram, y, Step(noise=q)), 0) for q in LEVELS}
    figures = []
    for q, posterior in posteriors.items():
        for what, readout in READOUTS.items():
            se = float(readouts.monte_carlo_error(readout, posterior))
            figures.append(Number(f"q = {q:g}, {what}, %", 100 * readout(posterior), se=100 * se))
    values, errors = np.array([(one.ours, one.se) for one in figures[:: len(READOUTS)]]).T
    rises, of_se = np.diff(values), np.hypot(errors[1:], errors[:-1])
    claim = Statement(
        "diversity on the training set",
        "grows with the assumed noise",
        ", ".join(f"{v:.2f} % ({se:.2f}) at q = {q:g}" for q, v, se in zip(LEVELS, values, errors, strict=True)),
        bool((rises > 2 * of_se).all()),
    )
    conditions = {"rows": len(y), "draws": f"4 chains of {engine.draws}", "shown": SHOWN}
    return Findings([claim, *figures], draw(X, y, posteriors), seed={"data": 3, "draws": 0}, conditions=conditions)


def draw(X: np.ndarray, y: np.ndarray, posteriors: dict[float, SampledPosterior]) -> Figure:
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    axes = figure.subplots(1, len(posteriors), sharey=True)
    across, up = np.meshgrid(np.linspace(-3.2, 3.2, 90), np.linspace(-2.4, 2.4, 80))
    cross = KERNEL(np.column_stack([across.ravel(), up.ravel()]), X)
    for axis, (q, posterior) in zip(axes, posteriors.items(), strict=True):
        alpha = posterior.alpha.reshape(-1, len(y))
        for weights in alpha[:: len(alpha) // SHOWN][:SHOWN]:
            axis.contour(across, up, (cross @ weights).reshape(across.shape), [0.0], colors="0.55", linewidths=0.4)
        axis.plot(*X[y > 0].T, "kx", markersize=5)
        axis.plot(*X[y < 0].T, "o", color="C0", markersize=5, markerfacecolor="none")
        axis.set(title=f"$q$ = {q:g}")
    return figure
