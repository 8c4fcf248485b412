"""The walls of a problem as samplers meet them: their geometry, and how high they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.typing import Array
from ..likelihoods import Step
from ..problem import Problem

__all__ = ["KINDS_WITH_WALLS", "energy_of_walls", "gram_of_walls", "same_walls"]


_STEPS = ("hard", "noise", "soft", "soft noise")
KINDS_WITH_WALLS = frozenset(_STEPS) | frozenset(f"choice {kind}" for kind in _STEPS)


def gram_of_walls(problem: Problem) -> Array:
    """The Gram matrix of what the walls see, latents with what each row has of its own: ``K + s I``."""
    own = problem.own
    return problem.dense + np.diag(own) if own.any() else problem.dense


def energy_of_walls(problem: Problem) -> Array:
    """Price of the wrong side of each row of a step: its weight times ``log((1 - q) / q)``, infinite without noise."""
    assert isinstance(problem.likelihood, Step)
    q = problem.likelihood.noise
    return problem.exponents * np.log((1 - q) / q) if q > 0 else np.full(problem.size, np.inf)


def same_walls(gram: Array, diag: Array, i: int) -> Any:
    """Rows after row i whose latents are proportional to its own, ``K_ij^2 = K_ii K_jj``: they share its walls."""
    row = gram[i, i + 1 :]
    return i + 1 + np.flatnonzero((row * row >= (1 - 1e-12) * diag[i] * diag[i + 1 :]) & (row != 0))
