"""Gaussian posteriors: the prior times Gaussian sites."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._core.files import parts_of
from .._core.typing import Array
from .._core.words import told_briefly
from ..grams import Conditioned, NewPoints
from ..grams.gradient import EvidenceGradient
from ..problem import Problem
from .latent import ByMoments, Latent, correlated

__all__ = ["GaussianPosterior"]


@told_briefly()
@dataclass(frozen=True, eq=False)
class GaussianAt(ByMoments):
    """A Gaussian posterior at new points: mean and variance of the latent at each."""

    posterior: GaussianPosterior
    new: NewPoints
    latent: Latent

    def expectation(self, function: Callable[[Array, Array], Array]) -> Array:
        return function(*self.latent)

    def functions(self, size: int, rng: np.random.Generator) -> Array:
        mean, covariance = self.posterior.gaussian.jointly_at(self.new)
        return mean + correlated(covariance, size, rng)


@told_briefly("problem", "log_evidence", "engine")
@dataclass(frozen=True, eq=False)
class GaussianPosterior:
    """A Gaussian over latent functions: the prior times Gaussian sites ``exp(nu_i f_i - tau_i f_i^2 / 2)``.

    Attributes
    ----------
    problem : Problem
        What was solved.
    alpha : ndarray of shape (n,)
        Weights of the mean function ``m(x) = sum_i alpha_i k(x, x_i)``; see also `mean_weights`.
    mean, variance : ndarray of shape (n,)
        Moments of the latents at the training points; where a low-rank problem has residuals, without these.
    tau, nu : ndarray of shape (n,)
        Natural parameters of the sites, weights included.
    gaussian : Conditioned
        The prior times the sites, in the form that belongs to the Gram matrix.
    log_evidence : float or None
        Log marginal likelihood of the labels.
    info : dict
        What only a person needs: sweeps, convergence.
    engine : Engine or None
        What made it.
    found : SupportVectors, MarginSolution or None
        The optimum around which the Gaussian is, if the engine is an optimiser.
    error : float
        How far the sites are from where they would stand still.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import EP
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step()))
    >>> round(float(np.exp(posterior.log_evidence)), 6)
    0.25
    >>> posterior.mean.round(4)
    array([ 0.7979, -0.7979])
    """

    problem: Problem
    alpha: Array
    mean: Array
    variance: Array
    tau: Array
    nu: Array
    gaussian: Conditioned
    log_evidence: float | None
    evidence_gradient: EvidenceGradient
    info: Mapping[str, Any] = field(default_factory=dict)
    engine: Any = None
    found: Any = None
    error: float = 0.0

    def __getstate__(self) -> dict[str, Any]:
        return parts_of(self)

    def at(self, new: NewPoints) -> GaussianAt:
        """The latent function at new points."""
        return GaussianAt(self, new, Latent(*self.gaussian.at(new)))

    @property
    def mean_weights(self) -> Array:
        """Weights of the posterior mean as one function: `alpha`, for a low-rank problem its coordinates."""
        return self.gaussian.weights

    @property
    def covariance(self) -> Array:
        """Covariance of the latents at the training points."""
        return self.gaussian.covariance

    def disagreement(self) -> Array:
        """Probability at each training point that the latent has not the sign of the label."""
        return self.problem.likelihood.disagreement(self.problem.y, *self.leave_one_out)

    @cached_property
    def leave_one_out(self) -> Latent:
        """Latent at each training point given all the other points: the cavity of expectation propagation."""
        return self.leaving_out(1.0)

    def leaving_out(self, share: Any) -> Latent:
        """Latent at each training point with a share of its own label taken away, such as one of several copies."""
        precision = 1 / self.variance - share * self.tau
        prior = 1 / np.maximum(self.problem.gram.diag, np.finfo(float).tiny)
        precision = np.where(precision > 0, precision, prior)  # an approximate site may claim more than all there is
        residual = self.problem.gram.residual
        own = 0.0 if residual is None else residual
        return Latent((self.mean / self.variance - share * self.nu) / precision, 1 / precision + own)
