"""The part of version space that is symmetric about a classifier (TR 99-11, section 4.3)."""

from __future__ import annotations

import numpy as np

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..grams import LowRank
from ..likelihoods import Step
from ..problem import Problem

__all__ = ["mirrored_problem"]


def mirrored_problem(problem: Problem, alpha: Array) -> Problem:
    """R(w): the walls of version space, and the same walls mirrored at the classifier w.

    The classifiers between all these walls lie symmetric about w, so their vote is w itself; `bayes_bound` with the
    volume of R(w) bounds the error of w, whichever way w was found.

    Parameters
    ----------
    problem : Problem
        With the hard boundary of `Step()`.
    alpha : array-like of shape (n,)
        Weights of a classifier in version space, ``f(x) = sum_i alpha_i k(x, x_i)``.

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
    if not problem.likelihood.is_hard:
        raise InvalidProblemError(f"Only the hard boundary of Step() has a version space, got {problem.likelihood}.")
    alpha = np.asarray(alpha, dtype=np.float64)
    if alpha.shape != problem.y.shape:
        raise InvalidProblemError(f"alpha must hold {problem.size} weights, one for each row.")
    factor = problem.whitened().factor
    w = factor.T @ alpha
    length = float(np.linalg.norm(w))
    if length == 0 or not np.all(problem.y * (factor @ w) > 0):
        raise InvalidProblemError("The classifier is not in version space: it must get every training label right.")
    w /= length
    walls = np.vstack([factor, 2 * np.multiply.outer(factor @ w, w) - factor])
    return Problem(LowRank(walls), np.tile(problem.y, 2), Step(), check=False)
