"""What kernel classifiers have in common: settings to a recipe, a fit, and predictions from what it found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._core.random import as_generator
from .._core.settings import is_named
from .._core.typing import Array, RandomState
from ..bounds import Certificate
from ..engines import EP
from ..exceptions import InvalidProblemError
from ..grams import NewPoints, View
from ..grams.views import approximation
from ..posteriors import Latent
from ..tuning.calibration import power_of, to_the_power
from ..tuning.climb import Candidate, Model
from ..tuning.limits import warn_at_bounds
from . import _certificates
from ._callbacks import CallbackSupportMixin, fit_progress, with_callbacks
from ._draw import CertifiedDraw
from ._fit import Prepared, Recipe, conclude, infer_posteriors, of_all_classes, prepare
from ._fitted import Fitted, leaving_one_out, mixed_latent
from ._linear_weights import ShowsWeights
from ._partitions import fit_partitions, is_dask
from ._summary import summary_html
from ._validation import TrainingSet, check_inputs, check_training_set, restore_on_failure

__all__ = [
    "KernelClassifier",
    "draw_functions",
    "parts_of",
    "read",
    "recipe_of",
    "scores_of",
    "step_probabilities",
]

_OPTIONAL = ("loo_proba_", "members_", "member_weights_", "kernels_", "weights_", "n_seen_", "class_count_")


def step_probabilities(likelihood: Any, latent: Latent) -> Array:
    """Class probabilities of steps from moments of the latent, one class against the rest if there are several."""
    mean, variance = latent
    if mean.ndim == 1:  # both classes from their own tail, so that neither is lost to rounding
        logs = np.stack([likelihood.log_probability(sign * mean, variance) for sign in (-1, 1)], axis=1)
    else:
        logs = likelihood.log_probability(mean, variance)
    return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))


def scores_of(proba: Array) -> Array:
    """The z of each class probability, in the same order."""
    return np.asarray(ndtri(np.clip(proba, 1e-300, 1 - 1e-16)))


class KernelClassifier(ShowsWeights, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Subclasses say what the model is (`_model`), how it is inferred (`_engine`), and what follows for the labels.

    `fitted_` is all that a fit found (see `bayespoint.estimators.Fitted`); other fitted attributes show parts of it.
    """

    kernel: Any
    _left_out: Callable[[Any, Any], Latent] | None = None  # latents without their labels, if not by Bayes' rule
    bias: float
    optimizer: Any
    class_weight: Any
    n_restarts: int
    max_rank: int | str | None
    n_jobs: int | None
    random_state: RandomState
    verbose: int = 0  # of classifiers that do not have the setting
    _takes_gaps: bool = False  # whether inputs may have missing values
    _calibrates: bool = False  # whether labels left out have a say in how bold probabilities are
    _engine_names: ClassVar[Mapping[str, str]]  # at the border: engines with their default settings
    engine: Any
    posterior_: Any
    fitted_: Fitted
    members_: list[Self]
    member_weights_: Array

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Infer the posterior, after choosing the kernel by evidence if asked to.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training inputs; the square Gram matrix if ``kernel="precomputed"``; a list of anything, such as strings or
            graphs, if the kernel takes it. `BayesPointClassifier` takes arrays and data frames of dask, whose blocks
            stay where they are.
        y : array-like of shape (n_samples,)
            Class labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a whole number means as many copies of the row, also where the kernel is chosen (weights of
            classes have no say there).

        Returns
        -------
        estimator
            The fitted estimator.
        """
        recipe = self._recipe()
        with restore_on_failure(self):
            if is_dask(X):
                return self._become(fit_partitions(self, recipe, X, y, sample_weight))
            data = check_training_set(self, X, y, sample_weight, recipe)
            if data.jointly:
                recipe = recipe.of_one_problem(len(data.y), len(data.classes))
            ready = prepare(recipe, data)

            def attributes(found: Candidate) -> dict[str, Any]:
                return self._attributes(conclude(recipe, ready, of_all_classes(recipe, ready, found)))

            with fit_progress(self, X, y, attributes, self._result) as watch:
                found = recipe.search(recipe, ready, watch)
                self._become(conclude(recipe, ready, found))
                if recipe.tunes:
                    warn_at_bounds([one.model for one, _ in found.alternatives] or [found.model])
                if (known := self._leave_one_out(X)) is not None:
                    self.loo_proba_ = self._calibrated(known)
        return self

    def predict(self, X: Any) -> Any:
        """The most probable class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Always ``classes_[predict_proba(X).argmax(axis=1)]``.
        """
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of class probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def latent(self, X: Any) -> Latent:
        """Posterior mean and variance of the latent function; those of the mixture, where several models decide.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        Latent
            Named tuple ``(mean, variance)`` of arrays of shape (n_samples,), with more than two classes
            (n_samples, n_classes).
        """
        parts = self._parts()
        rows = check_inputs(self, X)
        return mixed_latent([(one.fitted_.latent(rows), weight) for one, weight in parts])

    def sample_latent(self, X: Any, n_samples: int = 1, random_state: RandomState = None) -> Array:
        """Functions drawn from the posterior, at the rows of X jointly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs, some thousand at the most.
        n_samples : int, default=1
            How many functions.
        random_state : int, Generator, RandomState or None, default=None
            Source of randomness.

        Returns
        -------
        ndarray of shape (n_samples, n_points)
            With more than two classes (n_samples, n_points, n_classes), classes independent of each other.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from bayespoint import BayesPointClassifier
        >>> X, y = make_moons(60, noise=0.2, random_state=0)
        >>> BayesPointClassifier("rbf").fit(X, y).sample_latent(X[:5], 100, random_state=0).shape
        (100, 5)
        """
        rng = as_generator(random_state)
        drawn = [functions for _, functions in draw_functions(self, X, n_samples, rng)]
        return drawn[0] if len(drawn) == 1 else rng.permutation(np.concatenate(drawn))

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
        >>> certificate = BayesPointClassifier("rbf", random_state=0).fit(X, y).certificate(prior_fraction=0.5)
        >>> certificate.bayes_point.value < 0.2
        True
        >>> certificate.basis
        'a prior learned on 200 of 400 rows, the bound is on the others'
        """
        fitted = self._require_fit()
        _certificates.check_held_out(X_test, y_test)
        rows = None
        if prior_fraction is not None:
            rows = _certificates.random_part(fitted.n_rows, prior_fraction, self.random_state)
        result = _certificates.certificate(self, delta, prior_rows=rows, trust_inputs=trust_inputs)
        return _certificates.with_held_out(result, X_test, y_test)

    def certified_draw(
        self,
        random_state: RandomState = None,
        *,
        delta: float = 0.05,
        prior_fraction: float | None = None,
        trust_inputs: bool = False,
    ) -> CertifiedDraw:
        """One function drawn from the posterior and kept, with a proven bound on its own error.

        The bound on the Bayes point is twice that on the mean error of draws; a single draw needs no factor two. Draw
        once: to try several and keep the best would have to be paid for.

        Parameters
        ----------
        random_state : int, Generator, RandomState or None, default=None
            Source of the draw. It must not depend on the rows.
        delta : float, default=0.05
            Probability, over training rows and the draw, that the bound does not hold.
        prior_fraction : float, optional
            Learn kernel, landmarks and prior on this share of the rows, as for `certificate`. Needed unless the kernel
            is linear and was fixed beforehand.
        trust_inputs : bool, default=False
            Whether features that look preprocessed were so on other rows.

        Returns
        -------
        CertifiedDraw
            A classifier with `predict` and `predict_proba`, the same for ever; ``certificate_`` is the bound. It is
            drawn between the prior of the learned part and the posterior of all rows, where the bound is smallest.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from bayespoint import BayesPointClassifier
        >>> X, y = make_moons(400, noise=0.1, random_state=0)
        >>> model = BayesPointClassifier("rbf", random_state=0).fit(X, y)
        >>> draw = model.certified_draw(0, prior_fraction=0.5)
        >>> draw.certificate_.bound.value < model.certificate(prior_fraction=0.5).bound.value / 1.5
        True
        """
        fitted = self._require_fit()
        rows = None
        if prior_fraction is not None:
            rows = _certificates.random_part(fitted.n_rows, prior_fraction, self.random_state)
        rng = as_generator(random_state)
        return _certificates.certified_draw(self, rng, delta, prior_rows=rows, trust_inputs=trust_inputs)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook shows: settings, and what a fit found."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and hasattr(self, "fitted_"):
            bundle["text/html"] += summary_html(self, self._result())
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_named(self.kernel, "precomputed")
        tags.input_tags.allow_nan = self._takes_gaps
        return tags

    # -- for subclasses to say ------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities."""
        raise NotImplementedError

    def _model(self, data: TrainingSet) -> Model:
        """Constructor arguments as a kernel with bias, a likelihood, and what is free in it."""
        raise NotImplementedError

    def _probabilities(self, likelihood: Any, latent: Latent) -> Array:
        """Class probabilities from moments of the latent; unless told otherwise those of steps."""
        return step_probabilities(likelihood, latent)

    def _recipe(self) -> Recipe:
        """What the settings say, once they have been checked: the first word of every kind of fit."""
        raise NotImplementedError

    def _calibrated(self, left_out: Array) -> Array:
        """Leave-one-out probabilities to the power that their labels are in favour of, which predictions have, too."""
        rows = self.fitted_.rows
        if not self._calibrates or rows is None or self.class_weight is not None:
            return left_out
        codes = np.searchsorted(self.fitted_.classes, rows.labels)
        power = power_of(left_out[rows.kept], codes, rows.sample_weight)
        self._become(replace(self.fitted_, power=power))
        return to_the_power(left_out, power)

    def _leave_one_out(self, X: Any) -> Array | None:
        """Probabilities of the training rows without their labels, unless the posteriors do not tell.

        Draws inside hard walls do not, nor do perceptrons, a handful of classifiers.
        """
        fitted = self.fitted_
        if fitted.alternatives:
            members = [(weight, one._leave_one_out(X)) for one, weight in self._parts()]
            told = [weight * proba for weight, proba in members if proba is not None]
            return np.sum(told, axis=0) if len(told) == len(members) else None
        first, likelihood = fitted.posteriors[0], fitted.model.likelihood
        if first.engine.wants_rows or (self._left_out is None and first.log_evidence is None and likelihood.is_hard):
            return None
        assert fitted.rows is not None
        left_out = leaving_one_out(fitted.posteriors, fitted.rows.sample_weight, self._left_out)
        known = self._probabilities(likelihood, left_out)
        if len(known) == fitted.rows.n_rows:
            return known
        proba = self.predict_proba(X)  # rows of weight zero were left out to begin with
        proba[fitted.rows.kept] = known
        return proba

    def _result(self) -> dict[str, Any]:
        """Figures of a fit that has ended, for those who watched it."""
        rows, proba = self.fitted_.rows, getattr(self, "loo_proba_", None)
        found: dict[str, Any] = {"log_evidence": self.log_evidence_}
        if proba is not None and rows is not None:
            codes = np.searchsorted(self.classes_, rows.labels)
            logs = np.log(np.maximum(proba[rows.kept, codes], np.finfo(float).tiny))
            found["loo_log_loss"] = -float(np.average(logs, weights=rows.sample_weight))
        return found

    @property
    def _gaussian_engine(self) -> Any:
        """The engine of Gaussian posteriors on parts of the rows."""
        return self.engine if isinstance(self.engine, EP) else EP()

    @property
    def _chooses_by_bound(self) -> bool:
        """Whether settings of the engine are chosen by the bound on the error."""
        return False

    def _inferred(
        self, recipe: Recipe, ready: Prepared, model: Model, view: View, merit: Callable[[Any], float] | None = None
    ) -> Candidate:
        """Posteriors of a model whose hyper-parameters stand; `merit` is what they are chosen by, if they are."""
        return infer_posteriors(recipe, ready, model, view=view)

    @property
    def _decides_by_vote(self) -> bool:
        """Whether draws decide by the majority of their signs."""
        return False

    def _as_certified(self) -> Self:
        """The classifier that a certificate of this one speaks of."""
        return self

    def _not_the_mean(self) -> str | None:
        """Why predictions are not those of the posterior's mean or vote, if they are not."""
        return None

    # -- what subclasses share ------------------------------------------------------------------------------------

    def _require_fit(self) -> Fitted:
        """What a fit found, if there was one."""
        check_is_fitted(self)
        return self.fitted_

    def _parts(self) -> list[tuple[Self, float]]:
        """The classifiers that decide together and their weights: this one alone, where there is one kernel."""
        check_is_fitted(self)
        if not self.fitted_.alternatives:
            return [(self, 1.0)]
        return list(zip(self.members_, self.member_weights_.tolist(), strict=True))

    def _become(self, fitted: Fitted) -> Self:
        """Take over what was found, and drop what only an earlier fit had."""
        for name in _OPTIONAL:
            self.__dict__.pop(name, None)
        for name, value in self._attributes(fitted).items():
            setattr(self, name, value)
        return self

    def _attributes(self, fitted: Fitted) -> dict[str, Any]:
        """What a user sees of a fit."""
        kernel, posteriors = fitted.model.kernel, fitted.posteriors
        more: dict[str, Any] = {}
        if fitted.class_count is not None:
            more |= {"n_seen_": fitted.n_rows, "class_count_": fitted.class_count}
        if fitted.alternatives:
            more["members_"] = [copy(self)._become(fitted.member(other)) for other, _ in fitted.alternatives]
            more["member_weights_"] = np.array([weight for _, weight in fitted.alternatives])
        return more | {
            "fitted_": fitted,
            "classes_": fitted.classes,
            "kernel_": kernel.k1,
            "bias_": float(np.sqrt(kernel.k2.constant_value)),
            "likelihood_": fitted.model.likelihood,
            "posterior_": posteriors[0] if len(posteriors) == 1 else list(posteriors),
            "log_evidence_": fitted.log_evidence,
            "log_posterior_": fitted.log_posterior,
            "approximation_": None if fitted.view.is_exact else approximation(fitted.view, kernel),
        }


def read(model: KernelClassifier, X: Any, function: Callable[[NewPoints], Array]) -> Array:
    """An array from new inputs, which are checked and taken some at a time: how uses of a posterior read it."""
    return model._require_fit().read(check_inputs(model, X), lambda new: (function(new),))[0]


def parts_of(model: KernelClassifier) -> list[tuple[KernelClassifier, float]]:
    """The classifiers of one kernel that decide together, the heaviest first, and their weights."""
    return list(model._parts())


def draw_functions(model: KernelClassifier, X: Any, size: int, rng: np.random.Generator) -> list[tuple[Any, Array]]:
    """Functions drawn from the posterior at inputs jointly: those of each kernel with its likelihood.

    How many of them come from which kernel is left to chance, by the weights.
    """
    parts = model._parts()
    if is_named(model.kernel, "precomputed"):
        raise InvalidProblemError("A precomputed kernel does not say how new points go together: use latent.")
    rows = check_inputs(model, X)
    counts = rng.multinomial(size, [weight for _, weight in parts]) if len(parts) > 1 else [size]
    drawn = zip([one.fitted_ for one, _ in parts], counts, strict=True)
    return [(fitted.model.likelihood, fitted.functions(rows, int(k), rng)) for fitted, k in drawn if k]


def recipe_of(model: KernelClassifier) -> Recipe:
    """What a classifier's settings say, once they have been checked."""
    return model._recipe()
