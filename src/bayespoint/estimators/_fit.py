"""The one way to a fit: prepare the points, choose the hyper-parameters, infer the posteriors.

`fit`, `partial_fit`, fits on partitions, certificates with a prior of their own and updates are callers of these steps.
A `Recipe` is what an estimator's settings say; whoever asks an estimator for it has had the settings checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import engines
from .._core.random import as_generator
from .._core.threads import blas_threads_for
from .._core.typing import Array, RandomState
from ..diagnostics import warn_if_poor
from ..engines import EP
from ..exceptions import InvalidProblemError
from ..grams import Exact, Rows, View, check_gram, choose_view
from ..grams.views import may_take_landmarks
from ..kernels import Features, OnFeatures, kernel_values
from ..kernels.tables import with_features, without_features
from ..likelihoods import Likelihood
from ..posteriors import Latent, SampledPosterior
from ..problem import Weights
from ..tuning.climb import Candidate, Model, infer_candidate, is_no_better_than_a_coin, rebiased
from ._callbacks import Watch
from ._fitted import Fitted, TrainingRows
from ._inputs import Points
from ._validation import TrainingSet

__all__ = [
    "FEW_ROWS",
    "MOST_CLASSES",
    "STAGES",
    "Prepared",
    "Recipe",
    "choose",
    "conclude",
    "infer_posteriors",
    "of_all_classes",
    "on_all_rows",
    "prepare",
    "seen_by_prior",
    "settle",
]

_CHECKED = 2000  # rows at the most on which a kernel is tested for being one
_SAMPLED = 1000  # rows to choose the kernel by where all would take too long
_CLIMBED = 4000  # the same where landmarks stand for the rows
_NEAR = 1e-3  # tolerance of sites where landmarks stand for the rows
_COORDINATES = 3000  # of all classes together, where these are one problem and landmarks stand for the rows
_TOGETHER = 32  # classes that can be one problem: work grows with the fourth power of their number
_CLIMBING = 800  # the same on the way to hyper-parameters
_WHOLE = 1500  # rows up to which the whole Gram matrix is worked on
_ROUGH = 1e-2  # tolerance of sites on the way
MOST_CLASSES = 20  # against the rest, whose evidences choose the kernel where there are more
STAGES = (100, 200)  # landmarks to climb by where classes are problems of their own
FEW_ROWS = 400  # up to which it is climbed on the whole Gram matrix
_FEW_TOGETHER = 10 * FEW_ROWS**3  # rows cubed times classes, up to which that is so of classes that are one problem

_ROUGHLY = EP(tolerance=_ROUGH, fallback=False)

OnIteration = Callable[[Candidate], bool] | None


@dataclass(frozen=True)
class Recipe:
    """What an estimator's settings say, once they have been checked."""

    model: Callable[[TrainingSet], Model]  # kernel with bias, likelihood, and what is free
    engine: Any  # the one asked for; None for the sampler of the house
    search: Callable[[Recipe, Prepared, Watch | None], Candidate]  # the way to hyper-parameters and posteriors
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
    probabilities: Callable[[Likelihood, Latent], Array] | None = None  # of the classes, from moments of the latent
    optimizer: Callable[..., Any] | None = None  # what climbs, if a user brings it
    jointly: bool = False  # whether several classes are one problem
    partitions: EP | None = None  # for rows that come in batches or live elsewhere; None where these cannot be fitted
    ahead: int = MOST_CLASSES  # classes against the rest whose evidences say about where the kernel is

    stages: tuple[int, ...] = STAGES  # landmarks to climb the evidence by, one after the other

    def of_one_problem(self, n_rows: int, n_classes: int) -> Recipe:
        """The same with fewer landmarks, for coordinates of several classes are one matrix."""
        if n_classes > _TOGETHER:
            raise InvalidProblemError(
                f"decision='joint' compares all classes of a row with each other, which takes too long beyond "
                f"{_TOGETHER} classes, got {n_classes}: leave it at 'bayes_point'."
            )
        most = max(_COORDINATES // n_classes, 50)
        limit = min(self.max_rank, most) if isinstance(self.max_rank, int) else self.max_rank
        if limit == "auto" and n_rows > _WHOLE:
            limit = most
        stages = tuple(max(min(stage, _CLIMBING // n_classes), 20) for stage in self.stages)
        return replace(self, max_rank=limit, stages=stages)

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
    """The first step of every fit; points are brought into form unless they are there already."""
    model = recipe.model(data)
    engine = engine or recipe.engine or _sampler(recipe, model, data)
    if points is None:
        columns = data.kept if recipe.pairwise else None
        points = Points.of(data.X, model.kernel, columns, recipe.takes_sparse, engine.wants_rows)
    n, some = points.X.shape[0], points
    if n > _CHECKED:
        some = points.take(np.linspace(0, n - 1, _CHECKED).astype(int))
    if not isinstance(model.kernel.k1, OnFeatures):  # those are finite, and kernels
        check_gram(kernel_values(model.kernel, some.plain))
    return Prepared(data, model, points, engine)


def _sampler(recipe: Recipe, model: Model, data: TrainingSet) -> Any:
    """The sampler of the house: the billiard is faster wherever it can go, see the benchmarks.

    It cannot go where rows have weights and something of their own: latent noise, or what landmarks leave out.
    """
    has_own = model.likelihood.softness > 0 or may_take_landmarks(len(data.y), recipe.max_rank)
    name = "EllipticalSlice" if data.weights is not None and has_own else "Billiard"  # compiles; only needed here
    return getattr(engines, name)()


def choose(
    recipe: Recipe,
    ready: Prepared,
    rng: np.random.Generator,
    on_iteration: OnIteration = None,
    stages: Sequence[int] | None = None,
    start: Candidate | None = None,
) -> Candidate:
    """Hyper-parameters by the evidence asked for, from the sites of `start`. Weights of classes move the bias alone."""
    engine = ready.engine if isinstance(ready.engine, EP) else EP()
    weights, stages = ready.data.weights, stages or recipe.stages
    options: dict[str, Any] = {"engine": engine, "n_restarts": recipe.n_restarts, "rng": rng, "start": start}
    options |= {"n_jobs": recipe.n_jobs, "on_iteration": on_iteration, "optimizer": recipe.optimizer}
    best = _climb(recipe, ready, ready.data.own_weights, stages, options)
    if not recipe.is_weighted or weights is None:
        return best
    if is_no_better_than_a_coin(best):  # rows that count alike have no say: those that are to count may have one
        best = _climb(recipe, ready, weights.effective(), stages, options)
    part = _part(recipe, ready, best.model.kernel, weights, stages[-1])
    return replace(best, model=rebiased(best.model, *part, engine=engine))


def _climb(
    recipe: Recipe, ready: Prepared, weights: Weights | None, stages: Sequence[int], options: dict[str, Any]
) -> Candidate:
    """The maximum of the evidence: on few landmarks, then from there on more; on all rows where these are few.

    Of several classes a few go ahead: what they find is near what all find.
    """
    n, engine = len(ready.data.y), options["engine"]
    kernel, features = without_features(ready.model.kernel)  # those of tables are worked out once
    count, prior, start = len(ready.data.targets), ready.model.prior, options["start"]
    has_several = len(ready.data.classes) > 2
    model = replace(ready.model, kernel=kernel)
    for landmarks in stages:
        most = MOST_CLASSES if landmarks == recipe.stages[-1] else recipe.ahead
        chosen = list(range(count)) if count <= most else _some_classes(ready.data.targets, most)
        share = len(chosen) / count  # the hyper-prior counts as much beside fewer evidences
        lighter = prior if prior is None or share == 1 else replace(prior, precision=share * prior.precision)
        with blas_threads_for(n):
            view, targets, own = _part(recipe, ready, model.kernel, weights, landmarks, features)
            if not view.is_exact:  # all will be inferred again
                options = options | {"engine": replace(engine, tolerance=max(engine.tolerance, _ROUGH))}
            near: dict[str, Any] = {"start": start and _start_of(start, chosen, count, len(targets[0]))}
            near["roughly"] = len(chosen) < min(count, MOST_CLASSES) or (has_several and not view.is_exact)
            some = [targets[k] for k in chosen]
            best = recipe.climb(replace(model, prior=lighter), view, some, own, **(options | near))
        if not model.theta.size or (view.is_exact and len(chosen) == min(count, MOST_CLASSES)):
            break
        model, options, start = best.model, options | {"n_restarts": 0}, _spread(best, chosen, count)
    if len(chosen) < count:
        start = _spread(best, chosen, count)
        best = infer_candidate(best.model, view, targets, own, _ROUGHLY, n_jobs=recipe.n_jobs, start=start)
    best = replace(best, model=replace(best.model, prior=prior))
    if features is None:
        return best
    if view.is_exact and view.X.shape[0] == n:
        view = view.over(ready.points.X)
    return replace(best, model=replace(best.model, kernel=with_features(best.model.kernel, features)), view=view)


def _spread(best: Candidate, chosen: Sequence[int], count: int) -> Candidate:
    """The candidate with a place for each of `count` classes, empty where it has not been inferred."""
    found = dict(zip(chosen, best.posteriors, strict=True))
    return replace(best, posteriors=[found.get(k) for k in range(count)])


def _start_of(start: Candidate, chosen: Sequence[int], count: int, rows: int) -> Candidate | None:
    """Sites of the chosen classes, if there are any for these rows."""
    if len(start.posteriors) != count:
        return None
    some = [start.posteriors[k] for k in chosen]
    return replace(start, posteriors=some) if {one.problem.size for one in some if one is not None} == {rows} else None


def _some_classes(targets: Sequence[Array], most: int) -> list[int]:
    """The classes that choose the kernel where there are many: some of them, rare and frequent ones alike."""
    count = len(targets)
    by_size = np.argsort([np.count_nonzero(y > 0) for y in targets], kind="stable")
    return sorted(by_size[((np.arange(most) + 0.5) * count / most).astype(int)].tolist())


def _part(
    recipe: Recipe,
    ready: Prepared,
    kernel: Any,
    weights: Weights | None,
    landmarks: int,
    features: Features | None = None,
) -> tuple[Any, ...]:
    """View, labels and weights to choose the kernel by: of all rows, or of a sample if that would take too long."""
    points, targets = ready.points, ready.data.targets
    n, exact = len(ready.data.y), recipe.climbs_on_sample or ready.engine.wants_rows
    most = _SAMPLED if exact else n if recipe.max_rank is None else _CLIMBED
    if n > most:
        rows = np.sort(as_generator(recipe.random_state or 0).permutation(n)[:most])
        weights = None if weights is None else Weights(*(part[rows] for part in weights))
        points, targets, n = points.take(rows), [y[rows] for y in targets], most
    X = points.plain if features is None else features(points.plain)
    if exact:
        return Exact(X), targets, weights
    many = n > FEW_ROWS or (ready.data.jointly and len(ready.data.classes) * n**3 > _FEW_TOGETHER)
    return recipe.view(kernel, X, None, rough=landmarks if many else None), targets, weights


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
    data, engine, by_ep = ready.data, ready.engine, isinstance(ready.engine, EP)
    options = {"rng": rng, "n_jobs": recipe.n_jobs, "start": start}
    with blas_threads_for(len(data.y)) if by_ep else nullcontext():  # samplers have chains for threads of their own
        view = recipe.view(model.kernel, ready.points.X, engine) if view is None else view
        # sites need not be nearer than landmarks are, nor, of several classes, than the kernel that was chosen is
        if by_ep and (not view.is_exact or (recipe.tunes and len(data.classes) > 2 and len(data.y) > FEW_ROWS)):
            engine = replace(engine, tolerance=max(engine.tolerance, _NEAR))
        found = infer_candidate(model, view, data.targets, data.weights, engine, **options)
    for posterior in found.posteriors:
        if isinstance(posterior, SampledPosterior):
            warn_if_poor(posterior)
    return found


def of_all_classes(recipe: Recipe, ready: Prepared, best: Candidate) -> Candidate:
    """The same for all classes, roughly, where a search ended while some of them chose the hyper-parameters."""
    data = ready.data
    if best.posteriors[0].problem.n_classes is None:  # perhaps on the way to all of them as one problem
        data = data._replace(jointly=False)
        ready = ready._replace(data=data)
    if len(best.posteriors) == len(data.targets):
        return best
    if best.posteriors[0].problem.size < len(data.y):
        return on_all_rows(recipe, ready, best)
    return infer_candidate(best.model, best.view, data.targets, data.own_weights, _ROUGHLY, n_jobs=recipe.n_jobs)


def on_all_rows(recipe: Recipe, ready: Prepared, best: Candidate) -> Candidate:
    """The same on few landmarks for all rows, and for all classes, where hyper-parameters were chosen by some."""
    data = ready.data
    if best.posteriors[0].problem.size == len(data.y) and len(best.posteriors) == len(data.targets):
        return best
    view = recipe.view(best.model.kernel, ready.points.plain, None, rough=recipe.stages[-1])
    return infer_candidate(best.model, view, data.targets, data.own_weights, _ROUGHLY, n_jobs=recipe.n_jobs)


def settle(recipe: Recipe, ready: Prepared, best: Candidate, rng: np.random.Generator) -> Candidate:
    """The posteriors, by the engine asked for and on all rows, of hyper-parameters that have been chosen."""
    is_last = best.posteriors[0].engine == ready.engine and len(best.posteriors) == len(ready.data.targets)
    inferred = is_last and best.view.X is ready.points.X and best.view.is_exact
    if inferred and not recipe.is_weighted:  # else the kernel has been chosen, and the classes are weighted now
        return best
    models = [(best.model, 1.0), *((other.model, weight) for other, weight in best.alternatives)]
    start = on_all_rows(recipe, ready, best) if isinstance(ready.engine, EP) else None
    parts = [(ready._replace(engine=ready.engine.for_share(share)), model) for model, share in models]
    found, *others = (infer_posteriors(recipe, part, model, rng, start=start) for part, model in parts)
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
