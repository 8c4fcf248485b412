"""Certificates of a fitted classifier: what voids the bound, and what can be had instead."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._core.random import as_generator
from .._core.typing import RandomState
from ..bounds import Certificate, binomial_bound, certify, certify_draws
from ..exceptions import InvalidProblemError
from ..grams import Landmarks
from ..posteriors import GaussianPosterior
from ..problem import Problem, Weights
from ..tuning.climb import Candidate, Model, infer
from ._provenance import copied, learned_from
from ._validation import TrainingSet, weights_of

__all__ = [
    "CertifiedMixin",
    "certificate",
    "mark_as_added_to",
    "random_part",
    "refuse_if_learned",
    "seen_by_prior",
    "with_held_out",
]

_OFFER = (
    "pass prior_fraction=0.5 to learn it on half of them, or fix it beforehand (optimizer=None and a kernel object; "
    "bayespoint.uses.selection.BoundSearch chooses from a finite grid and pays for it)"
)


class CertifiedMixin:
    """`certificate` for classifiers that decide by the mean of a Gaussian, or by the vote of draws."""

    random_state: RandomState
    _posteriors: Any
    _rows_were_added_: bool = False

    def certificate(
        self,
        delta: float = 0.05,
        *,
        prior_fraction: float | None = None,
        X_test: Any = None,
        y_test: Any = None,
        trust_inputs: bool = False,
    ) -> Certificate:
        """A proven bound on the error of this classifier, from its training rows alone.

        The posterior is taken as a PAC-Bayes posterior against the prior of the kernel. That prior must not have seen
        the rows that the bound is evaluated on: a kernel tuned on them is refused, and so are features that bear the
        trace of preprocessing fitted to them. Rows must be independent: copies are refused, and rows that an active
        learner asked for. What no look at the rows can tell, such as features selected by their labels or a length
        scale computed from them beforehand, is taken on trust, and the certificate says so.

        Parameters
        ----------
        delta : float, default=0.05
            Probability, over the draw of the training rows, that the bound does not hold.
        prior_fraction : float, optional
            Learn kernel and prior on this share of the rows, chosen at random, and evaluate the bound on the others.
            If the kernel was tuned, the certificate comes with a classifier of its own whose kernel was tuned on that
            share and whose posterior rests on all rows.
        X_test, y_test : array-like, optional
            A held-out set for the bound of a test set beside it.
        trust_inputs : bool, default=False
            Whether features that look preprocessed were so on other rows.

        Returns
        -------
        Certificate
            ``certificate.classifier`` is what the bound speaks of.

        See Also
        --------
        bayespoint.uses.selection.certify : The same for a pipeline with preprocessing.
        bayespoint.uses.selection.BoundSearch : Choose among finitely many settings by the bound.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from bayespoint import BayesPointClassifier
        >>> X, y = make_moons(400, noise=0.1, random_state=0)
        >>> certificate = BayesPointClassifier(random_state=0).fit(X, y).certificate(prior_fraction=0.5)
        >>> certificate.bayes_point.value < 0.2
        True
        >>> certificate.basis
        'a prior learned on 200 of 400 rows, the bound is on the others'
        """
        check_is_fitted(self)
        rows = None
        if prior_fraction is not None:
            rows = random_part(self._posteriors[0].problem.size, prior_fraction, self.random_state)
        result = certificate(self, delta, prior_rows=rows, trust_inputs=trust_inputs)
        return with_held_out(result, X_test, y_test)


def certificate(
    estimator: Any, delta: float, *, prior_rows: Any = None, trust_inputs: bool = False, choices: int = 1
) -> Certificate:
    """Certificate of a fitted classifier, whose prior is learned on `prior_rows` if these are given.

    `choices` is the size of the grid that it was chosen from by the bound.
    """
    estimator._check_settings()
    _refuse_unless_mean(estimator)
    if estimator._rows_were_added_:
        raise InvalidProblemError(
            "No certificate: rows were added after fitting, perhaps chosen by what the classifier said of them, and a "
            "bound needs rows that chance alone has drawn: fit on all of them if it has, or use a test set."
        )
    if estimator._dropped_rows_:
        raise InvalidProblemError(
            f"No certificate: {estimator._dropped_rows_} rows had weight zero, and a bound needs all rows that were "
            "drawn: fit without them."
        )
    if (reason := copied(estimator._points_.as_given, estimator._labels_)) is not None:
        raise InvalidProblemError(
            f"No certificate: {reason}, and a bound needs independent rows: fit on each of them once."
        )
    if not (trust_inputs or estimator._pairwise):
        refuse_if_learned(estimator._points_.X)
    if prior_rows is None:
        return _with_fixed_prior(estimator, delta, choices)
    return _with_learned_prior(estimator, delta, prior_rows, choices)


def mark_as_added_to(model: Any) -> None:
    """Let a fitted classifier know that not all of its rows were there from the beginning."""
    model._rows_were_added_ = True


def _refuse_unless_mean(estimator: Any) -> None:
    if (reason := estimator._not_the_mean()) is not None:
        raise InvalidProblemError(f"No certificate: {reason}.")


def refuse_if_learned(X: Any) -> None:
    """Raise if rows bear the trace of preprocessing that was fitted to them."""
    if (reason := learned_from(X)) is not None:
        raise InvalidProblemError(
            f"No certificate: {reason}, so preprocessing was learned from these very rows; use "
            "bayespoint.uses.selection.certify on the whole pipeline, or trust_inputs=True if it was learned elsewhere."
        )


def random_part(n: int, fraction: Any, rng: Any) -> Any:
    """A share of n rows, chosen without a look at them."""
    size = round(float(fraction) * n) if isinstance(fraction, Real) and 0 < float(fraction) < 1 else 0
    if not 1 <= size < n:
        raise InvalidProblemError(
            "prior_fraction must be a share between 0 and 1 that leaves rows on both sides, such as 0.5, "
            f"got {fraction!r}."
        )
    return np.sort(as_generator(rng).permutation(n)[:size])


def with_held_out(result: Certificate, X_test: Any, y_test: Any) -> Certificate:
    """The same with the bound of a test set, if there is one."""
    if X_test is None and y_test is None:
        return result
    if X_test is None or y_test is None:
        raise InvalidProblemError("A held-out set needs both X_test and y_test.")
    predicted, y = result.classifier.predict(X_test), np.asarray(y_test)
    if y.shape != predicted.shape:
        raise InvalidProblemError(f"y_test must hold {len(predicted)} labels, one for each row of X_test.")
    return replace(result, held_out=binomial_bound(int(np.sum(predicted != y)), len(y), result.delta))


def _with_fixed_prior(estimator: Any, delta: float, choices: int) -> Certificate:
    if estimator._prior_saw_:
        raise InvalidProblemError(
            f"No certificate: {estimator._prior_saw_} on the rows that the bound would rest on; {_OFFER}."
        )
    posteriors = estimator._posteriors
    basis = "a prior fixed before the data"
    if choices > 1:
        basis = f"the best of {choices} priors, all fixed before the data"
    if all(isinstance(posterior, GaussianPosterior) for posterior in posteriors):
        result = certify(posteriors, delta, choices=choices, basis=basis)
    else:
        if not estimator._decides_by_vote:
            raise InvalidProblemError(
                "No certificate: the bound for draws is on their vote, not on their mean; use engine='ep', whose mean "
                "and vote are the same, or decision='vote' where there is that choice."
            )
        if not all(getattr(posterior.info.get("settings"), "is_exact", False) for posterior in posteriors):
            raise InvalidProblemError(
                "No certificate: the points of this engine are no draws from the posterior; use engine='sample' or "
                "engine='ep'."
            )
        from ..evidence import log_evidence  # compiles; only needed here

        rng = as_generator(estimator.random_state)
        evidences = [log_evidence(posterior.problem, rng, se=0.1) for posterior in posteriors]
        result = certify_draws(posteriors, evidences, delta, choices=choices, basis=basis)
    return replace(result, classifier=estimator)


def _with_learned_prior(estimator: Any, delta: float, rows: Any, choices: int) -> Certificate:
    """Kernel and centre from some rows, posterior from all of them, bound on the others."""
    posteriors = estimator._posteriors
    if not all(isinstance(posterior, GaussianPosterior) for posterior in posteriors):
        raise InvalidProblemError("A prior learned on a part of the rows needs Gaussian posteriors: use engine='ep'.")
    n = posteriors[0].problem.size
    basis = f"a prior learned on {len(rows)} of {n} rows, the bound is on the others"
    if choices > 1:
        basis = f"the best of {choices} priors, each {basis[2:]}"
    engine = estimator._gaussian_engine
    classifier = estimator
    if estimator._prior_saw_ or estimator._tuned_:
        priors, classifier = _refit(estimator, rows, engine)
        _refuse_unless_mean(classifier)
        posteriors = classifier._posteriors
    else:
        weights = _weights(estimator, rows)
        priors = [
            engine.infer(Problem(p.gram.part(rows), p.y[rows], p.likelihood, weights, check=False))
            for p in (posterior.problem for posterior in posteriors)
        ]
    result = certify(posteriors, delta, priors=priors, prior_rows=rows, choices=choices, basis=basis)
    return replace(result, classifier=classifier)


def _refit(estimator: Any, rows: Any, engine: Any) -> tuple[list[Any], Any]:
    """Posteriors on `rows` with a kernel tuned there, and a classifier on all rows with that kernel."""
    points = estimator._points_
    targets = [posterior.problem.y for posterior in estimator._posteriors]
    part = points.take(rows)
    data = _training_part(estimator, part.X, rows)
    model = estimator._model(part.X, data.own_weights)
    if estimator.optimizer is not None:
        model = estimator._chosen(model, part, data, engine, as_generator(estimator.random_state)).model
    basis = estimator._basis(model, part.X, engine)
    best = infer(model, basis, data.targets, data.weights, engine)
    whole = infer(model, basis.over(points.X), targets, estimator._posteriors[0].problem.weights, engine)
    return list(best.posteriors), _as_classifier(estimator, whole)


def _training_part(estimator: Any, X: Any, rows: Any) -> TrainingSet:
    """Some of the rows as `fit` would see them, if they were all there is; classes are those of all rows."""
    codes = np.searchsorted(estimator.classes_, estimator._labels_[rows])
    own = estimator._sample_weight_
    weights, sample_weight = _weights(estimator, rows), None if own is None else own[rows]
    return TrainingSet(X, codes, estimator.classes_, weights, np.arange(len(rows)), len(rows), sample_weight)


def _weights(estimator: Any, rows: Any) -> Weights | None:
    """Weights of some rows; those of the classes are counted on these rows alone, for the others are not to be seen."""
    own = estimator._sample_weight_
    return weights_of(estimator.class_weight, estimator._labels_[rows], None if own is None else own[rows])


def _as_classifier(estimator: Any, candidate: Candidate) -> Any:
    """The same estimator with other fitted attributes."""
    other = clone(estimator)
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_") and name != "loo_proba_"}
    vars(other).update(fitted | estimator._fitted_attributes(candidate, estimator._points_, estimator.classes_))
    other._prior_saw_ = seen_by_prior(estimator, candidate.model, candidate.basis)
    return other


def seen_by_prior(estimator: Any, model: Model, basis: Any) -> str | None:
    """Why the kernel of a fitted model is not independent of its training rows, if it is not."""
    if estimator.optimizer is not None and model.kernel.n_dims > 0:
        return "the kernel was tuned"
    if estimator._scales_by_rows:
        return "the length scale of the kernel was taken from the spread of the features"
    if isinstance(basis, Landmarks):
        return "the landmarks of a low-rank prior (set max_rank=None to have none) were chosen"
    return None
