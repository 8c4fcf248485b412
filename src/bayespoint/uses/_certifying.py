"""Certificates of three kinds for any rows: fitted, proven, and planned beforehand from the rows of the prior alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _safe_split

from .._core.pipelines import steps_of
from .._core.scikit import num_samples, safe_indexing
from .._core.words import told_briefly
from ..bounds import Certificate, binomial_bound, disintegrated_bound, seeger_bound
from ..bounds._checks import check_sample
from ..estimators import CertifiedDraw
from ..estimators._certificates import (
    certificate,
    certified_draw,
    fitted_for,
    part_size,
    refuse_early,
    refuse_if_copied,
    refuse_if_learned,
)
from ..exceptions import InvalidProblemError

__all__ = ["KINDS", "Plan", "Question", "Rows", "certified", "fit_and_certify", "plan", "refuse_before"]

KINDS = ("pac-bayes", "disintegrated", "held-out")
_COMPARED = 20  # rows that are transformed by themselves, too
_FRACTIONS = (0.25, 0.35, 0.5, 0.65, 0.8)  # of the rows for the prior, if the pilot is to choose; the first is its own
_PILOT = 40  # rows at the least that tell anything
_TOGETHER = (
    "No certificate: the pipeline gives rows other features in other company, so those of the bound have a say in it; "
    "use steps that take each row by itself."
)
_LEFT = 0.5  # of the errors, at the least, however many rows there may be: two points make no curve
_WIDTHS = 6  # of the prior, that a draw pays for


@told_briefly()
@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in a random order: the prior's come first, so that a pilot among them has seen none of the bound's."""

    X: Any
    y: Any
    order: Any
    prior: int  # how many are the prior's

    @classmethod
    def shuffled(cls, X: Any, y: Any, rng: np.random.Generator) -> Rows:
        n = num_samples(X)
        return cls(X, y, rng.permutation(n), n)

    def with_prior(self, fraction: Any) -> Rows:
        return replace(self, prior=part_size(self.n, fraction))

    @property
    def n(self) -> int:
        return len(self.order)

    @property
    def learned(self) -> Any:
        """The prior's rows."""
        return np.sort(self.order[: self.prior])

    @property
    def others(self) -> Any:
        """The bound's rows."""
        return np.sort(self.order[self.prior :])

    @property
    def labels(self) -> Any:
        return np.asarray(self.y)

    @property
    def can_be_fitted(self) -> bool:
        """Whether the prior's rows are of more than one class."""
        return len(np.unique(self.labels[self.learned])) > 1


@dataclass(frozen=True)
class Question:
    """What is to be certified, and how sure it is to be."""

    estimator: Any
    delta: float
    trust_inputs: bool = False

    @cached_property
    def last(self) -> Any:
        return steps_of(self.estimator)[2]

    @property
    def is_ours(self) -> bool:
        return hasattr(self.last, "certified_draw")


def certified(kind: str, question: Question, rows: Rows, rng: np.random.Generator) -> Certificate:
    """A certificate of one kind; a prior of no rows is one that was fixed beforehand."""
    if rows.prior and not rows.can_be_fitted:
        raise InvalidProblemError(
            f"All {rows.prior} rows to fit on are of one class: raise prior_fraction, or take more rows of the others."
        )
    if kind == "held-out":
        return _held_out(question, rows)
    learned = rows.learned if rows.prior else None
    return fit_and_certify(question, rows.X, rows.y, learned, kind=kind, rng=rng)


def _held_out(question: Question, rows: Rows) -> Certificate:
    """Fitted on the prior's rows, tested on the others."""
    found = clone(question.estimator).fit(*_safe_split(question.estimator, rows.X, rows.y, rows.learned))
    some = rows.others[:_COMPARED]
    errors, alone = (_wrong(found, question.estimator, rows, test, rows.learned) for test in (rows.others, some))
    if np.any(errors[: len(some)] != alone):
        raise InvalidProblemError(_TOGETHER)
    bound = binomial_bound(int(errors.sum()), len(rows.others), question.delta)
    labels = rows.labels[rows.others]
    constant = 1 - float(np.unique(labels, return_counts=True)[1].max()) / len(labels)
    return Certificate(
        bound,
        None,
        len(labels),
        question.delta,
        f"a fit on {rows.prior} of {rows.n} rows, tested on the others",
        constant_error=constant,
        classifier=found,
        kind="held-out",
    )


def _wrong(found: Any, estimator: Any, rows: Rows, test: Any, train: Any) -> Any:
    """Which of some rows are wrong."""
    X, y = _safe_split(estimator, rows.X, rows.y, test, train)
    return found.predict(X) != np.asarray(y)


# -- the pilot -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """Which kind, on which share of the rows, and what each kind was expected to have there."""

    kind: str
    rows: Rows
    expected: Mapping[str, float] = field(default_factory=dict)


def plan(question: Question, rows: Rows, kinds: tuple[str, ...], fraction: Any, rng: np.random.Generator) -> Plan:
    """The kind and the share with the smallest bound to be expected, from rows that will be the prior's in any case.

    How errors fall with more rows is told by fits on halves and quarters of these, what a posterior costs by
    certificates of a half with the other half as their prior.
    """
    fractions = (fraction,) if fraction != "auto" else _fitting(rows)
    if len(fractions) == len(kinds) == 1:
        return Plan(kinds[0], rows.with_prior(fractions[0]))
    pilot = rows.with_prior(fractions[0])
    if pilot.prior < _PILOT:
        return Plan(kinds[-1], rows.with_prior(next((share for share in fractions if share >= 0.5), fractions[-1])))
    curve = _Curve.of(question, pilot)
    costs = _costs(question, pilot, tuple(kind for kind in kinds if kind != "held-out"), rng)
    expected = {
        (kind, share): _expected(kind, question, rows.with_prior(share), curve, costs.get(kind))
        for share in fractions
        for kind in kinds
        if kind == "held-out" or kind in costs
    }
    if not expected:  # no kind can be had on so few rows: say why on all of them
        return Plan(kinds[0], pilot)
    kind, share = min(expected, key=lambda which: expected[which])
    return Plan(kind, rows.with_prior(share), {k: v for (k, s), v in expected.items() if s == share})


def _fitting(rows: Rows) -> tuple[float, ...]:
    """Shares whose rows have more than one class: more are taken until there is another."""
    found = tuple(share for share in _FRACTIONS if rows.with_prior(share).can_be_fitted)
    return found or _FRACTIONS[-1:]


@dataclass(frozen=True)
class _Curve:
    """Errors at so many rows: what is left in the end, and what falls like one over their number."""

    limit: float
    slope: float
    seen: float  # error at half of the pilot

    @classmethod
    def of(cls, question: Question, rows: Rows) -> _Curve:
        own = rows.order[: rows.prior]
        quarters = np.array_split(own, 4)
        halves = [np.r_[quarters[0], quarters[1]], np.r_[quarters[2], quarters[3]]]
        early, late = (
            float(np.mean([_pilot_error(question.estimator, rows, part, np.setdiff1d(own, part)) for part in parts]))
            for parts in (quarters[:2], halves)
        )
        slope = max(early - late, 0.0) * rows.prior / 2  # one over a quarter less one over a half
        limit = max(late - 2 * slope / rows.prior, _LEFT * late)
        return cls(limit, max(late - limit, 0.0) * rows.prior / 2, late)

    def at(self, n: int) -> float:
        return min(self.limit + self.slope / n, 1.0)


def _pilot_error(estimator: Any, rows: Rows, train: Any, test: Any) -> float:
    """Share of errors on some rows after a fit on others; of a constant where there is only one class to fit to."""
    labels = rows.labels
    if len(np.unique(labels[train])) == 1:
        return float(np.mean(labels[test] != labels[train][0]))
    found = clone(estimator).fit(*_safe_split(estimator, rows.X, rows.y, train))
    return float(np.mean(_wrong(found, estimator, rows, test, train)))


def _costs(question: Question, rows: Rows, kinds: tuple[str, ...], rng: np.random.Generator) -> dict[str, Certificate]:
    """Certificates of the pilot by itself, half of it the prior."""
    own = np.sort(rows.order[: rows.prior])
    X, y = _safe_split(question.estimator, rows.X, rows.y, own, own)
    small = Rows.shuffled(X, y, rng).with_prior(0.5)
    trusting = replace(question, trust_inputs=True)
    found = {}
    for kind in kinds:
        try:
            found[kind] = certified(kind, trusting, small, rng)
        except InvalidProblemError:  # this kind cannot be had, or not from so few rows
            continue
    return found


def _expected(kind: str, question: Question, rows: Rows, curve: _Curve, pilot: Certificate | None) -> float:
    """The bound to be expected of a kind, with errors at as many rows as it will have."""
    n, delta = rows.n - rows.prior, question.delta
    if pilot is None:
        return binomial_bound(min(round(curve.at(rows.prior) * n), n), n, delta).value
    terms = pilot.bound.terms
    error = min(max(terms["training error"] + curve.at(rows.prior) - curve.seen, 0.0), 1.0)
    if kind == "disintegrated":
        return disintegrated_bound(error * n, n, terms["log ratio"] * pilot.n, delta, _WIDTHS).value
    return min(2 * seeger_bound(error, terms["divergence"] * pilot.n, n, delta).value, 1.0)


# -- what can be known before a fit -----------------------------------------------------------------------------------


def refuse_before(question: Question, X: Any, y: Any, kinds: tuple[str, ...], *, has_prior: bool) -> None:
    """Raise for rows, steps and settings that no certificate, or none of these kinds, can be had of."""
    check_sample(1, question.delta)
    transformers, _, last = steps_of(question.estimator)
    if kinds != ("held-out",) and not question.is_ours:
        raise InvalidProblemError(
            f"{type(last).__name__} has no certificate: use BayesPointClassifier or GaussianMarginClassifier, or "
            "method='held-out', which takes any classifier."
        )
    _refuse_frozen([*transformers, ("the classifier", last)])
    refuse_if_copied(X, y)
    if not (question.trust_inputs or get_tags(question.estimator).input_tags.pairwise) and hasattr(X, "__array__"):
        refuse_if_learned(np.asarray(X))
    if not has_prior:
        _refuse_learning(transformers)


def _refuse_frozen(steps: list[tuple[str, Any]]) -> None:
    for name, step in steps:
        if isinstance(step, FrozenEstimator | CertifiedDraw):
            raise InvalidProblemError(
                f"No certificate: the step {name!r} was fitted beforehand, nobody knows on which rows; put it into the "
                "pipeline unfitted, or transform the rows by it and take the rest of the pipeline."
            )


def _refuse_learning(steps: list[tuple[str, Any]]) -> None:
    for name, step in steps:
        if _learns(step):
            raise InvalidProblemError(
                f"No certificate: the step {name!r} of the pipeline learns from the rows that the bound would rest on; "
                "use prior_fraction=0.5, or preprocess with something fixed beforehand."
            )


# -- posteriors -------------------------------------------------------------------------------------------------------


def fit_and_certify(
    question: Question,
    X: Any,
    y: Any,
    rows: Any,
    *,
    kind: str = "pac-bayes",
    rng: np.random.Generator | None = None,
    choices: int = 1,
) -> Certificate:
    """With a prior learned on some rows, or a fixed one if there are none."""
    transformers, name, classifier = steps_of(question.estimator)
    steps, trust = None, question.trust_inputs or bool(transformers)
    if transformers:
        steps, X = _preprocessed(transformers, X, y, rows)
    refuse_early(classifier, X, y, has_prior=rows is not None, draws=kind == "disintegrated")
    fitted = fitted_for(classifier, X, y, rows)
    if kind == "disintegrated":
        assert rng is not None
        draw = certified_draw(fitted, rng, question.delta, prior_rows=rows, trust_inputs=trust)
        result = draw.certificate_
    else:
        result = certificate(fitted, question.delta, prior_rows=rows, trust_inputs=trust, choices=choices)
    if steps is None:
        return result
    return replace(result, classifier=Pipeline([*steps.steps, (name, result.classifier)]))


def _preprocessed(transformers: list[tuple[str, Any]], X: Any, y: Any, rows: Any) -> tuple[Pipeline, Any]:
    """Steps fitted on the rows of the prior, or such as have nothing to fit, and all rows after them."""
    part = np.arange(num_samples(X)) if rows is None else rows
    steps = clone(Pipeline(transformers)).fit(safe_indexing(X, part), safe_indexing(y, part))
    transformed = steps.transform(X)
    some = part[:_COMPARED]
    if not _are_equal(steps.transform(safe_indexing(X, some)), safe_indexing(transformed, some)):
        raise InvalidProblemError(_TOGETHER)
    return steps, transformed


def _learns(step: Any) -> bool:
    """Whether a step has anything to learn from rows."""
    if isinstance(step, Pipeline):
        return any(_learns(inner) for _, inner in step.steps)
    return not (step is None or step == "passthrough") and get_tags(step).requires_fit


def _are_equal(a: Any, b: Any) -> bool:
    """Up to rounding."""
    a, b = (np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64) for rows in (a, b))
    return a.shape == b.shape and bool(np.all(np.abs(a - b) <= 1e-6 * np.abs(b).max(initial=0.0)))
