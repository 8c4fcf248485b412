"""Data from the support vector machine's own probability model (Sollich 2002, equations 6 to 12).

Inputs come from a finite set with given probabilities. A function from the Gaussian process prior, then rows one after
the other: an input, and a label y with probability ``Q(y | theta)``; with what is left to one the whole process starts
again. Functions with many values in the gap between the margins survive less often.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ..._core.random import as_generator
from ..._core.typing import Array
from ...exceptions import InvalidProblemError
from ...likelihoods import Hinge
from ...problem import Problem
from .._stepping import explore
from ._survival import Survival, SurvivalPath

__all__ = ["SVMData", "sample_svm_data", "sample_svm_prior"]


class SVMData(NamedTuple):
    """Rows of the input set that were drawn, their labels, and the function on the whole set.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.evidence.svm import sample_svm_data
    >>> sample_svm_data(np.eye(5), 3, C=2.0, rng=0).labels.shape
    (3,)
    """

    rows: Any
    labels: Array
    latents: Array


def sample_svm_prior(gram: Any, rng: Any = None, size: int = 1) -> Array:
    """Functions from the Gaussian process prior Q(theta), on the points of a Gram matrix.

    Parameters
    ----------
    gram : array-like of shape (m, m)
        Gram matrix of the points, bias included.
    rng : int, Generator, RandomState or None
        Source of randomness.
    size : int, default=1
        How many.

    Returns
    -------
    ndarray of shape (size, m)

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.evidence.svm import sample_svm_prior
    >>> sample_svm_prior(np.eye(4), rng=0, size=2).shape
    (2, 4)
    """
    white = _problem(gram, 1.0).whitened()
    return white.latents(as_generator(rng).standard_normal((size, white.rank)))


def sample_svm_data(
    gram: Any,
    n: int,
    C: float = 1.0,
    rng: Any = None,
    *,
    probabilities: Any = None,
    method: str = "direct",
    max_starts: int = 10_000_000,
) -> SVMData:
    """A data set of n rows from the normalised model.

    Parameters
    ----------
    gram : array-like of shape (m, m)
        Gram matrix of all inputs there are, bias included.
    n : int
        Rows to draw.
    C : float, default=1.0
        Weight of the hinge loss.
    rng : int, Generator, RandomState or None
        Source of randomness.
    probabilities : array-like of shape (m,), optional
        Of the inputs, Q(x); equal by default.
    method : {"direct", "restart"}, default="direct"
        "restart" is the process as the paper describes it, whose starts grow exponentially in n. "direct" samples the
        function from its prior (8) by elliptical slices along a tempered path, then inputs (12) and labels (10).
    max_starts : int, default=10_000_000
        Starts after which "restart" gives up.

    Returns
    -------
    SVMData

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.evidence.svm import sample_svm_data
    >>> x = np.linspace(0, 1, 100)
    >>> data = sample_svm_data(1.25 * np.exp(-0.5 * (x[:, None] - x) ** 2 / 0.05**2), 50, C=2.0, rng=0)
    >>> sorted(set(data.labels.tolist()))
    [-1.0, 1.0]
    """
    problem = _problem(gram, C)
    if not isinstance(n, int | np.integer) or n < 1:
        raise InvalidProblemError(f"n must be a whole number of at least 1, got {n!r}.")
    share = np.full(problem.size, 1 / problem.size) if probabilities is None else np.asarray(probabilities, dtype=float)
    if share.shape != (problem.size,) or np.any(share < 0) or not np.isclose(share.sum(), 1.0):
        raise InvalidProblemError(f"probabilities must be {problem.size} numbers of at least 0 that add up to one.")
    rng = as_generator(rng)
    if method == "restart":
        return _by_restarts(problem, int(n), share, rng, max_starts)
    if method != "direct":
        raise InvalidProblemError(f"method must be 'direct' or 'restart', got {method!r}.")
    base = Survival(problem, share, int(n))
    stones = explore(SurvivalPath(base), rng)
    assert stones is not None  # levels end at one
    theta = base.latents(stones[-1].states[:1])[0]
    weight = share * np.exp(base.log_v(theta))
    rows = rng.choice(problem.size, n, p=weight / weight.sum())
    labels = np.where(rng.random(n) < expit(Hinge(C).log_odds(theta[rows])), 1.0, -1.0)
    return SVMData(rows, labels, theta)


def _problem(gram: Any, C: float) -> Problem:
    gram = np.asarray(gram, dtype=float)
    return Problem(gram, np.ones(len(gram)), Hinge(C))


def _by_restarts(problem: Problem, n: int, share: Array, rng: np.random.Generator, max_starts: int) -> SVMData:
    white, hinge = problem.whitened(), problem.likelihood
    assert isinstance(hinge, Hinge)
    batch = 256
    for _ in range(0, max_starts, batch):
        theta = white.latents(rng.standard_normal((batch, white.rank)))
        rows = rng.choice(problem.size, (batch, n), p=share)
        at = np.take_along_axis(theta, rows, axis=1)
        up, down = (np.exp(hinge.log_likelihood(y, at)) for y in np.array([1.0, -1.0]))
        u = rng.random((batch, n))
        survives = np.flatnonzero((u < up + down).all(axis=1))
        if survives.size:
            k = survives[0]
            return SVMData(rows[k], np.where(u[k] < up[k], 1.0, -1.0), theta[k])
    raise InvalidProblemError(f"No data set survived {max_starts} starts: use method='direct', or fewer rows.")
