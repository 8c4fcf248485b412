"""`BayesianSVC`: the support vector machine with a proper evidence and class probabilities (Sollich 2002)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import log_expit, logsumexp
from sklearn.svm import SVC

from .. import readouts
from .._core.random import as_generator
from .._core.settings import is_named
from .._core.typing import Array, RandomState
from ..exceptions import InvalidProblemError
from ..grams import NewPoints
from ..kernels import with_bias
from ..likelihoods import Hinge
from ..posteriors import Latent
from ..tuning.averaging import plausible_candidates
from ..tuning.calibration import to_the_power
from ..tuning.climb import Candidate, Model, is_no_better_than_a_coin, maximise_evidence
from ._base import KernelClassifier
from ._evidence import HasEvidence
from ._fit import Recipe
from ._fitted import Fitted
from ._linear_weights import LinearWeights
from ._settings import common_recipe, engine_of
from ._svc_settings import refuse_settings, search_hard, svc_kernel
from ._validation import TrainingSet, check_inputs

if TYPE_CHECKING:
    from ..evidence import Estimate

__all__ = ["BayesianSVC"]

_OF_SVC = ("C", "kernel", "degree", "gamma", "coef0", "class_weight", "random_state")
_FREE_OFFSET = 100.0  # prior standard deviation next to which an offset costs nothing
_HARD = 1e10  # C of the hinge that stands for an infinite one: figures at 1e8 are the same to 1e-6


class BayesianSVC(HasEvidence, KernelClassifier):
    """Support vector machine as a probabilistic model: class probabilities, evidence, hyper-parameters without a grid.

    The machine is the maximum of a posterior over functions with a Gaussian process prior and the likelihood
    ``exp(-C hinge)``. Averaging over that posterior gives class probabilities; its evidence, normalised over labels,
    tells good hyper-parameters from bad ones.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the hinge loss; ``1 / C`` is a noise level. With an optimizer where the search starts. Infinity is
        the machine of largest margin, for labels that the kernel can separate.
    kernel : {"rbf", "linear", "poly", "precomputed"}, callable or Kernel, default="rbf"
        As for `sklearn.svm.SVC`; or a kernel of `sklearn.gaussian_process.kernels`, taken as it is. Functions, and
        kernels that require no vectors, take lists of anything.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf" and "poly", as for `sklearn.svm.SVC`.
    coef0 : float, default=0.0
        Constant of the polynomial kernel.
    bias : float, default=1.0
        Prior standard deviation of the offset; there is no other intercept. A large one comes close to
        `sklearn.svm.SVC`, whose intercept costs nothing.
    probability : {"average", "mean", "map"}, default="average"
        Class probabilities averaged over the posterior (33), at its mean (36), or at the support vector machine
        itself (37); `predict` follows.
    optimizer : {"evidence"}, callable or None, default=None
        "evidence" chooses C, bias and every free parameter of the kernel, its amplitude included. A function
        ``optimizer(obj_func, initial_theta, bounds)`` climbs the naive evidence as
        `sklearn.gaussian_process.GaussianProcessClassifier` has it do.
    evidence : {"conditional", "joint", "naive"}, default="conditional"
        Which evidence the optimizer maximises: given the inputs (25), with a proxy for the inputs' own (30), or not
        normalised, which leads to a C that is too small.
    engine : {"ep", "laplace", "sample", "billiard", "elliptical-slice"} or engine, default="ep"
        How the posterior is inferred: expectation propagation, the Laplace approximation around the support vector
        machine, or exact draws.
    n_restarts : int, default=0
        Further climbs of the evidence from random hyper-parameters.
    max_rank : int, "auto" or None, default="auto"
        Landmarks that stand for many rows, see `BayesPointClassifier`; None works on the whole Gram matrix. An
        optimizer works on 1,000 of many rows.
    average : bool, default=False
        Whether the optimizer keeps several sets of hyper-parameters around the best one; probabilities are then
        averages over them, weighted by evidence.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class; an optimizer chooses the kernel without them.
    n_jobs : int or None, default=None
        Classes worked on at the same time.
    random_state : int, Generator, RandomState or None, default=None
        Randomness of restarts, samplers and the normaliser of the evidence.
    verbose : int, default=0
        1 shows a moving line on the standard error, as `bayespoint.Progress` does.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    C_ : float
        The weight of the hinge loss in use.
    noise_level_ : float
        ``1 / C_``.
    kernel_, bias_, likelihood_
        Kernel, prior standard deviation of the offset, and likelihood in use.
    posterior_ : GaussianPosterior, SampledPosterior or list of them
        Posterior; for more than two classes one each against the rest.
    log_evidence_ : float or None
        Naive log-evidence by expectation propagation; see `log_evidence` for the others.
    approximation_ : Approximation or None
        What landmarks leave out, measured; None if the Gram matrix is exact.
    support_ : ndarray of shape (n_SV,)
        Training rows with a weight in the support vector machine.
    n_support_ : ndarray of shape (n_classes,)
        How many of them each class has.
    support_vectors_ : array or sparse matrix of shape (n_SV, n_features)
        These rows; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (1, n_SV) or (n_classes, n_SV)
        Their signed weights.
    n_iter_ : ndarray of shape (1,) or (n_classes,)
        Rounds that the support vector machine of each class took.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features: of the support vector machine with ``probability="map"``, else of the posterior mean;
        linear kernels only.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The offset of the same function, for any kernel.
    coef_std_, intercept_std_ : ndarray
        Posterior standard deviations of both; linear kernels only.
    loo_proba_ : ndarray of shape (n_samples, n_classes)
        Leave-one-out class probabilities of the training rows, by the best hyper-parameters.
    members_ : list of BayesianSVC
        With ``average=True`` one classifier for each set of hyper-parameters; all other attributes are those of the
        best set.
    member_weights_ : ndarray of shape (n_members,)
        Their shares of the evidence.

    See Also
    --------
    BayesPointClassifier : The better choice where probabilities matter most.

    Notes
    -----
    Several classes are solved one against the rest (`sklearn.svm.SVC` takes pairs); their probabilities are normalised,
    and raised to a power where left-out labels are clearly in favour of one (`bayespoint.tuning.power_of`).
    ``sample_weight`` multiplies C.

    References
    ----------
    P. Sollich (2002). Bayesian Methods for Support Vector Machines. Machine Learning 46, 21-52.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesianSVC
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = BayesianSVC(C=2.0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    >>> bool(model.score(X, y) > 0.85)
    True
    """

    _engine_names: ClassVar[Mapping[str, str]] = {
        "ep": "EP",
        "laplace": "Laplace",
        "sample": "Billiard",
        "billiard": "Billiard",
        "elliptical-slice": "EllipticalSlice",
    }

    def __init__(
        self,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        bias: float = 1.0,
        *,
        probability: str = "average",
        optimizer: Any = None,
        evidence: str = "conditional",
        engine: Any = "ep",
        n_restarts: int = 0,
        max_rank: int | str | None = "auto",
        average: bool = False,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.bias = bias
        self.probability = probability
        self.optimizer = optimizer
        self.evidence = evidence
        self.engine = engine
        self.n_restarts = n_restarts
        self.max_rank = max_rank
        self.average = average
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def from_svc(cls, svc: SVC, **settings: Any) -> Self:
        """The same machine, unfitted, from the settings of scikit-learn's; fitted or not, it is only read.

        Decisions are those of the support vector machine itself (``probability="map"``), unless `svc` was to give
        probabilities. The offset is next to free (``bias=100``). What is about the way to the solution and not about
        the solution (`tol`, `max_iter`, `shrinking`, `cache_size`) has no counterpart, and several classes are solved
        one against the rest rather than in pairs.

        Parameters
        ----------
        svc : sklearn.svm.SVC
            Its `C`, `kernel`, `degree`, `gamma`, `coef0`, `class_weight` and `random_state` are taken over.
        **settings
            Settings of `BayesianSVC` that are to be others.

        Returns
        -------
        BayesianSVC

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from sklearn.svm import SVC
        >>> from bayespoint import BayesianSVC
        >>> X, y = make_moons(100, noise=0.2, random_state=0)
        >>> svc = SVC(C=2.0).fit(X, y)
        >>> model = BayesianSVC.from_svc(svc).fit(X, y)
        >>> bool((model.predict(X) == svc.predict(X)).all())
        True
        >>> BayesianSVC.from_svc(svc, probability="average").fit(X, y).predict_proba(X[:1]).round(1)
        array([[1., 0.]])
        """
        if not isinstance(svc, SVC):
            raise InvalidProblemError(f"from_svc takes a sklearn.svm.SVC, got {type(svc).__name__}.")
        if svc.kernel == "sigmoid":
            raise InvalidProblemError("A sigmoid is no valid kernel: choose another for the SVC.")
        taken = {name: getattr(svc, name) for name in _OF_SVC}
        probability = "average" if svc.probability is True else "map"
        return cls(**{**taken, "bias": _FREE_OFFSET, "probability": probability, **settings})

    def decision_function(self, X: Any) -> Array:
        """Log-odds of the averaged probability, or the latent function at the posterior mean or the SVM.

        With several sets of hyper-parameters log-odds of their common probability (two classes) or its logarithm.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]``; with more than two classes one column each against the rest. With
            ``probability="map"`` this is the support vector machine's own.
        """
        if hasattr(self, "members_"):
            logs = np.log(np.maximum(self._member_average(X), 1e-300))
            scores = logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs
        elif self.probability == "average":
            up, down = self._average(X)
            scores = up - down
        else:
            scores = self._point_latent(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`; rows sum to one.
        """
        if hasattr(self, "members_"):
            return self._member_average(X)
        if self.probability == "average":
            up, down = self._average(X)
        else:
            latent = self._point_latent(X)
            log_odds = self.likelihood_.log_odds(latent)
            up, down = log_expit(log_odds), log_expit(-log_odds)
        return to_the_power(_normalised(up, down), self.fitted_.power)

    def log_evidence(self, kind: str | None = None, method: str = "corrected", *, se: float = 0.1) -> Estimate:
        """Log-evidence of the training labels, summed over the classes of a multiclass fit.

        Parameters
        ----------
        kind : {"conditional", "joint", "naive"}, optional
            `evidence` by default.
        method : {"corrected", "ep", "laplace", "sampled", "chaining"}, default="corrected"
            See `bayespoint.evidence.svm.svm_log_evidence`.
        se : float, default=0.1
            Standard error to reach where there are draws.

        Returns
        -------
        Estimate

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from bayespoint import BayesianSVC
        >>> X, y = make_moons(40, noise=0.2, random_state=0)
        >>> model = BayesianSVC(C=2.0, random_state=0).fit(X, y)
        >>> model.log_evidence().value > model.log_evidence("naive").value  # normalisers are below one
        True
        """
        from ..evidence import Estimate
        from ..evidence.svm.evidences import svm_log_evidence

        posteriors = self._require_fit().posteriors
        kind = self.evidence if kind is None else kind
        rng = as_generator(self.random_state)
        parts = [svm_log_evidence(posterior.problem, rng, kind, method, se=se) for posterior in posteriors]
        return Estimate.total(parts)

    # -- translation into the core -------------------------------------------------------------------------------

    def _model(self, data: TrainingSet) -> Model:
        tuned = self.optimizer is not None
        kernel = with_bias(svc_kernel(self, data.X, data.own_weights), float(self.bias), tuned=tuned)
        return Model(kernel, Hinge(min(float(self.C), _HARD)), ("C",) if tuned else ())

    def _recipe(self) -> Recipe:
        recipe = common_recipe(self, engine_of(self))
        refuse_settings(self)
        return replace(
            recipe,
            climb=self._climb,
            search=search_hard if self._is_hard else recipe.search,
            scales_by_rows=is_named(self.kernel, "rbf", "poly") and is_named(self.gamma, "scale"),
            climbs_on_sample=self.evidence != "naive",  # draws of the normaliser take all labels at once
        )

    def _not_the_mean(self) -> str | None:
        fitted = self._require_fit()
        if self.probability == "map" and any(posterior.found is None for posterior in fitted.posteriors):
            return (
                "the support vector machine is not the mean of this posterior; use engine='laplace', whose mean it is"
            )
        return None

    def _climb(self, model: Model, *part: Any, **options: Any) -> Candidate:
        """The maximum of the evidence asked for, with other plausible hyper-parameters around it if asked for."""
        best = maximise_evidence(model, *part, **options)
        args, rng = (*part, options["engine"]), options["rng"]
        if self.evidence != "naive":
            from ..tuning import svm as svm_tuning  # compiles

            if is_no_better_than_a_coin(best):
                best = svm_tuning.maximise_normalised_evidence(
                    model, *args, kind=self.evidence, rng=rng, n_jobs=self.n_jobs, on_iteration=options["on_iteration"]
                )
            else:
                best = svm_tuning.normalise(best, *args, kind=self.evidence, rng=rng)
        return replace(best, alternatives=plausible_candidates(best, *args, rng=rng) if self.average else ())

    @property
    def _is_hard(self) -> bool:
        return float(self.C) == np.inf

    @property
    def support_vectors_(self) -> Any:
        """Training rows with a weight in the support vector machine."""
        rows = self._require_fit().points.as_given
        return np.empty((0, 0)) if is_named(self.kernel, "precomputed") else rows[self._support]

    @property
    def intercept_(self) -> Array:
        """The offset of the support vector machine, or of the posterior mean."""
        fitted = self._require_fit()
        try:
            return super().intercept_
        except AttributeError:
            if fitted.alternatives or not fitted.view.is_exact:
                raise
        if self.probability == "map":
            return self.bias_**2 * self.dual_coef_.sum(axis=1)
        return self.bias_**2 * np.array([posterior.mean_weights.sum() for posterior in fitted.posteriors])

    @property
    def _linear_weights(self) -> LinearWeights:
        return LinearWeights.of(self._require_fit(), self._machine if self.probability == "map" else None)

    @property
    def _support(self) -> Any:
        """Support vectors among the training rows of positive weight."""
        rows = self._require_fit().rows
        return self.support_ if rows is None else np.searchsorted(rows.kept, self.support_)

    def _attributes(self, fitted: Fitted) -> dict[str, Any]:
        from ..engines.svm import support_vectors  # compiles

        attributes, classes, posteriors = super()._attributes(fitted), fitted.classes, fitted.posteriors
        machines = [support_vectors(posterior.problem) for posterior in posteriors]
        signed = np.stack([p.problem.y * m.alpha for p, m in zip(posteriors, machines, strict=True)])
        support = np.flatnonzero(np.any(signed != 0, axis=0))
        codes = (posteriors[0].problem.y[support] > 0).astype(int)
        if len(classes) > 2:
            codes = np.argmax([posterior.problem.y[support] for posterior in posteriors], axis=0)
        assert isinstance(fitted.model.likelihood, Hinge)
        C = np.inf if self._is_hard else fitted.model.likelihood.C
        return attributes | {
            "C_": C,
            "noise_level_": 1 / C,
            "n_iter_": np.array([machine.rounds for machine in machines]),
            "support_": support if fitted.rows is None else fitted.rows.kept[support],
            "n_support_": np.bincount(codes, minlength=len(classes)),
            "dual_coef_": signed[:, support],
        }

    def _member_average(self, X: Any) -> Array:
        parts = [weight * m.predict_proba(X) for m, weight in zip(self.members_, self.member_weights_, strict=True)]
        return np.sum(parts, axis=0)

    def _point_latent(self, X: Any) -> Array:
        """Latent functions of one classifier each: the support vector machine, or the posterior mean."""
        fitted = self._require_fit()
        if self.probability != "map":
            return np.atleast_2d(self.latent(X).mean.T).T
        return fitted.read(check_inputs(self, X), lambda new: (self._machine(new),))[0]

    def _machine(self, new: NewPoints) -> Array:
        """The support vector machine of each class at new points."""
        gram: Any = self.fitted_.posteriors[0].problem.gram
        found: Array = gram.expansion(new, self._support, self.dual_coef_.T)
        return found

    def _average(self, X: Any) -> tuple[Array, Array]:
        """Log-probabilities of each posterior's positive and negative class, averaged over the posterior."""
        up, down = self._require_fit().read(check_inputs(self, X), self._log_probabilities)
        return up, down

    def _log_probabilities(self, new: NewPoints) -> tuple[Array, Array]:
        ups, downs = [], []
        for posterior in self._require_fit().posteriors:
            if posterior.engine.is_exact:  # draws: the mean of probabilities is not that of their mean latent
                p = np.clip(readouts.class_probability(posterior, new), 1e-300, 1 - 1e-16)
                ups.append(np.log(p))
                downs.append(np.log1p(-p))
            else:
                mean, variance = readouts.latent(posterior, new)
                ups.append(self.likelihood_.log_probability(mean, variance))
                downs.append(self.likelihood_.log_probability(-mean, variance))
        return np.stack(ups, axis=1), np.stack(downs, axis=1)

    @property
    def _calibrates(self) -> bool:  # type: ignore[override]
        """Of several classes, for one against the rest is too modest."""
        return self.probability == "average" and len(self.classes_) > 2 and not self.fitted_.alternatives

    def _probabilities(self, likelihood: Any, latent: Latent) -> Array:
        mean, variance = (np.atleast_2d(part.T).T for part in latent)
        if self.probability == "average":
            return _normalised(*(likelihood.log_probability(sign * mean, variance) for sign in (1, -1)))
        log_odds = likelihood.log_odds(mean)
        return _normalised(log_expit(log_odds), log_expit(-log_odds))


def _normalised(up: Array, down: Array) -> Array:
    """Probabilities of the classes from those of each against the rest."""
    logs = np.concatenate([down, up], axis=1) if up.shape[1] == 1 else up
    proba: Array = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    return proba
