"""Whether a hard boundary leaves any function at all, for rows in different places: a linear programme by its few
binding rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.typing import Array
from ..exceptions import EmptyVersionSpaceError
from ..grams.separation import separating_coordinates
from .places import Places

__all__ = ["raise_if_empty"]


def raise_if_empty(places: Places, target: int, w: Array) -> None:
    """Raise `EmptyVersionSpaceError` unless some coordinates put all rows on the side of their labels; `w` is a guess.

    Maximise t subject to ``y_i M_i w >= t |M_i|``, ``|w| <= 1``, over the rows met so far; partitions add those that
    the answer leaves on the wrong side, until there are none, or the rows met cannot be separated.
    """
    rank = len(w)
    met = np.empty((0, rank))
    while (wrong := places.round(_wrong_rows, np.vstack, target, w, max(32, 2 * rank))).size:
        met = np.vstack([met, wrong])
        answer = separating_coordinates(met)
        if answer is None:
            raise EmptyVersionSpaceError(
                "Version space is empty: no function of these features separates the training labels; raise softness "
                "(or noise) above 0, or use more features."
            )
        w = answer


def _wrong_rows(part: Any, memory: Any, target: int, w: Array, most: int) -> tuple[Any, Array]:
    """Rows of a partition on the wrong side of w, of unit length and signed by their labels; the worst of them."""
    if part.residual is not None:  # nothing is hard there
        return memory, np.empty((0, len(w)))
    rows = part.targets[target][:, None] * part.factor
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)  # none is zero: that would have been refused
    margins = rows @ w
    worst = np.argsort(margins)[:most]
    return memory, rows[worst[margins[worst] <= 0]]
