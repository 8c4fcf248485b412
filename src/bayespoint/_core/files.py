"""What goes into files of fitted models: what things are made of, not what was worked out from it since."""

from __future__ import annotations

from dataclasses import fields
from math import isqrt
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .typing import Array

__all__ = ["packed_triangle", "parts_of", "unpacked_triangle"]


def parts_of(value: Any) -> dict[str, Any]:
    """The fields of a dataclass, without what it remembers beside them."""
    held = vars(value)
    return {field.name: held[field.name] for field in fields(value) if field.name in held}


def packed_triangle(lower: Array) -> Array:
    """The entries of a lower triangle, column by column: half of the matrix."""
    packed: Array = lapack.dtrttp(lower, uplo="L")[0]
    return packed


def unpacked_triangle(packed: Array) -> Array:
    """The lower triangle again, in Fortran order."""
    n = isqrt(2 * len(packed))
    lower = np.zeros((n, n), order="F")
    lower.T[np.triu_indices(n)] = packed
    return lower
