"""The generalised Laplace approximation around the support vector machine.

Marginal rows sit on the kink of the hinge; their share of the curvature is ``2 pi [alpha (C - alpha) / C]^2``
(Sollich 31, 32). Around the machine with quadratic slack it is the ordinary one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import lapack, lstsq
from scipy.special import expit

from .._core.settings import check_at_least
from .._core.threads import blas_threads_for
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..grams.gram import above_rounding, conditioned_on
from ..likelihoods import Hinge, SquaredHinge
from ..posteriors import EvidenceGradient, GaussianPosterior
from ..problem import Problem
from .base import Engine
from .svm import SupportVectors, shared_residual, support_vectors

__all__ = ["Laplace", "linear_laplace"]


@dataclass(frozen=True)
class Laplace(Engine):
    """Generalised Laplace approximation around the support vector machine (Sollich 32).

    The posterior's mean is the support vector machine itself. As an approximation of the evidence it is poor (expect
    several nats); it is here because the paper has it, and because its mean is what everybody knows.

    Parameters
    ----------
    tolerance : float, default=1e-10
        Largest violation of the optimality conditions.
    max_rounds : int, default=200
        Rounds of descent and solve.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.engines import Laplace
    >>> posterior = Laplace().infer(Problem(np.diag([1.0, 4.0]), [1, -1], Hinge(C=0.5)))
    >>> posterior.mean
    array([ 0.5, -1. ])
    """

    tolerance: float = 1e-10
    max_rounds: int = 200

    takes: ClassVar[frozenset[str]] = frozenset({"hinge", "squared hinge"})
    refusal: ClassVar[str] = "A support vector machine has a hinge, not {}: use Hinge(C)."

    def __post_init__(self) -> None:
        check_at_least(self, max_rounds=1)

    def infer(self, problem: Problem, rng: Any = None, *, start: GaussianPosterior | None = None) -> GaussianPosterior:
        """Gaussian around the support vector machine.

        Parameters
        ----------
        problem : Problem
            With a `Hinge` or `SquaredHinge` likelihood.
        rng : ignored
            Deterministic; every engine takes a source of randomness.
        start : GaussianPosterior, optional
            A posterior of the same rows whose weights to start from.

        Returns
        -------
        GaussianPosterior
            ``info["support"]`` holds the `SupportVectors`.
        """
        with blas_threads_for(problem.size):
            self.check(problem)
            weights = None if start is None else problem.y * start.alpha
            found = support_vectors(problem, self.tolerance, self.max_rounds, weights)
            return _posterior(problem, found, self)


def linear_laplace(problem: Problem) -> float:
    """Naive log-evidence (31): only what is linear around the kinks, ``log Q* - log det(L_m K_m) / 2``.

    Infinite where the weight of a marginal row is next to none or all of C, or where their Gram matrix is singular.
    """
    Laplace().check(problem)
    if not isinstance(problem.likelihood, Hinge):
        raise InvalidProblemError("Quadratic slack has no kinks to be linear around: use method='laplace'.")
    with blas_threads_for(problem.size):
        found = support_vectors(problem)
        peak = _of_hinge(problem, found)
        block = problem.gram.part(found.marginal).dense + np.diag(shared_residual(problem)[found.marginal])
        sign, log_det = np.linalg.slogdet(block)
        if found.marginal.size and sign <= 0:
            return float(np.inf)
        return peak.log_density - 0.5 * float(log_det + np.log(peak.tau[found.marginal]).sum())


class _Peak(NamedTuple):
    """The posterior at its maximum: latents, what pulls at them, the curvature of each row, and the log-density."""

    latents: Array
    signed: Array
    tau: Array
    log_density: float


def _posterior(problem: Problem, found: SupportVectors, engine: Laplace) -> GaussianPosterior:
    peak = _of_hinge(problem, found) if isinstance(problem.likelihood, Hinge) else _of_squared_hinge(problem, found)
    nu = peak.signed + peak.tau * peak.latents
    own = shared_residual(problem)  # a site on a latent with its residual is a weaker one on what the Gram matrix has
    shrink = 1 / (1 + peak.tau * own)
    gaussian = conditioned_on(problem.gram, shrink * peak.tau, shrink * nu)
    variance = above_rounding(gaussian.variance, problem.diag)
    log_det = gaussian.log_det - float(np.log(shrink).sum())
    return GaussianPosterior(
        problem,
        peak.signed,
        peak.latents - own * peak.signed,
        variance,
        shrink * peak.tau,
        shrink * nu,
        gaussian,
        peak.log_density - 0.5 * log_det,
        _gradient(problem, found, peak, gaussian, shrink * (shrink * variance + own)),
        {"support": found, "rounds": found.rounds, "error": found.violation},
        engine=engine,
        found=found,
        error=found.violation,
    )


def _of_hinge(problem: Problem, found: SupportVectors) -> _Peak:
    """Marginal rows sit on the kink (Sollich 31)."""
    likelihood = problem.likelihood
    assert isinstance(likelihood, Hinge)
    signed, cap = problem.y * found.alpha, found.cap
    tau = 2 * np.pi * np.square(found.alpha * (cap - found.alpha) / cap)
    hinges = np.maximum(0.0, 1.0 - problem.y * found.latents)
    log_density = -0.5 * float(signed @ found.latents) - float(cap @ hinges)
    log_density += likelihood.log_kappa * float(problem.exponents.sum())
    return _Peak(found.latents, signed, tau, log_density)


def _of_squared_hinge(problem: Problem, found: SupportVectors) -> _Peak:
    """Rows with a weight are before the kink, where the loss is a parabola: nothing is approximated there."""
    likelihood = problem.likelihood
    assert isinstance(likelihood, SquaredHinge)
    price, signed = likelihood.C * problem.exponents, problem.y * found.alpha
    latents = found.latents - signed / price  # without the slack
    log_density = -0.5 * float(signed @ latents) - 0.5 * float(signed @ (signed / price))
    log_density += likelihood.log_kappa * float(problem.exponents.sum())
    return _Peak(latents, signed, np.where(found.alpha > 0, price, 0.0), log_density)


def _gradient(problem: Problem, found: SupportVectors, peak: _Peak, gaussian: Any, variance: Array) -> EvidenceGradient:
    if isinstance(problem.likelihood, SquaredHinge):  # curvatures stay as they are: only C moves them
        slack = float(np.square(peak.signed) @ (1 / (problem.likelihood.C * problem.exponents)))
        by_c = (
            float(problem.exponents.sum()) * problem.likelihood.log_kappa_slope
            - 0.5 * slack
            - 0.5 * float(variance @ peak.tau)
        )
        gradient = EvidenceGradient(peak.signed, gaussian, {"C": by_c})
    else:
        gradient = _gradient_of_hinge(problem, found, gaussian, variance)
    if problem.residual is None:
        return gradient
    return gradient._replace(by_residual=np.diagonal(gradient.by_gram()).copy())


def _gradient_of_hinge(problem: Problem, found: SupportVectors, gaussian: Any, variance: Array) -> EvidenceGradient:
    """Derivative of (32). The peak is stationary in the weights, the curvature moves with those of the marginal rows.

    Marginal rows stay on the margin: ``K_mm da_m = -(dK a)_m - K_mh da_h``, and hard weights are C. With
    ``u = v dtau/da`` and ``z = K_mm^-1 u`` the determinant changes by ``-u'da/2 = z'(dK a + K_mh da_h)/2``.
    """
    alpha, cap, y, likelihood = found.alpha, found.cap, problem.y, problem.likelihood
    assert isinstance(likelihood, Hinge)
    marginal, hard = found.marginal, found.hard
    slope = 4 * np.pi * (alpha * (cap - alpha) / cap) * (cap - 2 * alpha) / cap  # dtau / dalpha
    implicit = np.zeros(problem.size)
    if marginal.size:
        block = problem.gram.part(marginal).dense + np.diag(shared_residual(problem)[marginal])
        target = variance[marginal] * slope[marginal] * y[marginal]
        _, z, failed = lapack.dposv(block, target, lower=1)
        implicit[marginal] = lstsq(block, target, cond=1e-13)[0] if failed else z
    hinges = np.maximum(0.0, 1.0 - y * found.latents)
    d_log_kappa = likelihood.C * 2 * float(expit(-2 * likelihood.C))
    d_tau = 4 * np.pi * (alpha * (cap - alpha) / cap) * np.square(alpha / cap) * cap  # dtau / dlog C at fixed alpha
    d_hard = np.zeros(problem.size)
    d_hard[hard] = y[hard] * cap[hard]
    by_c = float(problem.exponents.sum()) * d_log_kappa - float(cap @ hinges)
    hard_latents = problem.gram.times(d_hard) + shared_residual(problem) * d_hard
    by_c += -0.5 * float(variance @ d_tau) + 0.5 * float(implicit @ hard_latents)
    return EvidenceGradient(y * alpha, gaussian, {"C": by_c}, implicit=implicit)
