"""A certificate of several classes that are one model.

A draw from the posterior is one function for each class, and takes the class whose function is the largest. Its
divergence from the prior is that of Gaussians that differ in their sites only; its mean error on the rows is an average
of orthant probabilities, which have no closed form and are counted instead: errors of n times `draws` independent draws
are a binomial count or more even, whose price `invert_kl` knows.

The mean of the posterior errs at most twice as often as its draws do. If the mean of class c is above that of the label
y, then ``f_c > f_y`` in half of the draws or more, for ``f_c - f_y`` is Gaussian with a positive mean, and none of
these draws takes y. No approximation is in this, whatever correlation the rows have put between the classes.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from .._core.random import as_generator
from ..exceptions import InvalidProblemError
from ..posteriors import GaussianClassesPosterior
from ._checks import check_count, check_sample
from .certificates import Certificate
from .pac_bayes import majority_vote_bound, seeger_bound
from .relative_entropy import invert_kl

__all__ = ["certify_classes"]

_COUNTED = 0.01  # share of delta that pays for the counting of errors
_AT_ONCE = 2**20  # numbers that are drawn at a time


def certify_classes(
    posterior: GaussianClassesPosterior,
    delta: float = 0.05,
    *,
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
    n, y = posterior.problem.size, posterior.problem.y
    check_sample(n, delta)
    check_count("draws", draws, 1)
    share = _errors(posterior, draws, as_generator(rng)) / (n * draws)
    error = invert_kl(share, -log(_COUNTED * delta) / (n * draws))
    gibbs = seeger_bound(error, class_divergence(posterior), n, (1 - _COUNTED) * delta)
    constant = 1 - float(np.bincount(y).max()) / n
    bounds = majority_vote_bound(gibbs), gibbs
    return Certificate(*bounds, n, delta, basis, constant_error=constant, kind="largest-mean")


def class_divergence(posterior: GaussianClassesPosterior) -> float:
    """Relative entropy in nats of the posterior over functions of all classes to their prior.

    ``E[sum_i nu_i'f_i - f_i'P_i f_i / 2] - log Z`` under the posterior, with the sites of the rows.
    """
    mean, (precision, shift) = posterior.mean, posterior.sites
    second = posterior.covariance + mean[:, :, None] * mean[:, None, :]
    value = float((shift * mean).sum() - 0.5 * (precision * second).sum() - posterior.gaussian.log_ratio)
    return max(value, 0.0)  # rounding


def _errors(posterior: GaussianClassesPosterior, draws: int, rng: np.random.Generator) -> int:
    """How often draws of the latents at the training rows take another class than the label."""
    values, vectors = np.linalg.eigh(posterior.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    (n, n_classes), y = posterior.mean.shape, np.asarray(posterior.problem.y, dtype=int)
    wrong, size = 0, max(1, _AT_ONCE // n_classes)
    rows = np.arange(n).repeat(draws)
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        latents = np.einsum("icd,id->ic", root[some], rng.standard_normal((len(some), n_classes)))
        latents += posterior.mean[some]
        own = np.take_along_axis(latents, y[some][:, None], axis=1)
        wrong += int(np.count_nonzero((latents >= own).sum(axis=1) > 1))  # a tie is an error
    return wrong
