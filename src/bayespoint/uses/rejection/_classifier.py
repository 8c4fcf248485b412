"""The meta-estimator: a classifier, a confidence and a threshold."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any, Literal, Self

import numpy as np
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Bunch, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..._core.random import as_generator
from ..._core.scikit import check_method_params, check_y, safe_indexing, safe_split
from ..._core.telling import tell
from ..._core.typing import Array, RandomState
from ...exceptions import InvalidProblemError
from .._features import take_over_features
from ..metrics import RejectionCurve, rejection_curve
from ._confidence import (
    agreement,
    check_confidence,
    confidence_of,
    is_opinion,
    leave_one_out,
    left_out,
    own_opinion,
)
from ._labels import all_classes, common_type, in_columns, reject_label
from ._turns import Turn, calibration_parts, check_folds, trainable, warn_all_rejected
from .thresholds import Acceptance, check_settings, threshold_for_rate, threshold_for_risk

__all__ = ["RejectingClassifier"]


def _needs(method: str) -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)  # its own error if it is missing
        return True

    return check


class RejectingClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that gives back the rows it is not sure of.

    A threshold for the confidence is set on calibration rows that the classifier has not seen: either such that a given
    share of rows is rejected, or as low as is possible with a guarantee on the error of the rows that are accepted.

    Parameters
    ----------
    estimator : classifier
        Any classifier of scikit-learn's interface.
    rate : float, optional
        Share of the rows to reject, at the most: rows of equal confidence are treated alike. Either this or `risk`.
    risk : float, optional
        Error to allow among accepted rows. With probability 1 - delta over the calibration rows it is not exceeded
        among new rows, if all are drawn independently from one distribution. See `threshold_for_risk`.
    delta : float, default=0.05
        Probability that the guarantee does not hold.
    confidence : {"probability", "margin", "decision", "entropy"}, callable or classifier, default="probability"
        Largest class probability; its distance from the second largest; distance of the scores of the best class and
        the second (two classes: absolute score); negative entropy of the class probabilities; or
        ``confidence(estimator_, X)``, larger where the classification is more to be trusted. Or a second opinion:
        another classifier, such as ``BayesPointClassifier()``, that is fitted on the same rows (without `params`; in
        advance if calibration is "prefit"), and the mean of the two probabilities of the class that is predicted.
    calibration : float or "prefit", default=0.5
        Share of the rows, a random sample whatever their labels, that the threshold is set on; the classifier is fitted
        on the others. Or "prefit": `estimator` is fitted already, and all rows that `fit` gets are for calibration
        (wrap it in `sklearn.frozen.FrozenEstimator` if it is to survive `clone`).
    pilot : int or None, default=5
        Where to look for the threshold of a `risk` is guessed from the training rows alone: by their leave-one-out
        probabilities if the fitted classifier has them (`loo_proba_`), else by cross-validation of so many folds, one
        more fit each. None: no guess, fewer rows accepted. The guarantee does not depend on it.
    turns : int, default=2
        How often the rows change places, with a `risk` and a share of rows for `calibration`: each turn calibrates on
        rows that no other did, fits on the rest, and gets its part of delta; the one that accepts most is kept. There
        are no more turns than have rows of their own (one if calibration is above 0.5), nor than leave each a part of
        delta with which something can be proven. 1: one fit.
    reject_label : label, optional
        What `predict` returns for rejected rows; -1 for labels that are numbers and "rejected" for others by default.
    random_state : int, Generator, RandomState or None, default=None
        Which rows are for calibration.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    second_opinion_ : classifier or None
        The fitted second opinion, if there is one.
    threshold_ : float
        Rows with a confidence above it are accepted.
    risk_bound_ : float
        Bound on the error among accepted rows that holds with probability 1 - delta: `risk` if it was asked for, else
        by the binomial tail. NaN if everything is rejected.
    calibration_error_ : float
        Error of the accepted calibration rows; NaN if everything is rejected.
    coverage_ : float
        Share of the calibration rows that are accepted; of the turn that is kept, and hence a little too large.
    reject_label_ : label
        What `predict` returns for rejected rows.
    classes_ : ndarray
        Class labels without that one: all of them, also those that only calibration rows have.

    Notes
    -----
    The guarantee speaks of the accepted rows as a whole, not of every class or every region. Since the calibration rows
    are a plain random sample, a rare class may be unknown to the classifier; its calibration rows count as errors where
    they are accepted. Rows that depend on each other, such as copies or several rows of one patient, are outside the
    guarantee.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bayespoint import RejectingClassifier
    >>> X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), test_size=0.3, random_state=0)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> careful = RejectingClassifier(model, risk=0.02, random_state=0).fit(X, y)
    >>> bool(careful.coverage(X_new) > 0.8), bool(careful.score(X_new, y_new) > 0.98)
    (True, True)
    >>> bool((careful.predict(X_new) == -1).any())
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        rate: float | None = None,
        risk: float | None = None,
        delta: float = 0.05,
        confidence: Any = "probability",
        calibration: float | Literal["prefit"] = 0.5,
        pilot: int | None = 5,
        turns: int = 2,
        reject_label: Any = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.rate = rate
        self.risk = risk
        self.delta = delta
        self.confidence = confidence
        self.calibration = calibration
        self.pilot = pilot
        self.turns = turns
        self.reject_label = reject_label
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the classifier and set the threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs, for both parts; for calibration alone if ``calibration="prefit"``.
        y : array-like of shape (n_samples,)
            Class labels.
        **params
            Such as ``sample_weight``: passed on to the classifier's `fit`, divided as the rows are. Calibration counts
            every row once.
        """
        check_settings(self.rate, self.risk, self.delta)
        check_confidence(self.confidence)
        check_folds(self.pilot)
        X, y = indexable(X, check_y(y, estimator=self))
        check_classification_targets(y)
        label = reject_label(self.reject_label, np.unique(y))
        if isinstance(self.calibration, str) and self.calibration == "prefit":
            if params:
                raise InvalidProblemError(f"A fitted classifier takes no {', '.join(params)}: leave it out.")
            check_is_fitted(self.estimator)
            second = self.confidence if is_opinion(self.confidence) else None
            turns, level = [Turn(self.estimator, second, None, X, y, None)], self.delta
        else:
            turns, level = self._turns(X, y, params)
        known = [self._judged(turn) for turn in turns]
        chosen = [self._threshold(*rows, turn.pilot, level) for rows, turn in zip(known, turns, strict=True)]
        kept = int(np.argmax([one.accepted / len(rows[0]) for one, rows in zip(chosen, known, strict=True)]))
        self._keep(turns[kept], chosen[kept], label, all_classes(turns[kept].fitted.classes_, y))
        if not chosen[kept].accepted:
            warn_all_rejected(*known[kept], self.risk, level)  # type: ignore[arg-type]
        return self

    def _judged(self, turn: Turn) -> tuple[Any, Array]:
        """Errors on the calibration rows of a turn, and the confidence."""
        wrong = np.asarray(turn.fitted.predict(turn.X) != turn.y)
        return wrong, confidence_of(self.confidence, turn.fitted, turn.second, turn.X)

    def _threshold(self, wrong: Any, confidence: Array, pilot: Any, level: float) -> Acceptance:
        if self.risk is None:
            return threshold_for_rate(wrong, confidence, rate=self.rate, delta=level)  # type: ignore[arg-type]
        return threshold_for_risk(wrong, confidence, risk=self.risk, delta=level, pilot=pilot)

    def _keep(self, turn: Turn, chosen: Acceptance, label: Any, classes: Any) -> None:
        self.reject_label_ = reject_label(label, classes)
        self.estimator_, self.second_opinion_, self._columns_ = turn.fitted, turn.second, turn.columns
        self.classes_ = classes
        self.threshold_, self.risk_bound_ = chosen.threshold, chosen.bound
        self.calibration_error_ = chosen.errors / chosen.accepted if chosen.accepted else nan
        self.coverage_ = chosen.accepted / len(turn.y)
        take_over_features(self, turn.fitted)

    def _turns(self, X: Any, y: Any, params: dict[str, Any]) -> tuple[list[Turn], float]:
        """The classifier fitted on the rows that each turn leaves, and what of delta each has."""
        rng = as_generator(self.random_state)
        parts = calibration_parts(len(y), self.calibration, self.turns, self.risk, self.delta, rng)
        is_routed = get_config()["enable_metadata_routing"]
        routed = process_routing(self, "fit", **params) if is_routed else Bunch(estimator=Bunch(fit=params))
        own = routed.estimator.fit
        return [self._turn(X, y, part, own, rng) for part in trainable(parts, y)], self.delta / len(parts)

    def _turn(self, X: Any, y: Any, part: Any, params: dict[str, Any], rng: np.random.Generator) -> Turn:
        training, rest = np.flatnonzero(~part), np.flatnonzero(part)
        fitted = self._fitted_on(X, y, training, params)
        second = self._second_on(X, y, training)
        columns = training if get_tags(fitted).input_tags.pairwise else None
        pilot = None
        if self.risk is not None and self.pilot is not None:
            pilot = left_out(self.confidence, fitted, second, y[training])
            pilot = pilot or self._cross_validated(X, y, training, second, params, rng)
        return Turn(fitted, second, columns, safe_split(fitted, X, y, rest, training)[0], y[rest], pilot)

    def _fitted_on(self, X: Any, y: Any, rows: Any, params: dict[str, Any]) -> Any:
        fitted = clone(self.estimator)
        own = check_method_params(X, params, indices=rows)
        return fitted.fit(*safe_split(fitted, X, y, rows), **own)

    def _second_on(self, X: Any, y: Any, rows: Any) -> Any:
        """Who is asked as well, given what the classifier is given."""
        return (
            clone(self.confidence).fit(*safe_split(self.estimator, X, y, rows)) if is_opinion(self.confidence) else None
        )

    def _cross_validated(
        self, X: Any, y: Any, training: Any, second: Any, params: dict[str, Any], rng: np.random.Generator
    ) -> tuple[Any, Any] | None:
        """Errors and ranks of confidence of folds of the training part; None if a fold leaves one class only."""
        order = rng.permutation(training)
        folds = np.array_split(order, min(int(self.pilot or 0), len(training)))
        known = leave_one_out(second, len(training))
        wrong, ranks = [], []
        for fold in folds:
            others = np.setdiff1d(training, fold)
            if len(np.unique(y[others])) < 2:
                return None
            fitted = self._fitted_on(X, y, others, params)
            left, truth = safe_split(fitted, X, y, fold, others)
            labels = fitted.predict(left)
            if known is None:
                scores = confidence_of(self.confidence, fitted, self._second_on(X, y, others), left)
            else:
                opinion = known[np.searchsorted(training, fold)], second.classes_
                scores = agreement(labels, [*own_opinion(fitted, left), opinion])
            wrong.append(np.asarray(labels != truth))
            ranks.append(rankdata(scores) / len(fold))  # folds have scales of their own
        return np.concatenate(wrong), np.concatenate(ranks)

    def confidence_scores(self, X: Any) -> Array:
        """Confidence of the classification of each row, on the scale of the threshold."""
        check_is_fitted(self)
        return confidence_of(self.confidence, self.estimator_, self.second_opinion_, self._inputs(X))

    def accepts(self, X: Any) -> Any:
        """Which rows are classified, a bool each; the others are rejected."""
        return self.confidence_scores(X) > self.threshold_

    def predict(self, X: Any) -> Any:
        """The class of each row, or `reject_label_` if it is rejected."""
        accepted = self.accepts(X)
        labels = np.asarray(self.estimator_.predict(self._inputs(X)))
        labels = labels.astype(common_type(labels.dtype, self.reject_label_))
        labels[~accepted] = self.reject_label_
        return labels

    @available_if(_needs("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Class probabilities by the classifier, for rejected rows too; 0 for classes that it has not seen."""
        check_is_fitted(self)
        proba = self.estimator_.predict_proba(self._inputs(X))
        return in_columns(proba, self.estimator_.classes_, self.classes_, 0.0)

    @available_if(_needs("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Scores by the classifier, for rejected rows too; the lowest number for classes that it has not seen."""
        check_is_fitted(self)
        scores = self.estimator_.decision_function(self._inputs(X))
        return in_columns(scores, self.estimator_.classes_, self.classes_, np.finfo(scores.dtype).min)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on the rows that are accepted; NaN, with a warning, if none is."""
        accepted = self.accepts(X)
        right = np.asarray(self.estimator_.predict(self._inputs(X)) == column_or_1d(y))
        weight = accepted * (1.0 if sample_weight is None else np.asarray(sample_weight, dtype=np.float64))
        if not weight.sum() > 0:
            tell("No row is accepted, so there is no accuracy: NaN.", stacklevel=2)
            return nan
        return float(np.average(right, weights=weight))

    def coverage(self, X: Any) -> float:
        """Share of the rows that are accepted."""
        return float(np.mean(self.accepts(X)))

    def rejection_curve(self, X: Any, y: Any) -> RejectionCurve:
        """Error of the kept rows at every threshold; see `bayespoint.uses.rejection_curve`."""
        confidence = self.confidence_scores(X)
        return rejection_curve(y, self.estimator_.predict(self._inputs(X)), confidence)

    def get_metadata_routing(self) -> MetadataRouter:
        """Parameters of `fit` go to the classifier."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def _inputs(self, X: Any) -> Any:
        """Of a precomputed kernel only the columns of the rows that the classifier was fitted on."""
        return X if self._columns_ is None else safe_indexing(X, self._columns_, axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags
