"""`BayesPointClassifier`: Bayes point machines through the scikit-learn API."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from .. import readouts
from .._core.random import as_generator
from .._core.settings import is_named
from .._core.typing import Array, RandomState
from ..engines import EP
from ..exceptions import InvalidProblemError
from ..grams import NewPoints
from ..kernels import OnFeatures
from ..likelihoods import Choice
from ..posteriors import Latent
from ..tuning.calibration import to_the_power
from ..tuning.climb import Candidate, Model, maximise_evidence
from ._base import KernelClassifier, scores_of, step_probabilities
from ._evidence import HasEvidence
from ._fit import Recipe
from ._fitted import Fitted
from ._members import first_model, mixed_models, mixed_scores
from ._relevance import FeatureRelevance, relevances
from ._settings import common_recipe, engine_of, step_of
from ._streaming import can_stream, learn_batch
from ._validation import (
    check_batch,
    check_classes,
    check_inputs,
    restore_on_failure,
)

if TYPE_CHECKING:
    from ..evidence import Estimate

__all__ = ["BayesPointClassifier"]

_DECISIONS = ("bayes_point", "joint", "largest-mean", "one-vs-rest", "vote")
_JOINT = ("joint", "largest-mean")  # those for which several classes are one model
_AHEAD = 4  # classes against the rest that say about where the kernel is, before all have their say
_MANY_FLIPS = 0.2  # where the search for noise begins a second time


class BayesPointClassifier(HasEvidence, KernelClassifier):
    """Bayes point machine: a kernel classifier that averages over all classifiers compatible with the labels.

    A latent function with a Gaussian process prior decides the label through a step that may be soft (`softness`) and
    may flip (`noise`). The posterior mean is the Bayes point; its spread gives class probabilities; the evidence
    chooses the kernel.

    Parameters
    ----------
    kernel : "auto", None, {"rbf", "linear", "poly", "laplacian", "precomputed"}, callable or Kernel, default="auto"
        "auto" tunes several kernels (`bayespoint.kernels.table_kernels`) and weights them by the leave-one-out
        densities of the labels. None is one Gaussian kernel that measures each column in its own spread; "auto" is the
        same without an optimizer, in batches, on dask and for perceptrons. Both take tables as they are: frames with
        text, categories, truth values and gaps. Names stand for an amplitude times that kernel in the units of the
        columns, with the length scale starting at the spread of the data. A function ``kernel(X, Z)`` returns a matrix
        of kernel values, of rows or of lists of anything. Objects of `sklearn.gaussian_process.kernels` are used as
        they are; one length scale a feature makes an ARD kernel. See `bayespoint.kernels.Normalized` for unit length in
        feature space.
    noise : float or "evidence", default=0.0
        Probability that a training label is flipped, in [0, 0.5).
    softness : float or "evidence", default=1.0
        Variance of the latent noise that softens the boundary; 0 is the hard boundary of version space. With a free
        amplitude of the kernel its value only sets the unit.
    bias : float, default=1.0
        Prior standard deviation of a constant added to the latent function; 0 leaves it out. It is a parameter of the
        kernel like any other: with an optimizer the value is where the search starts.
    engine : str or engine, default="ep"
        How the posterior is inferred: "ep" (expectation propagation), "sample" (exact draws: the billiard, or
        elliptical slices where rows have weights and a soft boundary or landmarks), "billiard", "elliptical-slice",
        the papers' own "gibbs", "classic-billiard", "corners" and "perceptron" (on permutations, for tens of thousands
        of rows; the Gram matrix is never held), or an object of `bayespoint.engines`. The kernel is always chosen with
        expectation propagation; for perceptrons on a sample of 1,000 rows.
    optimizer : {"evidence"}, callable or None, default="evidence"
        "evidence" maximises the log-evidence over the bias and every free parameter of the kernel, and over `noise`
        and `softness` where these are "evidence"; None keeps everything as given. A function
        ``optimizer(obj_func, initial_theta, bounds)`` climbs instead, as for
        `sklearn.gaussian_process.GaussianProcessClassifier`: it minimises ``obj_func(theta)``, which returns the
        negative of what is maximised and its gradient (``eval_gradient=False``: the value alone), and returns the best
        theta and the value there.
    hyper_prior : {"weak"} or None, default="weak"
        "weak" adds the log-density of a prior over log-parameters to what is maximised
        (`bayespoint.tuning.weak_hyper_prior` has the figures), so that no ridge of the evidence is without an end; None
        maximises the evidence alone. Kernel objects have none.
    max_rank : int, "auto" or None, default="auto"
        None works on the whole Gram matrix. A number stands for the training rows by at most so many of them
        (landmarks, by randomly pivoted Cholesky) and costs O(n rank^2). "auto" does so beyond 1,500 rows, with as
        many as leave out next to nothing and 1,000 at the most; `approximation_` says what was done. Linear kernels go
        by their features, which is exact, or by the leading directions of more columns than can be held.
    decision : {"bayes_point", "joint", "largest-mean", "one-vs-rest", "vote"}, default="bayes_point"
        Whether the single best classifier decides, with probabilities from the mean and variance of the latent, or the
        average over all draws. The two are the same for a Gaussian posterior and two classes. A draw votes with its
        class probability: under a soft boundary not with its sign, which is `readouts.vote`. Of several classes
        "bayes_point" asks for the probability that the latent of a class is the largest, latents inferred from each
        class against the rest; "joint" infers all of them as one model with one evidence (`bayespoint.Choice`);
        "one-vs-rest" normalises what each class has against the rest, and "largest-mean" goes by the means of the one
        model: these are what certificates of several classes speak of. Two classes are the same by all four.
    calibration : {"loo"} or None, default="loo"
        "loo" raises class probabilities to a power, `calibration_`, where leave-one-out probabilities of the training
        labels are clearly in favour of one; with an optimizer and without weights of classes only.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with `sample_weight` in the posterior. The kernel is chosen without them.
    n_jobs : int or None, default=None
        Classes worked on at the same time.
    random_state : int, Generator, RandomState or None, default=None
        Randomness of the restarts and of sampling engines.
    verbose : int, default=0
        1 shows a moving line on the standard error, as `bayespoint.Progress` does: kernel, evidence, leave-one-out log
        loss, time left; before it a forecast.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    kernel_ : Kernel
        Kernel with the chosen hyper-parameters, without the bias.
    bias_ : float
        Prior standard deviation of the constant.
    likelihood_ : Step or Choice
        Likelihood with the chosen noise and softness.
    posterior_ : GaussianPosterior, SampledPosterior, a list of them or GaussianClassesPosterior
        Posterior; for more than two classes one each against the rest, or one of all with ``decision="joint"`` and
        "largest-mean".
    log_evidence_ : float or None
        Log-evidence of the training labels by expectation propagation, summed over posteriors; None if it was not run.
    log_posterior_ : float or None
        What was maximised: the log-evidence and the log-density of the hyper-prior, beside that of its maximum.
    kernels_ : dict of str to Kernel
        The kernels that decide together, the heaviest first; only with ``kernel="auto"``.
    weights_ : dict of str to float
        Their weights, which sum to one.
    members_ : list of BayesPointClassifier
        Fitted classifiers with one of these kernels each, if there are several; what other attributes show is that of
        the first.
    member_weights_ : ndarray of shape (n_members,)
        Their weights.
    approximation_ : Approximation or None
        Rank of the Gram matrix and the share of the prior variance that is left out, measured; None if it is exact.
    loo_proba_ : ndarray of shape (n_samples, n_classes)
        Leave-one-out class probabilities of the training rows, without refitting (kernel held fixed). Not there for
        draws inside hard walls, which do not tell what a row's absence would change.
    coef_, coef_std_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Posterior mean and standard deviation of the weights in the units of the columns; linear kernels only.
    intercept_, intercept_std_ : ndarray of shape (1,) or (n_classes,)
        The same of the offset.
    n_seen_ : int
        Rows that went into the posterior, where they came in batches (`partial_fit`).
    class_count_ : ndarray of shape (n_classes,)
        How many of these rows each class had.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if `X` has any.

    See Also
    --------
    bayespoint.engines : The engines on their own.

    Notes
    -----
    Several classes are solved one against the rest on one Gram matrix with one kernel, chosen by the sum of the
    evidences; probabilities are normalised. With ``kernel="precomputed"`` the value k(x, x) of a new point is taken to
    be the mean of the training diagonal.

    Probabilities from perceptrons are rough: ten draws, and no word on what the training rows leave open. Reject by the
    `decision_function`, and calibrate (`sklearn.calibration.CalibratedClassifierCV`) where probabilities matter.

    References
    ----------
    R. Herbrich, T. Graepel, C. Campbell (2001). Bayes Point Machines. Journal of Machine Learning Research 1, 245-279.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=150, random_state=0)
    >>> model = make_pipeline(StandardScaler(), BayesPointClassifier()).fit(X_train, y_train)
    >>> bool(model.score(X_test, y_test) > 0.93)
    True
    >>> model.predict_proba(X_test[:2]).shape
    (2, 2)
    """

    _engine_names: ClassVar[Mapping[str, str]] = {
        "sample": "Billiard",
        "ep": "EP",
        "billiard": "Billiard",
        "elliptical-slice": "EllipticalSlice",
        "gibbs": "GibbsSampler",
        "classic-billiard": "ClassicBilliard",
        "corners": "Corners",
        "perceptron": "Perceptrons",
    }
    n_restarts = 0  # hyper-priors leave one hill, and where noise makes two both are climbed

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        noise: float | str = 0.0,
        softness: float | str = 1.0,
        bias: float = 1.0,
        engine: Any = "ep",
        optimizer: Any = "evidence",
        hyper_prior: str | None = "weak",
        calibration: str | None = "loo",
        max_rank: int | str | None = "auto",
        decision: str = "bayes_point",
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.softness = softness
        self.bias = bias
        self.engine = engine
        self.optimizer = optimizer
        self.hyper_prior = hyper_prior
        self.calibration = calibration
        self.max_rank = max_rank
        self.decision = decision
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def decision_function(self, X: Any) -> Array:
        """Score z whose normal distribution function is the class probability (but for label noise).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]``; with more than two classes the z of each class probability, or with
            ``decision="one-vs-rest"`` of each class against the rest: the largest is predicted. For perceptrons
            the confidence of the paper's section 4.3, the mean of the cosines between input and classifiers.
        """
        parts = self._parts()
        rows = check_inputs(self, X)
        if self.decision == "vote":
            votes = np.sum([weight * one._votes(rows) for one, weight in parts], axis=0)
            p = np.clip(votes, 1e-300, 1 - 1e-16)
            scores = np.log(p) - np.log1p(-p)
            return scores[:, 0] if len(self.classes_) == 2 else scores
        if self.fitted_.posteriors[0].engine.wants_rows:
            return self._confidence(rows)
        if len(self.classes_) > 2 and self.decision != "one-vs-rest":
            return scores_of(np.sum([weight * one._proba(rows) for one, weight in parts], axis=0))
        latents = [one.fitted_.latent(rows) for one, _ in parts]
        scores = [one.likelihood_.score(*latent) for (one, _), latent in zip(parts, latents, strict=True)]
        return scores[0] if len(parts) == 1 else mixed_scores(scores, [weight for _, weight in parts])

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
        parts = self._parts()
        rows = check_inputs(self, X)
        return to_the_power(np.sum([weight * one._proba(rows) for one, weight in parts], axis=0), self.fitted_.power)

    @available_if(can_stream)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, forgetting: float = 1.0
    ) -> Self:
        """Learn from one more batch of rows, of any size, without holding earlier ones.

        Expectation propagation runs on the batch with the posterior so far as its prior, in coordinates that all
        batches share: the features of a linear kernel, or landmarks, of which more are taken from each batch where
        those so far leave out too much of it, up to `max_rank` (500 if that is "auto"). The kernel stays as it is: that
        of an earlier `fit`, which tunes it, or as given, its length scale from the spread of the first batch. With
        ``noise="evidence"`` the share of flipped labels is learned along the stream. A stream
        has one kernel: ``kernel="auto"`` is ``kernel=None`` there, and after a `fit` with several it goes on with the
        heaviest, which is said.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs of the batch.
        y : array-like of shape (n_samples,)
            Labels; a batch need not have all classes.
        classes : array-like of shape (n_classes,), optional
            All labels that will ever come; needed at the first call unless the estimator is fitted.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a whole number means as many copies of the row.
        forgetting : float, default=1.0
            Share of what is known that is kept before this batch; 1 forgets nothing.

        Returns
        -------
        estimator
            The fitted estimator.

        See Also
        --------
        bayespoint.uses : Batches from arrays on disk and from parquet files.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import BayesPointClassifier
        >>> rng = np.random.default_rng(0)
        >>> model = BayesPointClassifier("linear")
        >>> for _ in range(10):
        ...     X = rng.standard_normal((50, 3))
        ...     model = model.partial_fit(X, X[:, 0] > X[:, 1], classes=[False, True])
        >>> model.n_seen_
        500
        >>> bool(model.predict([[1.0, -1.0, 0.0]])[0])
        True
        """
        recipe = replace(self._recipe(), model=partial(first_model, self, is_all=False))
        if not isinstance(forgetting, Real) or not 0 < float(forgetting) <= 1:
            raise InvalidProblemError(f"forgetting must be a share above 0 and at most 1, got {forgetting!r}.")
        with restore_on_failure(self):
            so_far = getattr(self, "fitted_", None)
            known = check_classes(classes, None if so_far is None else so_far.classes)
            data = check_batch(self, X, y, sample_weight, self.class_weight, known, so_far, recipe)
            if not len(data.y):  # all rows have weight zero
                return self
            return self._become(learn_batch(recipe, so_far, data, forgetting=float(forgetting)))

    def add_permutations(self, permutations: int) -> Self:
        """Add perceptrons to a classifier that was fitted with ``engine="perceptron"``.

        Parameters
        ----------
        permutations : int
            How many for each class.

        Returns
        -------
        BayesPointClassifier
            This classifier; with an integer `random_state` the same as if it had been fitted with all of them.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from bayespoint import BayesPointClassifier
        >>> X, y = make_blobs(200, centers=3, random_state=0)
        >>> model = BayesPointClassifier(engine="perceptron", random_state=0).fit(X, y)
        >>> model.add_permutations(5).posterior_[0].draws
        15
        """
        fitted = self._require_fit()
        if not fitted.posteriors[0].engine.wants_rows:
            raise InvalidProblemError("Only perceptrons can be added to: fit with engine='perceptron'.")
        engine = replace(fitted.posteriors[0].engine, permutations=permutations)
        problems = [posterior.problem for posterior in fitted.posteriors]
        rng = as_generator(self.random_state)
        more = engine.infer_all(problems, rng, start=fitted.posteriors, n_jobs=self.n_jobs)
        return self._become(fitted.with_posteriors(more))

    def log_evidence(self, method: str = "ep", *, se: float = 0.1) -> Estimate:
        """Log-evidence of the training labels with its standard error, summed over the classes of a multiclass fit.

        Parameters
        ----------
        method : {"ep", "sampled"}, default="ep"
            "ep" is the approximation that chose the kernel; "sampled" is exact up to the standard error it reports,
            see `bayespoint.evidence.log_evidence`.
        se : float, default=0.1
            Standard error to reach by sampling, in nats.

        Returns
        -------
        Estimate
            Of a hard boundary the log-volume of version space.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from bayespoint import BayesPointClassifier
        >>> X, y = make_moons(60, noise=0.2, random_state=0)
        >>> model = BayesPointClassifier("rbf").fit(X, y)
        >>> exact, approximate = model.log_evidence("sampled"), model.log_evidence("ep")
        >>> bool(0 < exact.value - approximate.value < 1)  # EP is a little low
        True
        """
        from ..evidence import Estimate, log_evidence  # compiles; only needed here

        fitted = self._require_fit()
        if method not in ("ep", "sampled"):
            raise InvalidProblemError(f"method must be 'ep' or 'sampled', got {method!r}.")
        problems = [posterior.problem for posterior in fitted.posteriors]
        if method == "ep":
            value = self.log_evidence_
            if value is None:
                value = sum(EP().infer(problem).log_evidence or 0.0 for problem in problems)
            return Estimate(float(value), None, "ep")
        rng, share = as_generator(self.random_state), se / np.sqrt(len(problems))
        return Estimate.total([log_evidence(problem, rng, se=share, n_jobs=self.n_jobs) for problem in problems])

    def get_feature_relevance(self) -> list[FeatureRelevance]:
        """What each column contributes to the distance of rows, as the length scales say.

        A column has ``sum_f var(x_f) / l_f^2`` over its features f: the variance over the training rows in units of the
        length scale, so that long scales and columns that hardly vary count little. Shares sum to one for each kernel,
        and are averaged by the weights of those that have length scales; a linear kernel has none. One length scale for
        all columns says nothing of their order.

        Returns
        -------
        list of FeatureRelevance
            Named tuples ``(name, share)``, the largest share first; names are those of `feature_names_in_`, or x0, x1,
            ... if there are none.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import BayesPointClassifier
        >>> X = np.random.default_rng(0).standard_normal((100, 3))
        >>> found = BayesPointClassifier().fit(X, X[:, 1] > 0).get_feature_relevance()
        >>> found[0].name, round(sum(one.share for one in found), 6)
        ('x1', 1.0)
        """
        parts = [(one.fitted_, weight) for one, weight in self._parts()]
        if is_named(self.kernel, "precomputed"):
            raise InvalidProblemError("A precomputed kernel does not tell its columns apart: use a kernel of inputs.")
        return relevances(parts, getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))

    # -- translation into the core -------------------------------------------------------------------------------

    @property
    def _takes_gaps(self) -> bool:  # type: ignore[override]
        """Whether columns may have missing values: where kernels see them through features."""
        return is_named(self.kernel, "auto") or self.kernel is None or isinstance(self.kernel, OnFeatures)

    def _recipe(self) -> Recipe:
        recipe, (_, free) = common_recipe(self, engine_of(self)), step_of(self)
        if "noise" in free:
            recipe = replace(recipe, climb=_climb_both)
        if self.decision not in _DECISIONS:
            *names, last = map(repr, _DECISIONS)
            raise InvalidProblemError(f"decision must be {', '.join(names)} or {last}, got {self.decision!r}.")
        if self.hyper_prior not in ("weak", None):
            raise InvalidProblemError(f"hyper_prior must be 'weak' or None, got {self.hyper_prior!r}.")
        if self.calibration not in ("loo", None):
            raise InvalidProblemError(f"calibration must be 'loo' or None, got {self.calibration!r}.")
        engine, is_auto = recipe.engine, is_named(self.kernel, "auto")
        mixes, jointly = is_auto and not (engine is not None and engine.wants_rows), self.decision in _JOINT
        return replace(
            recipe,
            model=partial(first_model, self),
            partitions=engine if isinstance(engine, EP) and not (recipe.pairwise or jointly) else None,
            jointly=jointly,
            ahead=_AHEAD,
            takes_tables=is_auto or self.kernel is None,
            takes_gaps=self._takes_gaps,
            scales_by_rows=recipe.scales_by_rows or is_auto,
            members=partial(mixed_models, self) if mixes else None,
            probabilities=self._probabilities,
        )

    def _proba(self, rows: Any) -> Array:
        """Class probabilities of one kernel, at rows that have been checked."""
        if self._is_joint:
            posterior = self.fitted_.posteriors[0]
            if self.decision == "largest-mean":
                moments = self.fitted_.read(rows, lambda new: tuple(readouts.latent(posterior, new)))
                return _by_mean(posterior.problem.likelihood, *moments)
            return self.fitted_.read(rows, lambda new: (posterior.at(new).probabilities,))[0]
        if self.decision != "vote":
            latent = self.fitted_.latent(rows)
            if self.fitted_.posteriors[0].engine.wants_rows:
                latent = Latent(latent.mean, self._spread(latent.variance))
            return self._probabilities(self.likelihood_, latent)
        p = self._votes(rows)
        p = np.concatenate([1 - p, p], axis=1) if p.shape[1] == 1 else p
        return p / p.sum(axis=1, keepdims=True)

    @property
    def _is_joint(self) -> bool:
        """Whether several classes are one problem."""
        return isinstance(self.fitted_.model.likelihood, Choice)

    def _votes(self, rows: Any) -> Array:
        """Class probability of each posterior's positive class, averaged over draws; a column each."""
        fitted = self.fitted_

        def votes(new: NewPoints) -> tuple[Array]:
            parts = [readouts.class_probability(posterior, new) for posterior in fitted.posteriors]
            return (np.stack(parts, axis=1),)

        return fitted.read(rows, votes)[0]

    def _confidence(self, rows: Any) -> Array:
        """Cosines of perceptrons with the inputs, of one class or of several (BPM 4.3)."""
        posteriors = self.fitted_.posteriors
        found = self.fitted_.read(rows, lambda new: (np.stack([p.at(new).confidence for p in posteriors], axis=1),))[0]
        return found[:, 0] if len(posteriors) == 1 else found

    def _not_the_mean(self) -> str | None:
        fitted = self._require_fit()
        return "the rows are no longer at hand; use fit on an array" if fitted.rows is None else None

    def _attributes(self, fitted: Fitted) -> dict[str, Any]:
        attributes = super()._attributes(fitted)
        mixed = fitted.alternatives or [(Candidate(fitted.model, (), None, None), 1.0)]
        attributes["calibration_"] = fitted.power
        if fitted.model.name:
            attributes["kernels_"] = {one.model.name: one.model.kernel.k1 for one, _ in mixed}
            attributes["weights_"] = {one.model.name: weight for one, weight in mixed}
        return attributes

    @property
    def _calibrates(self) -> bool:  # type: ignore[override]
        return self.calibration is not None and self.optimizer is not None and self.decision != "vote"

    @property
    def _decides_by_vote(self) -> bool:
        return self.decision == "vote"

    def _as_certified(self) -> Self:
        """Certificates of several classes speak of each against the rest, or of the largest mean of one model."""
        certified = {"bayes_point": "one-vs-rest", "joint": "largest-mean"}
        if len(self.classes_) == 2 or self.decision not in certified:
            return self
        other = copy(self)
        other.decision = certified[self.decision]
        return other

    def _spread(self, variance: Array) -> Array:
        """Variance of perceptrons at new points: their own, which classes share for they are few, and another part.

        What the training points leave open at a new one is not in their span. The spread at training points, which is
        of the same size, stands for it: without it probabilities are far too bold (USPS: log loss 0.40, with it 0.27).
        """
        own = variance if variance.ndim == 1 else variance.mean(axis=1, keepdims=True)
        beyond = np.mean([posterior.variance.mean() for posterior in self.fitted_.posteriors])
        return np.broadcast_to(own + beyond, variance.shape)

    def _probabilities(self, likelihood: Any, latent: Latent) -> Array:
        """Of several classes the probability that its latent is the largest, or each against the rest, normalised."""
        mean, variance = latent
        if isinstance(likelihood, Choice):
            if self.decision == "largest-mean":
                return _by_mean(likelihood, mean, np.einsum("icc->ic", variance))
            return likelihood.label_probabilities(mean, variance)
        if mean.ndim == 1 or self.decision == "one-vs-rest":
            return step_probabilities(likelihood, latent)
        largest = readouts.largest_probabilities(mean, variance + likelihood.softness)
        proba = likelihood.noise + (1 - 2 * likelihood.noise) * largest
        return proba / proba.sum(axis=1, keepdims=True)


def _by_mean(likelihood: Choice, mean: Array, variance: Array) -> Array:
    """Label probabilities in the order of the means: as if the latents were independent, and of one variance a row."""
    alike = np.broadcast_to(variance.mean(axis=1, keepdims=True) + likelihood.softness, mean.shape)
    high, low = likelihood.levels(mean.shape[1])
    return low + (high - low) * readouts.largest_probabilities(mean, alike)


def _climb_both(model: Model, *part: Any, **options: Any) -> Candidate:
    """Few wrong labels and many are different hills of the evidence, if noise is free."""
    noisy = replace(model, likelihood=replace(model.likelihood, noise=_MANY_FLIPS))  # type: ignore[type-var]
    return max((maximise_evidence(start, *part, **options) for start in (model, noisy)), key=lambda one: one.merit)
