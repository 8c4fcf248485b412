"""Minimax tilting: the probability of a Gaussian orthant by importance sampling (Botev 2017).

Variables are drawn one after the other from truncated normals whose means are tilted by `mu`; the tilt is the saddle
point of the worst-case log-weight, so that weights are nearly constant. The walls of a hard or soft step on a Gram
matrix of full rank are such an orthant: ``P(y_i h_i > 0 for all i)`` with ``h ~ N(0, K + s I)``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp
from scipy.stats import qmc

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..likelihoods._normal import hazard

__all__ = ["Orthant", "sobol_log_weights", "tilt", "tilted_draws"]

_BLOCK = 32


class Orthant(NamedTuple):
    """An orthant ready to be sampled: its factor, the same with a unit diagonal that is left out, and the tilt."""

    factor: Array  # Cholesky factor of the ordered covariance
    below: Array
    mu: Array
    log_bound: float  # the saddle value: no log-weight is above it
    order: Any  # which variable each row of the factor is


def tilt(covariance: Array) -> Orthant:
    """Order the variables, and solve for the minimax tilt of ``P(Z > 0)``, ``Z ~ N(0, covariance)``."""
    factor, order = _ordered_cholesky(covariance)
    below = factor / np.diagonal(factor)[:, None]
    np.fill_diagonal(below, 0.0)
    x, mu = _saddle_point(below)
    shift = mu + below @ x
    return Orthant(factor, below, mu, float(np.sum(0.5 * mu * mu - x * mu + log_ndtr(shift))), order)


def sobol_log_weights(orthant: Orthant, count: int, rng: np.random.Generator) -> Array:
    """Log-weights of a scrambled Sobol sequence of a power of two: the mean of the weights is unbiased."""
    m = len(orthant.mu)
    if m > qmc.Sobol.MAXDIM:
        return tilted_draws(orthant, rng.random((count, m)))[1]
    return tilted_draws(orthant, qmc.Sobol(m, rng=rng).random(count))[1]


def tilted_draws(orthant: Orthant, uniform: Array) -> tuple[Array, Array]:
    """Standard normal coordinates of points in the orthant, one row a point, and the logarithms of their weights."""
    mu, below = orthant.mu, orthant.below
    count, m = uniform.shape
    uniform = np.clip(uniform, 2.0**-54, 1 - 2.0**-53)
    draws = np.zeros((count, m))
    log_weights = np.zeros(count)
    for start in range(0, m, _BLOCK):
        stop = min(start + _BLOCK, m)
        reach = draws[:, :start] @ below[start:stop, :start].T
        for k in range(start, stop):
            shift = mu[k] + reach[:, k - start] + draws[:, start:k] @ below[k, start:k]  # the wall is at -shift
            draws[:, k] = mu[k] + _truncated_normal(-shift, uniform[:, k])
            log_weights += log_ndtr(shift) + 0.5 * mu[k] ** 2 - mu[k] * draws[:, k]
    return draws, log_weights


def _truncated_normal(low: Array, uniform: Array) -> Array:
    """Standard normal above `low`, by inversion of its upper tail."""
    far = low > 20.0
    out = -ndtri(uniform * ndtr(-np.minimum(low, 20.0)))
    if far.any():
        out[far] = -ndtri_exp(np.log(uniform[far]) + log_ndtr(-low[far]))
    return out


def _ordered_cholesky(covariance: Array) -> tuple[Array, Any]:
    """Cholesky factor with the least probable variable first, given those before it at their truncated means.

    And which variable each row is.

    Gibson, Glasbey and Elston (1994). Raises `InvalidProblemError` if the matrix has not full rank.
    """
    m = len(covariance)
    a = np.array(covariance)
    factor = np.zeros((m, m))
    left = np.diagonal(a).copy()  # conditional variances
    mean, order = np.zeros(m), np.arange(m)
    floor = m * np.finfo(float).eps * left.max()
    for j in range(m):
        if left[j:].min() <= floor:
            raise InvalidProblemError(
                "Minimax tilting needs a Gram matrix of full rank: use method='billiard', or softness above 0."
            )
        i = j + int(np.argmin(mean[j:] / np.sqrt(left[j:])))
        if i != j:
            a[[i, j]] = a[[j, i]]
            a[:, [i, j]] = a[:, [j, i]]
            factor[[i, j], :j] = factor[[j, i], :j]
            left[[i, j]] = left[[j, i]]
            mean[[i, j]] = mean[[j, i]]
            order[[i, j]] = order[[j, i]]
        root = np.sqrt(left[j])
        factor[j, j] = root
        factor[j + 1 :, j] = (a[j + 1 :, j] - factor[j + 1 :, :j] @ factor[j, :j]) / root
        left[j + 1 :] -= np.square(factor[j + 1 :, j])
        z = mean[j] / root
        mean[j + 1 :] += factor[j + 1 :, j] * hazard(z)  # E of the j-th standard normal above -z
    return factor, order


def _saddle_point(below: Array) -> tuple[Array, Array]:
    """Newton's method for the stationary point of ``psi(x, mu) = sum mu^2/2 - x mu + log Phi(mu + below x)``.

    The last components are zero. psi is concave in x and convex in mu; the block of mu is diagonal, so a step costs
    one solve of order m.
    """
    m = len(below)
    keep = below[:, : m - 1]
    x, mu = np.zeros(m - 1), np.zeros(m)
    residual = _stationarity(keep, x, mu)
    for _ in range(100):
        size = np.abs(np.concatenate(residual)).max(initial=0.0)
        if size < 1e-10:
            break
        step_x, step_mu = _newton_step(keep, x, mu, residual)
        length = 1.0
        while length > 1e-4:
            trial = x + length * step_x, np.append(mu[:-1] + length * step_mu, 0.0)
            new = _stationarity(keep, *trial)
            if np.abs(np.concatenate(new)).max(initial=0.0) < size * (1 - 0.1 * length):
                break
            length *= 0.5
        else:
            break  # rounding, or a flat patch: any tilt is valid, this one is near the best
        (x, mu), residual = trial, new
    return np.append(x, 0.0), mu


def _stationarity(keep: Array, x: Array, mu: Array) -> tuple[Array, Array]:
    """Gradient of psi in x and in mu, their last components left out."""
    rate = hazard(mu + keep @ x)
    return keep.T @ rate - mu[:-1], mu[:-1] - x + rate[:-1]


def _newton_step(keep: Array, x: Array, mu: Array, residual: tuple[Array, Array]) -> tuple[Array, Array]:
    shift = mu + keep @ x
    rate = hazard(shift)
    slope = -rate * (shift + rate)  # derivative of the hazard, in (-1, 0)
    grad_x, grad_mu = residual
    curve = 1.0 + slope[:-1]
    mixed = keep[:-1] * slope[:-1, None]  # d grad_mu / dx
    mixed[np.diag_indices(len(mixed))] -= 1.0
    across = mixed.T / curve
    system = keep.T @ (keep * slope[:, None]) - across @ mixed
    step_x = solve(system, across @ grad_mu - grad_x, assume_a="sym")
    return step_x, -(grad_mu + mixed @ step_x) / curve
