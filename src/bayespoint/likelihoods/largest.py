"""Which of several independent Gaussians is the largest: quadrature in one dimension."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from .._core.typing import Array

__all__ = ["largest_probabilities"]

_NODES = 64


def largest_probabilities(mean: Array, variance: Array) -> Array:
    """Probability of each of several independent Gaussians to be the largest, row by row.

    By Gauss-Legendre quadrature of ``phi_c(h) prod_o Phi_o(h)`` between where the largest begins to be likely and where
    it ends to be; odds below 1e-12 are not told from that.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_points, n_classes)
        Moments.

    Returns
    -------
    ndarray of shape (n_points, n_classes)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.readouts import largest_probabilities
    >>> largest_probabilities(np.array([[1.0, 0.0, 0.0]]), np.ones((1, 3))).round(4)
    array([[0.6337, 0.1831, 0.1831]])
    """
    sd = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    low, high = (mean - 7 * sd).max(axis=1), (mean + 7 * sd).max(axis=1)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    below = np.zeros_like(mean)
    for node, weight in zip(nodes, weights, strict=True):
        h = 0.5 * (low + high) + 0.5 * (high - low) * node
        z = (h[:, None] - mean) / sd
        logs = log_ndtr(z)
        others = logs.sum(axis=1, keepdims=True) - logs
        below += 0.5 * weight * (high - low)[:, None] * np.exp(others - 0.5 * z * z) / (sd * np.sqrt(2 * np.pi))
    below = np.maximum(below, 1e-12)
    return below / below.sum(axis=1, keepdims=True)
