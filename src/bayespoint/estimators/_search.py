"""From a prepared training set to hyper-parameters and posteriors: of one model, or of several that are mixed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from .._core.random import as_generator
from .._core.typing import Array
from ..engines import EP
from ..likelihoods import Choice, Step
from ..tuning.climb import Candidate, Model
from ..tuning.stacking import stacking_weights, warm_start
from ._callbacks import Watch
from ._fit import FEW_ROWS, STAGES, Prepared, Recipe, choose, infer_posteriors, on_all_rows, settle
from ._fitted import leaving_one_out
from ._forecast import forecast
from ._validation import TrainingSet

__all__ = ["search"]

_SHARE = 0.05  # of a mixture, below which a model is left out
_SHARE_OF_MANY = 0.15  # the same where a model stands for many classes, and takes as much longer


def search(recipe: Recipe, ready: Prepared, watch: Watch | None) -> Candidate:
    """Choose, if the settings say so, then infer with the engine asked for."""
    rng, n = as_generator(recipe.random_state), len(ready.data.y)
    models = recipe.members(ready.data, ready.model) if recipe.tunes and recipe.members is not None else []
    if watch is not None or n > FEW_ROWS:  # few rows never take long
        expected = forecast(recipe, ready, models or [ready.model], recipe.stages[-1] if n > FEW_ROWS else None)
        if expected is not None:
            expected.warn_if_long()
        if watch is not None:
            watch.begin(expected, len(models))
    if not recipe.tunes:
        return infer_posteriors(recipe, ready, ready.model, rng)
    ready.engine.announce(n)
    if models:
        return _mixture(recipe, ready, models, rng, watch)
    best = choose(recipe, ready, rng, None if watch is None else watch.iteration)
    return settle(recipe, ready, best, rng)


def _mixture(
    recipe: Recipe, ready: Prepared, models: list[Model], rng: np.random.Generator, watch: Watch | None
) -> Candidate:
    """Every model with its best hyper-parameters, then all of them weighted by the densities of labels left out.

    Weights are first found with the posteriors that chose the hyper-parameters; only models with a share are inferred
    to the end, and weighted again.
    """
    chosen: list[Candidate] = []
    on_iteration, many = None if watch is None else watch.iteration, len(ready.data.classes) > recipe.ahead
    twice = many or len(ready.data.y) > FEW_ROWS
    apart, alone = (replace(recipe, stages=STAGES), _apart(ready)) if twice and ready.data.jointly else (recipe, ready)
    for model in models if watch is None else watch.members(models, lambda: _so_far(apart, alone, chosen)):
        near, start = warm_start(_with(model, alone.data), chosen)
        best = choose(apart, alone._replace(model=near), rng, on_iteration, apart.stages[:1], start)
        chosen.append(on_all_rows(apart, alone, best))
    weights = _stacked(apart, alone, chosen)
    least = min(_SHARE_OF_MANY if many else _SHARE, weights.max())
    kept = [one for one, weight in zip(chosen, weights, strict=True) if weight >= least]
    if twice:
        later = [(ready._replace(model=_with(one.model, ready.data)), one) for one in kept]
        kept = [choose(recipe, one, rng, on_iteration, recipe.stages[1:], start) for one, start in later]
    if twice and many:  # those that lose on more landmarks are not worth the whole Gram matrix
        weights = _stacked(recipe, ready, kept)
        kept = [one for one, weight in zip(kept, weights, strict=True) if weight >= min(least, weights.max())]
    found = [settle(recipe, ready, one, rng) for one in kept]
    return _mixed(found, _stacked(recipe, ready, found if isinstance(ready.engine, EP) else kept))


def _apart(ready: Prepared) -> Prepared:
    """The same with each class against the rest: there it is cheap to see about which kernels all of them want."""
    data = ready.data._replace(jointly=False)
    return ready._replace(data=data, model=_with(ready.model, data))


def _with(model: Model, data: TrainingSet) -> Model:
    """The model with the likelihood that the labels of the training set ask for."""
    likelihood: Any = model.likelihood
    if data.jointly == isinstance(likelihood, Choice):
        return model
    kind: Any = Choice if data.jointly else Step
    return replace(model, likelihood=kind(likelihood.noise, likelihood.softness))


def _mixed(found: list[Candidate], weights: Array) -> Candidate:
    """The heaviest, with all others."""
    mixed = [(found[k], float(weights[k])) for k in np.argsort(-weights, kind="stable")]
    return replace(mixed[0][0], alternatives=mixed if len(mixed) > 1 else ())


def _so_far(recipe: Recipe, ready: Prepared, chosen: list[Candidate]) -> tuple[Candidate, float]:
    """The mixture of the models that are tuned, and its log loss on labels left out."""
    logs = _left_out(recipe, ready, chosen)
    weights = stacking_weights(logs, ready.data.sample_weight)
    loss = -np.average(logsumexp(logs + np.log(weights), axis=1), weights=ready.data.sample_weight)
    return _mixed(chosen, weights), float(loss)


def _stacked(recipe: Recipe, ready: Prepared, found: list[Candidate]) -> Array:
    """Weights of models by the probabilities that they give to each label without having seen it."""
    return stacking_weights(_left_out(recipe, ready, found), ready.data.sample_weight)


def _left_out(recipe: Recipe, ready: Prepared, found: list[Candidate]) -> Array:
    """Log-probabilities of the labels under each model that has not seen them."""
    assert recipe.probabilities is not None
    y, weights = ready.data.y, ready.data.sample_weight
    left_out = [leaving_one_out(one.posteriors, weights) for one in found]
    proba = [recipe.probabilities(one.model.likelihood, latent) for one, latent in zip(found, left_out, strict=True)]
    densities = np.stack([p[np.arange(len(y)), y] for p in proba], axis=1)
    return np.log(np.maximum(densities, np.finfo(float).tiny))
