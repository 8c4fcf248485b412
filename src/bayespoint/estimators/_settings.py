"""From the arguments of constructors to a recipe: names become objects, and what cannot be is refused in a sentence."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .. import engines
from .._core.settings import is_named
from ..engines import Engine
from ..exceptions import InvalidProblemError
from ..kernels.named import takes_objects
from ..likelihoods import Step
from ..tuning.climb import maximise_evidence
from ._fit import Recipe
from ._search import search

__all__ = ["common_recipe", "engine_of", "step_of"]


def common_recipe(estimator: Any, engine: Any) -> Recipe:
    """What the settings say that all classifiers have, once they have been checked."""
    climbs = estimator.optimizer if callable(estimator.optimizer) else None
    if climbs is None and estimator.optimizer not in ("evidence", None):
        raise InvalidProblemError(f"optimizer must be 'evidence', None or a function, got {estimator.optimizer!r}.")
    restarts: Any = estimator.n_restarts
    if not isinstance(restarts, Integral) or isinstance(restarts, bool) or int(restarts) < 0:
        raise InvalidProblemError(f"n_restarts must be a whole number of at least 0, got {restarts!r}.")
    if not (isinstance(estimator.bias, Real) and 0 <= float(estimator.bias) < np.inf):
        raise InvalidProblemError(f"bias must be a finite number of at least 0, got {estimator.bias!r}.")
    if not isinstance(estimator.verbose, Integral) or estimator.verbose < 0:
        raise InvalidProblemError(f"verbose must be a whole number of at least 0, got {estimator.verbose!r}.")
    max_rank, pairwise = estimator.max_rank, is_named(estimator.kernel, "precomputed")
    if not (max_rank is None or is_named(max_rank, "auto")):
        if not isinstance(max_rank, Integral) or isinstance(max_rank, bool) or max_rank < 1:
            raise InvalidProblemError(
                f"max_rank must be 'auto', None or a whole number of at least 1, got {max_rank!r}."
            )
        if pairwise:
            raise InvalidProblemError(
                f"Landmarks need a kernel of inputs, a precomputed one is taken whole: leave max_rank at 'auto', got "
                f"{max_rank!r}."
            )
        max_rank = int(max_rank)
    elif pairwise:
        max_rank = None
    return Recipe(
        model=estimator._model,
        engine=engine,
        search=search,
        climb=maximise_evidence,
        optimizer=climbs,
        tunes=estimator.optimizer is not None,
        n_restarts=int(restarts),
        is_weighted=estimator.class_weight is not None,
        pairwise=pairwise,
        takes_sparse=callable(estimator.kernel) and not isinstance(estimator.kernel, Kernel),
        takes_objects=takes_objects(estimator.kernel),
        scales_by_rows=estimator.kernel is None or is_named(estimator.kernel, "rbf", "laplacian"),
        max_rank=max_rank,
        n_jobs=estimator.n_jobs,
        random_state=estimator.random_state,
    )


def engine_of(estimator: Any) -> Any:
    """The engine that the constructor's argument stands for, or None for the sampler of the house.

    A name stands for default settings; engine objects are taken as they are.
    """
    if is_named(estimator.engine, "sample"):
        return None
    found, names = estimator.engine, estimator._engine_names
    if is_named(found, *names):
        found = getattr(engines, names[found])()
    if not isinstance(found, Engine):
        hint = f": write {found.__name__}()" if isinstance(found, type) and hasattr(found, "infer") else ""
        told = ", ".join(map(repr, names))
        raise InvalidProblemError(f"engine must be one of {told}, or an engine object, got {found!r}{hint}.")
    return found


def step_of(estimator: Any) -> tuple[Step, tuple[str, ...]]:
    """The likelihood of a Bayes point machine, and which of its parameters are free."""
    given: dict[str, float | None] = {}  # None: to be chosen with the kernel
    for name, value in (("noise", estimator.noise), ("softness", estimator.softness)):
        by_evidence = is_named(value, "evidence")
        if not by_evidence and (not isinstance(value, Real) or isinstance(value, bool)):
            raise InvalidProblemError(
                f"{name} must be a number, or 'evidence' to have it chosen with the kernel, got {value!r}."
            )
        given[name] = None if by_evidence else float(value)
    free = tuple(name for name, value in given.items() if value is None)
    if free and estimator.optimizer is None:
        raise InvalidProblemError(
            f"Nothing chooses {' and '.join(free)} without an optimizer: set optimizer='evidence' or a number."
        )
    noise, softness = given.values()
    return Step(0.05 if noise is None else noise, 1.0 if softness is None else softness), free
