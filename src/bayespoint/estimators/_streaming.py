"""Learning in batches: the Gaussian posterior of one batch is the prior of the next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from .._core.settings import is_named
from .._core.telling import tell
from .._core.typing import Array
from ..engines import EP
from ..exceptions import InvalidProblemError
from ..grams import Landmarks, NaturalGaussian, view_by_features
from ..grams.views import SHARE, linear_view
from ..likelihoods import Step
from ..problem import Problem
from ..readouts import leave_one_out_probability
from ..tuning.climb import Candidate, Model
from ._fit import Recipe, prepare
from ._fitted import Fitted
from ._inputs import Points
from ._validation import TrainingSet

__all__ = ["batch_points", "can_stream", "learn_batch", "most_landmarks"]

_LANDMARKS = 500  # of a stream, if nobody says otherwise
_TURNS = 5  # of a batch, at the most, until its noise level stands
_STANDS = 0.02  # share of itself by which it may still move
_FEW = 50  # labels that a batch is filled up to, for its noise level
_LONG = 100  # rows after which a stream should have shown more than one class


def can_stream(estimator: Any) -> bool:
    """Whether batches make sense for these settings; says why if they do not."""
    if is_named(estimator.kernel, "precomputed"):
        raise AttributeError("A precomputed kernel cannot come in batches: use fit, or a kernel of inputs.")
    if not (isinstance(estimator.engine, EP) or estimator.engine == "ep"):
        raise AttributeError(f"partial_fit needs expectation propagation: set engine='ep', not {estimator.engine!r}.")
    if getattr(estimator, "decision", None) in ("joint", "largest-mean"):
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
    grams = [replace(gram, prior=prior) for prior in priors]
    share = max(len(data.y) / (stream.rows + len(data.y)), 1 - keep)
    found = _infer(recipe, stream, grams, data, view, share)
    found = replace(found, log_evidence=stream.log_evidence + (found.log_evidence or 0.0))
    counts = stream.counts + np.bincount(data.y, minlength=len(data.classes))
    total = int(counts.sum())
    if stream.rows < _LONG <= total and np.count_nonzero(counts) == 1:
        tell(
            f"The first {total} rows all have the label {data.classes[np.argmax(counts)]}: a stream sorted by label "
            "misleads the posterior; shuffle the rows.",
            stacklevel=3,
        )
    return Fitted.of(found, points, data.classes, class_count=counts, table=data.table)


def _infer(recipe: Recipe, stream: _Stream, grams: list[Any], data: TrainingSet, view: Any, share: float) -> Candidate:
    """The posteriors of a batch, and where the noise level is free that level, learned along the stream.

    It is the mean of the levels at which the left-out labels of each batch so far were likeliest, this batch with its
    `share`. Few labels know extremes alone, whose mean is no level: a small batch is filled up by labels as they were
    so far, and what it then moves counts as much more. A batch is taken again at another level until that stands, the
    first one several times, later ones seldom.
    """
    assert recipe.partitions is not None  # else there is no partial_fit
    model, before = stream.model, getattr(stream.model.likelihood, "noise", 0.0)
    size = max(len(data.y), _FEW)
    for turn in range(_TURNS):
        posteriors = recipe.partitions.infer_all(_problems(grams, data, model), n_jobs=recipe.n_jobs)
        found = Candidate.of(model, posteriors, view)
        if not model.free or turn == _TURNS - 1:
            break
        upper = np.stack([leave_one_out_probability(posterior) for posterior in posteriors])
        left_out = np.where(np.stack(data.targets) > 0, upper, 1 - upper).ravel()
        own = np.tile(np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight, len(posteriors))
        now: float = model.likelihood.noise  # type: ignore[attr-defined]
        found_here = _likeliest_noise(left_out, now, own, before, (size - len(data.y)) * len(posteriors))
        level = before + min(share * size / len(data.y), 1.0) * (found_here - before)
        model = replace(model, likelihood=replace(model.likelihood, noise=level))  # type: ignore[type-var]
        if abs(level - now) <= _STANDS * now:  # no matter for this batch, but they add up along the stream
            pairs = zip(posteriors, _problems(grams, data, model), strict=True)
            return replace(found, model=model, posteriors=[replace(one, problem=problem) for one, problem in pairs])
    return found


def _problems(grams: list[Any], data: TrainingSet, model: Model) -> list[Problem]:
    """A batch with what is known so far, one class against the rest if there are several."""
    pairs = zip(grams, data.targets, strict=True)
    return [Problem(gram, y, model.likelihood, data.weights, check=False) for gram, y in pairs]


def _likeliest_noise(left_out: Array, noise: float, weights: Array, before: float = 0.5, past: float = 0.0) -> float:
    """The level q at which left-out labels are likeliest, given their probabilities at another level.

    These are ``q + (1 - 2 q) Phi_i``, the sum of whose logarithms is concave in q, and so is what `past` labels say, of
    which a share `before` was flipped.
    """
    right = np.clip((left_out - noise) / (1 - 2 * noise), 0.0, 1.0)
    low, high = Step.BOUNDS["noise"]

    def slope(q: float) -> float:
        known = past * (before / q - (1 - before) / (1 - q))
        return known + float(weights @ ((1 - 2 * right) / (q + (1 - 2 * q) * right)))

    if slope(low) <= 0:
        return low
    return high if slope(high) >= 0 else float(brentq(slope, low, high, xtol=1e-8))


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
    if set(model.free) - {"noise"}:
        raise InvalidProblemError(
            f"A stream tunes nothing but noise: give {' and '.join(model.free)} as a number, or fit on some rows first."
        )
    count = 1 if len(data.classes) == 2 else len(data.classes)
    view = linear_view(model.kernel, points.X)
    rank = 0 if view is None else view.gram(model.kernel).rank
    return _Stream(model, view, [NaturalGaussian.standard(rank)] * count, 0.0, 0, 0)


def _stream_of(recipe: Recipe, fitted: Fitted) -> _Stream:
    """From an earlier fit or batch."""
    if fitted.alternatives:
        tell(
            f"A stream has one kernel: it goes on with the heaviest of {len(fitted.alternatives)}, "
            f"'{fitted.model.name}'; fit with kernel=None before it to choose one for all rows.",
            stacklevel=4,
        )
    if not all(posterior.engine.gives_evidence for posterior in fitted.posteriors):
        raise InvalidProblemError("partial_fit goes on from a Gaussian posterior: fit with engine='ep' before it.")
    free = tuple(name for name in fitted.model.free if name == "noise")
    model, view = Model(fitted.kernel, fitted.model.likelihood, free), fitted.view
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
