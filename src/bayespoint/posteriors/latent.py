"""Moments of the latent function, and what draws of it at the training points tell."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..problem import Problem

__all__ = [
    "Latent",
    "correlated",
    "disagreement_of_draws",
    "draws_to_arviz",
    "leave_one_out_of_draws",
    "spread_out",
]


class Latent(NamedTuple):
    """Posterior mean and variance of the latent function, one entry a point.

    Examples
    --------
    >>> from bayespoint.posteriors import Latent
    >>> Latent(mean=0.3, variance=1.2).variance
    1.2
    """

    mean: Array
    variance: Array


def leave_one_out_of_draws(problem: Problem, latents: Array) -> Latent:
    """Latent at each training point given all the others, by dividing its likelihood out of the draws' weights.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.posteriors.latent import leave_one_out_of_draws
    >>> problem = Problem(np.eye(2), [1, -1], Step(softness=1.0))
    >>> leave_one_out_of_draws(problem, np.array([[1.0, 0.0], [-1.0, 0.0]])).mean.round(3)
    array([-0.683,  0.   ])
    """
    if problem.hard.any():
        raise InvalidProblemError(
            "Draws inside hard walls do not tell what a row's absence would change: use the EP engine, or softness."
        )
    latents = latents.reshape(-1, problem.size)
    log_weight = -problem.log_likelihood(latents)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    weight /= weight.sum(axis=0)
    mean = (weight * latents).sum(axis=0)
    own = 0.0 if problem.residual is None else problem.residual
    return Latent(mean, (weight * np.square(latents - mean)).sum(axis=0) + own)


def disagreement_of_draws(problem: Problem, latents: Array) -> Array:
    """Probability at each training point that the latent, with its residual, has not the sign of the label.

    Given the coordinates, a residual knows of its own label alone.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.posteriors.latent import disagreement_of_draws
    >>> disagreement_of_draws(Problem(np.eye(2), [1, -1], Step(0.1)), np.array([[1.0, 1.0], [1.0, -1.0]]))
    array([0. , 0.5])
    """
    latents = latents.reshape(-1, problem.size)
    wrong = (latents * problem.y < 0).astype(np.float64)
    if problem.residual is not None:
        rows = np.flatnonzero(problem.residual)
        some = latents[:, rows]
        y, own = (np.broadcast_to(part[rows], some.shape).ravel() for part in (problem.y, problem.residual))
        wrong[:, rows] = problem.likelihood.disagreement(y, some.ravel(), own).reshape(some.shape)
    share: Array = wrong.mean(axis=0)
    return share


def draws_to_arviz(latents: Array) -> Any:
    """Draws of latents, of shape (chain, draw, n), as an arviz data tree.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.posteriors.latent import draws_to_arviz
    >>> draws_to_arviz(np.zeros((2, 5, 3))).posterior.latent.shape
    (2, 5, 3)
    """
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise ImportError("to_arviz needs arviz-base: install bayespoint[report].") from error
    return from_dict({"posterior": {"latent": latents}}, dims={"latent": ["row"]})


def correlated(covariance: Array, size: int, rng: np.random.Generator) -> Array:
    """Normal vectors of mean zero, one a row; the covariance may be singular.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.posteriors.latent import correlated
    >>> correlated(np.ones((2, 2)), 1, np.random.default_rng(0)).round(4)
    array([[0.1257, 0.1257]])
    """
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draws: Array = rng.standard_normal((size, len(values)))[:, ::-1] @ root.T
    return draws


def spread_out(total: int, size: int) -> Any:
    """`size` of `total` draws, as far apart as can be; some more than once if there are not enough.

    Examples
    --------
    >>> from bayespoint.posteriors.latent import spread_out
    >>> spread_out(10, 5)
    array([0, 2, 4, 6, 8])
    """
    return np.arange(size) * total // size
