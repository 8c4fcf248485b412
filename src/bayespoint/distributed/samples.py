"""A look at rows that live with the workers of dask: a random sample, and which labels there are."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._core.extras import needed
from .partitions import row_blocks

__all__ = ["Sample", "gather_sample"]


class Sample(NamedTuple):
    """Some rows with their labels and weights; all labels of all rows, how many rows have each, and what these weigh.

    Examples
    --------
    >>> from bayespoint.distributed import Sample
    >>> Sample(X=[[0.5]], y=["a"], weights=None, classes=["a", "b"], counts=[7, 3]).counts
    [7, 3]
    """

    X: Any
    y: Any
    weights: Any
    classes: Any
    counts: Any
    totals: Any = None


def gather_sample(X: Any, y: Any, size: int, *, seed: int = 0, sample_weight: Any = None) -> Sample:
    """Rows drawn at random from all blocks of a dask collection; rows of weight zero do not count.

    Every row has a random number of its own, and the rows with the smallest ones are taken: each block sends a few
    more than its share. A class too rare to be among them is there with one row all the same.

    Parameters
    ----------
    X, y, sample_weight
        As for `bayespoint.distributed.dask_partitions`.
    size : int
        Rows at the most.
    seed : int, default=0
        Where the random numbers come from.

    Returns
    -------
    Sample

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from bayespoint.distributed import gather_sample
    >>> X = da.from_array(np.arange(20.0)[:, None], chunks=(7, 1))
    >>> found = gather_sample(X, X[:, 0] > 14, 10)
    >>> found.X.shape, found.counts
    ((10, 1), array([15,  5]))
    """
    dask: Any = needed("dask", "distributed", "Rows with the workers of dask need dask")
    blocks = row_blocks(X, y=y, sample_weight=sample_weight)
    share = -(-2 * size // len(blocks)) + 50
    look = dask.delayed(_look)
    parts = dask.compute(*(look(*block, min(share, size), [seed, i]) for i, block in enumerate(blocks)))
    keys = np.concatenate([part.keys for part in parts])
    chosen = np.zeros(len(keys), dtype=bool)
    chosen[np.argsort(keys)[:size]] = True
    every = np.concatenate([part.labels for part in parts])
    chosen[np.isinf(keys)] = False  # spare rows of their class
    for label in np.setdiff1d(every, every[chosen]):
        chosen[np.argmax(every == label)] = True
    ends = np.cumsum([0, *(len(part.keys) for part in parts)])
    picked = [part.rows[chosen[a:b]] for part, a, b in zip(parts, ends[:-1], ends[1:], strict=True)]
    weights = None if sample_weight is None else np.concatenate([part.weights for part in parts])[chosen]
    classes, where = np.unique(np.concatenate([part.classes for part in parts]), return_inverse=True)
    counts, totals = np.zeros(len(classes), dtype=np.int64), np.zeros(len(classes))
    np.add.at(counts, where, np.concatenate([part.counts for part in parts]))
    np.add.at(totals, where, np.concatenate([part.totals for part in parts]))
    return Sample(_stack(picked), every[chosen], weights, classes, counts, totals)


class _Look(NamedTuple):
    keys: Any
    rows: Any
    labels: Any
    weights: Any
    classes: Any
    counts: Any
    totals: Any


def _look(block: Any, labels: Any, weights: Any, size: int, seed: list[int]) -> _Look:
    """On the worker: random numbers of the rows, the rows with the smallest ones, and the labels of all."""
    labels = np.asarray(labels).reshape(-1)
    weights = None if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1)
    live = np.arange(len(labels)) if weights is None else np.flatnonzero(weights)
    keys = np.random.default_rng(seed).random(len(live))
    classes, first, codes, counts = np.unique(labels[live], return_index=True, return_inverse=True, return_counts=True)
    totals = np.bincount(codes, None if weights is None else weights[live], len(classes))
    taken = np.sort(np.argsort(keys)[:size])
    spare = np.setdiff1d(first, taken)  # a row of each class, if no other is there
    keys[spare] = np.inf
    taken = np.union1d(taken, spare)
    rows = live[taken]
    inputs = block.iloc[rows] if hasattr(block, "iloc") else block[rows]
    own = None if weights is None else weights[rows]
    return _Look(keys[taken], inputs, labels[rows], own, classes, counts, totals)


def _stack(parts: list[Any]) -> Any:
    if hasattr(parts[0], "iloc"):
        frame = import_module("pandas").concat(parts)  # forgets that columns hold categories, if blocks differ in them
        names = [name for name, kind in parts[0].dtypes.items() if hasattr(kind, "categories")]
        return frame.astype(dict.fromkeys(names, "category"))
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
