"""The Gaussian that sites make of a Gram matrix that is an array: Cholesky in n dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.linalg import blas, eigh, lapack

from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from .gram import OneByOne, WithTriangle, above_rounding, pivoted_root

if TYPE_CHECKING:
    from .dense import ByValues, DensePoints

__all__ = ["DenseGaussian", "factorise"]

_BLOCK = 2048  # new points worked on at a time, which bounds the working memory
_LEFT_OUT = 1e-9  # of a point's prior variance, that a short root may leave unexplained at the most
_SHORT = 0.25  # of n: columns up to which a short root is worth its making
_MANY = 2  # times n: points from which that is so, see `DenseGaussian.short_root`


@told_briefly()
@dataclass(frozen=True, eq=False)
class DenseGaussian(WithTriangle):
    """``W = (K + T^-1)^-1 = plus' plus - minus minus'`` for site precisions T of either sign.

    `plus` is lower triangular; `minus` has one column for each negative precision. The posterior covariance is
    ``K - K W K``. What it can do is told by `Conditioned`.
    """

    prior: ByValues
    plus: Array
    minus: Array
    log_det: float
    alpha: Array
    mean: Array
    variance: Array
    tau: Array
    nu: Array

    _triangle: ClassVar[str] = "plus"

    @property
    def gram(self) -> Array:
        """``K``."""
        gram: Array = self.prior._lifted
        return gram

    @property
    def weights(self) -> Array:
        return self.alpha

    @property
    def log_ratio(self) -> float:
        return -0.5 * self.log_det + 0.5 * float((self.nu * self.mean).sum())

    def at(self, new: DensePoints) -> tuple[Array, Array]:
        n = len(new.cross)
        mean, variance = np.empty(n), np.empty(n)
        many = max(n, new.asked) >= _MANY * len(self.alpha)
        short = self.short_root if many else None
        for start in range(0, n, _BLOCK):
            rows = slice(start, start + _BLOCK)
            k = np.asfortranarray(new.cross[rows].T)
            mean[rows] = blas.dgemv(1.0, k, self.alpha, trans=1)
            variance[rows] = new.diag[rows] - _explained(self.plus, self.minus, k, short)
        return mean, above_rounding(variance, new.diag)

    @cached_property
    def short_root(self) -> Array | None:
        """``A`` of few columns with ``k' A A' k = |plus k|^2`` for kernel values k, up to 1e-9 of the prior variance.

        With ``K = R R'`` kernel values of a point are ``k = R q``, ``|q|^2 <= k(x, x)``. Positive precisions explain
        ``|L^-1 T^1/2 R q|^2``, and ``T^1/2 K T^1/2 = C C' + E`` by pivoted Cholesky with ``tr E`` as small as we like.
        ``L^-1`` shrinks, so what is not in the span of ``G = L^-1 C`` is no more than that; directions of the span
        in which G is as small are left out, too. The others, Q, give ``A = plus' Q``.

        A point then costs 2 n r operations instead of n^2. With r <= n / 4 columns the making, 3 n^2 r or so, is paid
        back by 2 n points; where more are needed the attempt has cost n^3 / 3, a sixth of what those points cost.
        """
        n, root = len(self.alpha), np.sqrt(np.maximum(self.tau, 0.0))
        scaled = self.gram * root
        scaled *= root[:, None]
        tolerance = 0.5 * _LEFT_OUT / n  # of each pivot
        if 8 * np.finfo(float).eps * np.diagonal(scaled).max() > tolerance:  # rounding has the last word
            return None
        factor, _ = pivoted_root(scaled, tolerance=tolerance)
        if factor.shape[1] > _SHORT * n:
            return None
        factor /= np.where(root > 0, root, 1.0)[:, None]
        spanned = blas.dtrmm(1.0, self.plus, np.asfortranarray(factor), lower=1)
        values, vectors = eigh(blas.dgemm(1.0, spanned, spanned, trans_a=1), check_finite=False)
        kept = values > 0.5 * _LEFT_OUT
        basis = blas.dgemm(1.0, spanned, vectors[:, kept] / np.sqrt(values[kept]))
        return np.asarray(blas.dtrmm(1.0, self.plus, basis, lower=1, trans_a=1, overwrite_b=1))

    def explained(self) -> tuple[Array | None, Array | None]:
        """By few columns, where these do."""
        root = self.plus.T if self.short_root is None else self.short_root
        return root, self.minus if self.minus.shape[1] else None

    def jointly_at(self, new: DensePoints) -> tuple[Array, Array]:
        return new.cross @ self.alpha, new.among - self._explained_jointly(np.asfortranarray(new.cross.T))

    def with_training(self, new: DensePoints) -> Array:
        """``k' - k' W K`` for each new point."""
        cross = np.asfortranarray(new.cross.T)
        solved = blas.dtrmm(1.0, self.plus, blas.dtrmm(1.0, self.plus, cross, lower=1), lower=1, trans_a=1)
        if self.minus.shape[1]:
            solved -= self.minus @ (self.minus.T @ cross)
        return new.cross - solved.T @ self.gram

    @cached_property
    def covariance(self) -> Array:
        return self.gram - self._explained_jointly(np.asfortranarray(self.gram))

    def _explained_jointly(self, cross: Array) -> Array:
        """``cross' W cross``: the prior covariance that the data explain."""
        whitened = blas.dtrmm(1.0, self.plus, cross, lower=1)
        explained: Array = whitened.T @ whitened
        if self.minus.shape[1]:
            removed = self.minus.T @ cross
            explained -= removed.T @ removed
        return explained

    def precision_change(self) -> Array:
        lower, _ = lapack.dlauum(self.plus, lower=1)
        w = np.tril(lower)
        w += np.tril(lower, -1).T
        if self.minus.shape[1]:
            w -= blas.dgemm(1.0, self.minus, self.minus, trans_b=1)
        return w

    def one_by_one(self) -> OneByOne:
        gram = self.gram
        covariance = gram - blas.dgemm(1.0, blas.dgemm(1.0, gram.T, self.precision_change()), gram.T)
        return OneByOne(self.mean.copy(), covariance, None)

    @property
    def coordinates(self) -> Any:
        raise InvalidProblemError("Only a low-rank problem has coordinates that other rows share: use LowRank.")


def _explained(plus: Array, minus: Array, cross: Array, short: Array | None = None) -> Array:
    """``k' W k`` for each column k of `cross`: the prior variance that the data explain.

    With a `short` root in the place of `plus` it is as good as `DenseGaussian.short_root`.
    """
    if short is None:
        whitened = blas.dtrmm(1.0, plus, cross, lower=1)
    else:
        whitened = blas.dgemm(1.0, short, cross, trans_a=1)
    explained = np.asarray(np.einsum("ij,ij->j", whitened, whitened))
    if minus.shape[1]:  # negative precisions take back of it
        removed = blas.dgemm(1.0, minus, cross, trans_a=1)
        explained -= np.einsum("ij,ij->j", removed, removed)
    return explained


def factorise(gram: Array, tau: Array) -> tuple[Array, Array, float, Array] | None:
    """Root of W = (K + T^-1)^-1, ``log det(I + K T)``, and the marginal variances ``diag(K - K W K)``.

    Positive precisions go through ``B = I + T^1/2 K T^1/2 = L L'`` and ``plus = L^-1 T^1/2``; negative ones (rows N,
    few) are downdated afterwards: with C their covariance so far and ``Q = (I - W K)[:, N]``,
    ``W -= Q (|T_N|^-1 - C)^-1 Q'``, which needs the bracket to be positive definite.
    """
    n, diag = len(tau), np.diagonal(gram)
    root = np.sqrt(np.maximum(tau, 0.0))
    b = gram * root
    b *= root[:, None]
    b.flat[:: n + 1] += 1.0
    lower, failed = lapack.dpotrf(b.T, lower=1, overwrite_a=1)
    if failed:
        return None
    log_det = 2 * float(np.log(np.diagonal(lower)).sum())
    plus = np.zeros((n, n), order="F")
    _invert_triangle(lower, plus)
    inverse_diag = np.einsum("ij,ij->j", plus, plus)
    plus *= root

    # v_i = (1 - (B^-1)_ii) / tau_i cancels where the site says little; those columns are worked out directly.
    with np.errstate(divide="ignore", invalid="ignore"):
        var = (1 - inverse_diag) / tau
        weak = np.flatnonzero(~(tau * var > 1e-5))
    minus = np.empty((n, 0), order="F")
    if weak.size:
        var[weak] = diag[weak] - _explained(plus, minus, np.asfortranarray(gram[:, weak]))

    negative = np.flatnonzero(tau < 0)
    if negative.size:
        k = np.asfortranarray(gram[:, negative])
        v = blas.dtrmm(1.0, plus, k, lower=1)
        bracket = np.diag(-1 / tau[negative]) - gram[np.ix_(negative, negative)] + blas.dgemm(1.0, v, v, trans_a=1)
        chol, failed = lapack.dpotrf(bracket, lower=1)
        if failed:
            return None
        q = -blas.dtrmm(1.0, plus, v, lower=1, trans_a=1)
        q[negative, np.arange(negative.size)] += 1.0
        minus = blas.dtrsm(1.0, chol, q, side=1, lower=1, trans_a=1)  # Q L^-T
        log_det += 2 * float(np.log(np.diagonal(chol)).sum()) + float(np.log(-tau[negative]).sum())
        var = var + np.square(blas.dgemm(1.0, gram.T, minus)).sum(1)
    return plus, minus, log_det, var


def _invert_triangle(lower: Array, out: Array) -> None:
    """Inverse of a lower triangle by halves, which is twice as fast as LAPACK's on one thread."""
    n = len(lower)
    if n <= 64:
        out[:] = lapack.dtrtri(lower, lower=1)[0]
        return
    top, bottom = slice(0, n // 2), slice(n // 2, n)
    _invert_triangle(lower[top, top], out[top, top])
    _invert_triangle(lower[bottom, bottom], out[bottom, bottom])
    corner = blas.dtrmm(-1.0, out[bottom, bottom], lower[bottom, top], lower=1)
    out[bottom, top] = blas.dtrmm(1.0, out[top, top], corner, side=1, lower=1, overwrite_b=1)
