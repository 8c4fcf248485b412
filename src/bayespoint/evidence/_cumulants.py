"""What expectation propagation leaves out of the evidence, to second order in the cumulants of its tilted marginals."""

from __future__ import annotations

import numpy as np

from .._core.threads import blas_threads_for
from .._core.typing import Array
from ..posteriors import GaussianPosterior

__all__ = ["cumulant_correction"]

_STEP = 1e-3  # of differences in the cavity mean, in standard deviations

_SETTLED = 1e-2  # movement of the sites up to which they count as converged
_LARGEST = 0.05  # nats a row, beyond which a second order says little


def cumulant_correction(posterior: GaussianPosterior) -> float:
    """Second-order correction of expectation propagation's log-evidence, 0 where it would not be small.

    Pairs of sites i, j whose tilted marginals are not Gaussian and whose latents are correlated contribute
    ``sum_l c_l(i) c_l(j) (S_ij / S_ii S_jj)^l / l!``, where c_l are cumulants and S is the posterior covariance. Terms
    of order 3 and 4 are summed.

    Parameters
    ----------
    posterior : GaussianPosterior
        From `EP`. Sites that have not converged are not corrected.

    Returns
    -------
    float
        What to add to ``posterior.log_evidence``.

    References
    ----------
    M. Opper, U. Paquet and O. Winther (2013). Perturbative Corrections for Approximate Inference in Gaussian Latent
    Variable Models. JMLR 14, 2857-2898.

    Examples
    --------
    Latents that are independent need no correction.

    >>> import numpy as np
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.engines import EP
    >>> from bayespoint.evidence import cumulant_correction
    >>> cumulant_correction(EP().infer(Problem(np.eye(2), [1, -1], Hinge(2.0))))
    0.0
    >>> bool(cumulant_correction(EP().infer(Problem(np.eye(2) + 1, [1, -1], Hinge(2.0)))) != 0)
    True
    """
    problem = posterior.problem
    copies, power = (np.ones((2, problem.size))) if problem.weights is None else problem.weights
    if not posterior.error <= _SETTLED:
        return 0.0
    third, fourth = _cumulants(posterior, copies, power)
    pairs = np.multiply.outer(copies, copies)
    pairs.flat[:: problem.size + 1] -= copies  # a site is no pair with itself, but its copies are pairs
    coupling = _covariance(posterior) / np.multiply.outer(posterior.variance, posterior.variance)
    by_third = 0.5 * float(np.sum(pairs * np.multiply.outer(third, third) * coupling**3)) / 6
    by_fourth = 0.5 * float(np.sum(pairs * np.multiply.outer(fourth, fourth) * coupling**4)) / 24
    total = by_third + by_fourth
    return total if abs(total) <= _LARGEST * float(copies.sum()) else 0.0


def _cumulants(posterior: GaussianPosterior, copies: Array, power: Array) -> tuple[Array, Array]:
    """Third and fourth cumulants of the tilted marginals, as derivatives of their variance in the cavity mean."""
    y, likelihood = posterior.problem.y, posterior.problem.likelihood
    tau, nu = posterior.tau / copies, posterior.nu / copies
    cavity = 1 / (1 / posterior.variance - tau)
    mean = cavity * (posterior.mean / posterior.variance - nu)
    step = _STEP * np.sqrt(cavity)
    own = 0.0 if posterior.problem.residual is None else posterior.problem.residual

    def variance(shifted: Array) -> Array:
        tau = likelihood.site(y, shifted, cavity + own, power)[1]
        return 1 / (1 / cavity + tau / (1 + tau * own))

    below, middle, above = variance(mean - step), variance(mean), variance(mean + step)
    return cavity * (above - below) / (2 * step), np.square(cavity / step) * (above - 2 * middle + below)


def _covariance(posterior: GaussianPosterior) -> Array:
    """Posterior covariance of the latents: ``K - K W K``."""
    with blas_threads_for(posterior.problem.size):
        covariance: Array = posterior.covariance.copy()
    np.fill_diagonal(covariance, posterior.variance)
    return covariance
