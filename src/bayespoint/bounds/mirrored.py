"""The part of version space that is symmetric about a classifier (TR 99-11, section 4.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._core.typing import Array
from ..engines import EP
from ..exceptions import InvalidProblemError
from ..grams import LowRank
from ..likelihoods import Step
from ..problem import Problem

__all__ = ["mirrored_problem", "symmetric_centre"]

_NOTHING = 1e6  # minus the logarithm of a volume


def mirrored_problem(problem: Problem, alpha: Any) -> Problem:
    """R(w): the walls of version space, and the same walls mirrored at the classifier w.

    The classifiers between all these walls lie symmetric about w, so their vote is w itself; `bayes_bound` with the
    volume of R(w) bounds the error of w, whichever way w was found.

    Parameters
    ----------
    problem : Problem
        Without label noise: `Step()`, or a soft boundary, whose walls see the kernel plus the softness.
    alpha : array-like of shape (n,)
        Weights of a classifier in version space, ``w = sum_i alpha_i x_i``; under a soft boundary each x_i has a
        dimension of its own besides, of length ``sqrt(softness)``.

    Returns
    -------
    Problem
        With twice the rows; its log-evidence is the log-volume of R(w).

    Notes
    -----
    The mirror image of x at the unit vector w is ``2 <w, x> w - x``; the report's formula lacks the vector w.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.bounds import bayes_bound, mirrored_problem
    >>> from bayespoint.evidence import log_evidence
    >>> angles = np.radians([0, 60])
    >>> X = np.c_[np.cos(angles), np.sin(angles)]  # version space is a sector from -30 to 90 degrees
    >>> problem = Problem(X @ X.T, [1, 1], Step())
    >>> symmetric = mirrored_problem(problem, [1.0, 0.0])  # about 0 degrees: from -30 to 30
    >>> bool(abs(np.exp(log_evidence(symmetric, rng=0).value) - 60 / 360) < 0.05)
    True
    """
    factor = _factor_of_walls(problem)
    alpha = np.asarray(alpha, dtype=np.float64)
    if alpha.shape != problem.y.shape:
        raise InvalidProblemError(f"alpha must hold {problem.size} weights, one for each row.")
    w = factor.T @ alpha
    if not np.any(w) or not np.all(problem.y * (factor @ w) > 0):
        raise InvalidProblemError("The classifier is not in version space: it must get every training label right.")
    return _mirrored(factor, problem.y, w)


def symmetric_centre(problem: Problem) -> Array:
    """Weights of the classifier w whose R(w) has the largest volume, which is the best for the bound of TR 99-11.

    The report leaves its construction open. The log-volume by expectation propagation is climbed from the Bayes point;
    measure what was found with `bayespoint.evidence.log_evidence` of its `mirrored_problem`.

    Parameters
    ----------
    problem : Problem
        As for `mirrored_problem`.

    Returns
    -------
    ndarray of shape (n,)
        For `mirrored_problem`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.bounds import symmetric_centre
    >>> angles = np.radians([0, 60])
    >>> X = np.c_[np.cos(angles), np.sin(angles)]  # version space is a sector from -30 to 90 degrees
    >>> w = symmetric_centre(Problem(X @ X.T, [1, 1], Step())) @ X
    >>> round(float(np.degrees(np.arctan2(w[1], w[0]))), 1)  # its middle
    30.0
    """
    from ..engines.svm import hard_margin  # compiles

    factor = _factor_of_walls(problem)
    walls = Problem(LowRank(factor), problem.y, Step(), check=False)
    start = factor.T @ EP().infer(walls).alpha
    if not np.all(problem.y * (factor @ start) > 0):
        start = factor.T @ (problem.y * hard_margin(walls).alpha)
    found = minimize(
        _minus_log_volume, start / np.linalg.norm(start), args=(factor, problem.y), jac=True, method="L-BFGS-B"
    )
    alpha: Array = np.linalg.lstsq(factor.T, found.x, rcond=None)[0]
    return alpha


def _minus_log_volume(w: Array, factor: Array, y: Array) -> tuple[float, Array]:
    """Of R(w) by expectation propagation, and its slope in w, which is across w: only the direction matters."""
    if not np.all(y * (factor @ w) > 0):  # a step of the search too far: there is nothing symmetric about it
        return _NOTHING, np.zeros_like(w)
    posterior = EP().infer(_mirrored(factor, y, w))
    length = float(np.linalg.norm(w))
    w = w / length
    # the mirrored walls 2 F w w' - F move by 2 (F dw) w' + 2 (F w) dw'
    by_mirrored = posterior.evidence_gradient.by_factor()[len(y) :]
    slope = 2 * (factor.T @ (by_mirrored @ w) + by_mirrored.T @ (factor @ w))
    return -float(posterior.log_evidence or 0.0), -(slope - (slope @ w) * w) / length


def _mirrored(factor: Array, y: Array, w: Array) -> Problem:
    w = w / np.linalg.norm(w)
    walls = np.vstack([factor, 2 * np.multiply.outer(factor @ w, w) - factor])
    return Problem(LowRank(walls), np.tile(y, 2), Step(), check=False)


def _factor_of_walls(problem: Problem) -> Array:
    """Rows in feature space as the walls see them, in coordinates."""
    if problem.likelihood.kind not in ("hard", "soft"):
        raise InvalidProblemError(f"Only a step without label noise has a version space, got {problem.likelihood}.")
    return problem.whitened().whole_factor
