"""The sequel: quadratic slack and its evidence, on Pima (Gold & Sollich 2003).

The likelihood is exp(-C max(0, 1 - y f)^2 / 2), whose most probable function is the machine of largest margin on
K + I / C. The naive evidence is climbed over amplitude and length scales (one an input) at several C by expectation
propagation, for both losses; at the maximum it stands beside that of draws and the Laplace approximation, which is the
ordinary one here: rows before the kink have a curvature of C, the others none. Ripley's 200 training and 332 test rows,
standardised. The paper at hand only announces this work; figures are ours alone.
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import Kernel

from bayespoint import Hinge, Problem, Step
from bayespoint.engines import EP, Laplace
from bayespoint.engines.svm import hard_margin
from bayespoint.evidence import log_evidence
from bayespoint.likelihoods import SquaredHinge
from findings import Findings, Number, Statement
from sizes import Size
from sollich2002.pima_evidence import BIAS, kernel, standardised

DATA = ("pima-ripley",)
MINUTES = 1
REASONS = {
    "naive log-evidence at C = 3*": "at this C the climb ends at an amplitude of 316^2, where the machine interpolates "
    "and draws do not reach the standard error asked for (0.1); the second-order correction of expectation propagation "
    "is 0.2 nat. At C = 1, which has the larger evidence, both are -107.4."
}
LOSSES = {"hinge": Hinge, "squared hinge": SquaredHinge}


def problem_of(found: Kernel, X: np.ndarray, y: np.ndarray, likelihood) -> Problem:
    return Problem(found(X) + BIAS**2, y, likelihood, check=False)


def climb(loss: str, C: float) -> tuple[float, float, Kernel]:
    """Log-evidence at its maximum, test error in percent of the machine there, and its kernel."""
    split = standardised("pima-ripley", 0)
    X, y, likelihood = split.X_train, split.y_train.astype(float), LOSSES[loss](C)
    first = kernel(X.shape[1], True)

    def loss_of(theta: np.ndarray) -> tuple[float, np.ndarray]:
        gram, change = first.clone_with_theta(theta)(X, eval_gradient=True)
        posterior = EP().infer(Problem(gram + BIAS**2, y, likelihood, check=False))
        slopes = np.einsum("ij,ijk->k", posterior.evidence_gradient.by_gram(), change)
        return -posterior.log_evidence / len(y), -slopes / len(y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = minimize(
            loss_of, first.theta, jac=True, method="L-BFGS-B", bounds=first.bounds, options={"maxiter": 40}
        )
        best = first.clone_with_theta(found.x)
        machine = Laplace().infer(problem_of(best, X, y, likelihood))
    signs = np.sign((best(split.X_test, X) + BIAS**2) @ machine.alpha)
    return -found.fun * len(y), 100 * float(np.mean(signs != split.y_test)), best


def run(size: Size) -> Findings:
    choices = size.pick((0.3, 1.0, 3.0), (1.0,))
    cells = [(loss, C) for loss in LOSSES for C in choices]
    found = dict(zip(cells, size.map(climb, cells), strict=True))
    figures: list[Number | Statement] = []
    for (loss, C), (top, error, _) in found.items():
        figures.append(Number(f"{loss}, C = {C:g}: largest naive log-evidence", top))
        figures.append(Number(f"{loss}, C = {C:g}: test error in %", error))
    figures += at_the_top(choices[-1], found["squared hinge", choices[-1]][2], size.pick(0.1, 1.0))
    return Findings(
        figures,
        draw(found, choices),
        seed="draws 0",
        conditions={"C": choices, "rows": 200, "test rows": 332},
        details={f"{loss}, C = {C:g}": [top, error, str(best)] for (loss, C), (top, error, best) in found.items()},
    )


def at_the_top(C: float, best: Kernel, se: float) -> list[Statement]:
    """The machine by another way, and the evidence by three."""
    split = standardised("pima-ripley", 0)
    X, y = split.X_train, split.y_train.astype(float)
    problem = problem_of(best, X, y, SquaredHinge(C))
    laplace, drawn = Laplace().infer(problem), log_evidence(problem, 0, se=se)
    other = y * hard_margin(problem_of(best, X, y, Step(softness=1 / C))).alpha
    off = float(np.abs(laplace.alpha - other).max() / np.abs(other).max())
    ep = EP().infer(problem).log_evidence
    return [
        Statement(
            "machine with quadratic slack",
            "(a check of ours) that of the largest margin on K + I / C",
            f"weights differ by {off:.1e} of the largest",
            off < 1e-6,
        ),
        Statement(
            f"naive log-evidence at C = {C:g}, by expectation propagation",
            "(a check of ours) that of draws, to a nat",
            f"{ep:.2f}; draws {drawn.value:.2f} ({drawn.se:.2f}); Laplace {laplace.log_evidence:.2f}",
            bool(abs(ep - drawn.value) < 1 + 2 * drawn.se),
        ),
    ]


def draw(found: dict, choices: tuple[float, ...]) -> Figure:
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    for axis, k, label in zip(figure.subplots(1, 2), (0, 1), ("naive log-evidence", "test error in %"), strict=True):
        for loss in LOSSES:
            axis.plot(choices, [found[loss, C][k] for C in choices], "o-", label=loss)
        axis.set(xscale="log", xlabel="C", ylabel=label)
        axis.legend()
    return figure
