"""Whitened coordinates: latents as ``M w`` with ``w ~ N(0, I)`` in as many dimensions as the true rank.

A soft boundary adds one coordinate a row for the latent noise, and so does a residual of the row:
``h = M w + sqrt(s) e``. So the Gram matrix ``K + s I`` of the walls is never formed, and the function values
``f = M w`` of a draw are known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._core.typing import Array
from .._core.words import told_briefly
from .factor import FactorRoot
from .gram import NewPoints, Root

__all__ = ["Whitened"]


@told_briefly()
@dataclass(frozen=True, eq=False)
class Whitened:
    """A root of the Gram matrix, and the softness of the boundary at each row."""

    root: Root
    softness: Array  # variance of what each row has of its own: latent noise, and its residual

    @property
    def factor(self) -> Array:
        """``M`` with ``M M' = K``."""
        return self.root.factor

    @property
    def rank(self) -> int:
        """Number of coordinates of the function."""
        return self.factor.shape[1]

    @cached_property
    def is_soft(self) -> bool:
        """Whether some row has a variance of its own."""
        return bool(self.softness.any())

    @cached_property
    def _own(self) -> Array:
        return np.sqrt(self.softness)

    @property
    def dimension(self) -> int:
        """Number of coordinates, those of the rows' own included."""
        return self.rank + (len(self.factor) if self.is_soft else 0)

    @property
    def whole_factor(self) -> Array:
        """The matrix that takes all coordinates to what the walls see."""
        return np.c_[self.factor, np.diag(self._own)] if self.is_soft else self.factor

    def spelt_out(self) -> Whitened:
        """The same with what rows have of their own as part of the function."""
        return Whitened(FactorRoot(self.whole_factor), 0 * self.softness) if self.is_soft else self

    def latents(self, position: Array) -> Array:
        """What the walls see: ``f``, or ``h = f + noise`` under a soft boundary."""
        values: Array = position[..., : self.rank] @ self.factor.T
        if self.is_soft:
            values += self._own * position[..., self.rank :]
        return values

    def pull(self, impulse: Array, rows: Any = slice(None)) -> Array:
        """The transpose of `latents`: impulses at rows as impulses on coordinates."""
        values: Array = impulse @ self.factor[rows]
        if not self.is_soft:
            return values
        noise = np.zeros((*impulse.shape[:-1], len(self.factor)))
        noise[..., rows] = self._own[rows] * impulse
        return np.concatenate([values, noise], axis=-1)

    def features(self, new: NewPoints) -> Array:
        """Coordinates of new points, so that the mean of the latent given a draw is ``features @ w``."""
        return self.root.features(new)

    def coordinates(self, latents: Array) -> Array:
        """Coordinates of the function, given its values at the training points; the nearest one if there is none."""
        return self.root.coordinates(latents)

    def weights(self, position: Array) -> Array:
        """The function as the Gram matrix has it: `expansion`, or coordinates where the problem has them."""
        return self.root.weights(position[..., : self.rank])

    def expansion(self, position: Array) -> Array:
        """Coefficients alpha with ``f(x) = sum_i alpha_i k(x, x_i)``."""
        return self.root.expansion(position[..., : self.rank])
