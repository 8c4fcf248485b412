"""Which of several Gaussians of one variance is the largest, for very many of them: draws at points.

With all means taken from the largest, in standard deviations, ``P_c = int phi(u + g_c) prod_o Phi(u + g_o) du`` has the
same nodes u for everyone, so ``Phi(u + g)`` is a table in g for each node, read by cubic interpolation.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import ndtr

from .._core.compiling import compiled
from .._core.typing import Array

__all__ = ["leading_probabilities"]

_NODES, _REACH = 48, 6.0  # the largest of Gaussians lies within six standard deviations of the largest mean
_STEPS = 32  # of the table, to a standard deviation
_LEAST = 1e-12  # probability that is not told from less
_FAR = 12.0  # lag of a mean from which it never leads


def leading_probabilities(mean: Array, variance: Array) -> Array:
    """Probability of each class to have the largest latent.

    Parameters
    ----------
    mean : ndarray of shape (draws, n_points, C)
        Means.
    variance : ndarray of shape (n_points,)
        Variance of independent noise on each latent, of all classes and draws alike; zero leaves the largest mean.

    Returns
    -------
    ndarray of shape (draws, n_points, C)
        To 1e-6; the last axis sums to one.
    """
    found = np.empty_like(mean)
    _lead(np.ascontiguousarray(mean), np.sqrt(variance), _tables(), found)
    return found


@cache
def _tables() -> tuple[Array, Array, Array]:
    """Weights of the nodes, and Phi and phi at lag and node."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    z = np.arange(0, _FAR + 2 / _STEPS, 1 / _STEPS)[:, None] + _REACH * nodes
    return _REACH * weights, ndtr(z), np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)


_FAST = {"reassoc", "contract", "nsz"}


@compiled(nogil=True)
def _lead(mean, sd, tables, found):  # type: ignore[no-untyped-def]
    weights, values, slopes = tables
    draws, points, classes = mean.shape
    below, density, product = np.empty((classes, _NODES)), np.empty((classes, _NODES)), np.empty(_NODES)
    for d in range(draws):
        for p in range(points):
            m, out = mean[d, p], found[d, p]
            top, total = m.max(), 0.0
            if sd[p] == 0.0:
                for c in range(classes):
                    out[c] = 1.0 if m[c] == top else 0.0
                    total += out[c]
            else:
                least = top - _FAR * sd[p]
                for c in range(classes):
                    out[c] = 0.0
                    if m[c] >= least:
                        _interpolate((top - m[c]) / sd[p], values, slopes, below[c], density[c])
                product[:] = weights
                _integrate(m, least, below, density, product, out)
                for c in range(classes):
                    out[c] = max(out[c], _LEAST)
                    total += out[c]
            for c in range(classes):
                out[c] /= total


@compiled(nogil=True, fastmath=_FAST)
def _integrate(m, least, below, density, product, out):  # type: ignore[no-untyped-def]
    """Fill the integrals of each density times all other distribution functions."""
    for c in range(len(m)):  # before c
        if m[c] >= least:
            for k in range(_NODES):
                density[c, k] *= product[k]
                product[k] *= below[c, k]
    for k in range(_NODES):
        product[k] = 1.0
    for c in range(len(m) - 1, -1, -1):  # and after it
        if m[c] >= least:
            for k in range(_NODES):
                out[c] += density[c, k] * product[k]
                product[k] *= below[c, k]


@compiled(nogil=True, fastmath=_FAST)
def _interpolate(lag, values, slopes, below, density):  # type: ignore[no-untyped-def]
    """Distribution function and density at all nodes for a mean that lags: cubic between entries of the tables."""
    i = int(lag * _STEPS)
    s = lag * _STEPS - i
    h01 = s * s * (3.0 - 2.0 * s)
    h00 = 1.0 - h01
    h10, h11 = s * (1.0 - s) * (1.0 - s) / _STEPS, s * s * (s - 1.0) / _STEPS
    # the density by the slope of the same cubic
    g01 = 6.0 * s * (1.0 - s) * _STEPS
    g10, g11 = (1.0 - s) * (1.0 - 3.0 * s), s * (3.0 * s - 2.0)
    v0, v1, d0, d1 = values[i], values[i + 1], slopes[i], slopes[i + 1]
    for k in range(_NODES):
        rise = v1[k] - v0[k]
        below[k] = h00 * v0[k] + h01 * v1[k] + h10 * d0[k] + h11 * d1[k]
        density[k] = g01 * rise + g10 * d0[k] + g11 * d1[k]
