"""The one way to a fit: prepare the points, choose the hyper-parameters, infer the posteriors.

`fit`, `partial_fit`, fits on partitions, certificates with a prior of their own and updates are callers of these steps.
A `Recipe` is what an estimator's settings say; whoever asks an estimator for it has had the settings checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from .._core.random import as_generator
from .._core.threads import blas_threads_for
from .._core.typing import Array, RandomState
from ..diagnostics import warn_if_poor
from ..engines import EP
from ..grams import Exact, Rows, View, check_gram, choose_view
from ..kernels import Features, OnFeatures, kernel_values
from ..kernels.tables import with_features, without_features
from ..posteriors import Latent, SampledPosterior
from ..problem import Weights
from ..tuning.climb import Candidate, Model, infer_candidate, is_no_better_than_a_coin, rebiased
from ..tuning.stacking import stacking_weights, warm_start
from ._callbacks import Watch
from ._fitted import Fitted, TrainingRows, one_copy, stacked_latents
from ._forecast import forecast
from ._inputs import Points
from ._validation import TrainingSet

__all__ = ["Prepared", "Recipe", "choose", "conclude", "infer_posteriors", "prepare", "search", "seen_by_prior"]

_CHECKED = 2000  # rows at the most on which a kernel is tested for being one
_HELD = 10**9  # rows for which threads are left as they are
_SHARE = 0.05  # of a mixture, below which a model is left out
_SAMPLED = 1000  # rows to choose the kernel by where all would take too long
_CLIMBED = 4000  # the same where landmarks stand for the rows
_NEAR = 1e-3  # tolerance of sites where landmarks stand for the rows
_ROUGH = 1e-2  # tolerance of sites on the way
_FEW_ROWS = 400  # up to which it is climbed on the whole Gram matrix

OnIteration = Callable[[Candidate], bool] | None


@dataclass(frozen=True)
class Recipe:
    """What an estimator's settings say, once they have been checked."""

    model: Callable[[TrainingSet], Model]  # kernel with bias, likelihood, and what is free
    engine: Callable[[Model, TrainingSet], Any]  # the one asked for
    search: Callable[[Recipe, Prepared, Watch], Candidate]  # the way to hyper-parameters and posteriors
    climb: Callable[..., Candidate]  # to the maximum of the evidence asked for, as `maximise_evidence`
    tunes: bool  # whether hyper-parameters are chosen
    n_restarts: int
    is_weighted: bool  # whether classes have weights
    pairwise: bool  # whether inputs are kernel values
    takes_sparse: bool  # whether the kernel is a user's function, which gets sparse rows as they are
    scales_by_rows: bool  # whether the kernel's length scale is taken from the training rows
    max_rank: int | str | None  # landmarks at the most
    n_jobs: int | None
    random_state: RandomState
    linear_from: int = 1000  # rows from which a linear kernel is worked on by its features, if these are few
    climbs_on_sample: bool = False  # whether the kernel is chosen on a sample where there are many rows
    takes_tables: bool = False  # whether nominal columns are welcome
    takes_objects: bool = False  # whether the kernel takes anything but vectors
    takes_gaps: bool = False  # whether missing values are
    members: Callable[[TrainingSet, Model], list[Model]] | None = None  # models to mix, where there are to be several
    probabilities: Callable[[Model, Latent], Array] | None = None  # of the classes, from moments of the latent
    optimizer: Callable[..., Any] | None = None  # what climbs, if a user brings it
    partitions: EP | None = None  # for rows that come in batches or live elsewhere; None where these cannot be fitted

    stages: tuple[int, ...] = (100, 200)  # landmarks to climb the evidence by, one after the other

    def rough(self, n: int, landmarks: int) -> int | None:
        """So many landmarks are good enough to climb by, unless rows are so few that all of them are as cheap."""
        return landmarks if n > _FEW_ROWS else None

    def view(self, kernel: Any, X: Any, engine: Any, *, rough: int | None = None) -> View:
        """The form of the Gram matrix: exact, or of low rank where that is asked for or pays.

        `rough` landmarks are good enough to climb the evidence by.
        """
        if engine is not None and engine.wants_rows and not self.pairwise:
            return Rows(X)
        return choose_view(kernel, X, self.max_rank, self.linear_from, self.random_state, rough=rough)


class Prepared(NamedTuple):
    """A training set in the form that its kernel takes, the model to start from, and the engine asked for."""

    data: TrainingSet
    model: Model
    points: Points
    engine: Any


def prepare(recipe: Recipe, data: TrainingSet, points: Points | None = None, engine: Any = None) -> Prepared:
    """The first step of every fit; points are brought into form, and an engine made, unless there are any already."""
    model = recipe.model(data)
    engine = recipe.engine(model, data) if engine is None else engine
    if points is None:
        columns = data.kept if recipe.pairwise else None
        points = Points.of(data.X, model.kernel, columns, recipe.takes_sparse, engine.wants_rows)
    n, some = points.X.shape[0], points
    if n > _CHECKED:
        some = points.take(np.linspace(0, n - 1, _CHECKED).astype(int))
    if not isinstance(model.kernel.k1, OnFeatures):  # those are finite, and kernels
        check_gram(kernel_values(model.kernel, some.plain))
    return Prepared(data, model, points, engine)


def choose(
    recipe: Recipe,
    ready: Prepared,
    rng: np.random.Generator,
    on_iteration: OnIteration = None,
    stages: Sequence[int] | None = None,
) -> Candidate:
    """Hyper-parameters by the evidence asked for. Weights of classes have a word on the bias alone."""
    approximate = ready.engine if isinstance(ready.engine, EP) else EP()
    weights, stages = ready.data.weights, stages or recipe.stages
    options: dict[str, Any] = {"engine": approximate, "n_restarts": recipe.n_restarts, "rng": rng}
    options |= {"n_jobs": recipe.n_jobs, "on_iteration": on_iteration, "optimizer": recipe.optimizer}
    best = _climb(recipe, ready, ready.data.own_weights, stages, options)
    if not recipe.is_weighted or weights is None:
        return best
    if is_no_better_than_a_coin(best):  # rows that count alike have no say: those that are to count may have one
        best = _climb(recipe, ready, weights.effective(), stages, options)
    part = _part(recipe, ready._replace(model=best.model), weights, stages[-1])
    return replace(best, model=rebiased(best.model, *part, engine=approximate))


def _climb(
    recipe: Recipe, ready: Prepared, weights: Weights | None, stages: Sequence[int], options: dict[str, Any]
) -> Candidate:
    """The maximum of the evidence: on few landmarks, then from there on more; on all rows where these are few."""
    best: Candidate | None = None
    for landmarks in stages:
        start = ready.model if best is None else best.model
        best = _climb_once(recipe, ready._replace(model=start), weights, landmarks, options)
        if best.view.is_exact or not start.theta.size:
            return best
        options = options | {"n_restarts": 0}
    assert best is not None
    return best


def _climb_once(
    recipe: Recipe, ready: Prepared, weights: Weights | None, landmarks: int, options: dict[str, Any]
) -> Candidate:
    """The same on so many landmarks; features of tables are worked out once."""
    kernel, features = without_features(ready.model.kernel)
    plain = replace(ready.model, kernel=kernel)
    with blas_threads_for(len(ready.data.y)):
        part = _part(recipe, ready._replace(model=plain), weights, landmarks, features)
        if not part[0].is_exact:  # others will be inferred again
            tolerance = max(options["engine"].tolerance, _ROUGH)
            options = options | {"engine": replace(options["engine"], tolerance=tolerance)}
        best = recipe.climb(plain, *part, **options)
    view = best.view
    if features is not None and view.is_exact and view.X.shape[0] == len(ready.data.y):
        view = view.over(ready.points.X)
    model = replace(best.model, kernel=with_features(best.model.kernel, features))
    return replace(best, model=model, view=view)


def _part(
    recipe: Recipe, ready: Prepared, weights: Weights | None, landmarks: int, features: Features | None = None
) -> tuple[Any, ...]:
    """View, labels and weights to choose the kernel by: of all rows, or of a sample if that would take too long."""
    data, points = ready.data, ready.points
    n, exact = len(data.y), recipe.climbs_on_sample or ready.engine.wants_rows
    most = _SAMPLED if exact else n if recipe.max_rank is None else _CLIMBED
    targets = data.targets
    if n > most:
        rows = np.sort(as_generator(recipe.random_state or 0).permutation(n)[:most])
        weights = None if weights is None else Weights(*(part[rows] for part in weights))
        points, targets, n = points.take(rows), [y[rows] for y in targets], most
    X = points.plain if features is None else features(points.plain)
    if exact:
        return Exact(X), targets, weights
    return recipe.view(ready.model.kernel, X, None, rough=recipe.rough(n, landmarks)), targets, weights


def infer_posteriors(
    recipe: Recipe,
    ready: Prepared,
    model: Model,
    rng: Any = None,
    *,
    view: View | None = None,
    start: Candidate | None = None,
) -> Candidate:
    """The posteriors of a model whose hyper-parameters stand."""
    data, options = ready.data, {"rng": rng, "n_jobs": recipe.n_jobs, "start": start}
    engine = ready.engine
    few = len(data.y) if isinstance(engine, EP) else _HELD  # samplers have chains for threads of their own
    with blas_threads_for(few):
        view = recipe.view(model.kernel, ready.points.X, engine) if view is None else view
        if isinstance(engine, EP) and not view.is_exact:  # sites need not be nearer than the landmarks are
            engine = replace(engine, tolerance=max(engine.tolerance, _NEAR))
        found = infer_candidate(model, view, data.targets, data.weights, engine, **options)
    for posterior in found.posteriors:
        if isinstance(posterior, SampledPosterior):
            warn_if_poor(posterior)
    return found


def search(recipe: Recipe, ready: Prepared, watch: Watch) -> Candidate:
    """Choose, if the settings say so, then infer with the engine asked for."""
    rng = as_generator(recipe.random_state)
    models = recipe.members(ready.data, ready.model) if recipe.tunes and recipe.members is not None else []
    expected = forecast(recipe, ready, models or [ready.model])
    if expected is not None:
        expected.warn_if_long()
    watch.begin(expected, len(models))
    if not recipe.tunes:
        return infer_posteriors(recipe, ready, ready.model, rng)
    ready.engine.announce(len(ready.data.y))
    if models:
        return _mixture(recipe, ready, models, rng, watch)
    return _settled(recipe, ready, choose(recipe, ready, rng, watch.iteration), rng)


def _mixture(recipe: Recipe, ready: Prepared, models: list[Model], rng: np.random.Generator, watch: Watch) -> Candidate:
    """Every model with its best hyper-parameters, then all of them weighted by the densities of labels left out.

    Weights are first found with the posteriors that chose the hyper-parameters; only models with a share are inferred
    to the end, and weighted again.
    """
    chosen: list[Candidate] = []
    for model in watch.members(models, lambda: _so_far(recipe, ready, chosen)):
        near = ready._replace(model=warm_start(model, chosen))
        best = choose(recipe, near, rng, watch.iteration, recipe.stages[:1])
        chosen.append(_on_all_rows(recipe, ready, best))
    weights = _stacked(recipe, ready, chosen)
    kept = [one for one, weight in zip(chosen, weights, strict=True) if weight >= min(_SHARE, weights.max())]
    if len(ready.data.y) > _FEW_ROWS:
        later = [ready._replace(model=one.model) for one in kept]
        kept = [choose(recipe, one, rng, watch.iteration, recipe.stages[1:]) for one in later]
    found = [_settled(recipe, ready, one, rng) for one in kept]
    return _mixed(found, _stacked(recipe, ready, found if isinstance(ready.engine, EP) else kept))


def _on_all_rows(recipe: Recipe, ready: Prepared, best: Candidate) -> Candidate:
    """The same on few landmarks for all rows, where hyper-parameters were chosen by a sample of these."""
    data = ready.data
    if best.posteriors[0].problem.size == len(data.y):
        return best
    view = recipe.view(best.model.kernel, ready.points.plain, None, rough=recipe.stages[-1])
    return infer_candidate(best.model, view, data.targets, data.own_weights, EP(tolerance=_ROUGH, fallback=False))


def _mixed(found: list[Candidate], weights: Array) -> Candidate:
    """The heaviest, with all others."""
    mixed = [(found[k], float(weights[k])) for k in np.argsort(-weights, kind="stable")]
    return replace(mixed[0][0], alternatives=mixed if len(mixed) > 1 else ())


def _so_far(recipe: Recipe, ready: Prepared, chosen: list[Candidate]) -> tuple[Candidate, float]:
    """The mixture of the models that are tuned, and its log loss on labels left out."""
    logs = _left_out(recipe, ready, chosen)
    weights = stacking_weights(logs, ready.data.counts)
    loss = -np.average(logsumexp(logs + np.log(weights), axis=1), weights=ready.data.counts)
    return _mixed(chosen, weights), float(loss)


def _stacked(recipe: Recipe, ready: Prepared, found: list[Candidate]) -> Array:
    """Weights of models by the probabilities that they give to each label without having seen it."""
    return stacking_weights(_left_out(recipe, ready, found), ready.data.counts)


def _left_out(recipe: Recipe, ready: Prepared, found: list[Candidate]) -> Array:
    """Log-probabilities of the labels under each model that has not seen them."""
    assert recipe.probabilities is not None
    y = ready.data.y
    once = one_copy(ready.data.counts)
    left_out = [stacked_latents([p.leaving_out(once) for p in one.posteriors]) for one in found]
    proba = [recipe.probabilities(one.model, latent) for one, latent in zip(found, left_out, strict=True)]
    densities = np.stack([p[np.arange(len(y)), y] for p in proba], axis=1)
    return np.log(np.maximum(densities, np.finfo(float).tiny))


def _settled(recipe: Recipe, ready: Prepared, best: Candidate, rng: np.random.Generator) -> Candidate:
    """The posteriors, by the engine asked for and on all rows, of hyper-parameters that have been chosen."""
    inferred = isinstance(ready.engine, EP) and best.view.X is ready.points.X and best.view.is_exact
    if inferred and not recipe.is_weighted:  # else the kernel has been chosen, and the classes are weighted now
        return best
    models = [best.model, *(other.model for other, _ in best.alternatives)]
    start = _on_all_rows(recipe, ready, best) if isinstance(ready.engine, EP) else None
    found, *others = (infer_posteriors(recipe, ready, model, rng, start=start) for model in models)
    alternatives = [(other, weight) for other, (_, weight) in zip(others, best.alternatives, strict=True)]
    evidence = found.log_evidence
    if evidence is None and best.posteriors[0].problem.size == len(ready.data.y):  # not that of a sample
        evidence = best.log_evidence
    return replace(found, log_evidence=evidence, alternatives=alternatives)


def conclude(recipe: Recipe, ready: Prepared, found: Candidate) -> Fitted:
    """The last step: all that a fit on rows at hand has found."""
    data = ready.data
    return Fitted.of(
        found,
        ready.points,
        data.classes,
        rows=TrainingRows(data.classes[data.y], data.sample_weight, data.kept, data.n_rows),
        prior_saw=seen_by_prior(recipe, ready.model, found.view),
        is_tuned=recipe.tunes and ready.model.theta.size > 0,
        table=data.table,
    )


def seen_by_prior(recipe: Recipe, model: Model, view: View | type[View]) -> str | None:
    """Why the prior of a fitted model is not independent of its training rows, if it is not."""
    if recipe.tunes and model.kernel.n_dims > 0:
        return "the kernel was tuned"
    if recipe.scales_by_rows:
        return "the scale of the kernel was taken from the spread of the features"
    if view.saw_rows:
        return "the landmarks of a low-rank prior (set max_rank=None to have none) were chosen"
    return None
