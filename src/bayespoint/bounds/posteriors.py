"""What PAC-Bayes bounds ask of a posterior: its distance to the prior, and its training error."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..posteriors import GaussianPosterior

__all__ = ["divergence", "gibbs_error"]


def divergence(
    posterior: GaussianPosterior, prior: GaussianPosterior | None = None, rows: Any = None, scale: float = 1.0
) -> float:
    """Relative entropy in nats of a Gaussian posterior over functions to the prior N(0, K), or to another posterior.

    Parameters
    ----------
    posterior : GaussianPosterior
        Prior process times sites.
    prior : GaussianPosterior, optional
        A posterior of the same process on some of the rows; its sites there, and none elsewhere.
    rows : array of int, optional
        Which rows of `posterior` those of `prior` are; needed with `prior`.
    scale : float, default=1.0
        Factor of the posterior's mean: a Gaussian of the same covariance whose mean is the same classifier.

    Returns
    -------
    float
        Finite even for a kernel of infinite rank: both differ from N(0, K) in their sites only.

    Notes
    -----
    With sites ``exp(nu'f - f'T f / 2)`` and ``log Z = nu'm / 2 - log det(I + K T) / 2`` it is
    ``E[(nu - nu_0)'f - f'(T - T_0)f / 2] - log Z + log Z_0`` under the posterior, sums over rows all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.bounds import divergence
    >>> from bayespoint.engines import EP
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step()))
    >>> round(divergence(posterior), 4)  # of N(+-0.798, 0.363) to N(0, 1), twice
    1.0123
    """
    posterior.problem.gram.whitened()  # refuses coordinates that know of other rows
    value = _sites(posterior, posterior.mean, posterior.variance) - _log_normaliser(posterior)
    if prior is not None:
        if rows is None or len(rows) != prior.problem.size:
            raise InvalidProblemError("rows must say which rows of the posterior those of the prior are.")
        value -= _sites(prior, posterior.mean[rows], posterior.variance[rows]) - _log_normaliser(prior)
    if scale != 1:
        value += _distance(posterior, prior, rows, scale) - _distance(posterior, prior, rows, 1.0)
    return max(value, 0.0)  # rounding


def _distance(posterior: GaussianPosterior, prior: GaussianPosterior | None, rows: Any, scale: float) -> float:
    """Half the squared distance of the scaled mean to the prior's, in the metric of the prior's covariance."""
    square = scale * scale * float(posterior.alpha @ posterior.mean)
    if prior is None:
        return 0.5 * square
    mean = posterior.mean[rows]
    square += float(prior.alpha @ prior.mean) - 2 * scale * float(prior.alpha @ mean)
    return 0.5 * (square + float(prior.tau @ np.square(scale * mean - prior.mean)))


def _sites(posterior: GaussianPosterior, mean: Any, variance: Any) -> float:
    """Expectation of the log-sites of `posterior` under latents of the given moments."""
    return float(posterior.nu @ mean - 0.5 * posterior.tau @ (mean * mean + variance))


def _log_normaliser(posterior: GaussianPosterior) -> float:
    """Logarithm of the mean of the sites under N(0, K)."""
    return float(0.5 * posterior.nu @ posterior.mean - 0.5 * posterior.gaussian.log_det)


def gibbs_error(
    posterior: GaussianPosterior, rows: Any = slice(None), scale: float = 1.0, *, with_residual: bool = True
) -> float:
    """Mean training error of the posterior's classifiers, in closed form: ``mean Phi(-y m / sd)``.

    Parameters
    ----------
    posterior : GaussianPosterior
        Result of an engine.
    rows : array of int, optional
        Rows to average over; all by default.
    scale : float, default=1.0
        Factor of the mean, as for `divergence`.
    with_residual : bool, default=True
        Whether a draw has the part of the prior that the landmarks of a low-rank problem leave out, as draws at new
        points have it. Prior and posterior share that part, so the divergence is the same with it and without.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.bounds import gibbs_error
    >>> from bayespoint.engines import EP
    >>> round(gibbs_error(EP().infer(Problem(np.eye(2), [1, -1], Step()))), 4)  # Phi(-0.798 / 0.603)
    0.0928
    """
    return float(ndtr(-deviations(posterior, scale, with_residual=with_residual)[rows]).mean())


def deviations(posterior: GaussianPosterior, scale: float = 1.0, *, with_residual: bool = True) -> Array:
    """Margin of each training row in standard deviations of a draw there; a draw that is always zero is wrong."""
    margin = scale * posterior.problem.y * posterior.mean
    own = posterior.problem.residual if with_residual else None
    sd = np.sqrt(posterior.variance if own is None else posterior.variance + own)
    certain = np.where(margin > 0, np.inf, -np.inf)
    return np.divide(margin, sd, out=certain, where=sd > 0)
