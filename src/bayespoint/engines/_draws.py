"""Draws in whitened coordinates as a posterior, of two classes or of several."""

from __future__ import annotations

from typing import Any

from .._core.typing import Array
from ..grams.whitening import Stacked, Whitened
from ..posteriors import SampledPosterior
from ..posteriors.drawn_classes import SampledClasses
from ..problem import Problem

__all__ = ["sampled_posterior"]


def sampled_posterior(problem: Problem, white: Whitened | Stacked, coordinates: Array, **known: Any) -> Any:
    """The posterior of draws of shape (chain, draw, coordinates of all functions)."""
    if isinstance(white, Stacked):
        return SampledClasses(problem, white.white, white.apart(coordinates), **known)
    return SampledPosterior(problem, white, coordinates, **known)
