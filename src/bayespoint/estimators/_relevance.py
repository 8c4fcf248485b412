"""What each column contributes, from the length scales of kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, Kernel, KernelOperator, RationalQuadratic

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..kernels import GroupedRBF, OnFeatures
from ._fitted import Fitted

__all__ = ["FeatureRelevance", "relevances"]


class FeatureRelevance(NamedTuple):
    """The share of one column in what makes rows differ to a kernel.

    Examples
    --------
    >>> from bayespoint.estimators import FeatureRelevance
    >>> FeatureRelevance("age", 0.4).share
    0.4
    """

    name: str
    share: float


def relevances(parts: Sequence[tuple[Fitted, float]], names: Sequence[str]) -> list[FeatureRelevance]:
    """Shares of the columns, the largest first, averaged over the kernels that have length scales."""
    found = [(share, weight) for fitted, weight in parts if (share := _shares(fitted, len(names))) is not None]
    if not found:
        raise InvalidProblemError(
            "No kernel here has length scales, from which relevance is read: use kernel='auto', None, 'rbf', or an "
            "object with one Gaussian or Matern kernel."
        )
    share = np.average([share for share, _ in found], axis=0, weights=[weight for _, weight in found])
    order = np.argsort(-share, kind="stable")
    return [FeatureRelevance(str(names[j]), float(share[j])) for j in order]


def _shares(fitted: Fitted, columns: int) -> Array | None:
    """``sum_f var(x_f) / l_f^2`` over the features f of each column, in parts of one; None without length scales."""
    kernel, X = fitted.kernel.k1, fitted.points.as_given
    of_columns: Any = np.arange(columns)
    if isinstance(kernel, OnFeatures):
        features = kernel.features
        kernel, X, of_columns = kernel.kernel, features(X), np.array(features.columns, dtype=int)[features.groups]
    leaves = list(_leaves(kernel))
    if len(leaves) != 1 or X.shape[1] != len(of_columns):
        return None
    (leaf,) = leaves
    scales = leaf.of_features if isinstance(leaf, GroupedRBF) else np.broadcast_to(leaf.length_scale, len(of_columns))
    parts = np.bincount(of_columns, weights=_variances(X) / np.square(scales), minlength=columns)
    return np.asarray(parts / parts.sum())


def _leaves(kernel: Kernel) -> Iterator[Any]:
    """The parts of a kernel that have length scales; Matern is a subclass of the Gaussian there."""
    if isinstance(kernel, KernelOperator):
        yield from _leaves(kernel.k1)
        yield from _leaves(kernel.k2)
    elif isinstance(kernel, RBF | RationalQuadratic):
        yield kernel


def _variances(X: Any) -> Array:
    if sparse.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        return np.asarray(X.multiply(X).mean(axis=0)).ravel() - np.square(mean)
    return np.asarray(np.var(X, axis=0))
