"""The meta-estimator: a classifier, a confidence and a threshold."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import nan
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from scipy.special import entr
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Bunch, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..._core.pipelines import last_step
from ..._core.random import as_generator
from ..._core.scikit import check_method_params, check_y, num_samples, safe_indexing, safe_split
from ..._core.typing import Array, RandomState
from ...exceptions import InferenceWarning, InvalidProblemError
from .._features import take_over_features
from ..metrics import RejectionCurve, rejection_curve
from ._labels import all_classes, common_type, in_columns, reject_label
from .thresholds import check_settings, rows_likely_needed, rows_needed, threshold_for_rate, threshold_for_risk

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
    confidence : {"probability", "margin", "decision", "entropy"} or callable, default="probability"
        Largest class probability; its distance from the second largest; distance of the scores of the best class and
        the second (two classes: absolute score); negative entropy of the class probabilities; or
        ``confidence(estimator_, X)``, larger where the classification is more to be trusted.
    calibration : float or "prefit", default=0.5
        Share of the rows, a random sample whatever their labels, that the threshold is set on; the classifier is fitted
        on the others. Or "prefit": `estimator` is fitted already, and all rows that `fit` gets are for calibration
        (wrap it in `sklearn.frozen.FrozenEstimator` if it is to survive `clone`).
    pilot : int or None, default=5
        Where to look for the threshold of a `risk` is guessed from the training rows alone: by their leave-one-out
        probabilities if the fitted classifier has them (`loo_proba_`), else by cross-validation of so many folds, one
        more fit each. None: no guess, fewer rows accepted. The guarantee does not depend on it.
    reject_label : label, optional
        What `predict` returns for rejected rows; -1 for labels that are numbers and "rejected" for others by default.
    random_state : int, Generator, RandomState or None, default=None
        Which rows are for calibration.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    threshold_ : float
        Rows with a confidence above it are accepted.
    risk_bound_ : float
        Bound on the error among accepted rows that holds with probability 1 - delta: `risk` if it was asked for, else
        by the binomial tail. NaN if everything is rejected.
    calibration_error_ : float
        Error of the accepted calibration rows; NaN if everything is rejected.
    coverage_ : float
        Share of the calibration rows that are accepted.
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
        confidence: Literal["probability", "margin", "decision", "entropy"] | Callable[[Any, Any], Any] = "probability",
        calibration: float | Literal["prefit"] = 0.5,
        pilot: int | None = 5,
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
        _check_confidence(self.confidence)
        _check_pilot(self.pilot)
        X, y = indexable(X, check_y(y, estimator=self))
        check_classification_targets(y)
        labels = y
        label = reject_label(self.reject_label, np.unique(labels))
        if isinstance(self.calibration, str) and self.calibration == "prefit":
            if params:
                raise InvalidProblemError(f"A fitted classifier takes no {', '.join(params)}: leave it out.")
            check_is_fitted(self.estimator)
            fitted, columns, pilot = self.estimator, None, None
        else:
            fitted, columns, X, y, pilot = self._fit_part(X, y, params)
        classes = all_classes(fitted.classes_, labels)
        label = reject_label(label, classes)
        confidence = self._confidence(fitted, X)
        wrong = np.asarray(fitted.predict(X) != y)
        if self.risk is None:
            chosen = threshold_for_rate(wrong, confidence, rate=self.rate, delta=self.delta)  # type: ignore[arg-type]
        else:
            chosen = threshold_for_risk(wrong, confidence, risk=self.risk, delta=self.delta, pilot=pilot)
            if not chosen.accepted:
                _warn_all_rejected(wrong, confidence, self.risk, self.delta)
        self.estimator_, self._columns_, self.reject_label_ = fitted, columns, label
        self.threshold_, self.risk_bound_ = chosen.threshold, chosen.bound
        self.calibration_error_ = chosen.errors / chosen.accepted if chosen.accepted else nan
        self.coverage_ = chosen.accepted / len(wrong)
        self.classes_ = classes
        take_over_features(self, fitted)
        return self

    def _fit_part(self, X: Any, y: Any, params: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """The classifier fitted on one part of the rows, the other part, and what the first one foretells."""
        rng = as_generator(self.random_state)
        part = _calibration_part(len(y), self.calibration, rng)
        training, rest = np.flatnonzero(~part), np.flatnonzero(part)
        _check_trainable(y, training)
        is_routed = get_config()["enable_metadata_routing"]
        routed = process_routing(self, "fit", **params) if is_routed else Bunch(estimator=Bunch(fit=params))
        params = routed.estimator.fit
        fitted = self._fitted_on(X, y, training, params)
        columns = training if get_tags(fitted).input_tags.pairwise else None
        pilot = None
        if self.risk is not None and self.pilot is not None:
            pilot = self._left_out(fitted, y[training]) or self._cross_validated(X, y, training, params, rng)
        return fitted, columns, safe_split(fitted, X, y, rest, training)[0], y[rest], pilot

    def _fitted_on(self, X: Any, y: Any, rows: Any, params: dict[str, Any]) -> Any:
        fitted = clone(self.estimator)
        own = check_method_params(X, params, indices=rows)
        return fitted.fit(*safe_split(fitted, X, y, rows), **own)

    def _left_out(self, fitted: Any, y: Any) -> tuple[Any, Any] | None:
        """Errors and confidence by the classifier's own leave-one-out probabilities."""
        proba = getattr(last_step(fitted)[0], "loo_proba_", None)
        known = isinstance(self.confidence, str) and _CONFIDENCES[self.confidence][0] == "predict_proba"
        if proba is None or not known or len(proba) != len(y):
            return None
        proba = np.asarray(proba, dtype=np.float64)
        return np.asarray(fitted.classes_)[proba.argmax(axis=1)] != y, _CONFIDENCES[str(self.confidence)][1](proba)

    def _cross_validated(
        self, X: Any, y: Any, training: Any, params: dict[str, Any], rng: np.random.Generator
    ) -> tuple[Any, Any] | None:
        """Errors and ranks of confidence of folds of the training part; None if a fold leaves one class only."""
        folds = np.array_split(rng.permutation(training), min(int(self.pilot or 0), len(training)))
        wrong, ranks = [], []
        for fold in folds:
            others = np.setdiff1d(training, fold)
            if len(np.unique(y[others])) < 2:
                return None
            fitted = self._fitted_on(X, y, others, params)
            left, truth = safe_split(fitted, X, y, fold, others)
            wrong.append(np.asarray(fitted.predict(left) != truth))
            ranks.append(rankdata(self._confidence(fitted, left)) / len(fold))  # folds have scales of their own
        return np.concatenate(wrong), np.concatenate(ranks)

    def confidence_scores(self, X: Any) -> Array:
        """Confidence of the classification of each row, on the scale of the threshold."""
        check_is_fitted(self)
        return self._confidence(self.estimator_, self._inputs(X))

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
            warnings.warn("No row is accepted, so there is no accuracy: NaN.", InferenceWarning, stacklevel=2)
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

    def _confidence(self, fitted: Any, X: Any) -> Array:
        if callable(self.confidence):
            scores = np.asarray(self.confidence(fitted, X), dtype=np.float64)
            if scores.shape != (num_samples(X),):
                raise InvalidProblemError(f"confidence must return one number for each row, got shape {scores.shape}.")
            return scores
        method, reduce = _CONFIDENCES[self.confidence]
        if not hasattr(fitted, method):
            raise InvalidProblemError(
                f"confidence={self.confidence!r} needs {method}, which {type(fitted).__name__} lacks: choose another."
            )
        return reduce(np.asarray(getattr(fitted, method)(X), dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


def _margin(scores: Array) -> Array:
    """Distance of the best class from the second."""
    if scores.ndim == 1:
        return np.abs(scores)
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    return best - second


_CONFIDENCES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "probability": ("predict_proba", lambda proba: proba.max(axis=1)),
    "margin": ("predict_proba", _margin),
    "decision": ("decision_function", _margin),
    "entropy": ("predict_proba", lambda proba: -entr(proba).sum(axis=1)),
}


def _check_confidence(confidence: Any) -> None:
    if not (callable(confidence) or (isinstance(confidence, str) and confidence in _CONFIDENCES)):
        names = ", ".join(map(repr, _CONFIDENCES))
        raise InvalidProblemError(f"confidence must be one of {names}, or a function, got {confidence!r}.")


def _check_pilot(pilot: Any) -> None:
    if pilot is not None and (isinstance(pilot, bool) or not isinstance(pilot, Integral) or pilot < 2):
        raise InvalidProblemError(f"pilot must be a number of folds, at least 2, or None, got {pilot!r}.")


def _calibration_part(n: int, share: Any, rng: np.random.Generator) -> Any:
    """Rows for calibration: a plain random sample, whatever their labels, for only that is as good as new rows."""
    if isinstance(share, bool) or not (isinstance(share, Real) and 0 < float(share) < 1):
        raise InvalidProblemError(f"calibration must be a share between 0 and 1, or 'prefit', got {share!r}.")
    count = min(round(float(share) * n), n - 1)
    if not count:
        raise InvalidProblemError(
            f"calibration={share!r} leaves no row to set the threshold on: n_samples={n} are too few."
        )
    part = np.zeros(n, dtype=bool)
    part[rng.permutation(n)[:count]] = True
    return part


def _check_trainable(y: Any, training: Any) -> None:
    seen = np.unique(y[training])
    if len(seen) == 1 < len(np.unique(y)):  # a split drawn anew until it suits would be no random one
        raise InvalidProblemError(
            f"All {len(training)} rows that calibration leaves to the classifier are of class {seen.tolist()[0]!r}: "
            "give more rows of the others, or a smaller share to calibration."
        )


def _warn_all_rejected(wrong: Any, confidence: Any, risk: float, delta: float) -> None:
    n, least = len(wrong), rows_needed(risk, delta)
    likely = rows_likely_needed(wrong, confidence, risk, delta)
    reason = f"at least {least} calibration rows are needed" if n < least else "the confident rows have too many errors"
    advice = "no number of rows would do" if likely is None else f"about {max(likely, least):,} would probably do"
    warnings.warn(
        f"No threshold is proven to keep the error at {risk:g} with {n} calibration rows ({reason}; by their errors "
        f"{advice}): every row will be rejected; allow a larger risk or calibrate on more rows.",
        InferenceWarning,
        stacklevel=3,
    )
