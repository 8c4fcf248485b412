"""The Gaussian margin machine's linear algebra on a factor of the Gram matrix; `geometry` has the formulas."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from ..._core.typing import Array
from ...grams import LowRank
from ...grams.factor import root_of_precision
from .dense import DenseGeometry, Solver, cholesky

__all__ = ["FactorGeometry"]

_CHUNK = 2048  # rows whose products of features are held at a time
_HEAVY = 1e3  # weight of a row, beside a curvature of about one, from which it is eliminated last
_NEGLIGIBLE = 1e-9  # what rows left out may add to a curvature that is at least 1/4


class FactorGeometry(NamedTuple):
    """A factor ``M`` (n, r) of the Gram matrix ``M M'``: no matrix of size n by n is formed."""

    factor: Array

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.factor)

    @property
    def diag(self) -> Array:
        """Squared norms of the rows in feature space."""
        return np.einsum("ij,ij->i", self.factor, self.factor)

    def latents(self, signed: Array) -> Array:
        """``M M' a``: values at the rows of the function with weights a."""
        return self.factor @ (signed @ self.factor)

    def rows(self, chosen: Any) -> FactorGeometry:
        """The same for some of the rows."""
        return FactorGeometry(self.factor[chosen])

    def as_gram(self) -> LowRank:
        """As any Gram matrix."""
        return LowRank(self.factor)

    def for_newton(self) -> DenseGeometry | FactorGeometry:
        """The form in which steps are cheapest: the Gram matrix if the rows are few beside the parameters."""
        n, r = self.factor.shape
        parameters = r * (r + 3) // 2
        if 10 * n**3 < n * parameters**2 + parameters**3 / 3:
            return DenseGeometry(self.factor @ self.factor.T)
        return self

    def covariance(self, beta: Array) -> FactorCovariance:
        """The covariance with ``Sigma^-1 = I + sum_i beta_i x_i x_i'``, as far as the rows see it."""
        precision = _weighted_sum(self.factor, beta)
        precision.flat[:: len(precision) + 1] += 1.0
        lower, failed = lapack.dpotrf(precision, lower=1)
        if failed:
            lower = root_of_precision(np.sqrt(beta)[:, None] * self.factor)
        log_det = 2 * float(np.log(np.diagonal(lower)).sum())
        white = blas.dtrsm(1.0, lower, self.factor.T, lower=1).T  # rows Sigma^1/2 x_i, up to a rotation
        deviations = np.sqrt(np.einsum("ij,ij->i", white, white))
        return FactorCovariance(self.factor, beta, lower, white, deviations, log_det)


class FactorCovariance(NamedTuple):
    """Rows whitened by ``Sigma^1/2``, so that S is their Gram matrix, and what follows from it."""

    factor: Array
    beta: Array
    lower: Array
    white: Array
    deviations: Array
    log_det: float

    def mismatch(self, e: Array) -> float:
        """Squared length of ``X' diag(e) X Sigma^1/2``."""
        half = blas.dtrsm(1.0, self.lower, _weighted_sum(self.factor, e), lower=1)
        return float(np.vdot(half, half))

    def newton(self, phi: Array, y: Array, barrier: Array) -> tuple[Solver, Solver]:
        """Solver of ``(G + N + diag(barrier)) d = right``, and the product with ``N phi^-1``.

        With J the slopes of ``phi s_i - y_i mu.x_i`` in the mean and (whitened) covariance and H0 the curvature of the
        objective there, ``G + N = J H0^-1 J'``. In terms of ``u = H0^-1 J' d`` and ``w = 1 / barrier`` each row has
        ``d = w (right - J u)``, which cancels where w is large: heavy rows keep their d, light ones are eliminated.

            (H0 + J_l' w J_l) u = J_l' w right_l + J_h' d_h,    barrier_h d_h + J_h u = right_h
        """
        rows = _Rows(-y[:, None] * self.factor, self.white, 0.5 * phi / self.deviations)
        weight = 1.0 / barrier
        heavy = _largest(weight * rows.squared_lengths(), _HEAVY, rows.parameters)
        weight[heavy] = 0.0
        lower = cholesky(self._curvature(rows, weight))
        half = blas.dtrsm(1.0, lower, rows.slopes(heavy).T, lower=1)  # L^-1 J_h'
        block = blas.dgemm(1.0, half, half, trans_a=1)
        block[np.arange(len(heavy)), np.arange(len(heavy))] += barrier[heavy]
        block_lower = cholesky(block) if heavy.size else block

        def solve(right: Array) -> Array:
            pull = blas.dtrsv(lower, rows.gather(weight * right), lower=1)
            pinned = right[heavy] - pull @ half
            if heavy.size:
                pinned = lapack.dpotrs(block_lower, pinned, lower=1)[0]
            d = weight * (right - rows.spread(blas.dtrsv(lower, pull + half @ pinned, lower=1, trans=1)))
            d[heavy] = pinned
            return d

        return solve, lambda change: self._respond(phi, change)

    def _curvature(self, rows: _Rows, weight: Array) -> Array:
        """``H0 + J' w J``, its lower triangle, mean before covariance."""
        r, size = self.factor.shape[1], rows.parameters
        h = np.zeros((size, size), order="F")
        h[:r, :r] = _weighted_sum(self.factor, weight)
        inner = weight * np.square(rows.slope) - 0.25 * self.beta / np.square(self.deviations)
        matters = _all_but_tail(np.abs(inner) * np.square(np.square(self.deviations)), _NEGLIGIBLE)
        corner = np.zeros((size - r, size - r), order="F")
        for sign in (1.0, -1.0):
            chosen = np.flatnonzero((sign * inner > 0) & matters)
            for start in range(0, len(chosen), _CHUNK):
                some = chosen[start : start + _CHUNK]
                products = _products(self.white[some])
                h[r:, :r] += products.T @ (rows.signed[some] * (weight[some] * rows.slope[some])[:, None])
                products *= np.sqrt(np.abs(inner[some]))[:, None]
                corner = blas.dsyrk(sign, products.T, beta=1.0, c=corner, lower=1, overwrite_c=1)
        h[r:, r:] = corner
        h.flat[:: size + 1] += np.r_[np.ones(r), np.full(size - r, 0.5)]
        return h

    def _respond(self, phi: Array, change: Array) -> Array:
        """``N phi^-1 change`` by conjugate gradients, which converge fast: all eigenvalues are between one and two."""
        inner = self.beta / np.square(self.deviations)
        right = _weighted_sum(self.white, change / self.deviations)
        found = 0.5 * right
        left = right - 2 * found + _weighted_sum(self.white, inner * _quadratic(self.white, found))
        way, size = left, float(np.vdot(left, left))
        enough = 1e-8 * float(np.vdot(right, right))
        for _ in range(30):
            if size <= enough:
                break
            image = 2 * way - _weighted_sum(self.white, inner * _quadratic(self.white, way))
            length = size / float(np.vdot(way, image))
            found, left = found + length * way, left - length * image
            size, before = float(np.vdot(left, left)), size
            way = left + (size / before) * way
        return phi / self.deviations * _quadratic(self.white, found)


class _Rows(NamedTuple):
    """The matrix J, slopes of each row's violation in the parameters, mean before covariance. Never formed whole."""

    signed: Array  # -y_i x_i
    white: Array
    slope: Array  # phi / (2 s_i), times the products of whitened features

    @property
    def parameters(self) -> int:
        r = self.signed.shape[1]
        return r * (r + 3) // 2

    def squared_lengths(self) -> Array:
        covariance = self.slope * np.einsum("ij,ij->i", self.white, self.white)
        return np.einsum("ij,ij->i", self.signed, self.signed) + np.square(covariance)

    def slopes(self, some: Any) -> Array:
        """Some rows of J."""
        return np.hstack([self.signed[some], self.slope[some, None] * _products(self.white[some])])

    def gather(self, pull: Array) -> Array:
        """``J' pull``."""
        return np.r_[pull @ self.signed, _pack(_weighted_sum(self.white, pull * self.slope))]

    def spread(self, u: Array) -> Array:
        """``J u``."""
        r = self.signed.shape[1]
        return self.signed @ u[:r] + self.slope * _quadratic(self.white, _unpack(u[r:], r))


def _all_but_tail(share: Array, tail: float) -> Any:
    """Which terms to keep so that those left out add up to less than `tail`."""
    order = np.argsort(share)
    keep = np.ones(len(share), dtype=bool)
    keep[order[: np.searchsorted(np.cumsum(share[order]), tail)]] = False
    return keep


def _largest(size: Array, threshold: float, count: int) -> Any:
    """Indices of entries above the threshold, at most `count` of them."""
    above = np.flatnonzero(size > threshold)
    if len(above) > count:
        above = above[np.argpartition(-size[above], count)[:count]]
    return above


def _weighted_sum(rows: Array, weight: Array) -> Array:
    """``sum_i weight_i rows_i rows_i'``."""
    return rows.T @ (rows * weight[:, None])


def _quadratic(rows: Array, matrix: Array) -> Array:
    """``rows_i' matrix rows_i``."""
    return np.einsum("ij,ij->i", rows @ matrix, rows)


def _products(rows: Array) -> Array:
    """Products of pairs of features, scaled so that their dot products are the squares of those of the rows."""
    n, r = rows.shape
    out = np.empty((n, r * (r + 1) // 2))
    start = 0
    for k in range(r):
        stop = start + r - k
        np.multiply(rows[:, k:], (np.sqrt(2) * rows[:, k])[:, None], out=out[:, start:stop])
        out[:, start] = np.square(rows[:, k])
        start = stop
    return out


def _pack(matrix: Array) -> Array:
    """A symmetric matrix as a vector, in the order and scale of `_products`."""
    r = len(matrix)
    scaled = np.sqrt(2) * matrix
    scaled.flat[:: r + 1] = np.diagonal(matrix)
    return scaled[np.triu_indices(r)]


def _unpack(vector: Array, r: int) -> Array:
    """The inverse of `_pack`."""
    matrix = np.zeros((r, r))
    matrix[np.triu_indices(r)] = vector / np.sqrt(2)
    matrix += matrix.T
    matrix.flat[:: r + 1] *= np.sqrt(0.5)
    return matrix
