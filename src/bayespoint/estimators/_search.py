"""From a prepared training set to hyper-parameters and posteriors: of one model, or of several that are mixed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from .._core.random import as_generator
from .._core.typing import Array
from ..engines import EP
from ..tuning.climb import Candidate, Model
from ..tuning.stacking import stacking_weights, warm_start
from ._callbacks import Watch
from ._fit import FEW_ROWS, Prepared, Recipe, choose, infer_posteriors, on_all_rows, settle
from ._fitted import leaving_one_out
from ._forecast import forecast

__all__ = ["search"]

_SHARE = 0.05  # of a mixture, below which a model is left out


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
    on_iteration = None if watch is None else watch.iteration
    for model in models if watch is None else watch.members(models, lambda: _so_far(recipe, ready, chosen)):
        near = ready._replace(model=warm_start(model, chosen))
        best = choose(recipe, near, rng, on_iteration, recipe.stages[:1])
        chosen.append(on_all_rows(recipe, ready, best))
    weights = _stacked(recipe, ready, chosen)
    kept = [one for one, weight in zip(chosen, weights, strict=True) if weight >= min(_SHARE, weights.max())]
    if len(ready.data.y) > FEW_ROWS:
        later = [ready._replace(model=one.model) for one in kept]
        kept = [choose(recipe, one, rng, on_iteration, recipe.stages[1:]) for one in later]
    found = [settle(recipe, ready, one, rng) for one in kept]
    return _mixed(found, _stacked(recipe, ready, found if isinstance(ready.engine, EP) else kept))


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
