"""How much the centre of mass can lose to the Bayes point (BPM Theorem 10)."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from .._core.typing import Array
from ..posteriors import SampledPosterior
from ._bound import Bound
from ._checks import check

__all__ = ["centre_of_mass_gap"]

_WORST = sqrt(1 - 4 / pi**2)  # where angle and Euclidean distance differ most


def centre_of_mass_gap(posterior: SampledPosterior) -> Bound:
    """Excess of the mean error of the centre of mass over that of the best single classifier, the Bayes point.

    The error is the probability of disagreeing with a classifier drawn from the posterior, at inputs of any spherical
    distribution in the span of the training points.

    Parameters
    ----------
    posterior : SampledPosterior
        Draws, which are taken for the whole posterior; its edge lies further out, so the bound for it may be wider.

    Returns
    -------
    Bound
        Of terms ``epsilon`` (smallest ``|<centre, w>|`` over draws w of unit length), ``kappa``, ``smallest product``
        (of any two draws), ``sharp gap`` (the mean over draws in place of the worst) and ``disagreement`` (the mean
        error of the centre of mass itself).

    Notes
    -----
    With ``f(x) = arccos(x) / pi - (1 - x) / 2`` the disagreement of v is the mean of ``(1 - <v, w>) / 2``, which the
    centre of mass minimises, plus the mean of ``f(<v, w>)``. So the gap is at most ``E f(<centre, w>) - E f(<bayes,
    w>)``. Here f is odd and not negative on [0, 1], rises up to ``x = 0.771`` and falls from there to zero.

    The first mean is thus at most ``kappa = f(epsilon)`` for ``epsilon > 0.771`` and 0.105 otherwise; the paper's
    condition ``epsilon < 0.23`` is meant for ``1 - epsilon``, and its 0.11 is rounded. The second is not negative if no
    draw is at more than 90 degrees from the Bayes point, which the paper takes for granted. That is sure if no two
    draws are, since the Bayes point is in the cone of the draws; otherwise 0.105 is added once more.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.bounds import centre_of_mass_gap
    >>> from bayespoint.engines import Billiard
    >>> posterior = Billiard(draws=500).infer(Problem(np.full((3, 3), 0.5) + 0.5 * np.eye(3), [1, 1, 1], Step()), rng=0)
    >>> bound = centre_of_mass_gap(posterior)
    >>> bool(0 < bound.terms["sharp gap"] < bound.value < 0.22)
    True
    """
    check(isinstance(posterior, SampledPosterior), "centre_of_mass_gap needs draws; this posterior is in closed form.")
    draws = posterior.coordinates.reshape(-1, posterior.coordinates.shape[-1])
    draws = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    mean = draws.mean(axis=0)
    length = np.linalg.norm(mean)
    check(bool(length > 0), "The draws cancel out and have no centre of mass.")
    cosines = np.clip(draws @ (mean / length), -1.0, 1.0)
    epsilon = np.abs(cosines).min()
    kappa = _proxy_error(np.maximum(epsilon, _WORST))
    smallest = _smallest_product(draws)
    beyond = 0.0 if smallest >= 0 else _proxy_error(_WORST)
    terms = {
        "epsilon": epsilon,
        "kappa": kappa,
        "smallest product": smallest,
        "sharp gap": _proxy_error(cosines).mean() + beyond,
        "disagreement": np.arccos(cosines).mean() / pi,
    }
    return Bound(float(kappa + beyond), {name: float(term) for name, term in terms.items()})


def _proxy_error(cosine: Array | float) -> Array:
    """Angle over pi minus a quarter of the squared Euclidean distance, of unit vectors (BPM Lemma 14)."""
    return np.arccos(cosine) / pi - (1 - np.asarray(cosine)) / 2


def _smallest_product(draws: Array, block: int = 1024) -> float:
    """Smallest inner product of two rows."""
    return float(min((draws[start : start + block] @ draws.T).min() for start in range(0, len(draws), block)))
