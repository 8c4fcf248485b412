"""Choices that a certificate survives: priors learned on a part of the rows, and finite grids that are paid for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from .._core.pipelines import steps_of
from .._core.random import as_generator
from .._core.scikit import num_samples, safe_indexing
from .._core.typing import Array, RandomState
from ..bounds import Certificate
from ..estimators._certificates import certificate, fitted_for, random_part, refuse_if_learned, with_held_out
from ..exceptions import InvalidProblemError
from ._features import take_over_features

__all__ = ["BoundSearch", "certify"]

_COMPARED = 20  # rows that are transformed by themselves, too


def certify(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    prior_fraction: float = 0.5,
    X_test: Any = None,
    y_test: Any = None,
    trust_inputs: bool = False,
    random_state: RandomState = None,
) -> Certificate:
    """Fit a classifier, alone or at the end of a pipeline, and prove a bound on its error.

    Preprocessing, kernel and prior are learned on a random part of the rows; the posterior rests on all of them, and
    the bound is evaluated on the others. Every step of a pipeline belongs to the prior, those that look at labels too;
    steps that have nothing to learn, such as `Normalizer`, go with a fixed prior as well.

    Parameters
    ----------
    estimator : BayesPointClassifier, GaussianMarginClassifier, or Pipeline that ends in one
        Left as it is; clones are fitted.
    X : array-like of shape (n_samples, n_features)
        Inputs, as drawn: nothing may have been learned from them yet.
    y : array-like of shape (n_samples,)
        Class labels.
    delta : float, default=0.05
        Probability that the bound does not hold.
    prior_fraction : float, default=0.5
        Share of the rows that the prior is learned on; 0 if nothing is learned.
    X_test, y_test : array-like, optional
        A held-out set for the bound of a test set beside it.
    trust_inputs : bool, default=False
        Whether features that look preprocessed were so on other rows.
    random_state : int, Generator, RandomState or None, default=None
        Which rows these are.

    Returns
    -------
    Certificate
        ``certificate.classifier`` is the fitted estimator that the bound speaks of.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.uses.selection import certify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), BayesPointClassifier())
    >>> certificate = certify(model, X, y, random_state=0)
    >>> certificate.bayes_point.value < 0.25
    True
    >>> certificate.classifier.predict(X[:3])
    array([0, 0, 0])
    """
    result = _fit_and_certify(estimator, X, y, delta, prior_fraction, trust_inputs, random_state)
    return with_held_out(result, X_test, y_test)


def _fit_and_certify(
    estimator: Any,
    X: Any,
    y: Any,
    delta: float,
    prior_fraction: float,
    trust_inputs: bool,
    random_state: RandomState,
    choices: int = 1,
) -> Certificate:
    """With a prior learned on a share of the rows, or a fixed one if the share is zero."""
    transformers, name, classifier = steps_of(estimator)
    if not hasattr(classifier, "certificate"):
        raise InvalidProblemError(
            f"{type(classifier).__name__} has no certificate: use BayesPointClassifier or GaussianMarginClassifier."
        )
    X, y = indexable(X, y)
    n = num_samples(X)
    rows = None if prior_fraction == 0 else random_part(n, prior_fraction, random_state)
    if not transformers:
        fitted = fitted_for(classifier, X, y, rows)
        return certificate(fitted, delta, prior_rows=rows, trust_inputs=trust_inputs, choices=choices)
    if not trust_inputs and hasattr(X, "__array__"):
        refuse_if_learned(np.asarray(X))
    steps, transformed = _preprocessed(transformers, X, y, rows)
    fitted = fitted_for(classifier, transformed, y, rows)
    result = certificate(fitted, delta, prior_rows=rows, trust_inputs=True, choices=choices)
    return replace(result, classifier=Pipeline([*steps.steps, (name, result.classifier)]))


def _preprocessed(transformers: list[tuple[str, Any]], X: Any, y: Any, rows: Any) -> tuple[Pipeline, Any]:
    """Steps fitted on the rows of the prior, or such as have nothing to fit, and all rows after them."""
    for name, step in transformers:
        if isinstance(step, FrozenEstimator):
            raise InvalidProblemError(
                f"No certificate: the step {name!r} was fitted beforehand, nobody knows on which rows; put it into the "
                "pipeline unfitted, or transform the rows by it and take the rest of the pipeline."
            )
        if rows is None and _learns(step):
            raise InvalidProblemError(
                f"No certificate: the step {name!r} of the pipeline learns from the rows that the bound would rest on; "
                "use prior_fraction=0.5, or preprocess with something fixed beforehand."
            )
    part = np.arange(num_samples(X)) if rows is None else rows
    steps = clone(Pipeline(transformers)).fit(safe_indexing(X, part), safe_indexing(y, part))
    transformed = steps.transform(X)
    some = part[:_COMPARED]
    if not _are_equal(steps.transform(safe_indexing(X, some)), safe_indexing(transformed, some)):
        raise InvalidProblemError(
            "No certificate: the pipeline gives rows other features in other company, so those of the bound have a say "
            "in it; use steps that take each row by itself."
        )
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


class BoundSearch(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Choose among finitely many settings by the bound on the error, and pay for the choice.

    Every setting is fitted and certified at confidence ``1 - delta / len(grid)``, so the best one's certificate holds
    at ``1 - delta`` although the same rows chose it.

    Parameters
    ----------
    estimator : BayesPointClassifier, GaussianMarginClassifier, or Pipeline that ends in one
        With a kernel that is fixed beforehand (``optimizer=None`` and kernel objects) unless `prior_fraction` is given.
    param_grid : dict or list of dict
        Settings, as for `sklearn.model_selection.GridSearchCV`; written down before the data are seen.
    delta : float, default=0.05
        Probability that the bound of the chosen setting does not hold.
    prior_fraction, trust_inputs
        As for `certify`, but with fixed priors by default.
    n_jobs : int or None, default=None
        Settings worked on at the same time.
    random_state : int, Generator, RandomState or None, default=None
        Which rows the priors are learned on; the same for all settings.

    Attributes
    ----------
    certificate_ : Certificate
        Of the best setting, the grid paid for.
    best_estimator_ : estimator
        The fitted classifier that the certificate speaks of.
    best_params_ : dict
        Its setting.
    results_ : list of (dict, Certificate)
        All settings and their certificates.
    classes_ : ndarray
        Class labels.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.uses.selection import BoundSearch
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> grid = {"kernel": [30.0 * RBF(scale) for scale in (0.1, 0.3, 1.0)]}
    >>> search = BoundSearch(BayesPointClassifier(optimizer=None), grid).fit(X, y)
    >>> search.best_params_
    {'kernel': 5.48**2 * RBF(length_scale=1)}
    >>> search.certificate_.basis
    'the best of 3 priors, all fixed before the data'
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        delta: float = 0.05,
        prior_fraction: float = 0.0,
        trust_inputs: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.delta = delta
        self.prior_fraction = prior_fraction
        self.trust_inputs = trust_inputs
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> BoundSearch:
        """Fit and certify every setting, keep the one with the smallest bound.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as drawn.
        y : array-like of shape (n_samples,)
            Class labels.
        """
        settings = list(ParameterGrid(self.param_grid))
        if not settings:
            raise InvalidProblemError("param_grid must hold at least one setting.")
        seed = int(as_generator(self.random_state).integers(2**31))  # one split for all settings
        certificates = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_and_certify)(
                clone(self.estimator).set_params(**clone(setting, safe=False)),
                *(X, y, self.delta, self.prior_fraction, self.trust_inputs, seed, len(settings)),
            )
            for setting in settings
        )
        best = int(np.argmin([result.bayes_point.value for result in certificates]))
        self.results_ = list(zip(settings, certificates, strict=True))
        self.best_params_, self.certificate_ = self.results_[best]
        self.best_estimator_ = self.certificate_.classifier
        self.classes_ = self.best_estimator_.classes_
        take_over_features(self, self.best_estimator_)
        return self

    def predict(self, X: Any) -> Any:
        """Most probable class by the best setting; see `BayesPointClassifier.predict`."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities by the best setting; see `BayesPointClassifier.predict_proba`."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    def decision_function(self, X: Any) -> Array:
        """Scores by the best setting; see `BayesPointClassifier.decision_function`."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.pairwise = inner.sparse, inner.pairwise
        return tags
