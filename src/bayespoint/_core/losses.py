"""What decisions cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import InvalidProblemError
from .typing import Array

__all__ = ["checked_loss"]


def checked_loss(loss: Any, n_classes: int) -> Array:
    """A loss for every class (row) and every decision (column): the classes, and perhaps to decide nothing."""
    try:
        found = 1 - np.eye(n_classes) if loss is None else np.asarray(loss, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidProblemError(f"loss must be a table of numbers, got {loss!r}.") from error
    if found.ndim != 2 or len(found) != n_classes or found.shape[1] not in (n_classes, n_classes + 1):
        raise InvalidProblemError(
            f"loss must have a row for each of the {n_classes} classes and as many columns, or one more for deciding "
            f"nothing, got shape {found.shape}."
        )
    if not np.isfinite(found).all():
        raise InvalidProblemError("loss must not hold NaN or infinity: give a large number instead.")
    return found
