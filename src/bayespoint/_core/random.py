"""Sources of randomness."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["as_generator"]


def as_generator(rng: Any) -> np.random.Generator:
    """A `numpy.random.Generator` from a seed, a legacy RandomState, a Generator or None."""
    if isinstance(rng, np.random.RandomState):
        return np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(rng)
