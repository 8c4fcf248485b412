"""Section 4.3: the symmetric part of version space about a classifier.

R(w), between the walls of version space and their mirror images at w, bounds the error of any w by Theorem 3. The
report finds that the centre of mass has more of it than the support vector machine "under quite general circumstances"
and leaves the maximiser open; here it is found by climbing the log-volume. Ten rows of unit length in three dimensions
(60 sets), and 40 in ten (20 sets), labelled by a plane through the origin; volumes by expectation propagation, on some
sets beside draws. The largest ball inside version space, its radius by chord (as in Lemma 1) and by angle, is beside.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayespoint import Problem, Step, readouts
from bayespoint.bounds import log_ball_ratio, log_cap_ratio, mirrored_problem, symmetric_centre
from bayespoint.engines import EP
from bayespoint.engines.svm import geometric_margin, hard_margin
from bayespoint.evidence import log_evidence
from findings import Findings, Number, Statement
from sizes import Size

MINUTES = 1
REASONS = {
    "3 dimensions: largest ball*": "volumes of symmetric parts are those of expectation propagation, which in three "
    "dimensions has them too small by 0.3 nat (the figure below); by draws the ball is inside."
}
SHAPES = {"3 dimensions": (3, 10, 60), "10 dimensions": (10, 40, 20)}
NAMES = ("version space", "largest symmetric part", "centre of mass", "SVM", "ball, by angle", "ball, by chord")


def volumes(dimension: int, rows: int, seed: int, sampled: bool) -> list[float]:
    """Log-volumes in the order of NAMES; then by how much draws differ from the third."""
    rng = np.random.default_rng([1999, dimension, seed])
    X = rng.normal(size=(rows, dimension))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    problem = Problem(X @ X.T, np.sign(X @ rng.normal(size=dimension)), Step())
    machine = problem.y * hard_margin(problem).alpha
    margin = geometric_margin(problem, machine)
    whole = EP().infer(problem)
    classifiers = symmetric_centre(problem), readouts.bayes_point(whole), machine
    parts = [EP().infer(mirrored_problem(problem, alpha)).log_evidence for alpha in classifiers]
    found = [whole.log_evidence, *parts, -log_ball_ratio(margin, dimension), -log_cap_ratio(margin, dimension)]
    if not sampled:
        return [*found, 0.0]
    drawn = log_evidence(mirrored_problem(problem, classifiers[1]), seed, se=0.05)
    return [*found, drawn.value - parts[1]]


def run(size: Size) -> Findings:
    figures: list[Number | Statement] = []
    table = {}
    for name, (dimension, rows, sets) in SHAPES.items():
        count = size.pick(sets, 4)
        found = size.map(volumes, [(dimension, rows, k, k < 8) for k in range(count)])
        table[name] = np.array(found)
        figures += of_shape(name, table[name])
    return Findings(
        figures,
        draw(table),
        seed="set k: generator [1999, dimension, k]",
        conditions={name: f"{rows} rows, {len(table[name])} sets" for name, (_, rows, _) in SHAPES.items()},
        details={name: rows.tolist() for name, rows in table.items()},
    )


def of_shape(name: str, found: np.ndarray) -> list[Number | Statement]:
    whole, best, centre, svm, angle, chord, apart = found.T
    count = len(found)
    gain, gain_se = (centre - svm).mean(), (centre - svm).std(ddof=1) / np.sqrt(count)
    more = int(np.sum(centre > svm))
    return [
        Statement(
            f"{name}: symmetric part of the centre of mass over that of the SVM",
            "larger under quite general circumstances",
            f"larger on {more} of {count} sets; by {gain:.2f} nats (se {gain_se:.2f})",
            bool(more > 0.5 * count and gain > 2 * gain_se),
        ),
        Statement(
            f"{name}: the maximiser",
            "not the centre of mass",
            f"{(best - centre).mean():.3f} nats more (most {(best - centre).max():.2f}); "
            f"{(whole - best).mean():.2f} below all of version space",
            bool(np.all(best >= centre - 1e-6) and (best - centre).mean() > 0),
        ),
        Statement(
            f"{name}: largest ball, by angle",
            "(a check of ours) within the symmetric part of its centre, and not below the ball by chord",
            f"{(angle - chord).mean():.3f} nats beyond the chord (most {(angle - chord).max():.2f}), "
            f"{(svm - angle).mean():.2f} below the symmetric part",
            bool(np.all(angle >= chord - 1e-9) and np.mean(svm - angle) > 0),
        ),
        Number(f"{name}: draws less expectation propagation, nats", float(apart[:8].mean())),
    ]


def draw(table: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for axis, (name, found) in zip(figure.subplots(1, len(table)), table.items(), strict=True):
        axis.boxplot(found[:, 1:6] - found[:, :1])
        axis.set_xticks(range(1, 6), [label.replace(" ", "\n", 1) for label in NAMES[1:]], fontsize=7)
        axis.set(title=name, ylabel="log-volume less that of version space")
    return figure
