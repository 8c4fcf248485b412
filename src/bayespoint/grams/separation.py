"""Whether a hyperplane has all labels on their sides: a linear programme."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from .._core.typing import Array
from .gram import Gram

__all__ = ["separating_class_latents", "separating_coordinates", "separating_latents"]


def separating_coordinates(rows: Any) -> Array | None:
    """The w in a unit box with the largest t such that ``rows @ w >= t``, or None if t is not above zero."""
    n, rank = rows.shape
    answer = linprog(
        np.r_[np.zeros(rank), -1.0],
        A_ub=sparse.hstack([-rows, np.ones((n, 1))], "csr") if sparse.issparse(rows) else np.c_[-rows, np.ones(n)],
        b_ub=np.zeros(n),
        bounds=[(-1, 1)] * rank + [(None, 1)],
        method="highs",
    )
    if answer.x is None or answer.x[-1] <= 1e-9:
        return None
    w: Array = answer.x[:-1]
    return w


def separating_latents(gram: Gram, y: Array) -> Array | None:
    """Latents in the range of `gram` whose signs are `y`, of largest margin in a unit box, or None if there are none.

    In whitened coordinates: maximise t subject to ``y_i (M w)_i >= t |M_i|``, ``|w| <= 1``.
    """
    factor = gram.root()
    assert factor is not None
    norms = np.linalg.norm(factor, axis=1)
    if not factor.size or not norms.all():
        return None
    w = separating_coordinates(y[:, None] * factor / norms[:, None])
    if w is None:
        return None
    latents: Array = factor @ w
    return latents if np.all(latents * y > 0) else None


def separating_class_latents(gram: Gram, y: Array, n_classes: int) -> Array | None:
    """Latents (n, C) in the range of `gram` whose largest is that of class `y`, or None if there are none.

    As for two classes, with a wall ``f_y > f_c`` for each other class c of a row.
    """
    factor = gram.root()
    assert factor is not None
    norms = np.linalg.norm(factor, axis=1)
    if not factor.size or not norms.all():
        return None
    rank = factor.shape[1]
    row, other = np.nonzero(np.arange(n_classes) != y[:, None])
    wall, unit = np.arange(len(row))[:, None], factor / norms[:, None]
    columns = np.concatenate(
        [rank * y[row][:, None] + np.arange(rank), rank * other[:, None] + np.arange(rank)], axis=1
    )
    values = np.hstack([unit[row], -unit[row]])
    places = np.broadcast_to(wall, columns.shape)
    walls = sparse.csr_array((values.ravel(), (places.ravel(), columns.ravel())), shape=(len(row), rank * n_classes))
    w = separating_coordinates(walls)
    if w is None:
        return None
    latents: Array = factor @ w.reshape(n_classes, rank).T
    beyond = latents[row, y[row]] - latents[row, other]
    return latents if np.all(beyond > 0) else None
