"""The walls of a problem as samplers meet them: their geometry, and how high they are."""

from __future__ import annotations

import numpy as np

from .._core.typing import Array
from ..likelihoods import Step
from ..problem import Problem

__all__ = ["energy_of_walls", "gram_of_walls"]


def gram_of_walls(problem: Problem) -> Array:
    """The Gram matrix of what the walls see, latents with what each row has of its own: ``K + s I``."""
    own = problem.own
    return problem.dense + np.diag(own) if own.any() else problem.dense


def energy_of_walls(problem: Problem) -> Array:
    """Price of the wrong side of each row of a step: its weight times ``log((1 - q) / q)``, infinite without noise."""
    assert isinstance(problem.likelihood, Step)
    q = problem.likelihood.noise
    return problem.exponents * np.log((1 - q) / q) if q > 0 else np.full(problem.size, np.inf)
