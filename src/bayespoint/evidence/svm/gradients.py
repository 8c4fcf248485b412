"""Derivatives of the support vector machine's evidence, naive or normalised, in C and in the Gram matrix.

The log of ``Z = E[exp L(theta)]`` under ``theta ~ N(0, K)`` changes with K by ``E[g' dK K^-1 theta] / 2``, an average
over the posterior with g the slope of L. That holds for a regular K. A smooth kernel's is singular up to rounding: rows
P span all others, ``theta = A theta_P``, and then it is ``E[(g - (A'g)_P / 2)' dK alpha]`` with ``alpha = K_PP^-1
theta_P`` on P and zero elsewhere (the same if P is all rows).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from ..._core.random import as_generator
from ..._core.threads import blas_threads_for
from ..._core.typing import Array
from ...engines.billiard import Billiard
from ...engines.ep.engine import EP
from ...engines.laplace import Laplace
from ...exceptions import InvalidProblemError
from ...posteriors import EvidenceGradient
from ...problem import Problem
from .. import Estimate
from .._bridge import variance_of_mean
from ._survival import hinge_of
from .evidences import check_evidence, normaliser_path

__all__ = ["DrawnGradient", "SvmGradient", "normaliser_gradient", "normaliser_slope", "svm_evidence_gradient"]


class DrawnGradient(NamedTuple):
    """Draws whose averages are derivatives of a log-evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.evidence.svm import DrawnGradient
    >>> draws = DrawnGradient(np.ones((1, 50, 2)), np.ones((1, 50, 2)), np.zeros((1, 50)))
    >>> draws.along(np.eye(2)).mean()
    np.float64(2.0)
    """

    pull: Array  # (chain, draw, n)
    alpha: Array
    by_c: Array  # (chain, draw)
    by_residual: None = None

    def along(self, change: Array) -> Array:
        """Derivative by each draw as the Gram matrix moves by `change`."""
        values: Array = ((self.pull @ change) * self.alpha).sum(axis=-1)
        return values

    def by_gram(self) -> Array:
        """The symmetric matrix G with ``d log_evidence = sum_ij G_ij dK_ij``."""
        n = self.pull.shape[-1]
        g = self.pull.reshape(-1, n).T @ self.alpha.reshape(-1, n) / self.by_c.size
        return 0.5 * (g + g.T)


class SvmGradient(NamedTuple):
    """Derivative of a log-evidence: of the naive one, less that of the normaliser.

    Examples
    --------
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.evidence.svm import svm_evidence_gradient
    >>> gradient = svm_evidence_gradient(Problem([[1.25]], [1], Hinge(C=2.0)), rng=0, kind="naive", method="ep")
    >>> gradient.by_c().value < 0
    True
    """

    naive: EvidenceGradient | DrawnGradient
    norm: DrawnGradient | None = None

    def by_c(self) -> Estimate:
        """Derivative in log C."""
        drawn = isinstance(self.naive, DrawnGradient)
        return self._difference(
            self.naive.by_c if drawn else self.naive.likelihood["C"],  # type: ignore[union-attr]
            None if self.norm is None else self.norm.by_c,
        )

    def along(self, change: Any) -> Estimate:
        """Derivative as the Gram matrix moves by `change`: the derivative of the kernel in one of its parameters."""
        change = np.asarray(change, dtype=np.float64)
        if isinstance(self.naive, DrawnGradient):
            naive: Any = self.naive.along(change)
        else:
            naive = float(np.sum(self.naive.by_gram() * change))
        return self._difference(naive, None if self.norm is None else self.norm.along(change))

    def by_gram(self) -> Array:
        """The symmetric matrix G with ``d log_evidence = sum_ij G_ij dK_ij``."""
        return self.naive.by_gram() if self.norm is None else self.naive.by_gram() - self.norm.by_gram()

    @staticmethod
    def _difference(naive: Any, norm: Array | None) -> Estimate:
        drawn = [part for part in (naive, norm) if isinstance(part, np.ndarray)]
        value = float(np.mean(naive)) - (0.0 if norm is None else float(norm.mean()))
        se = float(np.sqrt(sum(variance_of_mean(part) for part in drawn))) if drawn else None
        return Estimate(value, se, "sampled" if drawn else "exact")


def svm_evidence_gradient(
    problem: Problem, rng: Any = None, kind: str = "conditional", method: str = "ep", *, draws: int = 2000
) -> SvmGradient:
    """Derivative of the naive, conditional or joint log-evidence in log C and in the Gram matrix.

    Parameters
    ----------
    problem : Problem
        With a `Hinge` likelihood and a dense Gram matrix.
    rng : int, Generator, RandomState or None
        Source of randomness.
    kind : {"conditional", "joint", "naive"}, default="conditional"
        Which evidence.
    method : {"ep", "laplace", "sampled"}, default="ep"
        How the naive part is worked out: analytically for either approximation, or as an average over exact draws.
    draws : int, default=2000
        Draws of each average.

    Returns
    -------
    SvmGradient

    Examples
    --------
    Twice the amplitude of the kernel, to first order:

    >>> import numpy as np
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.evidence.svm import svm_evidence_gradient
    >>> problem = Problem(np.eye(2) + 0.5, [1, -1], Hinge(C=2.0))
    >>> by_draws = svm_evidence_gradient(problem, rng=0, kind="naive", method="sampled").along(problem.dense)
    >>> by_ep = svm_evidence_gradient(problem, kind="naive").along(problem.dense)
    >>> abs(by_draws.value - by_ep.value) < 5 * by_draws.se
    True
    """
    check_evidence(problem, kind)
    hinge_of(problem)
    if method not in ("ep", "laplace", "sampled"):
        raise InvalidProblemError(f"method must be 'ep', 'laplace' or 'sampled', got {method!r}.")
    if problem.gram.rank < problem.size:
        raise InvalidProblemError("Derivatives in the Gram matrix need a dense one: pass an array, not a factor.")
    rng = as_generator(rng)
    naive: EvidenceGradient | DrawnGradient
    if method == "sampled":
        latents = Billiard(draws=draws, chains=1).infer(problem, rng).latents
        naive = _drawn(problem, latents, *_naive_slopes(problem, latents))
    else:
        naive = (Laplace() if method == "laplace" else EP()).infer(problem).evidence_gradient
    if kind == "naive":
        return SvmGradient(naive)
    return SvmGradient(naive, normaliser_gradient(problem, rng, kind, draws=draws)[0])


def normaliser_gradient(
    problem: Problem, rng: Any = None, kind: str = "conditional", *, draws: int = 300, start: Array | None = None
) -> tuple[DrawnGradient, Array]:
    """Derivative of ``log N(X)`` (or N-hat), an average over draws of one distribution, without a path.

    Parameters
    ----------
    problem : Problem
        With a `Hinge` likelihood and a dense Gram matrix.
    rng : int, Generator, RandomState or None
        Source of randomness.
    kind : {"conditional", "joint"}, default="conditional"
        N(X) or N-hat.
    draws : int, default=300
        Draws of the average.
    start : ndarray, optional
        Where chains ended at a similar problem.

    Returns
    -------
    gradient : DrawnGradient
        Of the log-normaliser.
    end : ndarray
        Where the chains are now.

    Examples
    --------
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.evidence.svm import normaliser_gradient
    >>> gradient, _ = normaliser_gradient(Problem([[1.25]], [1], Hinge(C=2.0)), rng=0)
    >>> bool(gradient.along([[1.25]]).mean() > 0)  # fewer functions in the gap between the margins
    True
    """
    theta, slopes, by_c, end = _normaliser_draws(problem, as_generator(rng), kind, draws, start)
    return _drawn(problem, theta, slopes, by_c), end


def normaliser_slope(
    problem: Problem, rng: Any = None, kind: str = "conditional", *, draws: int = 300, start: Array | None = None
) -> tuple[float, float, Array]:
    """Derivative of ``log N(X)`` (or N-hat) in log C while ``C K`` stays fixed: the direction the SVM does not see.

    Parameters
    ----------
    problem, rng, kind, draws, start
        As for `normaliser_gradient`.

    Returns
    -------
    slope : float
        The derivative.
    se : float
        Its standard error.
    end : ndarray
        Where the chains are now.

    Examples
    --------
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.evidence.svm import normaliser_slope
    >>> slope, se, _ = normaliser_slope(Problem([[1.25]], [1], Hinge(C=2.0)), rng=0)
    >>> abs(slope) < 1
    True
    """
    theta, slopes, by_c, end = _normaliser_draws(problem, as_generator(rng), kind, draws, start)
    series = by_c - 0.5 * (theta * slopes).sum(axis=-1)  # the amplitude by parts: no inverse of K
    return float(series.mean()), float(np.sqrt(variance_of_mean(series))), end


def _drawn(problem: Problem, theta: Array, slopes: Array, by_c: Array) -> DrawnGradient:
    with blas_threads_for(problem.size):
        white = problem.whitened()
        flat = white.root.coordinates(theta.reshape(-1, problem.size).T).T
        alpha = white.weights(flat).reshape(theta.shape)
        spanning = white.weights(white.pull(slopes))  # A'g
    return DrawnGradient(slopes - 0.5 * spanning, alpha, by_c)


def _naive_slopes(problem: Problem, theta: Array) -> tuple[Array, Array]:
    """Derivatives of the log-likelihood in the latents, and in log C."""
    likelihood = hinge_of(problem)
    cap = likelihood.C * problem.exponents
    inside = problem.y * theta < 1
    hinges = np.maximum(0.0, 1.0 - problem.y * theta)
    by_c = problem.exponents.sum() * _by_kappa(likelihood.C) - (cap * hinges).sum(axis=-1)
    return cap * problem.y * inside, by_c


def _by_kappa(C: float) -> float:
    """Derivative of log kappa in log C."""
    return 2 * C * float(expit(-2 * C))


def _normaliser_draws(
    problem: Problem, rng: np.random.Generator, kind: str, draws: int, start: Array | None
) -> tuple[Array, Array, Array, Array]:
    """Latents from the distribution N(X) or N-hat normalises, slopes of its log in them and in log C, and the end."""
    likelihood = hinge_of(problem)
    path = normaliser_path(problem, kind)
    with blas_threads_for(problem.size):
        burn_in = 50 if start is None else 20
        states = path.draw(1, rng).states[:, 0]
        if start is not None:  # of another rank, perhaps
            rank = min(start.shape[1], states.shape[1])
            states[:, :rank] = start[:, :rank]
        found = path.advance(1.0, states, burn_in + draws // path.chains, rng)
        theta = path.latents(found.states[:, burn_in:])
    cap = likelihood.C * problem.exponents
    up, down = np.maximum(0.0, 1.0 - theta), np.maximum(0.0, 1.0 + theta)
    plus = expit(cap * (down - up))  # share of the label +1 in v
    by_c = problem.exponents * _by_kappa(likelihood.C) - cap * (plus * up + (1 - plus) * down)
    by_theta = cap * (plus * (theta < 1) - (1 - plus) * (theta > -1))
    if kind == "joint":  # rows enter by their share in the mean
        log_v = path.base.log_v(theta)
        share = problem.size * np.exp(log_v - logsumexp(log_v, axis=-1, keepdims=True))
        by_c, by_theta = share * by_c, share * by_theta
    return theta, by_theta, by_c.sum(axis=-1), found.states[:, -1]
