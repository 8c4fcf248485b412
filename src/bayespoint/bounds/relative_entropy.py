"""Relative entropies of coins and of Gaussians, in nats."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.special import kl_div

from .._core.typing import Array
from ._checks import check, check_share, not_negative

__all__ = ["binary_kl", "gaussian_divergence", "invert_kl"]

_SERIES = 1 / np.arange(2.0, 19.0)  # of (r - log(1 + r)) / r^2 in powers of -r


def binary_kl(q: float, p: float) -> float:
    """Relative entropy in nats of a coin of bias q to one of bias p.

    Parameters
    ----------
    q, p : float
        Probabilities, 0 and 1 included.

    Returns
    -------
    float
        Infinite where p excludes what q allows.

    Examples
    --------
    >>> from bayespoint.bounds import binary_kl
    >>> binary_kl(0.5, 0.5), round(binary_kl(0.0, 0.5), 4), binary_kl(0.5, 1.0)
    (0.0, 0.6931, inf)
    """
    check_share("q", q)
    check_share("p", p)
    return _kl(q, p, p - q)


def _kl(q: float, p: float, gap: float) -> float:
    """`binary_kl` as a sum of two terms that are not negative; `gap` is ``p - q``, exact where p is rounded."""
    return _poisson_kl(q, p, gap) + _poisson_kl(1 - q, 1 - p, -gap)


def _poisson_kl(a: float, b: float, gap: float) -> float:
    """``a log(a / b) - a + b`` without cancellation where ``gap = b - a`` is small."""
    if abs(gap) >= 0.1 * a:
        return float(kl_div(a, b))
    r = gap / a
    return float(gap * r * np.polynomial.polynomial.polyval(-r, _SERIES))


def invert_kl(q: float, budget: float) -> float:
    """Largest p whose `binary_kl` from q is within the budget.

    Parameters
    ----------
    q : float
        Probability, such as a training error.
    budget : float
        Relative entropy in nats.

    Returns
    -------
    float
        Between q and 1.

    Examples
    --------
    >>> from bayespoint.bounds import binary_kl, invert_kl
    >>> p = invert_kl(0.1, 0.05)
    >>> round(p, 4), round(binary_kl(0.1, p), 12)
    (0.2201, 0.05)
    """
    check_share("q", q)
    budget = not_negative("budget", budget)
    if q == 1 or budget == inf:
        return 1.0
    if budget == 0:
        return float(q)
    top = min(1 - q, sqrt(2 * q) * sqrt(budget) + 2 * budget)  # McAllester's relaxation, see mcallester_bound

    def excess(gap: float) -> float:
        return min(_kl(q, min(q + gap, 1.0), gap), 2 * budget + 1) - budget  # finite at p = 1

    gap = brentq(excess, 0.0, top, xtol=1e-300, rtol=1e-15, maxiter=2000)
    return float(min(q + gap, 1.0))


def gaussian_divergence(mean: Array, covariance: Array) -> float:
    """Relative entropy in nats of N(mean, covariance) to N(0, I), in primal coordinates (GMM equation 10).

    Parameters
    ----------
    mean : array-like of shape (d,)
        Posterior mean of the weights.
    covariance : array-like of shape (d, d)
        Posterior covariance of the weights; not the rescaled one of GMM (13), which is larger by ``phi**2``.

    Returns
    -------
    float
        Infinite for a singular covariance.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.bounds import gaussian_divergence
    >>> gaussian_divergence(np.array([3.0, 4.0]), np.eye(2))
    12.5
    """
    mean, covariance = np.asarray(mean, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    d = mean.size
    check(mean.ndim == 1 and covariance.shape == (d, d), "mean must be a vector and covariance a matrix of its size.")
    check(np.allclose(covariance, covariance.T), "covariance must be symmetric.")
    spectrum = np.linalg.eigvalsh(covariance)
    rounding = d * np.finfo(float).eps * np.abs(spectrum).max()
    check(spectrum.min() >= -rounding, "covariance must not have a negative eigenvalue.")
    spectrum = np.where(spectrum > rounding, spectrum, 0.0)
    return float(0.5 * (mean @ mean + kl_div(1.0, spectrum).sum()))  # sum of s - 1 - log(s)
