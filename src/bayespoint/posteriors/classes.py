"""Gaussian posteriors over the latents of several classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, ndtri
from scipy.stats import qmc

from .._core.files import parts_of
from .._core.typing import Array
from .._core.words import told_briefly
from ..grams import NewPoints
from ..grams.classes import ConditionedClasses
from ..grams.gradient import ClassesEvidenceGradient
from ..likelihoods import Choice
from ..likelihoods.choice import largest_of
from ..problem import Problem
from .latent import Latent, correlated

__all__ = [
    "GaussianClassesPosterior",
    "LatentClasses",
    "LatentSites",
    "entropy_given_latents",
    "without_sites",
]

_POINTS = 64  # of quasi-random draws over the latents of a row, for what has no closed form


class LatentClasses(NamedTuple):
    """Mean (n, C) and covariance (n, C, C) of the latents of several classes at some points.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.posteriors import LatentClasses
    >>> LatentClasses(np.zeros((5, 3)), np.ones((5, 3, 3))).covariance.shape
    (5, 3, 3)
    """

    mean: Array
    covariance: Array


class LatentSites(NamedTuple):
    """Precision (n, C, C) and shift (n, C) of Gaussian sites on the latents of rows."""

    precision: Array
    shift: Array


def without_sites(mean: Array, cov: Array, precision: Array, shift: Array) -> tuple[LatentClasses, Array, Any]:
    """Marginals N(mean, cov) of rows divided by sites, ``log det(I - cov P)``, and which rows that leaves proper."""
    removed = np.eye(mean.shape[1]) - cov @ precision
    sign, log_det = np.linalg.slogdet(removed)
    removed[sign == 0] = np.eye(mean.shape[1])
    left: Any = np.linalg.solve(removed, cov)
    centre: Any = np.linalg.solve(removed, (mean - np.einsum("icd,id->ic", cov, shift))[:, :, None])[:, :, 0]
    proper = (sign > 0) & np.all(np.einsum("icc->ic", left) > 0, axis=1) & np.isfinite(centre).all(axis=1)
    return LatentClasses(centre, 0.5 * (left + np.swapaxes(left, 1, 2))), log_det, proper


@dataclass(frozen=True, eq=False)
class GaussianClassesAt:
    """A Gaussian posterior of several classes at new points."""

    posterior: GaussianClassesPosterior
    new: NewPoints
    mean: Array
    covariance: Array

    @property
    def variance(self) -> Array:
        return np.einsum("icc->ic", self.covariance)

    @property
    def latent(self) -> Latent:
        return Latent(self.mean, self.variance)

    @cached_property
    def probabilities(self) -> Array:
        return self.posterior.choice.label_probabilities(self.mean, self.covariance)

    @cached_property
    def votes(self) -> Array:
        return largest_of(self.mean, self.covariance, np.zeros(len(self.mean)))

    @cached_property
    def conditional_entropy(self) -> Array:
        likelihood = self.posterior.choice
        if likelihood.softness == 0:
            led = np.eye(1, self.mean.shape[1])  # whichever is the largest, without a tie
            return np.full(len(self.mean), entropy_given_latents(likelihood, led)[0])
        draws = np.stack([entropy_given_latents(likelihood, f) for f in spread_over(self.mean, self.covariance)])
        average: Array = draws.mean(axis=0)
        return average

    def functions(self, size: int, rng: np.random.Generator) -> Array:
        mean, covariance = self.posterior.gaussian.jointly_at(self.new)
        return mean + correlated(covariance, size, rng).reshape(size, *mean.shape)


@told_briefly("problem", "log_evidence", "engine")
@dataclass(frozen=True, eq=False)
class GaussianClassesPosterior:
    """A Gaussian over the latent functions of several classes: the prior times Gaussian sites, one a row.

    Attributes
    ----------
    problem : Problem
        What was solved.
    alpha : ndarray of shape (n, C)
        Weights of the mean functions ``m_c(x) = sum_i alpha_ic k(x, x_i)``; see also `mean_weights`.
    mean, variance : ndarray of shape (n, C)
        Moments of the latents at the training points; where a low-rank problem has residuals, without these.
    covariance : ndarray of shape (n, C, C)
        Between the classes at each training point.
    tau, nu : ndarray of shape (n, C - 1), with label noise (n, C - 1, C - 1)
        Natural parameters of the sites on differences, one copy of each row; where one to start from is asked for.
    sites : LatentSites
        Precision (n, C, C) and shift (n, C) of each row's site on its latents, weights included.
    gaussian : ConditionedClasses
        The prior times the sites, in the form that belongs to the Gram matrix.
    log_evidence : float
        Log marginal likelihood of the labels.
    info : dict
        What only a person needs: sweeps, convergence.
    engine : Engine
        What made it.
    error : float
        How far the sites are from where they would stand still.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Choice, Problem
    >>> from bayespoint.engines import EP
    >>> posterior = EP().infer(Problem(np.eye(2), [0, 2], Choice(), n_classes=3))
    >>> round(float(np.exp(posterior.log_evidence)), 3)  # each label is one of three
    0.111
    >>> posterior.mean.shape
    (2, 3)
    """

    problem: Problem
    alpha: Array
    mean: Array
    covariance: Array
    tau: Array
    nu: Array
    sites: LatentSites
    gaussian: ConditionedClasses
    log_evidence: float
    evidence_gradient: ClassesEvidenceGradient
    info: Mapping[str, Any] = field(default_factory=dict)
    engine: Any = None
    error: float = 0.0

    def __getstate__(self) -> dict[str, Any]:
        return parts_of(self)

    @property
    def choice(self) -> Choice:
        """The likelihood."""
        likelihood: Any = self.problem.likelihood
        assert isinstance(likelihood, Choice)
        return likelihood

    @property
    def variance(self) -> Array:
        """Variances of the latents at the training points."""
        return np.einsum("icc->ic", self.covariance)

    @property
    def mean_weights(self) -> Array:
        """Weights of the posterior means as functions: `alpha`, for a low-rank problem coordinates."""
        return self.gaussian.weights

    def at(self, new: NewPoints) -> GaussianClassesAt:
        """The latent functions at new points."""
        return GaussianClassesAt(self, new, *self.gaussian.at(new))

    @cached_property
    def leave_one_out(self) -> LatentClasses:
        """Latents at each training point given all the other points, with the point's residual."""
        return self.leaving_out(1.0)

    def leaving_out(self, share: Any) -> LatentClasses:
        """Latents at each training point with a share of its own label taken away, such as one of several copies."""
        part = np.broadcast_to(share, len(self.mean))[:, None]
        precision, shift = part[:, None] * self.sites.precision, part * self.sites.shift
        (mean, covariance), _, proper = without_sites(self.mean, self.covariance, precision, shift)
        prior = self.problem.diag[~proper, None, None] * np.eye(self._classes)
        mean[~proper], covariance[~proper] = 0.0, prior  # an approximate site may claim more than all there is
        residual = self.problem.residual
        own = 0.0 if residual is None else residual[:, None, None] * np.eye(self._classes)
        return LatentClasses(mean, covariance + own)

    @cached_property
    def leave_one_out_probabilities(self) -> Array:
        """Probability of each label at each training point given all the other points, of shape (n, C)."""
        return self.choice.label_probabilities(*self.leave_one_out)

    @cached_property
    def true_probabilities(self) -> Array:
        """Probability of each class to have the largest latent at each training point, its label known: (n, C)."""
        y, likelihood = self.problem.y, self.choice
        latents, rows = self.leave_one_out, np.arange(self.problem.size)
        if likelihood.softness == 0:
            shares = largest_of(*latents, np.zeros(len(y)))
            high, low = likelihood.levels(self._classes)
            shares *= np.where(np.arange(self._classes) == y[:, None], high, low)
        else:
            shares = np.zeros(latents.mean.shape)
            for f in spread_over(*latents):
                shares[rows, f.argmax(axis=1)] += np.exp(likelihood.log_likelihood(y, f))
        return shares / shares.sum(axis=1, keepdims=True)

    def disagreement(self) -> Array:
        """Probability at each training point that another latent than that of the label is the largest."""
        return 1 - self.true_probabilities[np.arange(self.problem.size), self.problem.y]

    @property
    def _classes(self) -> int:
        return self.mean.shape[1]


def entropy_given_latents(likelihood: Choice, latents: Array) -> Array:
    """Entropy in nats of the label at known latents of shape (..., C)."""
    entropy: Array = entr(likelihood.probabilities(latents, np.zeros_like(latents))).sum(axis=-1)
    return entropy


def spread_over(mean: Array, covariance: Array) -> Any:
    """Quasi-random points (n, C) of Gaussians, one after the other; always the same."""
    n_classes = mean.shape[1]
    uniform = qmc.Sobol(n_classes, seed=0).random(_POINTS)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    for point in ndtri(np.clip(uniform, 1e-12, 1 - 1e-12)):
        yield mean + root @ point
