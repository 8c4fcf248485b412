"""One Gaussian latent above several others: expectation propagation over the comparisons of a row, all rows at once.

With ``d_c = h_y - h_c ~ N(mean, cov)`` for the k = C - 1 other classes, the probability that all are positive, and the
moments of d where they are, come from one site ``exp(nu_c d_c - tau_c d_c^2 / 2)`` for each comparison. One comparison
is exact. Comparisons of a row share ``h_y``, so they move one after the other, each followed by a rank-one update.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.typing import Array
from .step import Step

__all__ = ["Compared", "above_all", "others_of"]

_WALL = Step()
_SWEEPS = 100
_SETTLED = 1e-11  # change of a site in units of its marginal


class Compared(NamedTuple):
    """Sites of the comparisons, the Gaussian they make of the differences, and the log-probability of all together."""

    log_z: Array
    tau: Array
    nu: Array
    mean: Array
    cov: Array


def others_of(y: Any, n_classes: int) -> Any:
    """The numbers of the other classes, of shape (n, C - 1)."""
    numbers = np.arange(n_classes - 1)
    return numbers + (numbers >= np.asarray(y)[:, None])


def above_all(mean: Array, cov: Array, start: tuple[Array, Array] | None = None) -> Compared:
    """All of ``d ~ N(mean, cov)`` positive; from sites of a similar problem, if given."""
    tau, nu = (np.zeros_like(mean), np.zeros_like(mean)) if start is None else (start[0].copy(), start[1].copy())
    after, spread = _conditioned(mean, cov, tau, nu)
    moving = np.arange(len(mean))
    for _ in range(_SWEEPS):
        change = _sweep(tau, nu, after, spread, moving)
        moving = moving[change > _SETTLED]
        if not moving.size:
            break
    after, spread = _conditioned(mean, cov, tau, nu)
    return Compared(_log_z(mean, cov, tau, nu, after, spread), tau, nu, after, spread)


def _conditioned(mean: Array, cov: Array, tau: Array, nu: Array) -> tuple[Array, Array]:
    """Moments of N(mean, cov) times sites."""
    k = mean.shape[1]
    spread: Any = np.linalg.solve(np.eye(k) + cov * tau[:, None, :], cov)
    spread = 0.5 * (spread + np.swapaxes(spread, 1, 2))
    return mean + np.einsum("icd,id->ic", spread, nu - tau * mean), spread


def _sweep(tau: Array, nu: Array, mean: Array, cov: Array, rows: Any) -> Array:
    """Each comparison of some rows once, in place: the largest change of each row."""
    t, v, m, s = tau[rows], nu[rows], mean[rows], cov[rows]
    change = np.zeros(len(rows))
    one = np.ones(len(rows))
    for c in range(t.shape[1]):
        var = s[:, c, c]
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = 1 / var - t[:, c]
            at = (m[:, c] / var - v[:, c]) / precision
        sound = (precision > 0) & np.isfinite(at)
        precision, at = np.where(sound, precision, 1.0), np.where(sound, at, 0.0)
        _, new_t, new_v = _WALL.site(one, at, 1 / precision, one)
        d_t = np.where(sound, np.maximum(new_t, 0.0) - t[:, c], 0.0)
        d_v = np.where(sound, new_v - v[:, c], 0.0)
        column, grown = s[:, :, c].copy(), 1 + d_t * var
        m += column * ((d_v - d_t * m[:, c]) / grown)[:, None]
        change = np.maximum(change, np.abs(d_t) * var + np.abs(d_v) * np.sqrt(np.maximum(var, 0.0)))
        s -= column[:, :, None] * (column * (d_t / grown)[:, None])[:, None, :]
        t[:, c] += d_t
        v[:, c] += d_v
    tau[rows], nu[rows], mean[rows], cov[rows] = t, v, m, s
    return change


def _log_z(mean: Array, cov: Array, tau: Array, nu: Array, after: Array, spread: Array) -> Array:
    """The Gaussian integral with all sites, and for each comparison what its wall has instead of its site."""
    var = np.einsum("icc->ic", spread)
    precision = 1 / var - tau
    at, width = (after / var - nu) / precision, 1 / precision
    one = np.ones(at.size)
    log_wall = _WALL.site(one, at.ravel(), width.ravel(), one)[0].reshape(at.shape)
    push = nu - tau * at
    log_site = -0.5 * np.log1p(tau * width) + at * (nu - 0.5 * tau * at) + 0.5 * push**2 * var
    joint = nu - tau * mean
    log_sites = (mean * (nu - 0.5 * tau * mean)).sum(axis=1) + 0.5 * np.einsum("ic,icd,id->i", joint, spread, joint)
    log_sites -= 0.5 * np.linalg.slogdet(np.eye(mean.shape[1]) + cov * tau[:, None, :])[1]
    total: Array = log_sites + (log_wall - log_site).sum(axis=1)
    return total
