"""One Gaussian latent above several others: expectation propagation over the comparisons of a row, all rows at once.

With ``d_c = h_y - h_c ~ N(mean, cov)`` for the k = C - 1 other classes, the probability that all are positive, and the
moments of d where they are, come from one site ``exp(nu_c d_c - tau_c d_c^2 / 2)`` for each comparison. One comparison
is exact. Comparisons of a row share ``h_y``, so they move one after the other, each followed by a rank-one update.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.typing import Array
from ._normal import above_zero
from .step import Step

__all__ = ["SETTLED", "Compared", "above_all", "others_of"]

_WALL = Step()
_SWEEPS = 100
SETTLED = 1e-11  # change of a site in units of its marginal
_ROWS = 256  # that are worked on at a time, so that they stay in the processor's cache


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


def above_all(mean: Array, cov: Array, start: tuple[Array, Array] | None = None, settled: float = SETTLED) -> Compared:
    """All of ``d ~ N(mean, cov)`` positive; from sites of a similar problem, if given, until they move by no more."""
    tau, nu = (np.zeros_like(mean), np.zeros_like(mean)) if start is None else (start[0].copy(), start[1].copy())
    after, spread = _conditioned(mean, cov, tau, nu)
    for some in range(0, len(mean), _ROWS):
        rows = slice(some, some + _ROWS)
        tau[rows], nu[rows] = _settled(tau[rows], nu[rows], after[rows], spread[rows], settled)
    after, spread = _conditioned(mean, cov, tau, nu)
    return Compared(_log_z(mean, cov, tau, nu, after, spread), tau, nu, after, spread)


def _settled(tau: Array, nu: Array, mean: Array, cov: Array, settled: float) -> tuple[Array, Array]:
    """Sites of some rows where they stand still; the loops have them comparison by comparison."""
    found = np.stack([tau, nu])
    moving = np.arange(len(tau))
    t, v, m = (np.ascontiguousarray(part.T) for part in (tau, nu, mean))
    s = np.ascontiguousarray(np.moveaxis(cov, 0, 2))
    for _ in range(_SWEEPS):
        left = _sweep(t, v, m, s) > settled
        if left.all():
            continue
        found[:, moving] = np.stack([t.T, v.T])
        moving, t, v, m, s = moving[left], t[:, left], v[:, left], m[:, left], s[:, :, left]
        if not moving.size:
            break
    found[:, moving] = np.stack([t.T, v.T])
    return found[0], found[1]


def _conditioned(mean: Array, cov: Array, tau: Array, nu: Array) -> tuple[Array, Array]:
    """Moments of N(mean, cov) times sites."""
    k = mean.shape[1]
    spread: Any = np.linalg.solve(np.eye(k) + cov * tau[:, None, :], cov)
    spread = 0.5 * (spread + np.swapaxes(spread, 1, 2))
    return mean + np.einsum("icd,id->ic", spread, nu - tau * mean), spread


def _sweep(t: Array, v: Array, m: Array, s: Array) -> Array:
    """Each comparison of all rows once, in place: the largest change of each row."""
    change = np.zeros(t.shape[1])
    for c in range(len(t)):
        var = s[c, c].copy()
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = 1 / var - t[c]
            at = (m[c] / var - v[c]) / precision
        sound = (precision > 0) & np.isfinite(at)
        if not sound.all():
            precision, at = np.where(sound, precision, 1.0), np.where(sound, at, 0.0)
        root = np.sqrt(precision)
        ratio, curvature, gap = above_zero(at * root)
        new_t = curvature / gap * precision
        d_t = np.maximum(new_t, 0.0) - t[c]
        d_v = new_t * at + ratio / gap * root - v[c]
        if not sound.all():
            d_t[~sound], d_v[~sound] = 0.0, 0.0
        grown = 1 + d_t * var
        column = s[c].copy()
        m += column * ((d_v - d_t * m[c]) / grown)
        change = np.maximum(change, np.abs(d_t) * var + np.abs(d_v) * np.sqrt(np.maximum(var, 0.0)))
        s -= column[:, None] * (column * (d_t / grown))
        t[c] += d_t
        v[c] += d_v
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
