"""Whitened coordinates: latents as ``M w`` with ``w ~ N(0, I)`` in as many dimensions as the true rank.

A soft boundary adds one coordinate a row for the latent noise, and so does a residual of the row:
``h = M w + sqrt(s) e``. So the Gram matrix ``K + s I`` of the walls is never formed, and the function values
``f = M w`` of a draw are known exactly.

Several classes have a function each: their coordinates stand one after the other (`Stacked`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._core.typing import Array
from .._core.words import told_briefly
from .factor import FactorRoot
from .gram import NewPoints, Root

__all__ = ["Stacked", "Whitened"]


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

    def function(self, position: Array) -> Array:
        """The coordinates of the function alone."""
        return position[..., : self.rank]

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


_SPARSE = 0.1  # share of rows with an impulse below which the others are left out of the product


@dataclass(frozen=True, eq=False)
class Stacked:
    """Whitened coordinates of several functions with one kernel, one function after the other.

    Latents of all functions stand in one vector as well, those of the first function first.
    """

    white: Whitened
    count: int

    @property
    def dimension(self) -> int:
        """Number of coordinates, those of the rows' own included."""
        return self.count * self.white.dimension

    @property
    def rank(self) -> int:
        """Number of coordinates of the functions."""
        return self.count * self.white.rank

    def latents(self, position: Array) -> Array:
        """What the walls see."""
        return self._joined(self.white.latents(self.apart(position)))

    def pull(self, impulse: Array, rows: Any = slice(None)) -> Array:
        """The transpose of `latents`: impulses at rows as impulses on coordinates."""
        n = len(self.white.factor)
        whole = np.zeros((*impulse.shape[:-1], self.count * n))
        whole[..., rows] = impulse
        flat = whole.reshape(-1, n)
        if np.count_nonzero(flat) > _SPARSE * flat.size:
            values = self.white.pull(flat)
        else:  # few walls were hit
            values = csr_array(flat) @ self.white.factor
            if self.white.is_soft:
                values = np.c_[values, np.sqrt(self.white.softness) * flat]
        return values.reshape(*impulse.shape[:-1], self.dimension)

    def function(self, position: Array) -> Array:
        """The coordinates of the functions alone."""
        return self._joined(self.white.function(self.apart(position)))

    def apart(self, stacked: Array) -> Array:
        """What stands in one vector, as one vector a function."""
        return stacked.reshape(*stacked.shape[:-1], self.count, -1)

    @staticmethod
    def _joined(values: Array) -> Array:
        return values.reshape(*values.shape[:-2], -1)
