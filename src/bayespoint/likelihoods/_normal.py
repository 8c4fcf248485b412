"""What the standard normal distribution needs beyond scipy."""

from __future__ import annotations

from math import pi, sqrt

from scipy.special import erfcx

from .._core.typing import Array

__all__ = ["hazard"]


def hazard(z: Array) -> Array:
    """``phi(z) / Phi(z)``, accurate in both tails."""
    value: Array = sqrt(2 / pi) / erfcx(-z / sqrt(2))
    return value
