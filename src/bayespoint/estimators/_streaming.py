"""Learning in batches: the Gaussian posterior of one batch is the prior of the next."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._core.settings import is_named
from ..engines import EP
from ..exceptions import InferenceWarning, InvalidProblemError
from ..grams import Landmarks, NaturalGaussian, view_by_features
from ..grams.views import SHARE, linear_view
from ..problem import Problem
from ..tuning.climb import Candidate, Model
from ._fit import Recipe, prepare
from ._fitted import Fitted
from ._inputs import Points
from ._validation import TrainingSet

__all__ = ["batch_points", "can_stream", "learn_batch", "most_landmarks"]

_LANDMARKS = 500  # of a stream, if nobody says otherwise
_LONG = 100  # rows after which a stream should have shown more than one class


def can_stream(estimator: Any) -> bool:
    """Whether batches make sense for these settings; says why if they do not."""
    if is_named(estimator.kernel, "precomputed"):
        raise AttributeError("A precomputed kernel cannot come in batches: use fit, or a kernel of inputs.")
    if not (isinstance(estimator.engine, EP) or estimator.engine == "ep"):
        raise AttributeError(f"partial_fit needs expectation propagation: set engine='ep', not {estimator.engine!r}.")
    if getattr(estimator, "decision", None) == "joint":
        raise AttributeError("Batches of several classes go one against the rest: set decision='bayes_point'.")
    if isinstance(estimator.class_weight, str):
        raise AttributeError("class_weight='balanced' needs all rows at once: give a stream a dict of weights.")
    return True


@dataclass(frozen=True)
class _Stream:
    """What is known so far: the model, the form of the features, and a Gaussian over them for each class."""

    model: Model
    view: Any  # of features; None until the first batch of a kernel that needs landmarks
    naturals: list[NaturalGaussian]
    log_evidence: float
    rows: int
    counts: Any  # rows of each class


def learn_batch(recipe: Recipe, so_far: Fitted | None, data: TrainingSet, *, forgetting: float) -> Fitted:
    """One batch of expectation propagation with the posterior so far as its prior."""
    points = batch_points(data.X, recipe, None if so_far is None else so_far.points)
    stream = _new_stream(recipe, data, points) if so_far is None else _stream_of(recipe, so_far)
    kernel, options = stream.model.kernel, _landmark_options(recipe)
    if stream.view is None:
        view = Landmarks.among(points.X, kernel, **options)
    else:  # more landmarks, where those so far leave out too much of this batch
        view = stream.view.over(points.X).grown(kernel, **options)
    gram = view.gram(kernel)
    keep = forgetting if stream.rows else 1.0
    priors = [natural.extended(gram.rank).faded(keep) for natural in stream.naturals]
    problems = [
        Problem(replace(gram, prior=prior), y, stream.model.likelihood, data.weights, check=False)
        for prior, y in zip(priors, data.targets, strict=True)
    ]
    assert recipe.partitions is not None  # else there is no partial_fit
    found = Candidate.of(stream.model, recipe.partitions.infer_all(problems, n_jobs=recipe.n_jobs), view)
    found = replace(found, log_evidence=stream.log_evidence + (found.log_evidence or 0.0))
    counts = stream.counts + np.bincount(data.y, minlength=len(data.classes))
    total = int(counts.sum())
    if stream.rows < _LONG <= total and np.count_nonzero(counts) == 1:
        warnings.warn(
            f"The first {total} rows all have the label {data.classes[np.argmax(counts)]}: a stream sorted by label "
            "misleads the posterior; shuffle the rows.",
            InferenceWarning,
            stacklevel=3,
        )
    return Fitted.of(found, points, data.classes, class_count=counts, table=data.table)


def batch_points(X: Any, recipe: Recipe, before: Points | None = None) -> Points:
    """A batch as an array; a user's function may take sparse rows as they are."""
    if sparse.issparse(X) and not recipe.takes_sparse:
        return Points(X.toarray(), densify=True)
    if before is not None and not sparse.issparse(X) and sparse.issparse(before.X):
        X = sparse.csr_array(X)  # a user's function gets what it got before
    return Points(X)


def most_landmarks(recipe: Recipe) -> int | None:
    """Landmarks at the most, where all rows share them."""
    return _LANDMARKS if recipe.max_rank == "auto" else recipe.max_rank  # type: ignore[return-value]


def _new_stream(recipe: Recipe, data: TrainingSet, points: Points) -> _Stream:
    model = prepare(recipe, data, points, recipe.partitions).model
    if model.free:
        raise InvalidProblemError(
            f"A stream tunes nothing: give {' and '.join(model.free)} as a number, or fit on some rows first."
        )
    count = 1 if len(data.classes) == 2 else len(data.classes)
    view = linear_view(model.kernel, points.X)
    rank = 0 if view is None else view.gram(model.kernel).rank
    return _Stream(model, view, [NaturalGaussian.standard(rank)] * count, 0.0, 0, 0)


def _stream_of(recipe: Recipe, fitted: Fitted) -> _Stream:
    """From an earlier fit or batch."""
    if fitted.alternatives:
        warnings.warn(
            f"A stream has one kernel: it goes on with the heaviest of {len(fitted.alternatives)}, "
            f"'{fitted.model.name}'; fit with kernel=None before it to choose one for all rows.",
            InferenceWarning,
            stacklevel=4,
        )
    if not all(posterior.engine.gives_evidence for posterior in fitted.posteriors):
        raise InvalidProblemError("partial_fit goes on from a Gaussian posterior: fit with engine='ep' before it.")
    model, view = Model(fitted.kernel, fitted.model.likelihood), fitted.view
    if fitted.points.isometry is not None:  # coordinates of the training rows alone: back to the features of batches
        view = view.mapped(fitted.points.isometry.inverse, fitted.points.isometry.X.toarray())
    if view.has_coordinates:
        naturals = [posterior.gaussian.coordinates for posterior in fitted.posteriors]
    else:
        view = view_by_features(model.kernel, view.X, **_landmark_options(recipe, 1e-2 * SHARE))
        rows = view.gram(model.kernel).factor
        prior = NaturalGaussian.standard(rows.shape[1])
        naturals = [prior + NaturalGaussian.of_sites(rows, p.tau, p.nu) for p in fitted.posteriors]
    counts = fitted.class_count
    if counts is None:
        assert fitted.rows is not None
        codes = np.searchsorted(fitted.classes, fitted.rows.labels)
        counts = np.bincount(codes, minlength=len(fitted.classes))
    evidence = fitted.log_evidence
    assert evidence is not None
    return _Stream(model, view, naturals, evidence, int(counts.sum()), counts)


def _landmark_options(recipe: Recipe, tolerance: float = SHARE) -> dict[str, Any]:
    """How landmarks are chosen: the same ones from the same rows, whoever asks."""
    seed = recipe.random_state if isinstance(recipe.random_state, int) else 0
    return {"max_rank": most_landmarks(recipe), "tolerance": tolerance, "rng": np.random.default_rng(seed)}
