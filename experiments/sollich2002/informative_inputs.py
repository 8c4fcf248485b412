"""Predictions where new inputs come from the model: <Q(y)> / <v> beside (33).

Data sets of the toy (section 7) from the joint model (6): a function, 50 training rows and 200 more that follow
P(x | theta) (12), so that a new input itself says something of the function. Log loss and error of (33), which takes
inputs to say nothing, and of the prediction that takes them as they are, with the true hyper-parameters, posteriors by
expectation propagation; and the "don't know" probability 1 - <v> at such inputs and at uniform ones.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayespoint import Problem, readouts
from bayespoint.engines import EP
from bayespoint.evidence.svm import sample_svm_data
from bayespoint.grams import DensePoints
from bayespoint.likelihoods import Hinge
from findings import Findings, Number, Statement
from sizes import Size
from sollich2002 import toy

MINUTES = 2
ROWS, MORE = 50, 200
GRID = np.arange(len(toy.GRID))


def predictions(seed: int) -> list[float]:
    """Log loss of both, error of both in percent, and mean "don't know" at inputs of the model and at uniform ones."""
    gram = toy.kernel(toy.GRID, toy.GRID)
    data = sample_svm_data(gram, ROWS + MORE, toy.C, np.random.default_rng([2002, 7, seed]))
    rows, y = data.rows, data.labels
    train, test = rows[:ROWS], rows[ROWS:]
    posterior = EP().infer(Problem(gram[np.ix_(train, train)], y[:ROWS], Hinge(toy.C), check=False))
    at_test, everywhere = (DensePoints(gram[np.ix_(some, train)], gram[some, some]) for some in (test, GRID))
    p = [one(posterior, at_test) for one in (readouts.class_probability, readouts.joint_class_probability)]
    right = y[ROWS:] > 0
    losses = [-float(np.mean(np.log(np.where(right, q, 1 - q)))) for q in p]
    errors = [100 * float(np.mean((q > 0.5) != right)) for q in p]
    return losses + errors + [float(readouts.dont_know(posterior, new).mean()) for new in (at_test, everywhere)]


def run(size: Size) -> Findings:
    sets = size.pick(24, 3)
    found = np.array(size.map(predictions, [(seed,) for seed in range(sets)]))
    mean, se = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(sets)
    gain = found[:, 0] - found[:, 1]
    gain_se = gain.std(ddof=1) / np.sqrt(sets)
    names = ("log loss of (33)", "log loss of <Q> / <v>", "error in % of (33)", "error in % of <Q> / <v>")
    figures: list[Number | Statement] = [
        *(Number(name, m, se=s) for name, m, s in zip(names, mean, se, strict=False)),
        Statement(
            "<Q> / <v> against (33) at inputs of the model",
            "(a check of ours) the better prediction",
            f"log loss lower by {gain.mean():.4f} (se {gain_se:.4f})",
            bool(gain.mean() > 2 * gain_se),
        ),
        Statement(
            '"don\'t know", 1 - <v>, at inputs of the model and at uniform ones',
            "functions with many values in the gap survive less, and inputs avoid it (12)",
            f"{mean[4]:.3f} and {mean[5]:.3f}",
            bool((found[:, 5] - found[:, 4]).mean() > 0),
        ),
    ]
    return Findings(
        figures,
        draw(found),
        seed="set k: generator [2002, 7, k]",
        conditions={"data sets": sets, "rows": ROWS, "new rows": MORE, "C": toy.C},
        details={"by set": found.tolist()},
    )


def draw(found: np.ndarray) -> Figure:
    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    axis = figure.subplots()
    axis.plot(found[:, 0], found[:, 1], "o", ms=4)
    ends = [found[:, :2].min(), found[:, :2].max()]
    axis.plot(ends, ends, "k--", linewidth=1)
    axis.set(xlabel="log loss of (33)", ylabel=r"log loss of $\langle Q \rangle / \langle \nu \rangle$")
    return figure
