"""Monte Carlo chaining as the paper has it (Sollich, section 5): rows join one after the other.

``Z_m / Z_0 = prod_k <w_{k+1} / w_k>_k`` with Metropolis steps in whitened coordinates ``theta = M z``. Slow and noisy
beside the bridges; here to be compared with.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ...likelihoods import Hinge
from ...problem import Problem

__all__ = ["chained_log_evidence"]


_KINDS = ("naive", "conditional", "joint")  # (27), (28), (29); the loops know them by their numbers


def chained_log_evidence(
    problem: Problem, kind: str, sweeps: int, rng: np.random.Generator, rows: int = 1
) -> tuple[float, float]:
    """Logarithm of (27), (28) or (29) by chaining, and its standard error from batches of each link of `rows` rows."""
    likelihood = problem.likelihood
    assert isinstance(likelihood, Hinge)
    model = problem.y, problem.exponents, _KINDS.index(kind), likelihood.C, likelihood.log_kappa
    problem.refuse_weights_of_noise()
    factor = np.ascontiguousarray(problem.whitened().whole_factor)
    z = rng.standard_normal(factor.shape[1])
    value, variance, step = 0.0, 0.0, 0.5
    for k in range(0, problem.size, rows):
        logs = np.empty(sweeps)
        z, step = _link(factor, model, (k, min(k + rows, problem.size)), z, step, logs, rng)
        top = logs.max()
        weights = np.exp(logs - top)
        batches = np.array([part.mean() for part in np.array_split(weights, min(20, sweeps))])
        value += top + np.log(weights.mean())
        variance += float(batches.var(ddof=1) / len(batches) / weights.mean() ** 2)
    return float(value), float(np.sqrt(variance))


@njit(cache=True)
def _log_weight(theta, model, rows):  # type: ignore[no-untyped-def]
    """Logarithm of the weight function with `rows` rows: likelihoods, sums over labels, or a power of their mean."""
    y, weights, kind, C, log_kappa = model
    total, mean = 0.0, 0.0
    n = len(theta)
    for i in range(n if kind == 2 else rows):
        if kind == 0:
            total += weights[i] * (log_kappa - C * max(0.0, 1.0 - y[i] * theta[i]))
        else:
            slope = C * weights[i]
            v = np.exp(-slope * max(0.0, 1.0 - theta[i])) + np.exp(-slope * max(0.0, 1.0 + theta[i]))
            if kind == 1:
                total += weights[i] * log_kappa + np.log(v)
            else:
                mean += np.exp(weights[i] * log_kappa) * v / n
    return total if kind != 2 else rows * np.log(mean)


@njit(cache=True)
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
