"""Choices that a certificate survives: priors learned on a part of the rows, and finite grids that are paid for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from .._core.random import as_generator
from .._core.scikit import num_samples
from .._core.typing import Array, RandomState
from ..bounds import Certificate
from ..estimators._certificates import check_held_out, has_fixed_coordinates, random_part, with_held_out
from ..exceptions import InvalidProblemError
from ._certifying import KINDS, Plan, Question, Rows, certified, fit_and_certify, plan, refuse_before
from ._features import take_over_features

__all__ = ["BoundSearch", "certify"]


def certify(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    method: str = "auto",
    delta: float = 0.05,
    prior_fraction: float | str = "auto",
    X_test: Any = None,
    y_test: Any = None,
    trust_inputs: bool = False,
    random_state: RandomState = None,
) -> Certificate:
    """Fit a classifier, alone or at the end of a pipeline, and prove a bound on its error.

    The rows are parted at random. One part is the prior's: preprocessing, kernel and whatever else is learned may look
    at it, and a pilot that plans what to do. The other part is what the bound is evaluated on:

    - "held-out" fits on the first part and counts errors on the second, by the binomial tail. Any classifier will do.
    - "disintegrated" is on one function, drawn once from a posterior that rests on both parts and kept; see
      `certified_draw`.
    - "pac-bayes" is on the Bayes point of a posterior that rests on both parts, at most twice the bound on draws.

    Every step of a pipeline is learned on the first part, those that look at labels too; steps that have nothing to
    learn, such as `Normalizer`, go with a fixed prior as well.

    Parameters
    ----------
    estimator : BayesPointClassifier, BayesianSVC, GaussianMarginClassifier, or Pipeline that ends in one
        Left as it is; clones are fitted. Held out, any classifier of scikit-learn's kind.
    X : array-like of shape (n_samples, n_features)
        Inputs, as drawn: nothing may have been learned from them yet.
    y : array-like of shape (n_samples,)
        Class labels.
    method : {"auto", "pac-bayes", "disintegrated", "held-out"}, default="auto"
        "auto" takes the kind whose bound the pilot expects to be the smallest; the others are not tried on the rows of
        the bound, so there is nothing to pay for. With a fixed prior it is "disintegrated" where the prior has finite
        coordinates, else "pac-bayes".
    delta : float, default=0.05
        Probability that the bound does not hold.
    prior_fraction : float or "auto", default="auto"
        Share of the rows for the first part; 0 if nothing is learned. "auto" leaves it to the pilot, which has a
        quarter of the rows; 0.5 for "pac-bayes" by itself.
    X_test, y_test : array-like, optional
        A held-out set for the bound of a test set beside it.
    trust_inputs : bool, default=False
        Whether features that look preprocessed were so on other rows.
    random_state : int, Generator, RandomState or None, default=None
        Which rows are which, and the draw.

    Returns
    -------
    Certificate
        ``certificate.classifier`` is the fitted estimator that ``certificate.bound`` speaks of, ``certificate.plan``
        what the pilot expected of each kind.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.uses.selection import certify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), BayesPointClassifier(None))
    >>> certificate = certify(model, X, y, method="held-out", prior_fraction=0.5, random_state=0)
    >>> certificate.bound.value < 0.1
    True
    >>> certificate.classifier.predict(X[:3])
    array([0, 0, 0])
    """
    question = Question(estimator, delta, trust_inputs)
    kinds = _kinds(question, method)
    X, y = indexable(X, y)
    check_held_out(X_test, y_test)
    rng = as_generator(random_state)
    rows = Rows.shuffled(X, y, rng)
    if prior_fraction != "auto" and prior_fraction != 0:
        rows = rows.with_prior(prior_fraction)  # refuses what is no share
    refuse_before(question, X, y, kinds, has_prior=prior_fraction != 0)
    if prior_fraction == 0:
        chosen = Plan(_of_fixed_prior(question, rows, method), replace(rows, prior=0))
    elif method == "pac-bayes":
        chosen = Plan(method, rows.with_prior(0.5 if prior_fraction == "auto" else prior_fraction))
    else:
        chosen = plan(question, rows, kinds, prior_fraction, rng)
    result = certified(chosen.kind, question, chosen.rows, rng)
    return with_held_out(replace(result, plan=chosen.expected), X_test, y_test)


def _kinds(question: Question, method: str) -> tuple[str, ...]:
    if method != "auto" and method not in KINDS:
        raise InvalidProblemError(f"method must be 'auto' or one of {', '.join(map(repr, KINDS))}, got {method!r}.")
    if method != "auto":
        return (method,)
    return KINDS if question.is_ours else ("held-out",)


def _of_fixed_prior(question: Question, rows: Rows, method: str) -> str:
    if method == "held-out":
        raise InvalidProblemError("Held-out rows need others to fit on: prior_fraction must be above 0, or 'auto'.")
    if method != "auto":
        return method
    return "disintegrated" if has_fixed_coordinates(question.last, rows.X) else "pac-bayes"


def _of_setting(estimator: Any, X: Any, y: Any, options: Any, seed: int, choices: int) -> Certificate:
    """The PAC-Bayes certificate of one setting of a grid."""
    delta, fraction, trust_inputs = options
    question = Question(estimator, delta, trust_inputs)
    X, y = indexable(X, y)
    rows = None if fraction == 0 else random_part(num_samples(X), fraction, seed)
    refuse_before(question, X, y, ("pac-bayes",), has_prior=rows is not None)
    return fit_and_certify(question, X, y, rows, choices=choices)


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
            delayed(_of_setting)(
                clone(self.estimator).set_params(**clone(setting, safe=False)),
                *(X, y, (self.delta, self.prior_fraction, self.trust_inputs), seed, len(settings)),
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
