"""Volume-ratio bounds of TR 99-11: no training errors, inputs and weights on the unit sphere."""

from __future__ import annotations

from math import e, log, log2

import numpy as np
from scipy.special import betainc, betaln

from ._bound import Bound
from ._checks import check, check_count, check_margin, check_sample, not_negative
from .pac_bayes import majority_vote_bound

__all__ = [
    "ball_bound",
    "bayes_bound",
    "cap_bound",
    "linear_svm_bound",
    "log_ball_ratio",
    "log_cap_ratio",
    "margin_bound",
    "subset_bound",
]


def margin_bound(margin: float, n: int, delta: float, radius: float = 1.0) -> Bound:
    """Error of a consistent hyperplane from its margin and the fat-shattering dimension (TR 99-11 Theorem 1).

    Parameters
    ----------
    margin : float
        Smallest distance of a training point from the hyperplane.
    n : int
        Number of training points.
    delta : float
        Probability that the bound fails.
    radius : float, default=1.0
        Radius of a ball around the origin that holds all inputs.

    Returns
    -------
    Bound
        Of terms ``capacity``, ``confidence`` (they add up to the value) and ``kappa``.

    Notes
    -----
    The first logarithm is ``log2(8 e n / kappa)`` with Euler's number, as Shawe-Taylor, Bartlett, Williamson and
    Anthony have it. The report prints its symbol for delta there, which would make the bound grow with delta. From
    ``kappa = 8 n`` on the printed product falls, and for small margins it is negative: here it stays at its largest
    value, which is trivial.

    Examples
    --------
    >>> from bayespoint.bounds import margin_bound
    >>> print(margin_bound(margin=0.5, n=10**7, delta=0.05))
    0.215506
      capacity    0.2155
      confidence  6.11508e-06
      kappa       2308
    """
    check_sample(n, delta)
    check(radius > 0, f"radius must be above 0, got {radius!r}.")
    check_margin(margin, radius)
    ratio = float(radius) / float(margin)
    kappa = float(np.ceil(577 * ratio * ratio))
    active = min(kappa, 8.0 * n)
    capacity = 2 / n * active * log2(8 * e * n / active) * log2(32 * n)
    confidence = 2 / n * log2(8 * n / delta)
    return Bound(capacity + confidence, {"capacity": capacity, "confidence": confidence, "kappa": kappa})


def subset_bound(log_volume: float, n: int, delta: float) -> Bound:
    """Mean error of the classifiers in any part of version space (TR 99-11 Theorem 2, McAllester 1998).

    Parameters
    ----------
    log_volume : float
        Natural logarithm of the prior probability of the part: of all of version space, the log-evidence of a hard
        step.
    n : int
        Number of training points.
    delta : float
        Probability that the bound fails for any part.

    Returns
    -------
    Bound
        Of terms ``volume``, ``confidence`` and ``sample size``, which add up to the value.

    See Also
    --------
    seeger_bound : sharper at ``gibbs_error=0`` and ``divergence=-log_volume``.

    Examples
    --------
    >>> from bayespoint.bounds import subset_bound
    >>> print(subset_bound(log_volume=-20.0, n=1000, delta=0.05))
    0.0378112
      volume       0.02
      confidence   0.00299573
      sample size  0.0148155
    """
    check_sample(n, delta)
    volume = not_negative("-log_volume", -log_volume)
    terms = {"volume": volume / n, "confidence": -log(delta) / n, "sample size": (2 * log(n) + 1) / n}
    return Bound(sum(terms.values()), terms)


def bayes_bound(log_volume: float, n: int, delta: float) -> Bound:
    """Error of the majority vote of any part of version space (TR 99-11 Theorem 3; all of it: Corollary 1).

    Parameters
    ----------
    log_volume, n, delta
        As for `subset_bound`.

    Returns
    -------
    Bound
        Twice `subset_bound`, with its terms.

    Examples
    --------
    >>> from bayespoint.bounds import bayes_bound
    >>> round(bayes_bound(log_volume=-20.0, n=1000, delta=0.05).value, 6)
    0.075622
    """
    return majority_vote_bound(subset_bound(log_volume, n, delta))


def linear_svm_bound(margin: float, dimension: int, n: int, delta: float) -> Bound:
    """Error of a consistent hyperplane from its margin and the dimension (TR 99-11 Corollary 2).

    Parameters
    ----------
    margin : float
        Smallest distance of a training point of unit length from the hyperplane.
    dimension : int
        Number of features.
    n, delta
        As for `margin_bound`.

    Returns
    -------
    Bound
        `bayes_bound` at a simple lower bound on the volume of the ball around the hyperplane.

    See Also
    --------
    cap_bound : the same with the exact volume, always sharper.

    Examples
    --------
    >>> from bayespoint.bounds import linear_svm_bound
    >>> round(linear_svm_bound(margin=0.1, dimension=100, n=10_000, delta=0.05).value, 4)
    0.1243
    """
    check_margin(margin)
    check_count("dimension", dimension, 2)
    return bayes_bound(-2 * dimension * log(2 / margin), n, delta)


def log_cap_ratio(margin: float, dimension: int) -> float:
    """Natural logarithm of the sphere's surface over that of a cap of chord `margin` (TR 99-11 Lemma 1).

    Parameters
    ----------
    margin : float
        Largest Euclidean distance of the cap from its pole.
    dimension : int
        Number of features; the unit sphere has one dimension less.

    Returns
    -------
    float

    Notes
    -----
    The cap ends at the angle ``psi = arccos(1 - margin**2 / 2)``, and its share of the sphere is
    ``int_0^psi sin^(n-2) / int_0^pi sin^(n-2)`` (the report prints 2 pi for pi). That is half a regularised incomplete
    beta function, ``I_x((n-1)/2, 1/2) / 2`` at ``x = sin^2 psi <= 3/4``, here by its series of positive terms and in
    logarithms. A chord of the margin lies inside the largest ball of version space, whose angle is ``arcsin(margin)``:
    `log_ball_ratio` has that one.

    Examples
    --------
    A chord of one spans 60 degrees to each side: a third of the circle, a quarter of the sphere.

    >>> import numpy as np
    >>> from bayespoint.bounds import log_cap_ratio
    >>> np.exp([log_cap_ratio(1.0, 2), log_cap_ratio(1.0, 3)]).round(9)
    array([3., 4.])
    >>> round(log_cap_ratio(1e-6, 10_000), 3)
    138146.814
    """
    check_margin(margin)
    check_count("dimension", dimension, 2)
    half = margin / 2
    log_squared_sine = 2 * log(margin) + np.log1p(-half * half)
    return _log_ratio(log_squared_sine, np.log1p(-2 * half * half), dimension)


def log_ball_ratio(margin: float, dimension: int) -> float:
    """Natural logarithm of the sphere's surface over that of the largest ball inside version space.

    A unit vector of margin gamma on rows of unit length is at an angle of ``arcsin(gamma)`` from the nearest wall. The
    report has a ball of chord gamma (`log_cap_ratio`), which is the smaller one.

    Parameters
    ----------
    margin, dimension
        As for `linear_svm_bound`.

    Returns
    -------
    float

    Examples
    --------
    A margin of one half is an angle of 30 degrees to each side, a sixth of the circle; a margin of one is a half-space.

    >>> import numpy as np
    >>> from bayespoint.bounds import log_ball_ratio, log_cap_ratio
    >>> np.exp([log_ball_ratio(0.5, 2), log_ball_ratio(1.0, 3)]).round(9)
    array([6., 2.])
    >>> round(log_cap_ratio(0.1, 1000) - log_ball_ratio(0.1, 1000), 3)  # nats that the chord gives away
    1.25
    """
    check_margin(margin)
    check_count("dimension", dimension, 2)
    with np.errstate(divide="ignore"):  # a margin of one has a cosine of zero
        return _log_ratio(2 * log(margin), 0.5 * float(np.log1p(-margin * margin)), dimension)


def _log_ratio(log_squared_sine: float, log_cosine: float, dimension: int) -> float:
    """Of the sphere to a cap of at most 90 degrees: minus the logarithm of half an incomplete beta function."""
    a, x = (dimension - 1) / 2, float(np.exp(log_squared_sine))
    if x > 0.75 and (value := float(betainc(a, 0.5, min(x, 1.0)))) > 1e-200:
        return float(log(2) - log(value))
    terms = 140 if x <= 0.75 else int(40 / -log_squared_sine)  # x**terms is below rounding
    k = np.arange(terms)
    series = 1 + np.cumprod(x * (a + 0.5 + k) / (a + 1 + k)).sum()
    log_incomplete_beta = a * log_squared_sine + log_cosine - log(a) - betaln(a, 0.5) + np.log(series)
    return float(log(2) - log_incomplete_beta)


def ball_bound(margin: float, dimension: int, n: int, delta: float) -> Bound:
    """Error of a consistent hyperplane from the largest ball around it inside version space (TR 99-11 Theorem 3).

    Parameters
    ----------
    margin, dimension, n, delta
        As for `linear_svm_bound`.

    Returns
    -------
    Bound
        `bayes_bound` at minus `log_ball_ratio`: never above `cap_bound`, whose ball is that of the report's Lemma 1.

    Examples
    --------
    >>> from bayespoint.bounds import ball_bound, cap_bound
    >>> sizes = {"dimension": 100, "n": 10_000, "delta": 0.05}
    >>> round(ball_bound(0.5, **sizes).value, 4), round(cap_bound(0.5, **sizes).value, 4)
    (0.0188, 0.0195)
    """
    return bayes_bound(-log_ball_ratio(margin, dimension), n, delta)


def cap_bound(margin: float, dimension: int, n: int, delta: float) -> Bound:
    """Error of a consistent hyperplane from the exact volume of a ball around it (TR 99-11 Theorem 3, Lemma 1).

    The ball is the report's, of chord `margin`; `ball_bound` takes the largest one.

    Parameters
    ----------
    margin, dimension, n, delta
        As for `linear_svm_bound`.

    Returns
    -------
    Bound
        `bayes_bound` at minus `log_cap_ratio`.

    Examples
    --------
    >>> from bayespoint.bounds import cap_bound
    >>> round(cap_bound(margin=0.1, dimension=100, n=10_000, delta=0.05).value, 4)
    0.0507
    """
    return bayes_bound(-log_cap_ratio(margin, dimension), n, delta)
