"""What kernel classifiers have in common: from a user's rows to posteriors, and from posteriors to latents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted

from .. import engines, readouts
from .._threads import blas_threads_for
from .._typing import Array, RandomState
from ..bases import Basis, Exact, Landmarks, Linear, Rows, choose_basis, may_take_landmarks
from ..diagnostics import warn_if_poor
from ..engines import EP
from ..engines._settings import Announcing
from ..exceptions import InvalidProblemError
from ..kernel_rows import CrossRows
from ..kernels import kernel_values, with_bias
from ..posteriors import ExpandedPosterior, GaussianPosterior, Latent, Posterior, SampledPosterior
from ..problem import Weights, as_generator, check_gram
from ..tuning import Candidate, Model, infer, is_no_better_than_a_coin, maximise_evidence, rebiased
from ._callbacks import CallbackSupportMixin, FitProgress, with_callbacks
from ._certificates import seen_by_prior
from ._inputs import Points
from ._partitions import is_dask
from ._validation import TrainingSet, check_bias, check_count, check_inputs, check_training_set, restore_on_failure

__all__ = ["KernelClassifier", "named_engine", "step_probabilities"]

_CHECKED = 2000  # rows at the most on which a kernel is tested for being one
_SAMPLED = 1000  # rows to choose the kernel by where all would take too long
_VALUES = 2**25  # kernel values of new points held at a time


def named_engine(engine: Any, table: Mapping[str, str], *more: str) -> Any:
    """An engine by its name at the border, with its default settings; engine objects as they are."""
    found = getattr(engines, table[engine])() if isinstance(engine, str) and engine in table else engine
    if isinstance(found, type) or not hasattr(found, "infer"):
        names = ", ".join(map(repr, [*more, *table]))
        hint = f": write {found.__name__}()" if isinstance(found, type) and hasattr(found, "infer") else ""
        raise InvalidProblemError(f"engine must be one of {names}, or an engine object, got {engine!r}{hint}.")
    return found


def step_probabilities(likelihood: Any, latent: Latent) -> Array:
    """Class probabilities of steps from moments of the latent, one class against the rest if there are several."""
    mean, variance = latent
    if mean.ndim == 1:  # both classes from their own tail, so that neither is lost to rounding
        logs = np.stack([likelihood.log_probability(sign * mean, variance) for sign in (-1, 1)], axis=1)
    else:
        logs = likelihood.log_probability(mean, variance)
    return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))


class KernelClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Subclasses say what the model is (`_model`), how it is inferred (`_engine`), and what follows for the labels."""

    _optional_attributes = (
        *("loo_proba_", "members_", "member_weights_", "n_seen_", "class_count_"),
        "_rows_were_added_",
    )

    kernel: Any
    engine: Any
    optimizer: str | None
    class_weight: Any
    n_restarts: int
    max_rank: int | str | None
    bias: float
    n_jobs: int | None
    random_state: RandomState
    posterior_: Any

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Infer the posterior, after choosing the kernel by evidence if asked to.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training inputs; the square Gram matrix if ``kernel="precomputed"``. `BayesPointClassifier` takes arrays and
            data frames of dask, whose blocks stay where they are.
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
        self._check_settings()
        if is_dask(X):
            return self._fit_partitions(X, y, sample_weight)
        with restore_on_failure(self):
            data = check_training_set(self, X, y, sample_weight, self.class_weight, self._pairwise)
            model = self._model(data.X, data.own_weights)
            points = Points.of(
                data.X,
                model.kernel,
                data.kept if self._pairwise else None,
                takes_sparse=callable(self.kernel) and not isinstance(self.kernel, Kernel),
                by_rows=getattr(self._engine(model, data), "takes_rows", False),
            )
            self._refuse_bad_kernel(model, points)
            progress = FitProgress(self, X, y)
            best = self._search(model, points, data, progress)
            self._become(best, points, data.classes)
            self._dropped_rows_, self._kept_rows_ = data.n_rows - len(data.kept), data.kept
            self._labels_, self._sample_weight_ = data.classes[data.y], data.sample_weight
            self._prior_saw_ = seen_by_prior(self, model, best.basis)
            self._tuned_ = self.optimizer is not None and model.theta.size > 0
            if self._knows_leave_one_out(best):
                self.loo_proba_ = self._leave_one_out(X, data)
            progress.finish()
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

    def latent(self, X: Any) -> Latent:
        """Posterior mean and variance of the latent function.

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
        return Latent(*self._in_blocks(X, self._latent))

    def _latent(self, cross: Any, diag: Array) -> tuple[Array, ...]:
        latents = [readouts.latent(posterior, cross, diag) for posterior in self._posteriors]
        return latents[0] if len(latents) == 1 else tuple(np.stack(m, axis=1) for m in zip(*latents, strict=True))

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
        >>> BayesPointClassifier().fit(X, y).sample_latent(X[:5], 100, random_state=0).shape
        (100, 5)
        """
        check_is_fitted(self)
        if self._pairwise:
            raise InvalidProblemError("A precomputed kernel does not say how new points go together: use latent.")
        new = check_inputs(self, X, pairwise=False)
        kernel, rng = with_bias(self.kernel_, self.bias_), as_generator(random_state)
        cross = self._basis_.crossing(kernel)(self._points_.transform(new))
        prior = kernel_values(kernel, self._points_.among_themselves(new))
        drawn = [posterior.functions(cross, prior, n_samples, rng) for posterior in self._posteriors]
        return drawn[0] if len(drawn) == 1 else np.stack(drawn, axis=2)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._pairwise
        return tags

    # -- for subclasses to say ------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities."""
        raise NotImplementedError

    def _fit_partitions(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit on blocks of rows that are somewhere else."""
        raise InvalidProblemError(
            f"{type(self).__name__} does not take arrays of dask: compute them first, or use BayesPointClassifier."
        )

    def _model(self, X: Any, weights: Weights | None) -> Model:
        """Constructor arguments as a kernel with bias, a likelihood, and what is free in it."""
        raise NotImplementedError

    def _check_settings(self) -> None:
        """Refuse settings that make no sense whatever the data; subclasses add their own. Every kind of fit asks it."""
        if self.optimizer not in ("evidence", None):
            raise InvalidProblemError(f"optimizer must be 'evidence' or None, got {self.optimizer!r}.")
        check_count("n_restarts", self.n_restarts)
        check_bias(self.bias)
        _ = self._rank_limit

    def _engine(self, model: Model, data: TrainingSet) -> Any:
        """The engine that the constructor's argument stands for."""
        raise NotImplementedError

    def _probabilities(self, latent: Latent) -> Array:
        """Class probabilities from moments of the latent."""
        raise NotImplementedError

    # -- translation into the core -------------------------------------------------------------------------------

    @property
    def _pairwise(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _search(self, model: Model, points: Points, data: TrainingSet, progress: FitProgress) -> Candidate:
        """Choose the kernel by the evidence of expectation propagation, then infer with the engine asked for."""
        engine = self._engine(model, data)
        rng = as_generator(self.random_state)
        labels = data.targets, data.weights

        def posterior(model: Model) -> Candidate:
            basis = self._basis(model, points.X, engine)
            return self._checked(infer(model, basis, *labels, engine, rng=rng, n_jobs=self.n_jobs))

        if self.optimizer is None:
            return posterior(model)
        if isinstance(engine, Announcing):
            engine.announce(len(data.y))
        best = self._chosen(
            model,
            points,
            data,
            engine,
            rng,
            lambda best: progress.iteration(lambda: self._fitted_attributes(best, points, data.classes)),
        )
        inferred = isinstance(engine, EP) and best.basis.X is points.X and isinstance(best.basis, Exact | Linear)
        if inferred and self.class_weight is None:  # else the kernel has been chosen, and the classes are weighted now
            return best
        found, *others = (posterior(one.model) for one in (best, *(other for other, _ in best.alternatives)))
        alternatives = [(other, weight) for other, (_, weight) in zip(others, best.alternatives, strict=True)]
        evidence = found.log_evidence
        if evidence is None and best.posteriors[0].problem.size == len(data.y):  # not that of a sample
            evidence = best.log_evidence
        return replace(found, log_evidence=evidence, alternatives=alternatives)

    def _chosen(
        self,
        model: Model,
        points: Points,
        data: TrainingSet,
        engine: Any,
        rng: np.random.Generator,
        on_iteration: Callable[[Candidate], bool] | None = None,
    ) -> Candidate:
        """Hyper-parameters by the evidence asked for: the one way to them, whatever the kind of fit."""
        approximate = engine if isinstance(engine, EP) else EP()
        part = self._part_to_climb(model, points, data, engine, data.own_weights)
        best = self._climb(model, part, approximate, rng, on_iteration)
        if self.class_weight is None or data.weights is None:
            return best
        if is_no_better_than_a_coin(best):  # rows that count alike have no say: those that are to count may have one
            part = self._part_to_climb(model, points, data, engine, data.weights.effective())
            best = self._climb(model, part, approximate, rng, on_iteration)
        weighted = self._part_to_climb(best.model, points, data, engine, data.weights)
        return replace(best, model=rebiased(best.model, *weighted, engine=approximate))

    def _part_to_climb(
        self, model: Model, points: Points, data: TrainingSet, engine: Any, weights: Weights | None
    ) -> tuple[Any, ...]:
        """Points, labels and weights to choose the kernel by: all of them, or a sample if that would take too long."""
        limit, n = self._climbs_by(engine), len(data.y)
        if limit is None:
            return self._basis(model, points.plain, None, rough=True), data.targets, weights
        if n <= limit:
            return Exact(points.plain), data.targets, weights
        rows = np.sort(as_generator(self.random_state or 0).permutation(n)[:limit])
        weights = None if weights is None else Weights(*(part[rows] for part in weights))
        return Exact(points.take(rows).plain), [y[rows] for y in data.targets], weights

    def _climbs_by(self, engine: Any) -> int | None:
        """Rows at the most to choose the kernel by, None for all."""
        return _SAMPLED if getattr(engine, "takes_rows", False) else None

    def _climb(self, model: Model, data: Any, engine: EP, rng: np.random.Generator, on_iteration: Any) -> Candidate:
        """The maximum of the evidence."""
        return maximise_evidence(
            model,
            *data,
            engine=engine,
            n_restarts=self.n_restarts,
            rng=rng,
            n_jobs=self.n_jobs,
            on_iteration=on_iteration,
        )

    def _basis(self, model: Model, X: Any, engine: Any, *, rough: bool = False) -> Basis:
        """The form of the Gram matrix: exact, or of low rank where that is asked for or pays.

        `rough` is good enough to climb the evidence by.
        """
        if getattr(engine, "takes_rows", False) and not self._pairwise:
            return Rows(X)
        return choose_basis(model.kernel, X, self._rank_limit, self._linear_from, self.random_state, rough=rough)

    def _sampler(self, model: Model, data: TrainingSet) -> str:
        """The sampler of the house by name: the billiard is faster wherever it can go, see the benchmarks.

        It cannot go where rows have weights and something of their own: latent noise, or what landmarks leave out.
        """
        has_own = model.likelihood.softness > 0 or may_take_landmarks(len(data.y), self._rank_limit)
        return "elliptical-slice" if data.weights is not None and has_own else "billiard"

    @property
    def _rank_limit(self) -> int | str | None:
        if self.max_rank is not None and self.max_rank != "auto":
            if not isinstance(self.max_rank, Integral) or isinstance(self.max_rank, bool) or self.max_rank < 1:
                raise InvalidProblemError(
                    f"max_rank must be 'auto', None or a whole number of at least 1, got {self.max_rank!r}."
                )
            return int(self.max_rank)
        return None if self._pairwise else self.max_rank

    def _refuse_bad_kernel(self, model: Model, points: Points) -> None:
        """Raise unless kernel values are finite and make a positive semi-definite matrix, on some rows if many."""
        n = points.X.shape[0]
        if n > _CHECKED:
            points = points.take(np.linspace(0, n - 1, _CHECKED).astype(int))
        check_gram(kernel_values(model.kernel, points.plain))

    def _knows_leave_one_out(self, best: Candidate) -> bool:
        """Whether the posteriors tell what a row's absence would change; draws inside hard walls do not."""
        posterior = best.posteriors[0]
        if isinstance(posterior, ExpandedPosterior):
            return False
        return isinstance(posterior, GaussianPosterior) or not self.likelihood_.is_hard

    @property
    def _gaussian_engine(self) -> Any:
        """The engine of Gaussian posteriors on parts of the rows."""
        return self.engine if isinstance(self.engine, EP) else EP()

    @property
    def _decides_by_vote(self) -> bool:
        """Whether draws decide by the majority of their signs."""
        return False

    @property
    def _scales_by_rows(self) -> bool:
        """Whether the kernel's length scale is taken from the training rows."""
        return self.kernel is None or (isinstance(self.kernel, str) and self.kernel in ("rbf", "laplacian"))

    @property
    def _linear_from(self) -> int:
        """Number of rows from which a linear kernel is worked on by its features, if these are few."""
        return 1000

    def _not_the_mean(self) -> str | None:
        """Why predictions are not those of the posterior's mean or vote, if they are not."""
        return None

    @staticmethod
    def _checked(candidate: Candidate) -> Candidate:
        for posterior in candidate.posteriors:
            if isinstance(posterior, SampledPosterior):
                warn_if_poor(posterior)
        return candidate

    def _become(self, best: Candidate, points: Points, classes: Any) -> None:
        """Take over what was found, and drop what only an earlier fit had."""
        for name in self._optional_attributes:
            self.__dict__.pop(name, None)
        for name, value in self._fitted_attributes(best, points, classes).items():
            setattr(self, name, value)

    def _fitted_attributes(self, best: Candidate, points: Points, classes: Any) -> dict[str, Any]:
        kernel = best.model.kernel
        return {
            "classes_": classes,
            "kernel_": kernel.k1,
            "bias_": float(np.sqrt(kernel.k2.constant_value)),
            "likelihood_": best.model.likelihood,
            "posterior_": best.posteriors[0] if len(classes) == 2 else list(best.posteriors),
            "log_evidence_": best.log_evidence,
            "approximation_": best.basis.approximation(kernel) if isinstance(best.basis, Landmarks) else None,
            "_points_": points,
            "_basis_": best.basis,
        }

    @property
    def _posteriors(self) -> list[Posterior]:
        return self.posterior_ if isinstance(self.posterior_, list) else [self.posterior_]

    def _in_blocks(self, X: Any, function: Callable[[Any, Array], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Arrays from what posteriors take of new points (`cross`, `diag`), some points at a time."""
        check_is_fitted(self)
        rows = self._points_.transform(check_inputs(self, X, self._pairwise))
        kernel = with_bias(self.kernel_, self.bias_)
        crossing = self._basis_.crossing(kernel)
        size = max((4 if isinstance(self._basis_, Rows) else 1) * _VALUES // self._basis_.X.shape[0], 1000)
        parts = []
        with blas_threads_for(self._basis_.X.shape[0]):
            for start in range(0, rows.shape[0], size):
                cross = crossing(rows[start : start + size])
                diag = cross.diag if isinstance(cross, CrossRows) else kernel.diag(rows[start : start + size])
                parts.append(function(cross, diag))
        return parts[0] if len(parts) == 1 else tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))

    def _leave_one_out(self, X: Any, data: TrainingSet) -> Array:
        cavities = [posterior.leave_one_out for posterior in self._posteriors]
        moments = (np.stack(m, axis=1) if len(cavities) > 1 else m[0] for m in zip(*cavities, strict=True))
        known = self._probabilities(Latent(*moments))
        if len(known) == data.n_rows:
            return known
        proba = self.predict_proba(X)  # rows of weight zero were left out to begin with
        proba[data.kept] = known
        return proba
