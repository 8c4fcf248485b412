"""The models that a Bayes point machine begins with: one kernel, or those that ``kernel="auto"`` mixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import log_ndtr, logsumexp, ndtri_exp
from sklearn.gaussian_process.kernels import Kernel

from .._core.settings import is_named
from .._core.typing import Array
from ..kernels import Directions, is_wide, make_kernel, table_kernels, wide_kernels, with_bias
from ..likelihoods import Choice
from ..tuning.climb import Model
from ..tuning.priors import weak_hyper_prior
from ._settings import engine_of, step_of
from ._validation import TrainingSet

__all__ = ["first_model", "mixed_models", "mixed_scores"]


def first_model(estimator: Any, data: TrainingSet, *, is_all: bool = True) -> Model:
    """Constructor arguments as a kernel with bias, a likelihood, and what is free in it.

    Directions are those of rows: a first batch, which is not all there is, has none to offer.
    """
    is_auto, engine = is_named(estimator.kernel, "auto"), engine_of(estimator)
    is_linear = is_named(estimator.kernel, "linear") or (is_auto and sparse.issparse(data.X))
    has_prior = estimator.optimizer is not None and estimator.hyper_prior is not None
    if is_all and is_linear and has_prior and is_wide(data.X) and not (engine is not None and engine.wants_rows):
        kernel = wide_kernels(Directions(data.X, weights=data.sample_weight))["linear"]  # of so many, a prior by them
    else:
        nominal = () if data.table is None else data.table.nominal
        kernel = make_kernel(None if is_auto else estimator.kernel, data.X, data.sample_weight, nominal)
    return _with_prior(estimator, kernel, data)


def mixed_models(estimator: Any, data: TrainingSet, start: Model) -> list[Model]:
    """The models that ``kernel="auto"`` mixes, beginning where the one kernel begins that stands for all."""
    if isinstance(directions := getattr(start.kernel.k1, "features", None), Directions):
        kernels = wide_kernels(directions)
    elif sparse.issparse(data.X):
        kernels = {name: make_kernel(name, data.X, data.sample_weight) for name in ("linear", "rbf")}
    else:
        kernels = table_kernels(data.X, () if data.table is None else data.table.nominal, data.sample_weight)
    return [replace(_with_prior(estimator, kernel, data), name=name) for name, kernel in kernels.items()]


def mixed_scores(scores: Sequence[Array], weights: Sequence[float]) -> Array:
    """The z whose normal distribution function is the average of those of several; either tail by itself."""
    logs = np.log(weights)[:, None] if scores[0].ndim == 1 else np.log(weights)[:, None, None]
    up, down = (logsumexp(logs + log_ndtr(sign * np.stack(scores)), axis=0) for sign in (1, -1))
    return np.where(up < down, ndtri_exp(up), -ndtri_exp(down))


def _with_prior(estimator: Any, kernel: Kernel, data: TrainingSet) -> Model:
    """A model with this kernel; where hyper-parameters are chosen, it begins at the maximum of the hyper-prior."""
    step, free = step_of(estimator)
    likelihood: Any = Choice(step.noise, step.softness) if data.jointly else step
    tuned = estimator.optimizer is not None
    model = Model(with_bias(kernel, float(estimator.bias), tuned=tuned), likelihood, free)
    if not tuned or estimator.hyper_prior is None or isinstance(estimator.kernel, Kernel):
        return model
    prior = weak_hyper_prior(model.kernel, data.X, likelihood, free, data.sample_weight)
    return replace(model, prior=prior).at(np.clip(prior.mean, *model.bounds.T))
