"""The Gaussian margin machine's linear algebra on a Gram matrix; `geometry` has the formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack, qr

from ... import grams
from ..._core.typing import Array
from ..._core.words import told_briefly
from ...grams import Gram
from ...grams.gram import pivoted_root

__all__ = ["DenseGeometry", "Solver", "cholesky"]

Solver = Callable[[Array], Array]

_CANCELS = 1e-6  # share of a pivot that elimination leaves, below which rounding is seen beside it


@told_briefly()
@dataclass(frozen=True, eq=False)
class DenseGeometry:
    """A Gram matrix as it is."""

    gram: Array

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.gram)

    @property
    def diag(self) -> Array:
        """Squared norms of the rows in feature space."""
        return np.diagonal(self.gram)

    @cached_property
    def root(self) -> Array:
        """``M`` with ``M M' = K``."""
        return pivoted_root(self.gram, by_row=True)[0]

    def latents(self, signed: Array) -> Array:
        """``K a``: values at the rows of the function with weights a."""
        return self.gram @ signed

    def rows(self, chosen: Any) -> DenseGeometry:
        """The same for some of the rows."""
        return DenseGeometry(self.gram[np.ix_(chosen, chosen)])

    def as_gram(self) -> Gram:
        """As any Gram matrix."""
        return grams.Dense(self.gram)

    def for_newton(self) -> DenseGeometry:
        """The form in which steps are cheapest: this one."""
        return self

    def covariance(self, beta: Array) -> DenseCovariance:
        """The covariance with ``Sigma^-1 = I + sum_i beta_i x_i x_i'``, as far as the rows see it."""
        n = self.size
        if n == 0:
            return DenseCovariance(self.gram, beta, self.gram, beta, 0.0)
        root = np.sqrt(beta)
        b = self.gram * root
        b *= root[:, None]
        b.flat[:: n + 1] += 1.0
        whole = np.diagonal(b).copy()
        lower, failed = lapack.dpotrf(b.T, lower=1, overwrite_a=1)
        pivots = np.diagonal(lower)
        if not failed and (np.square(pivots) > _CANCELS * whole).all():
            s, half_log_det = self._shared(lower, root), float(np.log(pivots).sum())
        else:
            s, half_log_det = self._from_root(root)
        variance = np.diagonal(s)
        if not (variance > 0).all():
            raise np.linalg.LinAlgError("Variances are lost in rounding.")
        return DenseCovariance(self.gram, beta, s, np.sqrt(variance), 2 * half_log_det)

    def _shared(self, lower: Array, root: Array) -> Array:
        """``S = X Sigma X'`` from ``L L' = I + B^1/2 K B^1/2``, each entry by the formula that does not cancel there.

        Rows that are held tight have ``B^1/2 S B^1/2 = I - (L L')^-1``; loose ones ``S = K - V' V`` with
        ``V = L^-1 B^1/2 K``; and between the two ``B^1/2 S = L^-T V``.
        """
        n = self.size
        tight = np.square(root) * self.diag > 1.0
        scale = np.divide(1.0, root, out=np.zeros(n), where=tight)
        inverse = np.tril(lapack.dpotri(lower, lower=1)[0])
        s = inverse + np.tril(inverse, -1).T
        s *= -scale
        s *= scale[:, None]
        s.flat[:: n + 1] += np.square(scale)
        loose = np.flatnonzero(~tight)
        if loose.size:
            v = blas.dtrsm(1.0, lower, np.asfortranarray(root[:, None] * self.gram[:, loose]), lower=1)
            across = scale[:, None] * blas.dtrsm(1.0, lower, v, lower=1, trans_a=1)
            s[:, loose] = across
            s[loose, :] = across.T
            s[np.ix_(loose, loose)] = self.gram[np.ix_(loose, loose)] - blas.dgemm(1.0, v, v, trans_a=1)
        return s

    def _from_root(self, root: Array) -> tuple[Array, float]:
        """S and ``log det(I + X' B X) / 2`` where more rows are held tight than there are dimensions.

        ``I + B^1/2 K B^1/2`` then has eigenvalues of one beside those that rounding alone makes larger than that. In
        ``Sigma^-1 = R' R``, ``R`` the triangle of ``[B^1/2 M; I]``, nothing is squared, and with the heaviest rows on
        top and pivoting a reflection leaves each row an error beside its own size (Cox and Higham 1998).
        """
        m = self.root
        stack = np.vstack([root[:, None] * m, np.eye(m.shape[1])])
        stack = stack[np.argsort(-np.abs(stack).max(axis=1), kind="stable")]
        r, order = qr(stack, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
        r = r[: m.shape[1]]
        pivots = np.abs(np.diagonal(r))
        if not (np.isfinite(pivots) & (pivots > 0)).all():
            raise np.linalg.LinAlgError("The precision is lost in rounding.")
        white = blas.dtrsm(1.0, r, m[:, order].T, trans_a=1)  # columns Sigma^1/2 x_i, up to a rotation
        return white.T @ white, float(np.log(pivots).sum())


class DenseCovariance(NamedTuple):
    """``S = X Sigma X'`` and what follows from it."""

    gram: Array
    beta: Array
    s: Array
    deviations: Array
    log_det: float

    def mismatch(self, e: Array) -> float:
        """Squared length of ``X' diag(e) X Sigma^1/2``, that is ``e' (K * S) e``."""
        return float(e @ ((self.gram * self.s) @ e))

    def newton(self, phi: Array, y: Array, barrier: Array) -> tuple[Solver, Solver]:
        """Solver of ``(G + N + diag(barrier)) d = right``, and the product with ``N phi^-1``."""
        scale = phi / self.deviations
        response = self._response() if phi.any() else np.zeros_like(self.s, order="F")  # R
        step = self.gram * y
        step *= y[:, None]
        step = step.T  # symmetric, and in Fortran order
        step += response * scale * scale[:, None]
        step.T.flat[:: len(y) + 1] += barrier
        lower = cholesky(step)

        def solve(right: Array) -> Array:
            return lapack.dpotrs(lower, right, lower=1)[0]

        def respond(change: Array) -> Array:
            return scale * blas.dsymv(1.0, response, change / self.deviations, lower=1)

        return solve, respond

    def _response(self) -> Array:
        """Lower triangle of ``R = P/2 + P (2 A - P)^-1 P / 2``."""
        n = len(self.beta)
        squares = np.asfortranarray(np.square(self.s).T)
        root = np.sqrt(self.beta) / self.deviations  # A^-1/2
        scaled = squares * root[:, None]
        rest = -scaled * root
        rest[np.arange(n), np.arange(n)] += 2.0
        half = blas.dtrsm(1.0, cholesky(rest), scaled, lower=1, overwrite_b=1)
        return blas.dsyrk(0.5, half, beta=0.5, c=squares, trans=1, lower=1, overwrite_c=1)


def cholesky(matrix: Array) -> Array:
    """Lower factor of a matrix that is positive definite but for rounding."""
    lower, failed = lapack.dpotrf(matrix, lower=1)
    shift = 1e-14 * float(np.diagonal(matrix).max())
    while failed and np.isfinite(shift):
        shifted = matrix.copy(order="F")
        shifted[np.arange(len(matrix)), np.arange(len(matrix))] += shift
        lower, failed = lapack.dpotrf(shifted, lower=1, overwrite_a=1)
        shift *= 100
    return lower
