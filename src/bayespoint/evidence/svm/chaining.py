"""Monte Carlo chaining as the paper has it (Sollich, section 5): rows join one after the other.

``Z_m / Z_0 = prod_k <w_{k+1} / w_k>_k`` with Metropolis steps in whitened coordinates ``theta = M z``, or in weights of
rows ``theta_i = sum_j K_ij y_j beta_j``, one at a time. Slow and noisy beside the bridges; here to be compared with.
"""

from __future__ import annotations

import numpy as np

from ..._core.compiling import compiled
from ...exceptions import InvalidProblemError
from ...problem import Problem
from .. import Estimate
from ._survival import bend_of, loss_of

__all__ = ["chained_log_evidence"]


_KINDS = ("naive", "conditional", "joint")  # (27), (28), (29); the loops know them by their numbers


def chained_log_evidence(
    problem: Problem, kind: str, sweeps: int, rng: np.random.Generator, rows: int = 1, coordinates: str = "z"
) -> Estimate:
    """Logarithm of (27), (28) or (29) by chaining, and its standard error from batches of each link of `rows` rows."""
    if coordinates not in ("z", "beta"):
        raise InvalidProblemError(f"coordinates must be 'z' or 'beta', got {coordinates!r}.")
    likelihood = loss_of(problem)
    loss = likelihood.C, likelihood.log_kappa, bend_of(likelihood)
    model = problem.y, problem.exponents, _KINDS.index(kind), loss
    problem.refuse_weights_of_noise()
    factor = np.ascontiguousarray(problem.whitened().whole_factor)
    by_rows = coordinates == "beta"
    link, matrix = (_link_of_rows, factor @ factor.T) if by_rows else (_link, factor)
    state = np.zeros(problem.size) if by_rows else rng.standard_normal(factor.shape[1])
    value, variance, step = 0.0, 0.0, 2.0 if by_rows else 0.5
    for k in range(0, problem.size, rows):
        logs = np.empty(sweeps)
        state, step = link(matrix, model, (k, min(k + rows, problem.size)), state, step, logs, rng)
        top = logs.max()
        weights = np.exp(logs - top)
        batches = np.array([part.mean() for part in np.array_split(weights, min(20, sweeps))])
        value += top + np.log(weights.mean())
        variance += float(batches.var(ddof=1) / len(batches) / weights.mean() ** 2)
    return Estimate(float(value), float(np.sqrt(variance)), "chaining" + ", beta" * by_rows)


@compiled()
def _log_weight(theta, model, rows):  # type: ignore[no-untyped-def]
    """Logarithm of the weight function with `rows` rows: likelihoods, sums over labels, or a power of their mean."""
    y, weights, kind, (C, log_kappa, bend) = model
    total, mean = 0.0, 0.0
    n = len(theta)
    for i in range(n if kind == 2 else rows):
        if kind == 0:
            total += weights[i] * (log_kappa - C / bend * max(0.0, 1.0 - y[i] * theta[i]) ** bend)
        else:
            price = C * weights[i] / bend
            v = np.exp(-price * max(0.0, 1.0 - theta[i]) ** bend) + np.exp(-price * max(0.0, 1.0 + theta[i]) ** bend)
            if kind == 1:
                total += weights[i] * log_kappa + np.log(v)
            else:
                mean += np.exp(weights[i] * log_kappa) * v / n
    return total if kind != 2 else rows * np.log(mean)


@compiled()
def _link(factor, model, rows, z, step, logs, rng):  # type: ignore[no-untyped-def]
    """Sample with some rows, and record the log-ratio of the weights with more of them; the step size adapts first."""
    now, later = rows
    rank = factor.shape[1]
    theta = factor @ z
    current = _log_weight(theta, model, now)
    sweeps = len(logs)
    warmup = sweeps // 4
    accepted = 0
    for t in range(warmup + sweeps):
        for _ in range(5):
            proposal = z + step * rng.standard_normal(rank)
            new_theta = factor @ proposal
            new = _log_weight(new_theta, model, now)
            change = new - current - 0.5 * (np.dot(proposal, proposal) - np.dot(z, z))
            if np.log(rng.random()) < change:
                z, theta, current = proposal, new_theta, new
                accepted += 1
        if t < warmup and t % 10 == 9:
            step *= 1.2 if accepted > 15 else 0.8
            accepted = 0
        if t >= warmup:
            logs[t - warmup] = _log_weight(theta, model, later) - current
    return z, step


@compiled()
def _link_of_rows(gram, model, rows, beta, step, logs, rng):  # type: ignore[no-untyped-def]
    """The same in the weights of rows, whose prior is ``exp(-sum_ij y_i beta_i K_ij y_j beta_j / 2)``.

    A sweep changes as many weights as there are rows, each chosen at random: the prior in O(1), latents in O(n).
    """
    now, later = rows
    y, n = model[0], len(beta)
    beta = beta.copy()
    theta = gram @ (y * beta)
    current = _log_weight(theta, model, now)
    sweeps = len(logs)
    warmup = sweeps // 4
    accepted = 0
    for t in range(warmup + sweeps):
        for _ in range(n):
            j = rng.integers(0, n)
            if gram[j, j] == 0.0:  # moves nothing
                continue
            change = step * rng.standard_normal() / np.sqrt(gram[j, j])
            moved = theta + gram[j] * (y[j] * change)
            new = _log_weight(moved, model, now)
            prior = -change * y[j] * theta[j] - 0.5 * change * change * gram[j, j]
            if np.log(rng.random()) < new - current + prior:
                beta[j] += change
                theta, current = moved, new
                accepted += 1
        if t < warmup and t % 10 == 9:
            step *= 1.2 if accepted > 3 * n else 0.8
            accepted = 0
        if t % 100 == 99:  # sums of changes drift
            theta = gram @ (y * beta)
            current = _log_weight(theta, model, now)
        if t >= warmup:
            logs[t - warmup] = _log_weight(theta, model, later) - current
    return beta, step
