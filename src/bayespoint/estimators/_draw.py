"""`CertifiedDraw`: one function of a posterior, drawn once and kept, with a bound on its own error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags

from .._core.typing import Array
from ..bounds import Certificate
from ..grams import NewPoints
from ..posteriors import Latent
from ._validation import check_inputs

__all__ = ["CertifiedDraw"]


class CertifiedDraw(ClassifierMixin, BaseEstimator):
    """A classifier that was drawn from a posterior and is kept: made by `certified_draw`, never fitted.

    It decides by the sign of one function, or by the largest of one function a class, so that the bound on its error
    needs no factor two. Copies, files and clones are the same draw.

    Parameters
    ----------
    model : estimator
        The fitted classifier whose posterior it was drawn from.
    weights : ndarray of shape (n_functions, rank)
        Coordinates of the functions.
    certificate : Certificate
        The bound on its error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    certificate_ : Certificate
        The bound, with this classifier in it.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import BayesPointClassifier
    >>> X = np.random.default_rng(0).standard_normal((1000, 2))
    >>> y = X[:, 0] + 0.3 * X[:, 1] > 0
    >>> draw = BayesPointClassifier("linear", random_state=0).fit(X, y).certified_draw(0, prior_fraction=0.5)
    >>> draw.predict([[1.0, 0.0], [-1.0, 0.0]])
    array([ True, False])
    >>> draw.certificate_.bound.value < 0.05
    True
    """

    def __init__(self, model: Any, weights: Array, certificate: Certificate) -> None:
        self.model = model
        self.weights = weights
        self.certificate = certificate

    @property
    def classes_(self) -> Any:
        """Class labels."""
        return self.model.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return int(self.model.n_features_in_)

    @property
    def certificate_(self) -> Certificate:
        """The bound on the error of this classifier."""
        return replace(self.certificate, classifier=self)

    def fit(self, X: Any, y: Any) -> Self:
        """Nothing: the draw is kept.

        Parameters
        ----------
        X, y : ignored
            A bound is on this very function.
        """
        return self

    def decision_function(self, X: Any) -> Array:
        """Values of the functions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]``; with more than two classes a column each, the largest decides.
        """
        return self._latent(X).mean

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities: those of the posterior it was drawn from, had it this function for its mean.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`; rows sum to one. The largest is that of the class that is predicted.
        """
        latent = self._latent(X)
        proba: Array = self.model._probabilities(self.model.fitted_.model.likelihood, latent)
        top = latent.mean > 0 if latent.mean.ndim == 1 else latent.mean.argmax(axis=1)
        lost = np.flatnonzero(proba.argmax(axis=1) != top)  # to rounding, where probabilities tie
        proba[lost, top[lost].astype(int)] = np.nextafter(proba[lost].max(axis=1), 2.0)
        return proba

    def predict(self, X: Any) -> Any:
        """The class of the largest function, or by the sign of the only one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _latent(self, X: Any) -> Latent:
        """Functions, and a variance that all of them share: decisions are by the functions alone."""
        fitted = self.model.fitted_
        whitened = fitted.posteriors[0].problem.gram.whitened()

        def at(new: NewPoints) -> tuple[Array, Array]:
            functions = whitened.features(new) @ self.weights.T
            return functions, np.mean([posterior.at(new).variance for posterior in fitted.posteriors], axis=0)

        functions, variance = fitted.read(check_inputs(self.model, X), at)
        if functions.shape[1] == 1:
            return Latent(functions[:, 0], variance)
        return Latent(functions, np.broadcast_to(variance[:, None], functions.shape))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.model).input_tags
        return tags
