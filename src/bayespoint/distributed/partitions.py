"""Partitions: some rows each of a low-rank problem, at hand or with the workers of dask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.extras import needed
from .._core.typing import Array
from .._core.words import told_briefly
from ..engines.ep.sites import SiteRows
from ..exceptions import EmptyVersionSpaceError, InvalidProblemError
from ..grams import LowRank, NaturalGaussian
from ..likelihoods import Likelihood
from ..problem import Weights

__all__ = ["Partition", "dask_partitions", "row_blocks"]


@told_briefly()
@dataclass(frozen=True, eq=False)
class Partition:
    """Some rows of a low-rank problem, with one or more vectors of labels.

    Parameters
    ----------
    factor : array-like of shape (n, rank)
        Rows M of the latents ``f = M w``; n may be zero.
    targets : array-like of shape (n_targets, n)
        Labels -1 and +1; several vectors (one class against the rest) are independent problems on the same rows.
    weights : array-like of shape (n,) or Weights, optional
        Positive weights of the rows.
    residual : array-like of shape (n,), optional
        Prior variance of each latent that the coordinates do not have; see `LowRank`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.distributed import Partition
    >>> Partition(np.ones((3, 2)), [[1, 1, -1]]).size
    3
    """

    factor: Array
    targets: Array
    weights: Weights | None = None
    residual: Array | None = None

    def __post_init__(self) -> None:
        gram = LowRank(self.factor, residual=self.residual)
        factor = gram.factor
        targets = np.asarray(self.targets, dtype=np.float64)
        weights = self.weights
        if weights is not None and not isinstance(weights, Weights):
            weights = Weights.of(weights)
        if targets.ndim != 2 or targets.shape[1] != len(factor) or not np.all(np.abs(targets) == 1):
            raise InvalidProblemError(
                f"targets must hold vectors of {len(factor)} labels -1 or +1, one label for each row of the factor."
            )
        if weights is not None and not (weights.copies.shape == (len(factor),) and weights.are_positive):
            raise InvalidProblemError(
                f"weights must be {len(factor)} finite positive numbers; drop rows of weight zero."
            )
        values = {"factor": factor, "targets": targets, "weights": weights, "residual": gram.residual}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.factor)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, coordinates, vectors of labels."""
        return *self.factor.shape, len(self.targets)

    def is_hard(self, likelihood: Likelihood) -> bool:
        """Whether a wrong sign has probability zero: residuals are a softness of each row's own."""
        return likelihood.is_hard and self.residual is None

    def rows(self, target: int, likelihood: Likelihood, prior: NaturalGaussian) -> SiteRows:
        """One vector of labels as the loops of `EP` see it."""
        if self.is_hard(likelihood) and not np.any(self.factor, axis=1).all():
            raise EmptyVersionSpaceError(
                "Version space is empty: a row has kernel value zero with itself; raise softness (or noise) above "
                "0, or add a bias."
            )
        gram = LowRank(self.factor, prior, self.residual)
        return SiteRows.of(gram, self.targets[target], likelihood, self.weights)


def dask_partitions(
    X: Any,
    y: Any,
    features: Callable[[Any], Array | LowRank],
    targets: Callable[[Array], Array],
    *,
    sample_weight: Any = None,
    weigh: Callable[[Array], Array] | None = None,
) -> list[Any]:
    """Partitions from the blocks of a dask array or data frame, made on the workers and left there.

    Parameters
    ----------
    X : dask array of shape (n, n_features) or dask data frame
        Inputs. Numbers of rows in blocks may be unknown, or zero.
    y : dask array or series, or array-like of shape (n,)
        Labels; in blocks like those of X, or in any blocks if both know the length of theirs.
    features : callable
        From a block of X to its factor, an array of shape (n_block, rank), or to a `LowRank` with residuals. It goes to
        the workers: it must be picklable.
    targets : callable
        From labels to -1 and +1, an array of shape (n_targets, n_block).
    sample_weight : dask array or series, or array-like of shape (n,), optional
        Weights of the rows; those of weight zero are left out.
    weigh : callable, optional
        From labels to further weights, such as those of their classes.

    Returns
    -------
    list of dask.delayed.Delayed
        Each computes to a `Partition`; give them to `PartitionedEP.infer`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from bayespoint import Step
    >>> from bayespoint.distributed import PartitionedEP, dask_partitions
    >>> X = da.from_array(np.linspace(-1, 1, 10)[:, None], chunks=(4, 1))
    >>> parts = dask_partitions(
    ...     X,
    ...     X[:, 0] > 0,
    ...     features=lambda block: np.c_[block, np.ones(len(block))],
    ...     targets=lambda labels: np.where(labels, 1.0, -1.0)[None],
    ... )
    >>> (posterior,) = PartitionedEP().infer(parts, Step(softness=0.1))
    >>> bool(posterior.mean_weights[0] > 1)
    True
    """
    dask: Any = needed("dask", "distributed", "Rows with the workers of dask need dask")
    make = dask.delayed(_partition)
    recipe = dask.delayed((features, targets, weigh), traverse=False)
    return [make(*parts, recipe) for parts in row_blocks(X, y=y, sample_weight=sample_weight)]


def row_blocks(X: Any, **columns: Any) -> list[tuple[Any, ...]]:
    """Blocks of rows of a dask collection, each with the same rows of some columns; None for a column that is None."""
    if hasattr(X, "numblocks") and X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    blocks = _blocks(X)
    beside = [
        [None] * len(blocks) if column is None else _blocks_like(column, X, blocks, name)
        for name, column in columns.items()
    ]
    return list(zip(blocks, *beside, strict=True))


def _blocks(collection: Any) -> list[Any]:
    """Blocks along the rows, as delayed objects."""
    if not hasattr(collection, "to_delayed"):
        raise InvalidProblemError(f"X must be an array or a data frame of dask, got {type(collection).__name__}.")
    return list(np.ravel(collection.to_delayed()))


def _lengths(collection: Any) -> tuple[int, ...] | None:
    """Rows of each block if they are known."""
    if not hasattr(collection, "chunks") or np.isnan(collection.chunks[0]).any():
        return None
    return tuple(map(int, collection.chunks[0]))


def _blocks_like(column: Any, X: Any, blocks: list[Any], name: str) -> list[Any]:
    """Blocks of a column with the same rows as those of X."""
    lengths = _lengths(X)
    if not hasattr(column, "to_delayed"):  # at hand
        if lengths is None:
            dask: Any = needed("dask", "distributed", "Rows with the workers of dask need dask")
            lengths = dask.compute(*(dask.delayed(_n_rows)(block) for block in blocks))
        column = np.asarray(column)
        _check_length(len(column), sum(lengths), name)
        return list(np.split(column, np.cumsum(lengths)[:-1]))
    if hasattr(column, "numblocks") and column.ndim == 2 and column.numblocks[1] > 1:
        raise InvalidProblemError(f"{name} must be a single column.")
    own = _lengths(column)
    if own is not None and lengths is not None:
        _check_length(sum(own), sum(lengths), name)
        column = column.rechunk({0: lengths})
    elif column.npartitions != len(blocks):
        raise InvalidProblemError(
            f"X is in {len(blocks)} blocks and {name} in {column.npartitions}, and not all of them know their length: "
            "give both the same blocks, or call compute_chunk_sizes() on dask arrays first."
        )
    return _blocks(column)


def _check_length(found: int, wanted: int, name: str) -> None:
    if found != wanted:
        raise InvalidProblemError(f"X has {wanted} rows, {name} has {found}.")


def _n_rows(block: Any) -> int:
    return int(block.shape[0])


def _partition(block: Any, labels: Any, sample_weight: Any, recipe: Sequence[Any]) -> Partition:
    """On the worker: a block as a partition."""
    features, targets, weigh = recipe
    labels = np.asarray(labels).reshape(-1)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).reshape(-1)
    for column, name in ((labels, "y"), (weights, "sample_weight")):
        if column is not None and len(column) != _n_rows(block):
            raise InvalidProblemError(
                f"A block of X has {_n_rows(block)} rows, that of {name} has {len(column)}: give both the same blocks."
            )
    if weigh is not None:
        weights = np.asarray(weigh(labels), dtype=np.float64) * (1.0 if weights is None else weights)
    made = features(block)
    gram = made if isinstance(made, LowRank) else LowRank(made)
    if weights is None:
        return Partition(gram.factor, targets(labels), None, gram.residual)
    kept = weights != 0
    residual = None if gram.residual is None else gram.residual[kept]
    return Partition(gram.factor[kept], targets(labels[kept]), Weights.of(weights[kept]), residual)
