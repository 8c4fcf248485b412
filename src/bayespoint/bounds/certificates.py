"""A guarantee for a classifier in hand: a PAC-Bayes bound, what it rests on, and a held-out bound beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri, stdtrit

from .._typing import Array
from ..exceptions import InvalidProblemError
from ..posteriors import GaussianPosterior, SampledPosterior
from ._bound import Bound
from ._checks import check_sample
from .pac_bayes import majority_vote_bound, seeger_bound
from .posteriors import divergence, gibbs_error

__all__ = ["Certificate", "certify", "certify_draws"]

_MONTE_CARLO = 0.1  # share of delta that pays for the Monte Carlo error of draws


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the error of a classifier that holds with probability ``1 - delta``, and what it rests on.

    Attributes
    ----------
    bayes_point : Bound
        On the error of the classifier that predicts: the Bayes point, or the vote of the draws.
    gibbs : Bound
        On the mean error of a classifier drawn from the posterior.
    n : int
        Rows that the bound is evaluated on.
    delta : float
        Probability that the bound does not hold.
    basis : str
        Where the prior came from.
    held_out : Bound or None
        The bound of a test set, if one was given: the honest baseline.
    classifier : estimator or None
        The fitted classifier that the bounds speak of.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = BayesPointClassifier(30.0 * RBF(0.7), optimizer=None).fit(X, y)
    >>> print(model.certificate())
    Certificate at confidence 95 %
      error of the classifier   <= 0.1629
      mean error of a draw      <= 0.0816
        training error 0.0048, divergence 13.8 nats, 300 rows
      rests on: independent rows; a prior fixed before the data
    """

    bayes_point: Bound
    gibbs: Bound
    n: int
    delta: float
    basis: str
    held_out: Bound | None = None
    classifier: Any = field(default=None, repr=False)

    def __str__(self) -> str:
        terms = self.gibbs.terms
        nats = terms["divergence"] * self.n
        lines = [
            f"Certificate at confidence {100 * (1 - self.delta):g} %",
            f"  error of the classifier   <= {_shown(self.bayes_point)}",
            f"  mean error of a draw      <= {_shown(self.gibbs)}",
            f"    training error {terms['training error']:.4f}, divergence {nats:.1f} nats, {self.n} rows",
            f"  rests on: independent rows; {self.basis}",
        ]
        if self.held_out is not None:
            error = self.held_out.terms["test error"]
            lines.append(f"  the same by a test set    <= {_shown(self.held_out)} (test error {error:.4f})")
        return "\n".join(lines)


def _shown(bound: Bound) -> str:
    return "1 (says nothing)" if bound.is_trivial else f"{bound.value:.4f}"


def certify(
    posteriors: Sequence[GaussianPosterior],
    delta: float = 0.05,
    *,
    priors: Sequence[GaussianPosterior] | None = None,
    prior_rows: Any = None,
    choices: int = 1,
    basis: str = "a prior fixed before the data",
) -> Certificate:
    """Certificate of Gaussian posteriors by `seeger_bound`, each class against the rest if there are several.

    Parameters
    ----------
    posteriors : sequence of GaussianPosterior
        One, or one for each class.
    delta : float, default=0.05
        Probability that the bound does not hold.
    priors : sequence of GaussianPosterior, optional
        Posteriors on some of the rows, taken as priors for the others.
    prior_rows : array of int, optional
        Those rows; the bound is evaluated on the rest.
    choices : int, default=1
        Size of the grid that the prior was chosen from by the bound.
    basis : str
        Where the prior came from, for the reader.

    Returns
    -------
    Certificate

    Notes
    -----
    The Bayes point of a Gaussian decides as the majority of its draws, which errs at most twice as often as they do on
    average. It stays the same classifier if its length changes, and the bound holds for all posteriors at once: the
    length with the smallest bound is taken. Of several classes the right one wins if every one of the classifiers is
    right, so their bounds add up.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.bounds import certify
    >>> from bayespoint.engines import EP
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> problem = Problem(10 * X @ X.T, np.sign(X[:, 0]), Step(softness=1.0))
    >>> certify([EP().infer(problem)]).gibbs.value < 0.15
    True
    """
    rows = np.arange(posteriors[0].problem.size)
    if prior_rows is not None:
        rows = np.delete(rows, prior_rows)
    check_sample(len(rows), delta)
    pairs = [(posterior, priors[i] if priors else None) for i, posterior in enumerate(posteriors)]

    def bounds(scale: float) -> list[Bound]:
        return [
            seeger_bound(
                gibbs_error(posterior, rows, scale),
                divergence(posterior, prior, prior_rows, scale),
                len(rows),
                delta,
                choices * len(posteriors),
            )
            for posterior, prior in pairs
        ]

    def total(log_scale: float) -> float:
        return sum(bound.value for bound in bounds(exp(log_scale)))

    best = minimize_scalar(total, bounds=(-2.0, 2.0), method="bounded", options={"xatol": 0.01})
    plain, scaled = bounds(1.0), bounds(exp(best.x))
    return _certificate(plain, scaled if best.fun < total(0.0) else plain, len(rows), delta, basis)


def certify_draws(
    posteriors: Sequence[SampledPosterior],
    log_evidences: Sequence[Any],
    delta: float = 0.05,
    *,
    choices: int = 1,
    basis: str = "a prior fixed before the data",
) -> Certificate:
    """Certificate of exact posteriors from draws: of a hard boundary the bound by the volume of version space.

    The relative entropy to the prior is the mean log-likelihood less the log-evidence. Draws tell both up to a Monte
    Carlo error, which a tenth of `delta` pays for.

    Parameters
    ----------
    posteriors : sequence of SampledPosterior
        One, or one for each class.
    log_evidences : sequence of Estimate
        Of `bayespoint.evidence.log_evidence`, one a posterior.
    delta, choices, basis
        As for `certify`.

    Returns
    -------
    Certificate
        Of the classifier that decides by the vote of the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.bounds import certify_draws
    >>> from bayespoint.engines import Billiard
    >>> from bayespoint.evidence import log_evidence
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> problem = Problem(X @ X.T, np.sign(X[:, 0]), Step())
    >>> draws = Billiard(draws=200).infer(problem, rng=0)
    >>> certify_draws([draws], [log_evidence(problem, rng=0)]).gibbs.value < 0.1
    True
    """
    n = posteriors[0].problem.size
    check_sample(n, delta)
    shares = 3 * len(posteriors)  # three figures of each posterior are estimates
    z = -float(ndtri(_MONTE_CARLO * delta / shares))
    bounds = []
    for posterior, estimate in zip(posteriors, log_evidences, strict=True):
        problem = posterior.problem
        latents = posterior.latents
        log_likelihood = (problem.exponents * problem.likelihood.log_likelihood(problem.y, latents)).sum(axis=-1)
        losses = _gibbs_losses(problem.likelihood.softness, problem.y * latents).mean(axis=-1)
        if estimate.se is None:
            raise InvalidProblemError("certify_draws needs log-evidences with a standard error, of method 'sampled'.")
        if not np.isfinite(log_likelihood).all():
            raise InvalidProblemError("These points are no draws from the posterior: some of them have no probability.")
        distance = _upper(log_likelihood, z) - (estimate.value - z * estimate.se)
        error = min(_upper(losses, z), 1.0)
        bounds.append(seeger_bound(error, max(distance, 0.0), n, (1 - _MONTE_CARLO) * delta, choices * len(posteriors)))
    return _certificate(bounds, bounds, n, delta, basis)


def _gibbs_losses(softness: float, margins: Array) -> Array:
    """Whether a draw errs; under a soft boundary with what probability, its latent noise drawn afresh."""
    return ndtr(-margins / np.sqrt(softness)) if softness > 0 else (margins <= 0).astype(np.float64)


def _upper(draws: Array, z: float) -> float:
    """Mean over (chain, draw) and `z` standard errors, these from the spread of batch means of all chains."""
    if np.ptp(draws) == 0:
        return float(draws.flat[0])
    means = np.array([batch.mean() for chain in draws for batch in np.array_split(chain, 10) if len(batch)])
    if len(means) < 2:
        raise InvalidProblemError("A single draw does not tell its error: take more draws.")
    quantile = float(stdtrit(len(means) - 1, ndtr(z)))
    return float(draws.mean() + quantile * means.std(ddof=1) / np.sqrt(len(means)))


def _certificate(draws: Sequence[Bound], vote: Sequence[Bound], n: int, delta: float, basis: str) -> Certificate:
    """From the bounds on each class against the rest: of the draws, and of those whose vote has the smallest bound."""
    if len(draws) > 1:
        basis = f"{basis}; the sum over {len(draws)} classes, each against the rest"
    return Certificate(majority_vote_bound(_sum(vote)), _sum(draws), n, delta, basis)


def _sum(bounds: Sequence[Bound]) -> Bound:
    terms = {name: sum(bound.terms[name] for bound in bounds) for name in bounds[0].terms}
    return Bound(sum(bound.value for bound in bounds), terms)
