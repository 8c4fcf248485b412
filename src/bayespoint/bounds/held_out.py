"""The bound to beat: errors on points that no choice has seen."""

from __future__ import annotations

from scipy.special import betainccinv

from ._bound import Bound
from ._checks import check_count, check_sample

__all__ = ["binomial_bound"]


def binomial_bound(errors: int, n: int, delta: float) -> Bound:
    """Error of one classifier from a held-out set, by inversion of the binomial tail (Clopper and Pearson, Langford).

    Parameters
    ----------
    errors : int
        Number of held-out points that the classifier gets wrong.
    n : int
        Number of held-out points.
    delta : float
        Probability that the bound fails.

    Returns
    -------
    Bound
        The largest error p under which at most `errors` of n are wrong with probability delta. Of terms ``test error``
        and ``confidence``, which add up to the value.

    Examples
    --------
    >>> from bayespoint.bounds import binomial_bound
    >>> print(binomial_bound(errors=3, n=100, delta=0.05))
    0.0757108
      test error  0.03
      confidence  0.0457108
    """
    check_sample(n, delta)
    check_count("errors", errors, 0)
    check_count("n - errors", n - errors, 0)
    value = 1.0 if errors == n else float(betainccinv(errors + 1, n - errors, delta))
    return Bound(value, {"test error": errors / n, "confidence": value - errors / n})
