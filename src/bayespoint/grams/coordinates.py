"""Gaussians over a few coordinates in natural parameters, which add up where densities multiply.

They are what one batch of rows hands to the next, and what workers that own different rows tell each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError

__all__ = ["NaturalGaussian"]


@told_briefly()
@dataclass(frozen=True, eq=False)
class NaturalGaussian:
    """The density ``exp(shift'w - w'precision w / 2)`` over coordinates w, up to its normaliser.

    Parameters
    ----------
    precision : array-like of shape (rank, rank)
        Symmetric; positive definite if the density is to be a proper one.
    shift : array-like of shape (rank,)
        Precision times mean.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.grams import NaturalGaussian
    >>> prior = NaturalGaussian.standard(2)
    >>> posterior = prior + NaturalGaussian.of_sites(np.array([[1.0, 0.0]]), np.array([3.0]), np.array([2.0]))
    >>> posterior.mean
    array([0.5, 0. ])
    """

    precision: Array
    shift: Array

    def __post_init__(self) -> None:
        precision = np.ascontiguousarray(self.precision, dtype=np.float64)
        shift = np.ascontiguousarray(self.shift, dtype=np.float64)
        if precision.shape != (*shift.shape, *shift.shape) or shift.ndim != 1:
            raise InvalidProblemError(
                f"A Gaussian needs a square precision and a shift of the same length, got shapes {precision.shape} and "
                f"{shift.shape}."
            )
        if not (np.isfinite(precision).all() and np.isfinite(shift).all()):
            raise InvalidProblemError("The natural parameters of a Gaussian must be finite.")
        object.__setattr__(self, "precision", precision)
        object.__setattr__(self, "shift", shift)

    @classmethod
    def standard(cls, rank: int) -> NaturalGaussian:
        """N(0, I)."""
        return cls(np.eye(rank), np.zeros(rank))

    @classmethod
    def of_sites(cls, rows: Array, tau: Array, nu: Array) -> NaturalGaussian:
        """The product of sites ``exp(nu_i f_i - tau_i f_i^2 / 2)`` at latents ``f = rows @ w``."""
        return cls((rows.T * tau) @ rows, rows.T @ nu)

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return len(self.shift)

    def __add__(self, other: NaturalGaussian) -> NaturalGaussian:
        return NaturalGaussian(self.precision + other.precision, self.shift + other.shift)

    def __sub__(self, other: NaturalGaussian) -> NaturalGaussian:
        return NaturalGaussian(self.precision - other.precision, self.shift - other.shift)

    def faded(self, keep: float) -> NaturalGaussian:
        """What is left of the data after forgetting: a share `keep` of it on top of N(0, I)."""
        return NaturalGaussian(keep * self.precision + (1 - keep) * np.eye(self.rank), keep * self.shift)

    def extended(self, rank: int) -> NaturalGaussian:
        """The same with further coordinates that are N(0, 1) and independent so far."""
        more = rank - self.rank
        if more < 0:
            raise InvalidProblemError(f"{self.rank} coordinates cannot be extended to {rank}.")
        precision = np.eye(rank)
        precision[: self.rank, : self.rank] = self.precision
        return NaturalGaussian(precision, np.r_[self.shift, np.zeros(more)])

    @cached_property
    def _lower(self) -> Any:
        lower, failed = lapack.dpotrf(self.precision, lower=1)
        if failed:
            raise InvalidProblemError("This Gaussian is not proper: its precision is not positive definite.")
        return lower

    @cached_property
    def mean(self) -> Array:
        """Mean of the coordinates."""
        mean: Array = lapack.dpotrs(self._lower, self.shift, lower=1)[0]
        return mean

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the coordinates."""
        inverse = np.tril(lapack.dpotri(self._lower, lower=1)[0])
        inverse += np.tril(inverse, -1).T
        return inverse

    @cached_property
    def log_det(self) -> float:
        """Logarithm of the determinant of the precision."""
        return 2 * float(np.log(np.diagonal(self._lower)).sum())

    @property
    def log_normaliser(self) -> float:
        """Logarithm of the integral over w, but for ``rank log(2 pi) / 2``."""
        return 0.5 * float(self.shift @ self.mean) - 0.5 * self.log_det
