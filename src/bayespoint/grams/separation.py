"""Whether a hyperplane has all labels on their sides: a linear programme."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from .._core.typing import Array
from .gram import Gram

__all__ = ["separating_coordinates", "separating_latents"]


def separating_coordinates(rows: Array) -> Array | None:
    """The w in a unit box with the largest t such that ``rows @ w >= t``, or None if t is not above zero."""
    n, rank = rows.shape
    answer = linprog(
        np.r_[np.zeros(rank), -1.0],
        A_ub=np.c_[-rows, np.ones(n)],
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
