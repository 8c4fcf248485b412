"""What engines return. Immutable; everything else is a function of it (see `bayespoint.readouts`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..grams.coordinates import NaturalGaussian
from ..grams.rows import CrossRows, as_values
from ..grams.whitening import Whitened
from ..problem import Problem
from .expanded import ExpandedPosterior
from .latent import (
    Latent,
    above_rounding,
    correlated,
    disagreement_of_draws,
    draws_to_arviz,
    leave_one_out_of_draws,
    spread_out,
)

__all__ = ["EvidenceGradient", "ExpandedPosterior", "GaussianPosterior", "Latent", "Posterior", "SampledPosterior"]


@dataclass(frozen=True, eq=False)
class SiteFactor:
    """``W = (K + T^-1)^-1 = plus' plus - minus minus'`` for site precisions T of either sign, and ``log det(I + K T)``.

    `plus` is lower triangular; `minus` has one column for each negative precision. The posterior covariance is
    ``K - K W K``.
    """

    plus: Array
    minus: Array
    log_det: float

    def explain(self, cross: Array) -> Array:
        """``k' W k`` for each column k of `cross`: the prior variance that the data explain. Overwrites `cross`."""
        removed = np.zeros(cross.shape[1])
        if self.minus.shape[1]:
            removed -= np.square(blas.dgemm(1.0, self.minus, cross, trans_a=1)).sum(0)
        whitened = blas.dtrmm(1.0, self.plus, cross, lower=1, overwrite_b=1)
        return removed + np.einsum("ij,ij->j", whitened, whitened)

    def explain_jointly(self, cross: Array) -> Array:
        """``cross' W cross``: the prior covariance that the data explain."""
        whitened = blas.dtrmm(1.0, self.plus, cross, lower=1)
        explained: Array = whitened.T @ whitened
        if self.minus.shape[1]:
            removed = self.minus.T @ cross
            explained -= removed.T @ removed
        return explained

    def apply(self, x: Array) -> Array:
        """``W x``."""
        out: Array = blas.dtrmv(self.plus, blas.dtrmv(self.plus, x, lower=1), lower=1, trans=1)
        if self.minus.shape[1]:
            out -= blas.dgemv(1.0, self.minus, blas.dgemv(1.0, self.minus, x, trans=1))
        return out

    def dense(self) -> Array:
        """``W`` itself."""
        lower, _ = lapack.dlauum(self.plus, lower=1)
        w = np.tril(lower)
        w += np.tril(lower, -1).T
        if self.minus.shape[1]:
            w -= blas.dgemm(1.0, self.minus, self.minus, trans_b=1)
        return w


@dataclass(frozen=True, eq=False)
class LowRankSiteFactor:
    """The same for ``K = M M'``, in its coordinates: their posterior covariance is ``(I + M'T M)^-1 = root' root``.

    Where the coordinates have another prior, its precision takes the place of I; `centre` is their posterior mean.
    """

    rows: Array
    tau: Array
    root: Array
    log_det: float
    centre: Array

    def explain(self, cross: Array) -> Array:
        """Prior variance that the data explain, for each column of coordinates."""
        left = blas.dtrmm(1.0, self.root, cross, lower=1)
        return np.einsum("ij,ij->j", cross, cross) - np.einsum("ij,ij->j", left, left)

    def explain_jointly(self, cross: Array) -> Array:
        """The same for all pairs of columns."""
        left = blas.dtrmm(1.0, self.root, cross, lower=1)
        explained: Array = cross.T @ cross - left.T @ left
        return explained

    def shrunk(self) -> Array:
        """``W M = T M (I + M'T M)^-1``."""
        scaled = blas.dtrmm(1.0, self.root, np.asfortranarray((self.tau[:, None] * self.rows).T), lower=1)
        shrunk: Array = blas.dtrmm(1.0, self.root, scaled, lower=1, trans_a=1, overwrite_b=1).T
        return shrunk

    def dense(self) -> Array:
        """``W = T - T M (I + M'T M)^-1 M'T``."""
        scaled = blas.dtrmm(1.0, self.root, np.asfortranarray((self.tau[:, None] * self.rows).T), lower=1)
        w: Array = np.diag(self.tau) - blas.dgemm(1.0, scaled, scaled, trans_a=1)
        return w


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
    factor : SiteFactor or LowRankSiteFactor
        Root of the matrix that turns prior into posterior covariance.
    log_evidence : float or None
        Log marginal likelihood of the labels.
    info : dict
        What only a person needs: sweeps, convergence.

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
    factor: SiteFactor | LowRankSiteFactor
    log_evidence: float | None
    evidence_gradient: EvidenceGradient
    info: Mapping[str, Any] = field(default_factory=dict)

    def latent(self, cross: Array | CrossRows, diag: Array) -> Latent:
        """Mean and variance at new points.

        Parameters
        ----------
        cross : ndarray of shape (n_points, n) or CrossRows
            Kernel values between the new and the training points; for a low-rank problem coordinates of the new points,
            of shape (n_points, rank).
        diag : ndarray of shape (n_points,)
            Kernel value of each new point with itself.

        Returns
        -------
        Latent
        """
        weights, cross = self.mean_weights, as_values(cross)
        mean = np.empty(len(cross))
        variance = np.empty(len(cross))
        block = 2048  # bounds the working memory at 2048 rows
        for start in range(0, len(cross), block):
            rows = slice(start, start + block)
            k = np.array(cross[rows].T, dtype=np.float64, order="F")
            mean[rows] = blas.dgemv(1.0, k, weights, trans=1)
            variance[rows] = diag[rows] - self.factor.explain(k)
        return Latent(mean, above_rounding(variance, diag))

    def functions(self, cross: Array | CrossRows, prior: Array, size: int, rng: np.random.Generator) -> Array:
        """Functions drawn from the posterior, at new points jointly.

        Parameters
        ----------
        cross : ndarray of shape (n_points, n)
            As for `latent`.
        prior : ndarray of shape (n_points, n_points)
            Kernel values of the new points with each other.
        size : int
            How many functions.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        ndarray of shape (size, n_points)
        """
        cross = as_values(cross)
        covariance = prior - self.factor.explain_jointly(np.asfortranarray(cross.T))
        return cross @ self.mean_weights + correlated(covariance, size, rng)

    @cached_property
    def mean_weights(self) -> Array:
        """Weights of the posterior mean as one function: `alpha`, for a low-rank problem its coordinates."""
        return self.factor.centre if isinstance(self.factor, LowRankSiteFactor) else self.alpha

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the latents at the training points."""
        if self.problem.root is not None:
            return self.problem.root @ self.natural.covariance @ self.problem.root.T
        gram = self.problem.dense
        return gram - self.factor.explain_jointly(np.asfortranarray(gram))

    @cached_property
    def natural(self) -> NaturalGaussian:
        """Gaussian over the coordinates of a low-rank problem: the prior of rows still to come."""
        root = self.problem.root
        if root is None:
            raise InvalidProblemError("Only a low-rank problem has coordinates that other rows share: use LowRank.")
        prior = NaturalGaussian.standard(root.shape[1]) if self.problem.prior is None else self.problem.prior
        return prior + NaturalGaussian.of_sites(root, self.tau, self.nu)

    def expectation(self, function: Callable[[Array, Array], Array], cross: Array | CrossRows, diag: Array) -> Array:
        """Posterior expectation at new points of a function given as its mean under a latent N(mean, variance)."""
        return function(*self.latent(cross, diag))

    def disagreement(self) -> Array:
        """Probability at each training point that the latent has not the sign of the label."""
        return self.problem.likelihood.disagreement(self.problem.y, *self.leave_one_out)

    @cached_property
    def leave_one_out(self) -> Latent:
        """Latent at each training point given all the other points: the cavity of expectation propagation."""
        precision = 1 / self.variance - self.tau
        prior = 1 / np.maximum(self.problem.diag, np.finfo(float).tiny)
        precision = np.where(precision > 0, precision, prior)  # an approximate site may claim more than all there is
        own = 0.0 if self.problem.residual is None else self.problem.residual
        return Latent((self.mean / self.variance - self.nu) / precision, 1 / precision + own)


class EvidenceGradient(NamedTuple):
    """Derivative of the log-evidence: ``0.5 (alpha alpha' - W)`` in the Gram matrix, and in log-parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import EP
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step(softness=1.0)))
    >>> sorted(posterior.evidence_gradient.likelihood)
    ['noise', 'softness']
    """

    alpha: Array
    factor: SiteFactor | LowRankSiteFactor
    likelihood: Mapping[str, float]
    by_residual: Array | None = None  # derivative in each row's residual
    implicit: Array | None = None  # z of a further term (z alpha' + alpha z') / 4, where sites move with the kernel

    def gram(self) -> Array:
        """The symmetric matrix G with ``d log_evidence = sum_ij G_ij dK_ij``."""
        g = self.factor.dense()
        g *= -0.5
        half = 0.5 * self.alpha if self.implicit is None else 0.5 * (self.alpha + 0.5 * self.implicit)
        g += np.multiply.outer(half, self.alpha)
        if self.implicit is not None:
            g += np.multiply.outer(0.25 * self.alpha, self.implicit)
        return g

    def root(self) -> Array:
        """``2 G M`` for a Gram matrix ``M M'``: the derivative in its factor, in O(n r^2)."""
        assert isinstance(self.factor, LowRankSiteFactor)
        m = self.factor.rows
        g: Array = np.multiply.outer(self.alpha, m.T @ self.alpha) - self.factor.shrunk()
        if self.by_residual is not None:  # a residual is what is left of a row's variance: it shrinks as M grows
            g -= 2 * self.by_residual[:, None] * m
        if self.implicit is not None:
            g += 0.5 * np.multiply.outer(self.implicit, m.T @ self.alpha)
            g += 0.5 * np.multiply.outer(self.alpha, m.T @ self.implicit)
        return g


@dataclass(frozen=True, eq=False)
class SampledPosterior:
    """Draws from the posterior, in whitened coordinates of the training points.

    Attributes
    ----------
    problem : Problem
        What was sampled.
    white : Whitened
        From coordinates to latents: ``f = M w``.
    coordinates : ndarray of shape (chain, draw, rank)
        The draws w.
    info : dict
        What only a person needs.
    own_centre : ndarray of shape (rank,) or None
        Coordinates of the posterior mean, where the engine has an estimate other than the mean of the draws.
    log_evidence : None
        Draws alone do not tell.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import Billiard
    >>> posterior = Billiard(draws=100, chains=2).infer(Problem(np.eye(3), [1, -1, 1], Step(noise=0.1)), rng=0)
    >>> posterior.alpha.shape
    (2, 100, 3)
    """

    problem: Problem
    white: Whitened
    coordinates: Array
    info: Mapping[str, Any] = field(default_factory=dict)
    own_centre: Array | None = None
    log_evidence: None = None

    @property
    def draws(self) -> int:
        """Number of draws of each chain."""
        return self.coordinates.shape[1]

    @cached_property
    def centre(self) -> Array:
        """Coordinates of the posterior mean."""
        centre: Array = self.coordinates.mean(axis=(0, 1)) if self.own_centre is None else self.own_centre
        return centre

    @property
    def latents(self) -> Array:
        """Latent function at the training points, of shape (chain, draw, n); where these have residuals, without."""
        return np.matmul(self.coordinates, self.white.factor.T)

    @property
    def alpha(self) -> Array:
        """Weights of each draw in ``f(x) = sum_i alpha_i k(x, x_i)``, of shape (chain, draw, n)."""
        return self.white.expansion(self.coordinates)

    @cached_property
    def mean(self) -> Array:
        """Mean of the latents at the training points."""
        return self.white.factor @ self.centre

    @cached_property
    def variance(self) -> Array:
        """Variance of the latents at the training points."""
        variance: Array = self.latents.var(axis=(0, 1))
        return variance

    def outputs(self, cross: Array | CrossRows, diag: Array) -> tuple[Array, Array]:
        """Latent at new points given each draw: means of shape (chain, draw, n_points), and the variance common to all.

        The variance is that of the part of the function that the training points do not determine.
        """
        features = self.white.features(cross)
        return np.matmul(self.coordinates, features.T), self._orthogonal(features, diag)

    def latent(self, cross: Array | CrossRows, diag: Array) -> Latent:
        """Mean and variance at new points; see `GaussianPosterior.latent`."""
        features = self.white.features(cross)
        flat = self.coordinates.reshape(-1, self.white.rank)
        spread = np.empty(len(features))
        for start in range(0, len(features), 256):
            rows = slice(start, start + 256)
            spread[rows] = (flat @ features[rows].T).var(axis=0)
        return Latent(features @ self.centre, spread + self._orthogonal(features, diag))

    def functions(self, cross: Array | CrossRows, prior: Array, size: int, rng: np.random.Generator) -> Array:
        """Functions drawn from the posterior, at new points jointly; see `GaussianPosterior.functions`."""
        features = self.white.features(cross)
        flat = self.coordinates.reshape(-1, self.white.rank)
        means = flat[spread_out(len(flat), size)] @ features.T
        return means + correlated(prior - features @ features.T, size, rng)

    @staticmethod
    def _orthogonal(features: Array, diag: Array) -> Array:
        """Variance of the part of the function that the training points do not determine."""
        return above_rounding(diag - np.square(features).sum(axis=1), diag)

    @property
    def mean_weights(self) -> Array:
        """Weights of the posterior mean as one function: for a low-rank problem its coordinates."""
        return self.white.weights(self.centre)

    def expectation(self, function: Callable[[Array, Array], Array], cross: Array | CrossRows, diag: Array) -> Array:
        """Posterior expectation at new points of a function given as its mean under a latent N(mean, variance)."""
        features = self.white.features(cross)
        orthogonal = self._orthogonal(features, diag)
        flat = self.coordinates.reshape(-1, self.white.rank)
        values = np.empty(len(features))
        block = max(1, 2_000_000 // len(flat))  # bounds the working memory
        for start in range(0, len(features), block):
            rows = slice(start, start + block)
            means = flat @ features[rows].T
            values[rows] = function(means, np.broadcast_to(orthogonal[rows], means.shape)).mean(axis=0)
        return values

    def disagreement(self) -> Array:
        """Probability at each training point that the latent has not the sign of the label."""
        return disagreement_of_draws(self.problem, self.latents)

    @cached_property
    def leave_one_out(self) -> Latent:
        """Latent at each training point given all the others, by dividing its likelihood out of the draws' weights.

        Only likelihoods that are positive everywhere allow it; a hard wall leaves no draw on its far side.
        """
        return leave_one_out_of_draws(self.problem, self.latents)

    def to_arviz(self) -> Any:
        """The draws as an arviz data tree: latents with dimensions chain, draw, row (needs ``bayespoint[report]``)."""
        return draws_to_arviz(self.latents)

    def without(self, draws: slice) -> SampledPosterior:
        """The posterior without some draws of each chain."""
        kept = np.delete(self.coordinates, draws, axis=1)
        return SampledPosterior(self.problem, self.white, kept, self.info)


Posterior = GaussianPosterior | SampledPosterior | ExpandedPosterior
