"""What the standard normal distribution needs beyond scipy."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from scipy.special import erfcx

from .._core.typing import Array

__all__ = ["above_zero", "hazard"]


def hazard(z: Array) -> Array:
    """``phi(z) / Phi(z)``, accurate in both tails."""
    value: Array = sqrt(2 / pi) / erfcx(-z / sqrt(2))
    return value


def above_zero(z: Array) -> tuple[Array, Array, Array]:
    """``r = phi(z) / Phi(z)``, ``c = r (z + r)`` and ``1 - c``: above zero N(z, 1) has mean z + r, variance 1 - c."""
    ratio = sqrt(2 / pi) / erfcx(-z / sqrt(2))
    curvature = ratio * (z + ratio)
    gap = 1 - curvature
    far = z < -70.0  # where z + r cancels: continued by the asymptotic series of 1 - c
    if far.any():
        x2 = 1 / np.square(z[far])
        gap[far] = x2 * (1 - x2 * (6 - 50 * x2))
        curvature[far] = 1 - gap[far]
    return ratio, curvature, gap
