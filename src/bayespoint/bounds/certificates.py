"""A guarantee for a classifier in hand: the bound, what it rests on, and what a test set would say beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri, stdtrit

from .._core.typing import Array
from .._core.words import as_html_text
from ..exceptions import InvalidProblemError
from ..posteriors import GaussianPosterior, SampledPosterior
from ._bound import Bound
from ._checks import check_sample
from .held_out import binomial_bound
from .pac_bayes import majority_vote_bound, seeger_bound
from .posteriors import divergence, gibbs_error

__all__ = ["Certificate", "certify", "certify_draws"]

_MONTE_CARLO = 0.1  # share of delta that pays for the Monte Carlo error of draws
_BATCHES = 10  # batch means that a standard error is taken from, at least
_ASSUMED = "rows independent; kernel and features chosen without these rows"
ASSUMED_OF_MANY = f"{_ASSUMED}; no class that none of the rows has"
_AT_HAND = "the vote is that of all draws, for the vote of the {count} at hand its bound holds on average over them"


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the error of a classifier that holds with probability ``1 - delta``, and what it rests on.

    Attributes
    ----------
    bayes_point : Bound
        On the error of the classifier that predicts, `classifier`: the Bayes point or the vote of the draws, and of
        other kinds the single draw, or the classifier that was tested; also as `bound`.
    gibbs : Bound or None
        On the mean error of a classifier drawn from the posterior, as `sample_latent` draws it. With probability
        ``1 - delta`` both bounds hold. None where the bound is not one on draws.
    n : int
        Rows that the bound is evaluated on.
    delta : float
        Probability that the bound does not hold.
    basis : str
        Where the prior came from.
    assumes : str
        What no look at the rows can tell, and the caller answers for.
    constant_error : float or None
        Share of the rows of the bound that the most frequent class alone gets wrong.
    held_out : Bound or None
        The bound of a test set, if one was given: the honest baseline.
    classifier : estimator or None
        The fitted classifier that the bounds speak of.
    kind : {"pac-bayes", "largest-mean", "disintegrated", "held-out"}
        Which theorem: on the vote of a posterior, on the largest mean of several classes that are one model, on one
        draw, or on a classifier and rows that it never saw.
    plan : mapping of str to float
        The bounds that each kind was expected to have, where a pilot chose among them.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = BayesPointClassifier(30.0 * RBF(0.7), optimizer=None).fit(X, y)
    >>> print(model.certificate())
    Certificate at confidence 95 %
      error of the classifier   <= 0.1629 (the Bayes point, which is the vote of the posterior)
      a test set of 300 rows    <= 0.0208 (if it had the training error of the draws)
      mean error of a draw      <= 0.0816
        training error 0.0048, divergence 13.8 nats, 300 rows
      rests on: a prior fixed before the data
      takes on trust: rows independent; kernel and features chosen without these rows
    """

    bayes_point: Bound
    gibbs: Bound | None
    n: int
    delta: float
    basis: str
    assumes: str = _ASSUMED
    constant_error: float | None = None
    held_out: Bound | None = None
    classifier: Any = field(default=None, repr=False)
    kind: str = "pac-bayes"
    plan: Mapping[str, float] = field(default_factory=dict)

    @property
    def bound(self) -> Bound:
        """On the error of `classifier`."""
        return self.bayes_point

    @property
    def beats_a_constant(self) -> bool:
        """Whether the bound on the classifier is below the error of its most frequent class alone."""
        return self.bayes_point.value < (1.0 if self.constant_error is None else self.constant_error)

    @property
    def as_a_test_set(self) -> Bound:
        """What a test set of as many rows would say, if the classifier made as many errors there as it did here."""
        terms = self.bayes_point.terms
        error = terms.get("training error", terms.get("test error", 0.0))
        return binomial_bound(min(round(error * self.n), self.n), self.n, self.delta)

    def _repr_html_(self) -> str:
        return as_html_text(str(self))

    def __str__(self) -> str:
        what, beside = _OBJECTS[self.kind]
        lines = [
            f"Certificate at confidence {100 * (1 - self.delta):g} %",
            f"  error of the classifier   <= {_shown(self.bayes_point)} ({what})",
            f"  {f'a test set of {self.n} rows':<25} <= {_shown(self.as_a_test_set)} ({beside})",
            *self._details(),
            f"  rests on: {self.basis}",
            f"  takes on trust: {self.assumes}",
        ]
        if self.constant_error is not None and not self.beats_a_constant:
            share = f"the most frequent class alone errs on {self.constant_error:.4f} of these rows"
            lines.insert(2, f"    no better than a constant: {share}")
        if self.plan:
            expected = ", ".join(f"{kind} {value:.4f}" for kind, value in self.plan.items())
            lines.append(f"  chosen by a pilot, which expected: {expected}")
        if self.held_out is not None:
            error = self.held_out.terms["test error"]
            lines.append(f"  the same by a test set    <= {_shown(self.held_out)} (test error {error:.4f})")
        return "\n".join(lines)

    def _details(self) -> list[str]:
        """What the bound is made of."""
        terms = self.bayes_point.terms
        if self.gibbs is not None:
            terms = self.gibbs.terms
            nats = f"divergence {terms['divergence'] * self.n:.1f} nats"
            draws = [f"  mean error of a draw      <= {_shown(self.gibbs)}"]
            return [*draws, f"    training error {terms['training error']:.4f}, {nats}, {self.n} rows"]
        if "log ratio" in terms:
            nats = f"log density ratio {terms['log ratio'] * self.n:.1f} nats"
            return [f"    training error {terms['training error']:.4f}, {nats}, {self.n} rows"]
        return [f"    error on rows held out {terms['test error']:.4f}, {self.n} rows"]


_OBJECTS = {
    "pac-bayes": (
        "the Bayes point, which is the vote of the posterior",
        "if it had the training error of the draws",
    ),
    "largest-mean": (
        "the class of the largest posterior mean",
        "if it had the training error of the draws",
    ),
    "disintegrated": (
        "one function drawn once from the posterior and kept",
        "if the draw made as many errors there as here",
    ),
    "held-out": (
        "what was fitted on the other rows",
        "these very rows, which neither kernel nor posterior saw",
    ),
}


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

    With landmarks a draw has, beside its coordinates, the part of the prior that they leave out: at any one row fresh
    noise of that row's residual variance, whose law the landmarks fix before the rows of the bound are seen. Prior and
    posterior share it, so it costs no divergence, but its errors count. The mean has no such part and is judged as the
    vote of the coordinates' Gaussian alone; these two errors share `delta`.

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
    kinds = 1 + any(posterior.problem.residual is not None for posterior in posteriors)  # of errors: draw's, mean's

    def bounds(scale: float, *, with_residual: bool = False) -> list[Bound]:
        return [
            seeger_bound(
                gibbs_error(posterior, rows, scale, with_residual=with_residual),
                divergence(posterior, prior, prior_rows, scale),
                len(rows),
                delta,
                choices * len(posteriors) * kinds,
            )
            for posterior, prior in pairs
        ]

    def total(log_scale: float) -> float:
        return sum(bound.value for bound in bounds(exp(log_scale)))

    best = minimize_scalar(total, bounds=(-2.0, 2.0), method="bounded", options={"xatol": 0.01})
    vote = bounds(exp(best.x) if best.fun < total(0.0) else 1.0)
    return _certificate(bounds(1.0, with_residual=True), vote, posteriors, rows, delta, basis)


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
    Carlo error, which a tenth of `delta` pays for. Under a soft boundary each draw votes with its latent noise, while a
    draw by itself has none; these two errors share the rest of `delta`.

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
        Of the vote of the whole posterior. The vote of finitely many draws, of a single one too, errs on average over
        their randomness no more than that bound says: the share of them that is wrong at a point is at least one half
        where their vote is, and its mean is that of the posterior. No luck with the draws at hand is paid for.

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
    soft = any(posterior.problem.likelihood.softness > 0 for posterior in posteriors)
    shares = (4 if soft else 3) * len(posteriors)  # figures of each posterior that are estimates
    z = -float(ndtri(_MONTE_CARLO * delta / shares))
    drawn: list[Bound] = []
    voted: list[Bound] = []
    for posterior, estimate in zip(posteriors, log_evidences, strict=True):
        problem = posterior.problem
        if problem.residual is not None:
            raise InvalidProblemError(
                "Draws of a problem with residuals are draws of its coordinates alone: use expectation propagation, or "
                "the exact Gram matrix."
            )
        latents = posterior.latents
        log_likelihood = (problem.exponents * problem.likelihood.log_likelihood(problem.y, latents)).sum(axis=-1)
        if estimate.se is None:
            raise InvalidProblemError("certify_draws needs log-evidences with a standard error, of method 'sampled'.")
        if not np.isfinite(log_likelihood).all():
            raise InvalidProblemError("These points are no draws from the posterior: some of them have no probability.")
        upper = _of_any_draw if problem.likelihood.is_hard else _upper
        distance = max(upper(log_likelihood, z) - (estimate.value - z * estimate.se), 0.0)
        for found, softness in ((drawn, 0.0), (voted, problem.likelihood.softness)):
            error = min(upper(_losses(softness, problem.y * latents).mean(axis=-1), z), 1.0)
            paid = choices * len(posteriors) * (1 + soft)
            found.append(seeger_bound(error, distance, n, (1 - _MONTE_CARLO) * delta, paid))
    count = posteriors[0].coordinates.shape[0] * posteriors[0].draws
    result = _certificate(drawn, voted, posteriors, np.arange(n), delta, basis)
    return replace(result, assumes=f"{result.assumes}; {_AT_HAND.format(count=count)}")


def _losses(softness: float, margins: Array) -> Array:
    """Whether a draw errs; under a soft boundary with what probability, its latent noise drawn afresh."""
    return ndtr(-margins / np.sqrt(softness)) if softness > 0 else (margins <= 0).astype(np.float64)


def _of_any_draw(draws: Array, _: float) -> float:
    """Inside hard walls nothing varies: no draw makes a mistake."""
    return float(draws.flat[0])


def _upper(draws: Array, z: float) -> float:
    """Mean over (chain, draw) and `z` standard errors, these from the spread of batch means of all chains."""
    means = np.array([batch.mean() for chain in draws for batch in np.array_split(chain, _BATCHES) if len(batch)])
    if len(means) < _BATCHES:
        raise InvalidProblemError("A handful of draws does not tell its error: take more.")
    quantile = float(stdtrit(len(means) - 1, ndtr(z)))
    return float(draws.mean() + quantile * means.std(ddof=1) / np.sqrt(len(means)))


def _certificate(
    draws: Sequence[Bound], vote: Sequence[Bound], posteriors: Sequence[Any], rows: Any, delta: float, basis: str
) -> Certificate:
    """From the bounds on each class against the rest: of the draws, and of those whose vote has the smallest bound."""
    if len(draws) > 1:
        basis = f"{basis}; the sum over {len(draws)} classes, each against the rest"
    shares = [float(np.mean(posterior.problem.y[rows] > 0)) for posterior in posteriors]
    constant = 1 - max(shares if len(shares) > 1 else (shares[0], 1 - shares[0]))
    assumes = ASSUMED_OF_MANY if len(draws) > 1 else _ASSUMED
    bounds = majority_vote_bound(_sum(vote)), _sum(draws)
    return Certificate(*bounds, len(rows), delta, basis, assumes, constant)


def _sum(bounds: Sequence[Bound]) -> Bound:
    terms = {name: sum(bound.terms[name] for bound in bounds) for name in bounds[0].terms}
    return Bound(sum(bound.value for bound in bounds), terms)
