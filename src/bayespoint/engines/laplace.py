"""The support vector machine as the maximum of the posterior, and the generalised Laplace approximation around it.

Without an equality constraint (a bias is part of the kernel) the dual of the support vector machine is

    minimise  a'K a / 2 - sum_i |a_i|   over signed weights a_i = y_i alpha_i,  0 <= alpha_i <= C_i.

Greedy coordinate descent finds out which rows are easy (alpha = 0), marginal (in between) and hard (alpha = C); a
linear solve on the marginal ones then gives the weights to rounding. Marginal rows sit on the kink of the hinge; their
share of the curvature is ``2 pi [alpha (C - alpha) / C]^2`` (Sollich 31, 32).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.linalg import eigh, lapack, lstsq
from scipy.special import expit

from .._threads import blas_threads_for
from .._typing import Array
from ..exceptions import InferenceWarning, InvalidProblemError
from ..likelihoods import Hinge
from ..posteriors import EvidenceGradient, GaussianPosterior
from ..problem import Problem
from ._gaussians import site_gaussian
from ._settings import check_at_least

__all__ = ["Laplace", "SupportVectors", "support_vectors"]

_STIFF = 20.0  # C k(x, x) from which coordinate descent alone is slow


class SupportVectors(NamedTuple):
    """The solution of the dual: weights ``alpha >= 0``, latents, and what is left of the optimality conditions.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.engines.laplace import support_vectors
    >>> support_vectors(Problem(np.diag([1.0, 4.0]), [1, -1], Hinge(C=0.5))).alpha
    array([0.5 , 0.25])
    """

    alpha: Array
    latents: Array
    cap: Array  # C_i, the largest weight of each row
    violation: float
    rounds: int

    @property
    def easy(self) -> Any:
        """Rows beyond the margin, which the solution does not depend on."""
        return np.flatnonzero(self.alpha == 0)

    @property
    def marginal(self) -> Any:
        """Rows on the margin."""
        return np.flatnonzero((self.alpha > 0) & (self.alpha < self.cap))

    @property
    def hard(self) -> Any:
        """Rows that violate the margin."""
        return np.flatnonzero(self.alpha == self.cap)


def support_vectors(
    problem: Problem, tolerance: float = 1e-10, max_rounds: int = 200, start: Array | None = None
) -> SupportVectors:
    """Solve the dual of the support vector machine to rounding.

    Parameters
    ----------
    problem : Problem
        With a `Hinge` likelihood; weights multiply C.
    tolerance : float, default=1e-10
        Largest violation of the optimality conditions, in units of the margin or of the largest latent beyond it.
    max_rounds : int, default=200
        Rounds of descent and solve, after which a warning tells what is left.
    start : ndarray of shape (n,), optional
        Weights ``alpha`` to start from, such as those of a smaller C.

    Returns
    -------
    SupportVectors

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.engines.laplace import support_vectors
    >>> X = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> found = support_vectors(Problem(np.multiply.outer(X, X), np.sign(X), Hinge(C=10.0)))
    >>> found.latents  # the margin is one at the rows next to the boundary
    array([-2., -1.,  1.,  3.])
    """
    if not isinstance(problem.likelihood, Hinge):
        raise InvalidProblemError(f"A support vector machine has a hinge, not {problem.likelihood}: use Hinge(C).")
    gram, y = problem.dense, problem.y
    cap = problem.likelihood.C * problem.exponents
    stiffness = float(np.max(cap * np.diagonal(gram), initial=0.0))
    if start is None and stiffness > _STIFF:  # climb to a large C by way of smaller ones
        easier = replace(problem, likelihood=Hinge(problem.likelihood.C / 5), check=False)
        found = support_vectors(easier, max(tolerance, 1e-4), max_rounds)
        start = np.where(found.alpha == found.cap, cap, found.alpha)
    alpha = np.zeros(problem.size) if start is None else np.clip(start, 0.0, cap)
    latents = gram @ (y * alpha)
    alpha[np.diagonal(gram) == 0] = cap[np.diagonal(gram) == 0]  # a latent that is always zero violates the margin
    violation, rounding, rounds = np.inf, 0.0, 0
    with blas_threads_for(0):  # many small solves: threads would only wait for each other
        while violation > max(tolerance, rounding) and rounds < max_rounds:
            rounds += 1
            _descend(gram, y, cap, alpha, latents, 0.5 * tolerance, 4 * problem.size)
            _solve_marginal(gram, y, cap, alpha)
            latents = gram @ (y * alpha)
            violation = _violation(y * latents, alpha, cap)
            size = float((np.abs(gram) @ alpha).max())  # of the terms that cancel in the latents
            rounding = 10 * np.finfo(float).eps * size
    if violation > max(tolerance, rounding):
        warnings.warn(
            f"The support vector machine stopped after {max_rounds} rounds with margins off by {violation:.1g}: "
            "lower C or the amplitude of the kernel.",
            InferenceWarning,
            stacklevel=2,
        )
    return SupportVectors(alpha, latents, cap, violation, rounds)


def _violation(margin: Array, alpha: Array, cap: Array) -> float:
    """How far the worst row is from its optimality condition, beside the largest margin."""
    up = np.where(alpha < cap, 1.0 - margin, 0.0)
    down = np.where(alpha > 0, margin - 1.0, 0.0)
    largest = max(1.0, float(np.abs(margin).max(initial=0.0)))
    return float(max(up.max(initial=0.0), down.max(initial=0.0), 0.0)) / largest


def _solve_marginal(gram: Array, y: Array, cap: Array, alpha: Array) -> None:
    """Put all marginal rows on the margin at once, or go as far towards it as the box allows. In place.

    Where there are more of them than the kernel has dimensions, the dual is flat in some directions: along these it
    falls until some row meets its bound and is marginal no longer.
    """
    for _ in range(20 + len(y)):
        free = np.flatnonzero((alpha > 0) & (alpha < cap))
        if not free.size:
            return
        gap = y[free] - gram[free] @ (y * alpha)
        block = gram[np.ix_(free, free)]
        _, step, singular = lapack.dposv(block, gap, lower=1)
        if singular:
            step, singular = _flat_or_least_squares(block, gap)
        step = step * y[free]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0, (cap[free] - alpha[free]) / step, np.where(step < 0, -alpha[free] / step, np.inf))
        first = int(np.argmin(room))
        if not singular and room[first] >= 1.0:
            alpha[free] = np.clip(alpha[free] + step, 0.0, cap[free])
            return
        alpha[free] = np.clip(alpha[free] + room[first] * step, 0.0, cap[free])
        alpha[free[first]] = cap[free[first]] if step[first] > 0 else 0.0


def _flat_or_least_squares(block: Array, gap: Array) -> tuple[Array, bool]:
    """A direction in which the dual is flat and falls, and True; the least-squares step if there is none, and False."""
    values, vectors = eigh(block)
    flat = values < 1e-12 * len(block) * max(values[-1], 0.0)
    along = vectors.T @ gap
    if float(np.linalg.norm(along[flat])) > 1e-9 * max(float(np.linalg.norm(gap)), 1e-9):
        return vectors[:, flat] @ along[flat], True
    return vectors[:, ~flat] @ (along[~flat] / values[~flat]), False


@dataclass(frozen=True)
class Laplace:
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

    def __post_init__(self) -> None:
        check_at_least(self, max_rounds=1)

    def infer(self, problem: Problem, rng: Any = None, *, start: GaussianPosterior | None = None) -> GaussianPosterior:
        """Gaussian around the support vector machine.

        Parameters
        ----------
        problem : Problem
            With a `Hinge` likelihood.
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
            weights = None if start is None else problem.y * start.alpha
            found = support_vectors(problem, self.tolerance, self.max_rounds, weights)
            return _posterior(problem, found)


def _posterior(problem: Problem, found: SupportVectors) -> GaussianPosterior:
    likelihood = problem.likelihood
    assert isinstance(likelihood, Hinge)
    signed, cap = problem.y * found.alpha, found.cap
    tau = 2 * np.pi * np.square(found.alpha * (cap - found.alpha) / cap)
    nu = signed + tau * found.latents
    factor, _, _, variance = site_gaussian(problem, tau, nu)
    hinges = np.maximum(0.0, 1.0 - problem.y * found.latents)
    log_peak = -0.5 * float(signed @ found.latents) - float(cap @ hinges)
    log_peak += likelihood.log_kappa * float(problem.exponents.sum())
    return GaussianPosterior(
        problem,
        signed,
        found.latents,
        np.maximum(variance, 1e-12 * problem.diag),
        tau,
        nu,
        factor,
        log_peak - 0.5 * factor.log_det,
        _gradient(problem, likelihood, found, factor, variance),
        {"support": found, "rounds": found.rounds, "error": found.violation},
    )


def _gradient(
    problem: Problem, likelihood: Hinge, found: SupportVectors, factor: Any, variance: Array
) -> EvidenceGradient:
    """Derivative of (32). The peak is stationary in the weights, the curvature moves with those of the marginal rows.

    Marginal rows stay on the margin: ``K_mm da_m = -(dK a)_m - K_mh da_h``, and hard weights are C. With
    ``u = v dtau/da`` and ``z = K_mm^-1 u`` the determinant changes by ``-u'da/2 = z'(dK a + K_mh da_h)/2``.
    """
    alpha, cap, y = found.alpha, found.cap, problem.y
    marginal, hard = found.marginal, found.hard
    slope = 4 * np.pi * (alpha * (cap - alpha) / cap) * (cap - 2 * alpha) / cap  # dtau / dalpha
    implicit = np.zeros(problem.size)
    if marginal.size:
        block = problem.dense[np.ix_(marginal, marginal)]
        target = variance[marginal] * slope[marginal] * y[marginal]
        _, z, failed = lapack.dposv(block, target, lower=1)
        implicit[marginal] = lstsq(block, target, cond=1e-13)[0] if failed else z
    hinges = np.maximum(0.0, 1.0 - y * found.latents)
    d_log_kappa = likelihood.C * 2 * float(expit(-2 * likelihood.C))
    d_tau = 4 * np.pi * (alpha * (cap - alpha) / cap) * np.square(alpha / cap) * cap  # dtau / dlog C at fixed alpha
    d_hard = np.zeros(problem.size)
    d_hard[hard] = y[hard] * cap[hard]
    by_c = float(problem.exponents.sum()) * d_log_kappa - float(cap @ hinges)
    by_c += -0.5 * float(variance @ d_tau) + 0.5 * float(implicit @ (problem.dense @ d_hard))
    return EvidenceGradient(y * alpha, factor, {"C": by_c}, implicit)


@njit(cache=True, nogil=True)
def _descend(gram, y, cap, alpha, latents, tolerance, max_steps):  # type: ignore[no-untyped-def]
    """Greedy coordinate descent on the dual: each step moves the weight that promises most. In place."""
    n = len(y)
    for _ in range(max_steps):
        best, chosen = 0.0, -1
        worst = 0.0
        for i in range(n):
            pull = 1.0 - y[i] * latents[i]
            if (pull > 0.0 and alpha[i] < cap[i]) or (pull < 0.0 and alpha[i] > 0.0):
                worst = max(worst, abs(pull))
                diag = gram[i, i]
                if diag > 0.0:
                    move = min(max(alpha[i] + pull / diag, 0.0), cap[i]) - alpha[i]
                    gain = move * (pull - 0.5 * move * diag)
                    if gain > best:
                        best, chosen = gain, i
        if chosen < 0 or worst <= tolerance:
            return
        pull = 1.0 - y[chosen] * latents[chosen]
        new = min(max(alpha[chosen] + pull / gram[chosen, chosen], 0.0), cap[chosen])
        move = y[chosen] * (new - alpha[chosen])
        alpha[chosen] = new
        row = gram[chosen]
        for j in range(n):
            latents[j] += move * row[j]
