"""PAC-Bayes bounds: the mean error of a posterior's classifiers from its training error and its distance to the prior.

All hold with probability ``1 - delta`` over the sample, for all posteriors at once. The prior, and any grid of priors
or settings, must be fixed before the data are seen.
"""

from __future__ import annotations

from math import expm1, inf, log, sqrt

import numpy as np
from scipy.special import gammaincc, gammaln, ndtr, ndtri

from .._core.typing import Array
from ._bound import Bound
from ._checks import check, check_count, check_sample, check_share, not_negative
from .relative_entropy import invert_kl

__all__ = [
    "catoni_bound",
    "gaussian_margin_bound",
    "gaussian_margin_slack_bound",
    "majority_vote_bound",
    "mcallester_bound",
    "mcallester_two_sided",
    "seeger_bound",
]

_C1, _C2 = 1 + sqrt(2) / 2, 2 + sqrt(2) / 2  # GMM Theorem 3


def seeger_bound(gibbs_error: float, divergence: float, n: int, delta: float, choices: int = 1) -> Bound:
    """Mean error of the posterior's classifiers by the relative entropy of coins (Langford and Seeger, Maurer).

    Parameters
    ----------
    gibbs_error : float
        Mean training error of the posterior's classifiers, or of any loss between 0 and 1.
    divergence : float
        Relative entropy of the posterior to the prior in nats.
    n : int
        Number of training points.
    delta : float
        Probability that the bound fails for any posterior.
    choices : int, default=1
        Size of the grid of priors that this one was chosen from with the help of the data.

    Returns
    -------
    Bound
        Of terms ``training error``, and ``divergence``, ``confidence`` and ``grid``, which add up to the budget that
        `invert_kl` spends.

    Notes
    -----
    ``kl(gibbs_error || error) <= (divergence + log(xi(n) choices / delta)) / n``. Maurer bounds the moment
    ``xi(n) = sum_k Binomial(n, k) (k/n)^k (1 - k/n)^(n-k)`` by ``2 sqrt(n)``; here it is exact for all n, by Abel's
    identity ``xi(n) = e^n n^-n Gamma(n + 1, n)``, about ``1.25 sqrt(n) + 2/3``.

    Examples
    --------
    >>> from bayespoint.bounds import seeger_bound
    >>> print(seeger_bound(gibbs_error=0.05, divergence=10.0, n=1000, delta=0.05))
    0.0999742
      training error  0.05
      divergence      0.01
      confidence      0.00669216
      grid            0
    """
    check_sample(n, delta)
    return _kl_bound(gibbs_error, _budget(divergence, _log_moment(n) - log(delta), n) | _grid(choices, n))


def _log_moment(n: int) -> float:
    """Logarithm of ``xi(n)``, the mean of ``exp(n kl(k/n || p))`` over binomial k, whatever p in (0, 1) is."""
    return float(gammaln(n + 1) + n - n * log(n) + np.log(gammaincc(n + 1, n)))


def _budget(divergence: float, confidence: float, n: int) -> dict[str, float]:
    """What the choice of a posterior and the risk delta cost."""
    return {"divergence": not_negative("divergence", divergence) / n, "confidence": confidence / n}


def _grid(choices: int, n: int) -> dict[str, float]:
    """What a union bound over the grid costs."""
    check_count("choices", choices, 1)
    return {"grid": log(choices) / n}


def _kl_bound(gibbs_error: float, budget: dict[str, float]) -> Bound:
    """The largest error that a budget of relative entropy, given by its parts, allows."""
    check_share("gibbs_error", gibbs_error)
    return Bound(invert_kl(gibbs_error, sum(budget.values())), {"training error": float(gibbs_error), **budget})


def catoni_bound(gibbs_error: float, divergence: float, n: int, delta: float, C: float, choices: int = 1) -> Bound:
    """Mean error of the posterior's classifiers, linear in the exponent (Catoni 2007): made to be minimised.

    Parameters
    ----------
    gibbs_error, divergence, n, delta
        As for `seeger_bound`.
    C : float
        Positive weight of the training error, fixed before the data are seen or one of `choices` fixed values.
    choices : int, default=1
        Size of the grid of C and of priors that the data chose from.

    Returns
    -------
    Bound
        Of the terms of `seeger_bound`.

    Notes
    -----
    ``error <= (1 - exp(-C gibbs_error - budget)) / (1 - exp(-C))`` with ``budget = (divergence + log(choices /
    delta)) / n``. The best C would give ``invert_kl(gibbs_error, budget)``: `seeger_bound` without ``log(xi(n))``.

    Examples
    --------
    >>> from bayespoint.bounds import catoni_bound
    >>> round(catoni_bound(gibbs_error=0.05, divergence=10.0, n=1000, delta=0.05, C=1.0).value, 6)
    0.096584
    """
    check_sample(n, delta)
    check_share("gibbs_error", gibbs_error)
    check(0 < C < inf, f"C must be above 0 and finite, got {C!r}.")
    budget = _budget(divergence, -log(delta), n) | _grid(choices, n)
    value = expm1(-C * gibbs_error - sum(budget.values())) / expm1(-C)
    return Bound(value, {"training error": float(gibbs_error), **budget})


def mcallester_two_sided(gibbs_error: float, divergence: float, n: int, delta: float) -> Bound:
    """Mean error of the posterior's classifiers, from above and from below (GMM Theorem 2, McAllester 2003).

    Parameters
    ----------
    gibbs_error, divergence, delta
        As for `seeger_bound`, which is sharper.
    n : int
        Number of training points, at least two.

    Returns
    -------
    Bound
        Of terms ``training error``, ``divergence`` and ``confidence``, and ``lower end``: the error is not below it.

    Examples
    --------
    >>> from bayespoint.bounds import mcallester_two_sided
    >>> bound = mcallester_two_sided(gibbs_error=0.05, divergence=10.0, n=1000, delta=0.05)
    >>> round(bound.terms["lower end"], 6), round(bound.value, 6)
    (0.017456, 0.106792)
    """
    bound = _kl_bound(gibbs_error, _mcallester_budget(divergence, n, delta))
    budget = bound.terms["divergence"] + bound.terms["confidence"]
    return Bound(bound.value, {**bound.terms, "lower end": 1 - invert_kl(1 - gibbs_error, budget)})


def _mcallester_budget(divergence: float, n: int, delta: float) -> dict[str, float]:
    """The parts of ``(divergence + log(2 n / delta)) / (n - 1)``."""
    check_sample(n, delta, smallest=2)
    return _budget(divergence, log(2 * n / delta), n - 1)


def mcallester_bound(gibbs_error: float, divergence: float, n: int, delta: float) -> Bound:
    """Mean error of the posterior's classifiers as a weighted sum (GMM Theorem 3).

    Parameters
    ----------
    gibbs_error, divergence, n, delta
        As for `mcallester_two_sided`.

    Returns
    -------
    Bound
        Of terms ``training error``, ``divergence`` and ``confidence``, which add up to the value.

    Notes
    -----
    Never below `mcallester_two_sided`: for p above q ``kl(q || p) >= (p - q)^2 / 2p``, so a budget x allows at most
    ``p <= q + sqrt(2 q x) + 2 x``, and the root is at most ``(q + x) / sqrt(2)``.

    Examples
    --------
    >>> from bayespoint.bounds import mcallester_bound
    >>> print(mcallester_bound(gibbs_error=0.05, divergence=10.0, n=1000, delta=0.05))
    0.141168
      training error  0.0853553
      divergence      0.0270982
      confidence      0.0287149
    """
    check_share("gibbs_error", gibbs_error)
    budget = _mcallester_budget(divergence, n, delta)
    terms = {"training error": _C1 * gibbs_error, **{name: _C2 * part for name, part in budget.items()}}
    return Bound(sum(terms.values()), terms)


def gaussian_margin_bound(eta: float, divergence: float, n: int, delta: float) -> Bound:
    """Mean error under a Gaussian that puts every training point right with probability eta (GMM Corollary 4).

    Parameters
    ----------
    eta : float
        Smallest probability over the training points of being right, above one half.
    divergence : float
        Relative entropy of the Gaussian to the prior N(0, I); see `gaussian_divergence`.
    n, delta
        As for `mcallester_two_sided`.

    Returns
    -------
    Bound
        `mcallester_bound` at a training error of ``1 - eta``.

    Examples
    --------
    >>> from bayespoint.bounds import gaussian_margin_bound
    >>> round(gaussian_margin_bound(eta=0.95, divergence=10.0, n=1000, delta=0.05).value, 6)
    0.141168
    """
    _check_eta(eta)
    return mcallester_bound(1 - eta, divergence, n, delta)


def gaussian_margin_slack_bound(z: Array, eta: float, divergence: float, n: int, delta: float) -> Bound:
    """Mean error under a Gaussian of which some training points miss the target eta (GMM Corollary 5).

    Parameters
    ----------
    z : array-like of shape (n,)
        Margins in standard deviations: ``y_i mean.x_i / sqrt(x_i' covariance x_i)``.
    eta : float
        Target probability of being right, above one half.
    divergence, n, delta
        As for `gaussian_margin_bound`.

    Returns
    -------
    Bound
        `mcallester_bound` at the mean of ``Phi(-phi + max(phi - z_i, 0))``, where ``Phi(phi) = eta``.

    Notes
    -----
    The loss is the larger of ``1 - eta`` and ``Phi(-z_i)``. So this is never below `mcallester_bound` at the training
    error itself, the mean of ``Phi(-z_i)``, to which it comes at ``eta=1``.

    Examples
    --------
    >>> from bayespoint.bounds import gaussian_margin_slack_bound
    >>> z = [3.0] * 900 + [-0.5] * 100
    >>> round(gaussian_margin_slack_bound(z, eta=0.95, divergence=10.0, n=1000, delta=0.05).value, 6)
    0.250673
    """
    _check_eta(eta)
    check_sample(n, delta, smallest=2)
    z = np.asarray(z, dtype=np.float64)
    check(z.shape == (n,) and not np.isnan(z).any(), f"z must hold {n} numbers, one for each training point.")
    return mcallester_bound(float(ndtr(-np.minimum(z, ndtri(eta))).mean()), divergence, n, delta)


def _check_eta(eta: float) -> None:
    check(0.5 < eta <= 1, f"eta must be above 0.5 and at most 1, got {eta!r}.")


def majority_vote_bound(gibbs: Bound) -> Bound:
    """Error of the majority vote: at most twice the mean error, for each wrong vote has half of the weight wrong.

    Parameters
    ----------
    gibbs : Bound
        On the mean error of the classifiers that vote. Where the posterior is symmetric about its mean, as a Gaussian
        is, the mean is the vote.

    Returns
    -------
    Bound
        Of the same terms, and ``mean error`` for the bound that is doubled.

    Examples
    --------
    >>> from bayespoint.bounds import majority_vote_bound, seeger_bound
    >>> round(majority_vote_bound(seeger_bound(0.05, divergence=10.0, n=1000, delta=0.05)).value, 6)
    0.199948
    """
    return Bound(2 * gibbs.value, {**gibbs.terms, "mean error": gibbs.value})
