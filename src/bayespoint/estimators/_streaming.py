"""Learning in batches: the Gaussian posterior of one batch is the prior of the next."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from joblib import delayed
from scipy import sparse
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.metaestimators import available_if

from .._core.parallel import in_parallel
from ..engines import EP
from ..exceptions import InferenceWarning, InvalidProblemError
from ..grams import Landmarks, Linear, NaturalGaussian, view_by_features
from ..grams.views import SHARE, linear_view
from ..kernels import with_bias
from ..posteriors import GaussianPosterior
from ..problem import Problem
from ..tuning.climb import Candidate, Model
from ._inputs import Points
from ._validation import TrainingSet, check_batch, check_classes, restore_on_failure

__all__ = ["StreamingMixin"]

_LARGEST = 500  # landmarks of a stream, if nobody says otherwise
_LONG = 100  # rows after which a stream should have shown more than one class


@dataclass(frozen=True)
class _Stream:
    """What is known so far: the model, the form of the features, and a Gaussian over them for each class."""

    model: Model
    basis: Linear | Landmarks | None  # None until the first batch of a kernel that needs landmarks
    naturals: list[NaturalGaussian]
    log_evidence: float
    rows: int
    counts: Any  # rows of each class


def _can_stream(estimator: Any) -> bool:
    """Whether batches make sense for these settings; says why if they do not."""
    if estimator._pairwise:
        raise AttributeError("A precomputed kernel cannot come in batches: use fit, or a kernel of inputs.")
    if not (isinstance(estimator.engine, EP) or estimator.engine == "ep"):
        raise AttributeError(f"partial_fit needs expectation propagation: set engine='ep', not {estimator.engine!r}.")
    if isinstance(estimator.class_weight, str):
        raise AttributeError("class_weight='balanced' needs all rows at once: give a stream a dict of weights.")
    return True


class StreamingMixin:
    """`partial_fit` for classifiers with Gaussian posteriors."""

    kernel: Any
    engine: Any
    forgetting: float
    max_rank: int | str | None
    class_weight: Any
    n_jobs: int | None
    random_state: Any
    classes_: Any
    _pairwise: bool
    _posteriors: Any
    _rank_limit: Any
    _gaussian_engine: Any

    @available_if(_can_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of rows, of any size, without holding earlier ones.

        Expectation propagation runs on the batch with the posterior so far as its prior, in coordinates that all
        batches share: the features of a linear kernel, or landmarks, of which more are taken from each batch where
        those so far leave out too much of it, up to `max_rank` (500 if that is "auto"). The kernel stays as it is: that
        of an earlier `fit`, which tunes it, or as given, its length scale from the spread of the first batch.

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
        self._check_settings()  # type: ignore[attr-defined]
        with restore_on_failure(self):
            if not isinstance(self.forgetting, Real) or not 0 < float(self.forgetting) <= 1:
                raise InvalidProblemError(f"forgetting must be a share above 0 and at most 1, got {self.forgetting!r}.")
            started = hasattr(self, "classes_")
            classes = check_classes(classes, self.classes_ if started else None)
            data = check_batch(self, X, y, sample_weight, self.class_weight, classes, first=not started)
            if not len(data.y):  # all rows have weight zero
                return self
            stream = self._stream_so_far() if started else self._new_stream(data)
            self._learn(stream, data)
        return self

    # -- steps ----------------------------------------------------------------------------------------------------

    def _new_stream(self, data: TrainingSet) -> _Stream:
        model = self._model(data.X, data.own_weights)  # type: ignore[attr-defined]
        if model.free:
            raise InvalidProblemError(
                f"A stream tunes nothing: give {' and '.join(model.free)} as a number, or fit on some rows first."
            )
        count = 1 if len(data.classes) == 2 else len(data.classes)
        points = self._batch_points(data.X)
        basis = linear_view(model.kernel, points.X)
        rank = 0 if basis is None else basis.gram(model.kernel).rank
        self._refuse_bad_kernel(model, points)  # type: ignore[attr-defined]
        return _Stream(model, basis, [NaturalGaussian.standard(rank)] * count, 0.0, 0, 0)

    def _stream_so_far(self) -> _Stream:
        """From the state of an earlier fit or batch."""
        model = Model(with_bias(self.kernel_, self.bias_), self.likelihood_)  # type: ignore[attr-defined]
        basis, posteriors = self._basis_, self._posteriors  # type: ignore[attr-defined]
        isometry = self._points_.isometry  # type: ignore[attr-defined]
        if isometry is not None:  # coordinates of the training rows alone: back to the features that batches come in
            changes = {"landmarks": isometry.inverse(basis.landmarks)} if isinstance(basis, Landmarks) else {}
            basis = replace(basis, X=isometry.X.toarray(), **changes)
        if not all(isinstance(posterior, GaussianPosterior) for posterior in posteriors):
            raise InvalidProblemError("partial_fit goes on from a Gaussian posterior: fit with engine='ep' before it.")
        if not basis.has_coordinates:
            basis = view_by_features(
                model.kernel, basis.X, max_rank=self._limit(), tolerance=1e-2 * SHARE, rng=self._landmark_seed()
            )
            rows = basis.gram(model.kernel).factor
            prior = NaturalGaussian.standard(rows.shape[1])
            naturals = [prior + NaturalGaussian.of_sites(rows, p.tau, p.nu) for p in posteriors]
        else:
            naturals = [posterior.gaussian.coordinates for posterior in posteriors]
        if hasattr(self, "n_seen_"):
            seen, counts = self.n_seen_, self.class_count_
        else:
            seen, labels = posteriors[0].problem.size, self._labels_  # type: ignore[attr-defined]
            counts = np.bincount(np.searchsorted(self.classes_, labels), minlength=len(self.classes_))
        return _Stream(model, basis, naturals, self.log_evidence_, seen, counts)  # type: ignore[attr-defined]

    def _learn(self, stream: _Stream, data: TrainingSet) -> None:
        """One batch of expectation propagation, and everything that `fit` leaves behind."""
        kernel = stream.model.kernel
        points = self._batch_points(data.X)
        basis = self._basis_for(stream, points.X)
        gram = basis.gram(kernel)
        keep = float(self.forgetting) if stream.rows else 1.0
        priors = [natural.extended(gram.factor.shape[1]).faded(keep) for natural in stream.naturals]
        tasks = [
            delayed(self._gaussian_engine.infer)(
                Problem(replace(gram, prior=prior), y, stream.model.likelihood, data.weights, check=False)
            )
            for prior, y in zip(priors, data.targets, strict=True)
        ]
        posteriors = in_parallel(tasks, self.n_jobs)
        found = Candidate.of(stream.model, posteriors, basis)
        found = replace(found, log_evidence=stream.log_evidence + (found.log_evidence or 0.0))
        self._become(found, points, data.classes)  # type: ignore[attr-defined]
        self.n_seen_ = stream.rows + len(data.y)
        self.class_count_ = stream.counts + np.bincount(data.y, minlength=len(data.classes))
        if stream.rows < _LONG <= self.n_seen_ and np.count_nonzero(self.class_count_) == 1:
            warnings.warn(
                f"The first {self.n_seen_} rows all have the label {data.classes[data.y[0]]}: a stream sorted by "
                "label misleads the posterior; shuffle the rows.",
                InferenceWarning,
                stacklevel=3,
            )

    def _basis_for(self, stream: _Stream, X: Any) -> Linear | Landmarks:
        if isinstance(stream.basis, Linear):
            return stream.basis.over(X)
        options: dict[str, Any] = {"max_rank": self._limit(), "tolerance": SHARE, "rng": self._landmark_seed()}
        if stream.basis is None:
            return Landmarks.among(X, stream.model.kernel, **options)
        return stream.basis.over(X).grown(stream.model.kernel, **options)

    def _limit(self) -> int | None:
        limit = self._rank_limit
        return _LARGEST if limit == "auto" else limit

    def _landmark_seed(self) -> Any:
        return np.random.default_rng(self.random_state if isinstance(self.random_state, int) else 0)

    def _batch_points(self, X: Any) -> Points:
        """The batch as an array; a user's function may take sparse rows as they are."""
        takes_sparse = callable(self.kernel) and not isinstance(self.kernel, Kernel)
        if sparse.issparse(X) and not takes_sparse:
            return Points(X.toarray(), densify=True)
        if hasattr(self, "_points_") and not sparse.issparse(X) and sparse.issparse(self._points_.X):
            X = sparse.csr_array(X)  # a user's function gets what it got before
        return Points(X)
