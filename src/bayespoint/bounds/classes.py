"""A certificate of several classes that are one model.

A draw from the posterior is one function for each class, and takes the class whose function is the largest. Its
divergence from the prior is that of Gaussians that differ in their sites only; its mean error on the rows is an average
of orthant probabilities, which have no closed form and are counted instead: errors of n times `draws` independent draws
are a binomial count or more even, whose price `invert_kl` knows.

The mean of the posterior errs at most twice as often as its draws do. If the mean of class c is above that of the label
y, then ``f_c > f_y`` in half of the draws or more, for ``f_c - f_y`` is Gaussian with a positive mean, and none of
these draws takes y. No approximation is in this, whatever correlation the rows have put between the classes. So it is
for the mean of any length: the same classifier is the mean of Gaussians further from the prior whose draws err less,
and of a few such lengths the one with the smallest bound is taken (`certify` does so for two classes).

The class that most draws take errs at most twice as often as well, however many classes there are: if c has as many
draws as y, or more, y has at most half of them. But which class that is has to be worked out for correlated latents,
and where that is an approximation what predicts need not be what the theorem speaks of; the largest mean is exact.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from .._core.random import as_generator
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..posteriors import GaussianClassesPosterior
from ._bound import Bound
from ._checks import check_count, check_sample
from .certificates import ASSUMED_OF_MANY, Certificate
from .pac_bayes import majority_vote_bound, seeger_bound
from .relative_entropy import invert_kl

__all__ = ["certify_classes"]

_COUNTED = 0.01  # share of delta that pays for the counting of errors
_LENGTHS = (1.0, 0.7, 1.4, 2.0, 2.8, 4.0)  # of the mean, the first that of the posterior
_AT_ONCE = 2**20  # numbers that are drawn at a time


def certify_classes(
    posterior: GaussianClassesPosterior,
    delta: float = 0.05,
    *,
    prior: GaussianClassesPosterior | None = None,
    prior_rows: Any = None,
    choices: int = 1,
    draws: int = 1000,
    rng: Any = 0,
    basis: str = "a prior fixed before the data",
) -> Certificate:
    """Certificate of a Gaussian posterior over the latents of several classes, by `seeger_bound`.

    Parameters
    ----------
    posterior : GaussianClassesPosterior
        With a kernel that was fixed before the rows were seen.
    delta : float, default=0.05
        Probability that the bound does not hold, a hundredth of it for the counting.
    prior : GaussianClassesPosterior, optional
        Posterior on some of the rows, taken as prior for the others.
    prior_rows : array of int, optional
        Those rows; the bound is evaluated on the rest.
    choices : int, default=1
        Size of the grid that the prior was chosen from by the bound.
    draws : int, default=1000
        Of the latents at each row, to count errors.
    rng : int, Generator, RandomState or None
        Source of randomness.
    basis : str
        Where the prior came from, for the reader.

    Returns
    -------
    Certificate
        `gibbs` is on a draw, `bayes_point` on the class of the largest posterior mean
        (``posterior.at(new).mean.argmax(axis=1)``), which need not be the most probable label.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Choice, Problem
    >>> from bayespoint.bounds import certify_classes
    >>> from bayespoint.engines import EP
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.argmax(X @ [[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]], axis=1)
    >>> found = certify_classes(EP().infer(Problem(10 * X @ X.T, y, Choice(softness=1.0))))
    >>> found.gibbs.value < 0.25
    True
    """
    if not isinstance(posterior, GaussianClassesPosterior):
        raise InvalidProblemError("certify_classes is for classes that are one model: use certify.")
    if posterior.problem.residual is not None:
        raise InvalidProblemError("Landmarks leave out a part of the prior that a draw has: use the whole Gram matrix.")
    rows = np.arange(posterior.problem.size)
    if prior_rows is not None:
        rows = np.delete(rows, prior_rows)
    check_sample(len(rows), delta)
    check_count("draws", draws, 1)
    count, rng = len(rows) * draws, as_generator(rng)

    def bound(length: float) -> Bound:
        share = _errors(posterior, draws, rng, rows, length) / count
        error = invert_kl(share, -log(_COUNTED * delta / len(_LENGTHS)) / count)
        distance = class_divergence(posterior, prior, prior_rows, length)
        return seeger_bound(error, distance, len(rows), (1 - _COUNTED) * delta, choices)

    bounds = [bound(length) for length in _LENGTHS]
    vote = majority_vote_bound(min(bounds, key=lambda one: one.value))
    constant = 1 - float(np.bincount(posterior.problem.y[rows]).max()) / len(rows)
    return Certificate(vote, bounds[0], len(rows), delta, basis, ASSUMED_OF_MANY, constant, kind="largest-mean")


def class_divergence(
    posterior: GaussianClassesPosterior,
    prior: GaussianClassesPosterior | None = None,
    rows: Any = None,
    length: float = 1.0,
) -> float:
    """Relative entropy in nats of the posterior over functions of all classes to their prior.

    ``E[sum_i nu_i'f_i - f_i'P_i f_i / 2] - log Z`` under the posterior, with the sites of the rows; less the same of
    `prior` on `rows`, if it is a posterior itself. `length` is a factor of the mean.
    """
    value = _sites(posterior, posterior.mean, posterior.covariance) - posterior.gaussian.log_ratio
    if prior is not None:
        if rows is None or len(rows) != prior.problem.size:
            raise InvalidProblemError("prior_rows must say which rows of the posterior those of the prior are.")
        value -= _sites(prior, posterior.mean[rows], posterior.covariance[rows]) - prior.gaussian.log_ratio
    if length != 1:
        value += _distance(posterior, prior, rows, length) - _distance(posterior, prior, rows, 1.0)
    return max(float(value), 0.0)  # rounding


def _sites(posterior: GaussianClassesPosterior, mean: Array, covariance: Array) -> float:
    """Expectation of the log-sites of `posterior` under latents of the given moments."""
    precision, shift = posterior.sites
    second = covariance + mean[:, :, None] * mean[:, None, :]
    return float((shift * mean).sum() - 0.5 * (precision * second).sum())


def _distance(
    posterior: GaussianClassesPosterior, prior: GaussianClassesPosterior | None, rows: Any, length: float
) -> float:
    """Half the squared distance of the mean times `length` to the prior's, in the metric of the prior's covariance."""
    square = length * length * float((posterior.alpha * posterior.mean).sum())
    if prior is None:
        return 0.5 * square
    mean = length * posterior.mean[rows]
    square += float((prior.alpha * (prior.mean - 2 * mean)).sum())
    gap = mean - prior.mean
    return 0.5 * (square + float(np.einsum("ic,icd,id->", gap, prior.sites.precision, gap)))


def _errors(
    posterior: GaussianClassesPosterior, draws: int, rng: np.random.Generator, rows: Any, length: float = 1.0
) -> int:
    """How often draws of the latents at training rows take another class than the label."""
    values, vectors = np.linalg.eigh(posterior.covariance[rows])
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    mean, y = length * posterior.mean[rows], np.asarray(posterior.problem.y[rows], dtype=int)
    wrong, size = 0, max(1, _AT_ONCE // mean.shape[1])
    which = np.arange(len(y)).repeat(draws)
    for start in range(0, len(which), size):
        some = which[start : start + size]
        latents = np.einsum("icd,id->ic", root[some], rng.standard_normal((len(some), mean.shape[1])))
        latents += mean[some]
        own = np.take_along_axis(latents, y[some][:, None], axis=1)
        wrong += int(np.count_nonzero((latents >= own).sum(axis=1) > 1))  # a tie is an error
    return wrong
