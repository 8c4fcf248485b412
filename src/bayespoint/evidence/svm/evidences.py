"""The evidence of a support vector machine, properly normalised (Sollich 2002, sections 4 and 5).

The hinge likelihood does not add up to one over the labels, so its evidence Q(Y|X) ("naive") favours a C that is too
small. Divided by N(X), the sum of Q over all labellings, it is the conditional evidence P(Y|X); by N-hat, which also
averages over inputs, a proxy of the joint one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..._core.random import as_generator
from ..._core.threads import blas_threads_for
from ..._core.typing import Array
from ...engines.ep.engine import EP
from ...engines.laplace import Laplace, linear_laplace
from ...exceptions import InvalidProblemError
from ...likelihoods import Hinge, HingeSum
from ...problem import Problem, Weights
from .. import Estimate, check_effort, cumulant_correction, log_evidence, refined, walk_along, warn_if_short
from ._label_path import LabelPath
from ._survival import SlackPath, Survival, SurvivalPath, hinge_of, loss_of
from .chaining import chained_log_evidence

__all__ = ["log_normaliser", "svm_log_evidence"]


def svm_log_evidence(
    problem: Problem,
    rng: Any = None,
    kind: str = "conditional",
    method: str = "corrected",
    *,
    se: float = 0.1,
    max_draws: int = 100_000,
    sweeps: int = 2000,
    link: int = 1,
    coordinates: str = "z",
) -> Estimate:
    """Log-evidence of a problem with a hinge: naive (27), conditional (25) or joint (30), not divided by n.

    The paper's values are `Estimate.per_row` of it. Quadratic slack (`SquaredHinge`) has the same three evidences.

    Parameters
    ----------
    problem : Problem
        With a `Hinge` or `SquaredHinge` likelihood.
    rng : int, Generator, RandomState or None
        Source of randomness.
    kind : {"conditional", "joint", "naive"}, default="conditional"
        Divided by N(X), by N-hat, or by nothing.
    method : {"corrected", "ep", "laplace", "linear laplace", "sampled", "chaining"}, default="corrected"
        How the naive evidence is computed: expectation propagation with its second-order correction
        (`cumulant_correction`) or without, the generalised Laplace approximation (32), the same before it is kept
        from diverging (31), draws (`log_evidence`), or the paper's chaining. Normalisers are always sampled, by
        chaining if that is the method.
    se : float, default=0.1
        Standard error to reach where there are draws.
    max_draws : int, default=100_000
        Draws after which to stop.
    sweeps : int, default=2000
        Sweeps of each link of a chain.
    link : int, default=1
        Rows that join in one link of a chain: more are faster and noisier.
    coordinates : {"z", "beta"}, default="z"
        In which a chain moves: all at once in whitened ones, ``theta = M z``, or one weight of a row at a time,
        ``theta_i = sum_j K_ij y_j beta_j``, which needs no factor of the Gram matrix.

    Returns
    -------
    Estimate
        Its standard error is that of the draws; approximations of the naive evidence have none.

    Examples
    --------
    A single row says nothing: either label is as probable.

    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.evidence.svm import svm_log_evidence
    >>> estimate = svm_log_evidence(Problem([[1.25]], [1], Hinge(C=2.0)), rng=0, se=0.01)
    >>> abs(estimate.value + 0.6931) < 0.1
    True
    """
    check_evidence(problem, kind)
    rng = as_generator(rng)
    if method == "linear laplace":
        naive = Estimate(linear_laplace(problem), None, method)
    elif method in ("corrected", "ep", "laplace"):
        posterior = (Laplace() if method == "laplace" else EP()).infer(problem)
        correction = cumulant_correction(posterior) if method == "corrected" else 0.0
        naive = Estimate(float(posterior.log_evidence or 0.0) + correction, None, method)
    elif method == "sampled":
        naive = log_evidence(problem, rng, se=se, max_draws=max_draws)
    elif method == "chaining":
        naive = chained_log_evidence(problem, "naive", sweeps, rng, link, coordinates)
    else:
        raise InvalidProblemError(
            f"method must be 'corrected', 'ep', 'laplace', 'linear laplace', 'sampled' or 'chaining', got {method!r}."
        )
    if kind == "naive":
        return replace(naive, method=f"naive, {naive.method}")
    how = "chaining" if method == "chaining" else "sampled"
    chain = {"sweeps": sweeps, "link": link, "coordinates": coordinates}
    norm = log_normaliser(problem, rng, kind, how, se=se, max_draws=max_draws, **chain)  # type: ignore[arg-type]
    error = float(np.hypot(naive.se or 0.0, norm.se or 0.0))
    return Estimate(naive.value - norm.value, error, f"{kind}, {naive.method}", norm.path)


def log_normaliser(
    problem: Problem,
    rng: Any = None,
    kind: str = "conditional",
    method: str = "sampled",
    *,
    se: float = 0.1,
    max_draws: int = 100_000,
    sweeps: int = 2000,
    link: int = 1,
    coordinates: str = "z",
    probabilities: Any = None,
    n: int | None = None,
) -> Estimate:
    """Logarithm of N(X) (28), the naive evidence summed over all labellings, or of N-hat (29). Labels do not matter.

    With `probabilities` Q(x) of the rows, or a number n of data, the joint one is the normaliser (7) of the model.

    Parameters
    ----------
    problem : Problem
        With a `Hinge` or `SquaredHinge` likelihood.
    rng : int, Generator, RandomState or None
        Source of randomness.
    kind : {"conditional", "joint"}, default="conditional"
        N(X) or N-hat.
    method : {"sampled", "ep", "chaining"}, default="sampled"
        "sampled" lets the hinges rise from nothing, for N(X) with labels and latents drawn in turn, for N-hat by
        elliptical slices. "ep" is for N(X) of a hinge only and several nats off.
    se, max_draws, sweeps, link, coordinates
        As for `svm_log_evidence`.
    probabilities : array-like of shape (n_rows,), optional
        Q(x) of the rows for ``kind="joint"``, which then stand for all inputs there are; equal by default.
    n : int, optional
        Size of the data set that is normalised for ``kind="joint"``; the number of rows by default.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.evidence.svm import log_normaliser
    >>> log_normaliser(Problem([[1.25]], [1], Hinge(C=2.0)), rng=0, se=0.01).value < 0
    True
    """
    likelihood = loss_of(problem)
    if kind not in ("conditional", "joint"):
        raise InvalidProblemError(f"kind must be 'conditional' or 'joint', got {kind!r}.")
    check_effort(se, max_draws)
    if sweeps < 2 or link < 1:
        raise InvalidProblemError(f"sweeps must be at least 2 and link at least 1, got {sweeps!r} and {link!r}.")
    share, n = _inputs(problem, kind, method, probabilities, n)
    if method == "chaining":
        return chained_log_evidence(problem, kind, sweeps, as_generator(rng), link, coordinates)
    if method == "ep" and kind == "conditional":
        return Estimate(float(EP().infer(_summed(problem)).log_evidence or 0.0), None, "ep")
    if method != "sampled":
        raise InvalidProblemError(f"method must be 'sampled' or 'chaining', or 'ep' for N(X), got {method!r}.")
    if not (problem.diag.any() or problem.residual is not None):  # all latents are zero
        zero = np.log(2) + problem.exponents * likelihood.log_likelihood(np.ones(1), np.zeros(1))
        mean = n * float(logsumexp(zero, b=share))
        return Estimate(float(zero.sum()) if kind == "conditional" else mean, 0.0, "exact")
    rng = as_generator(rng)
    with blas_threads_for(problem.size):
        walk = walk_along(partial(normaliser_path, kind=kind, share=share, n=n), problem, rng, None)
        estimate = refined(walk, method, se, max_draws)
    warn_if_short(estimate, se)
    return estimate


def _inputs(problem: Problem, kind: str, method: str, probabilities: Any, n: int | None) -> tuple[Array, int]:
    """Q(x) and n of (7), checked."""
    if (probabilities is not None or n is not None) and (kind != "joint" or method != "sampled"):
        raise InvalidProblemError("probabilities and n belong to kind='joint' with method='sampled': leave them out.")
    size = problem.size
    share = np.full(size, 1 / size) if probabilities is None else np.asarray(probabilities, dtype=np.float64)
    if share.shape != (size,) or np.any(share < 0) or not np.isclose(share.sum(), 1.0):
        raise InvalidProblemError(f"probabilities must be {size} numbers of at least 0 that add up to one.")
    if n is not None and n < 1:
        raise InvalidProblemError(f"n must be a whole number of at least 1, got {n!r}.")
    return share, size if n is None else int(n)


def check_evidence(problem: Problem, kind: str) -> None:
    """Refuse what is none of the three evidences."""
    loss_of(problem)
    if kind not in ("conditional", "joint", "naive"):
        raise InvalidProblemError(f"kind must be 'conditional', 'joint' or 'naive', got {kind!r}.")


def _summed(problem: Problem) -> Problem:
    """The same rows with the likelihood of either label; weights multiply C."""
    weights = Weights(np.ones(problem.size), problem.exponents)
    likelihood: Any = HingeSum(hinge_of(problem).C)
    return Problem(problem.gram, problem.y, likelihood, weights, check=False)


def normaliser_path(problem: Problem, kind: str, share: Array | None = None, n: int | None = None) -> Any:
    """From the prior to the distribution of latents that N(X) or N-hat is the normaliser of."""
    if kind == "joint":
        return SurvivalPath(Survival(problem, share, n))
    return LabelPath(problem) if isinstance(problem.likelihood, Hinge) else SlackPath(problem)
