"""`fit` on rows that live with the workers of dask: they stay there, and tell each other what they know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.class_weight import compute_class_weight

from .._core.random import as_generator
from .._core.typing import Array
from ..engines import EP
from ..exceptions import InvalidProblemError
from ..grams import Landmarks, Linear, LowRank, view_by_features
from ..tuning.climb import Candidate, Model
from ._callbacks import FitProgress
from ._inputs import Points
from ._validation import check_training_set, restore_on_failure

__all__ = ["PartitionedMixin", "is_dask"]

_SAMPLE = 2000  # rows that choose the kernel and the landmarks


def is_dask(X: Any) -> bool:
    """Whether rows come as a lazy array or data frame in blocks."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


class PartitionedMixin:
    """`fit` for collections of dask, by expectation propagation over their blocks."""

    engine: Any
    class_weight: Any
    n_jobs: int | None
    optimizer: Any
    random_state: Any
    _pairwise: bool
    _gaussian_engine: Any

    def _fit_partitions(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Kernel and landmarks by a sample of the rows, the posterior by all of them."""
        from ..distributed.engine import PartitionedEP, dask_partitions
        from ..distributed.samples import gather_sample

        with restore_on_failure(self):
            if self._pairwise or not (isinstance(self.engine, EP) or self.engine == "ep"):
                raise InvalidProblemError(
                    "Rows in partitions need a kernel of inputs and expectation propagation: set engine='ep'."
                )
            rng = as_generator(0 if self.random_state is None else self.random_state)
            found = gather_sample(X, y, _SAMPLE, seed=int(rng.integers(2**32)), sample_weight=sample_weight)
            if len(found.classes) < 2:
                raise ValueError(f"A classifier needs at least two classes, got {list(found.classes)}.")
            model, basis, points = self._choose(found, rng)
            recipe = _Features(model.kernel, basis.over(basis.X[:0]))
            parts = dask_partitions(
                X,
                y,
                features=recipe,
                targets=_Targets(found.classes),
                sample_weight=sample_weight,
                weigh=_class_weights(self.class_weight, found.classes, found.counts),
            )
            engine = self._gaussian_engine
            settings = PartitionedEP(tolerance=engine.tolerance, memory=engine.memory, n_jobs=self.n_jobs)
            posteriors = settings.infer(parts, model.likelihood)
            best = Candidate.of(model, posteriors, basis)
            self._become(best, points, found.classes)  # type: ignore[attr-defined]
            self.n_seen_, self.class_count_ = int(found.counts.sum()), found.counts
            self._dropped_rows_ = 0
        return self

    def _choose(self, found: Any, rng: np.random.Generator) -> tuple[Model, Linear | Landmarks, Points]:
        """Model, features and points from a sample."""
        X, y = found.X, found.y
        sample = check_training_set(self, X, y, found.weights, self.class_weight, pairwise=False)
        model = self._model(sample.X, sample.own_weights)  # type: ignore[attr-defined]
        points = self._batch_points(sample.X)  # type: ignore[attr-defined]
        self._refuse_bad_kernel(model, points)  # type: ignore[attr-defined]
        if self.optimizer is not None:
            progress = FitProgress(self, X, y)
            engine = self._gaussian_engine
            best = self._chosen(  # type: ignore[attr-defined]
                model, points, sample, engine, rng, lambda _: progress.iteration(dict)
            )
            progress.finish()
            model = best.model
        limit = self._limit()  # type: ignore[attr-defined]
        return model, view_by_features(model.kernel, points.X, max_rank=limit, rng=rng), points


@dataclass(frozen=True)
class _Features:
    """From a block of inputs to its features, on the worker that has it."""

    kernel: Kernel
    basis: Linear | Landmarks

    def __call__(self, block: Any) -> LowRank:
        rows = np.ascontiguousarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
        if not np.isfinite(rows).all():
            raise ValueError("X has NaN or infinite entries in some block: drop or impute these rows first.")
        return self.basis.over(rows).gram(self.kernel)


@dataclass(frozen=True)
class _Targets:
    """Labels -1 and +1 of a block: one vector for two classes, else each class against the rest."""

    classes: Any

    def __call__(self, labels: Any) -> Array:
        positive = self.classes[1:] if len(self.classes) == 2 else self.classes
        return np.where(np.asarray(labels)[None, :] == positive[:, None], 1.0, -1.0)


@dataclass(frozen=True)
class _Weigh:
    """Weights of the labels of a block."""

    classes: Any
    weights: Array

    def __call__(self, labels: Any) -> Array:
        where = np.searchsorted(self.classes, labels)
        weights: Array = self.weights[np.minimum(where, len(self.weights) - 1)]  # others have weight zero anyway
        return weights


def _class_weights(class_weight: Any, classes: Any, counts: Any) -> _Weigh | None:
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        weights = counts.sum() / (len(classes) * counts)
    else:
        weights = compute_class_weight(class_weight, classes=classes, y=classes)
    return _Weigh(classes, np.asarray(weights, dtype=np.float64))
