"""The Gaussian that sites make of the prior: factors, means and marginal variances, dense or low rank."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack, qr

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..posteriors.gaussian import LowRankSiteFactor, SiteFactor
from ..posteriors.latent import above_rounding
from ..problem import Problem
from .coordinates import NaturalGaussian

__all__ = ["SiteGaussian", "dense_gaussian", "low_rank_gaussian", "root_of_precision", "site_gaussian"]

SiteGaussian = tuple[SiteFactor | LowRankSiteFactor, Array, Array, Array]  # factor, alpha, means, variances


def site_gaussian(problem: Problem, tau: Array, nu: Array) -> SiteGaussian:
    """Prior of `problem` times sites whose precisions are not negative; variances that rounding lost have a floor."""
    if problem.root is None:
        built = dense_gaussian(problem.dense, problem.diag, tau, nu)
    else:
        built = low_rank_gaussian(problem.root, problem.diag, tau, nu, problem.prior)
    if built is None:  # precisions are not negative: in exact arithmetic it is proper
        raise InvalidProblemError("The posterior is lost in rounding: lower the amplitude of the kernel, or C.")
    factor, alpha, mean, variance = built
    return factor, alpha, mean, above_rounding(variance, problem.diag)


def dense_gaussian(gram: Array, diag: Array, tau: Array, nu: Array) -> SiteGaussian | None:
    """Prior N(0, gram) times sites, by ``W = (K + T^-1)^-1``. None if it is not proper."""
    built = _factorise(gram, diag, tau)
    if built is None:
        return None
    factor, var = built
    alpha = nu - factor.apply(blas.dsymv(1.0, gram.T, nu, lower=1))
    return factor, alpha, blas.dsymv(1.0, gram.T, alpha, lower=1), var


def low_rank_gaussian(
    m: Array, diag: Array, tau: Array, nu: Array, prior: NaturalGaussian | None = None
) -> SiteGaussian | None:
    """The same for ``gram = M M'``, by ``P + M'T M = L L'`` in O(n r^2), P the precision of the prior or I."""
    precision, log_det = (np.eye(m.shape[1]), 0.0) if prior is None else (prior.precision, prior.log_det)
    scaled = m * np.sqrt(tau)[:, None] if np.all(tau >= 0) else None
    if scaled is not None:
        precision = blas.dsyrk(1.0, scaled.T, beta=1.0, c=precision, lower=1)  # the lower triangle is enough
    else:
        precision = blas.dgemm(1.0, (m * tau[:, None]).T, m.T, beta=1.0, c=precision, trans_b=1)
    lower, failed = lapack.dpotrf(precision, lower=1)
    if failed and scaled is not None and prior is None:
        lower, failed = root_of_precision(scaled), False
    if failed:
        return None
    root = np.asfortranarray(lapack.dtrtri(lower, lower=1)[0])
    white = blas.dtrmm(1.0, root, m.T, lower=1)  # columns M_i, whitened
    var = np.einsum("ij,ij->j", white, white)
    var = np.where(var > 0, var, diag / (1 + diag * tau))
    pushed = white @ nu if prior is None else white @ nu + root @ prior.shift
    mean = pushed @ white
    log_det = 2 * float(np.log(np.diagonal(lower)).sum()) - log_det
    factor = LowRankSiteFactor(m, tau, root, log_det, root.T @ pushed)
    return factor, nu - tau * mean, mean, var


def root_of_precision(scaled: Array) -> Array:
    """Lower triangle L with ``L L' = I + scaled' scaled``, the product never formed: QR keeps what squares round away.

    Several times the work of a Cholesky decomposition, for where that fails.
    """
    rank = scaled.shape[1]
    (upper,) = qr(np.vstack([scaled, np.eye(rank)]), mode="r", check_finite=False)
    return np.asfortranarray((upper[:rank] * np.where(np.diagonal(upper) < 0, -1.0, 1.0)[:, None]).T)


def _factorise(gram: Array, diag: Array, tau: Array) -> tuple[SiteFactor, Array] | None:
    """Root of W = (K + T^-1)^-1 and the marginal variances ``diag(K - K W K)``.

    Positive precisions go through ``B = I + T^1/2 K T^1/2 = L L'`` and ``plus = L^-1 T^1/2``; negative ones (rows N,
    few) are downdated afterwards: with C their covariance so far and ``Q = (I - W K)[:, N]``,
    ``W -= Q (|T_N|^-1 - C)^-1 Q'``, which needs the bracket to be positive definite.
    """
    n = len(tau)
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
    factor = SiteFactor(plus, np.empty((n, 0), order="F"), log_det)
    if weak.size:
        var[weak] = diag[weak] - factor.explain(np.asfortranarray(gram[:, weak]))

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
        factor = SiteFactor(plus, minus, log_det)
    return factor, var


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
