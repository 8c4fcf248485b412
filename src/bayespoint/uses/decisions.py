"""Decisions by their cost: of all actions the one with the smallest loss in the mean (BPM equation (7))."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Bunch, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._core.losses import checked_loss
from .._core.scikit import check_y
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ._features import take_over_features
from .rejection._labels import common_type, reject_label

__all__ = ["CostSensitiveClassifier"]


class CostSensitiveClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that decides by what its errors cost.

    Probabilities are those of the classifier; each row is given the label, or is given back, whichever costs least in
    the mean. The probabilities have to be good for the decisions to be: see `reliability_curve`.

    Parameters
    ----------
    estimator : classifier
        Any classifier with `predict_proba`. One that is fitted already stays so in `sklearn.frozen.FrozenEstimator`.
    loss : array-like of shape (n_classes, n_classes) or (n_classes, n_classes + 1)
        ``loss[i, j]``: what it costs to decide for class j if the truth is class i, in the order of `classes_`. A
        further column is the price of deciding nothing. One for every error by default.
    reject_label : label, optional
        What `predict` returns for rows it gives back; by default -1 for labels that are numbers, else "rejected".

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    loss_ : ndarray
        The losses in use.
    reject_label_ : label
        What `predict` returns for rows it gives back; only if there is a price for that.
    classes_ : ndarray
        Class labels.

    Notes
    -----
    With two classes and no further column this is a threshold for the probability,
    ``(l01 - l00) / ((l01 - l00) + (l10 - l11))`` for the second class, and the same as scikit-learn's
    `FixedThresholdClassifier` at it.

    Examples
    --------
    A missed case costs ten, a false alarm one, and to ask a doctor a half.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bayespoint.uses import CostSensitiveClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)  # class 0 is malignant
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> model = CostSensitiveClassifier(model, loss=[[0, 10, 0.5], [1, 0, 0.5]]).fit(X[:300], y[:300])
    >>> model.predict(X[300:306])
    array([0, 1, 0, 1, 1, 1])
    >>> model.expected_loss(X[300:302]).shape
    (2, 3)
    """

    def __init__(self, estimator: Any, loss: Any = None, *, reject_label: Any = None) -> None:
        self.estimator = estimator
        self.loss = loss
        self.reject_label = reject_label

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the classifier; the losses play no part in it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Class labels.
        **params
            Passed on to the classifier's `fit`.
        """
        X, y = indexable(X, check_y(y, estimator=self))
        check_classification_targets(y)
        classes = np.unique(y)
        if not hasattr(self.estimator, "predict_proba"):
            raise InvalidProblemError(
                f"Costs need predict_proba, which {type(self.estimator).__name__} lacks: choose another classifier."
            )
        loss = checked_loss(self.loss, len(getattr(self.estimator, "classes_", classes)))
        is_routed = get_config()["enable_metadata_routing"]
        routed = process_routing(self, "fit", **params) if is_routed else Bunch(estimator=Bunch(fit=params))
        fitted = clone(self.estimator).fit(X, y, **routed.estimator.fit)
        loss = checked_loss(loss, len(fitted.classes_))
        self.__dict__.pop("reject_label_", None)
        if loss.shape[1] > len(fitted.classes_):
            self.reject_label_ = reject_label(self.reject_label, fitted.classes_)
        self.estimator_, self.loss_, self.classes_ = fitted, loss, fitted.classes_
        take_over_features(self, fitted)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities by the classifier."""
        check_is_fitted(self)
        proba: Array = self.estimator_.predict_proba(X)
        return proba

    def expected_loss(self, X: Any) -> Array:
        """Mean loss of each decision (column) for each row."""
        return self.predict_proba(X) @ self.loss_

    def predict(self, X: Any) -> Any:
        """The decision of the smallest mean loss: a class, or `reject_label_` if it is to decide nothing."""
        best = self.expected_loss(X).argmin(axis=1)
        nothing = best == len(self.classes_)
        labels = self.classes_[np.where(nothing, 0, best)]
        if not hasattr(self, "reject_label_"):
            return labels
        labels = labels.astype(common_type(labels.dtype, self.reject_label_))
        labels[nothing] = self.reject_label_
        return labels

    def mean_loss(self, X: Any, y: Any) -> float:
        """What the decisions cost in the mean on rows whose labels are known."""
        best, y = self.expected_loss(X).argmin(axis=1), column_or_1d(y)
        if not np.isin(y, self.classes_).all():
            raise InvalidProblemError("y holds a label that is not among classes_, so that its loss is not known.")
        return float(self.loss_[np.searchsorted(self.classes_, y), best].mean())

    def get_metadata_routing(self) -> MetadataRouter:
        """Parameters of `fit` go to the classifier."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags
