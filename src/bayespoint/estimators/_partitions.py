"""`fit` on rows that live with the workers of dask: they stay there, and tell each other what they know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.class_weight import compute_class_weight

from .._core.random import as_generator
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..grams import Landmarks, Linear, LowRank, Range, view_by_features
from ..tuning.climb import Candidate
from ._callbacks import fit_progress
from ._fit import Recipe, choose, prepare
from ._fitted import Fitted
from ._streaming import batch_points, most_landmarks
from ._tables import Table
from ._validation import check_training_set, signs_of

__all__ = ["fit_partitions", "is_dask"]

_SAMPLE = 2000  # rows that choose the kernel and the landmarks


def is_dask(X: Any) -> bool:
    """Whether rows come as a lazy array or data frame in blocks."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def fit_partitions(estimator: Any, recipe: Recipe, X: Any, y: Any, sample_weight: Any) -> Fitted:
    """Kernel and landmarks by a sample of the rows, the posterior by all of them."""
    from ..distributed import PartitionedEP, dask_partitions, gather_sample

    engine = recipe.partitions
    if engine is None:
        raise InvalidProblemError(
            f"This {type(estimator).__name__} does not take arrays of dask: compute them first, or use "
            "BayesPointClassifier(engine='ep') with a kernel of inputs."
        )
    rng = as_generator(0 if recipe.random_state is None else recipe.random_state)
    found = gather_sample(X, y, _SAMPLE, seed=int(rng.integers(2**32)), sample_weight=sample_weight)
    if len(found.classes) < 2:
        raise ValueError(f"A classifier needs at least two classes, got {list(found.classes)}.")
    sample = check_training_set(estimator, found.X, found.y, found.weights, recipe)
    ready = prepare(recipe, sample, batch_points(sample.X, recipe), engine)
    model = ready.model
    if recipe.tunes:
        with fit_progress(estimator, found.X, found.y, lambda _: {}) as watch:
            if watch is not None:
                watch.begin()
            model = choose(recipe, ready, rng, None if watch is None else watch.iteration).model
    view = view_by_features(model.kernel, ready.points.X, max_rank=most_landmarks(recipe), rng=rng)
    parts = dask_partitions(
        X,
        y,
        features=_Features(model.kernel, view.over(view.X[:0]), recipe.takes_gaps, sample.table),
        targets=_Targets(found.classes),
        sample_weight=sample_weight,
        weigh=_class_weights(estimator.class_weight, found.classes, found.totals),
    )
    settings = PartitionedEP(tolerance=engine.tolerance, memory=engine.memory, n_jobs=recipe.n_jobs)
    best = Candidate.of(model, settings.infer(parts, model.likelihood), view)
    return Fitted.of(best, ready.points, found.classes, class_count=found.counts, table=sample.table)


@dataclass(frozen=True)
class _Features:
    """From a block of inputs to its features, on the worker that has it."""

    kernel: Kernel
    view: Linear | Range | Landmarks
    takes_gaps: bool
    table: Table | None  # what nominal columns held in the sample

    def __call__(self, block: Any) -> LowRank:
        block = block if self.table is None else self.table.numbers(block)
        rows = np.ascontiguousarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
        if (np.isinf(rows) if self.takes_gaps else ~np.isfinite(rows)).any():
            raise ValueError("X has NaN or infinite entries in some block: drop or impute these rows first.")
        return self.view.over(rows).gram(self.kernel)


@dataclass(frozen=True)
class _Targets:
    """Labels -1 and +1 of a block: one vector for two classes, else each class against the rest."""

    classes: Any

    def __call__(self, labels: Any) -> Array:
        return signs_of(labels, self.classes)


@dataclass(frozen=True)
class _Weigh:
    """Weights of the labels of a block."""

    classes: Any
    weights: Array

    def __call__(self, labels: Any) -> Array:
        where = np.searchsorted(self.classes, labels)
        weights: Array = self.weights[np.minimum(where, len(self.weights) - 1)]  # others have weight zero anyway
        return weights


def _class_weights(class_weight: Any, classes: Any, totals: Any) -> _Weigh | None:
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        weights = totals.sum() / (len(classes) * totals)
    else:
        weights = compute_class_weight(class_weight, classes=classes, y=classes)
    return _Weigh(classes, np.asarray(weights, dtype=np.float64))
