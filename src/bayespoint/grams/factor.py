"""A Gram matrix by its factor, and the Gaussian that sites make of it: Cholesky in the dimensions of its columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import blas, lapack, pinv, qr
from sklearn.gaussian_process.kernels import DotProduct

from .._core.memory import refuse_beyond_memory
from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from .classes import FactorClasses, factor_classes, site_precision
from .coordinates import NaturalGaussian
from .gram import ROUNDING, MadeByView, OneByOne, WithTriangle, above_rounding
from .rows import KernelRows

__all__ = ["FeaturePoints", "LowRank"]


@told_briefly()
@dataclass(frozen=True, eq=False)
class LowRank(MadeByView):
    """A Gram matrix ``M M'`` given by its factor: latents are ``f = M w`` with coordinates ``w ~ N(0, I)``.

    Parameters
    ----------
    factor : array-like of shape (n, rank)
        The rows M: features of a linear kernel, or a Cholesky factor.
    prior : NaturalGaussian, optional
        Prior of the coordinates w if it is not N(0, I): what other rows have told about them. Only expectation
        propagation takes one.
    residual : array-like of shape (n,), optional
        Prior variance of each row's latent that its coordinates do not have, each row's own and independent of all
        others (fully independent training conditional): the prior is that of the Gram matrix
        ``M M' + diag(residual)``, and a row that counts twice has two of them. Posteriors are over the coordinates:
        latents at the training points come without the residual. All engines take it into account but two:
        `Perceptrons` refuse it, and `Margin` keeps its margins in the coordinates alone.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import EP
    >>> from bayespoint.grams import FeaturePoints, LowRank
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> posterior = EP().infer(Problem(LowRank(X), [1, 1, 1], Step(softness=1.0)))
    >>> bool(np.all(posterior.at(FeaturePoints(np.eye(2))).mean > 0))
    True
    """

    factor: Array
    prior: NaturalGaussian | None = None
    residual: Array | None = None

    _values: ClassVar[str] = "factor"

    def __post_init__(self) -> None:
        factor = np.ascontiguousarray(self.factor, dtype=np.float64)
        if factor.ndim != 2 or not np.isfinite(factor).all():
            raise InvalidProblemError("The factor of a low-rank Gram matrix must be a finite matrix, one row a point.")
        if self.prior is not None and len(self.prior.shift) != factor.shape[1]:
            raise InvalidProblemError(
                f"The prior is over {len(self.prior.shift)} coordinates, but the rows have {factor.shape[1]}."
            )
        if self.residual is not None:
            residual = np.asarray(self.residual, dtype=np.float64)
            if residual.shape != (len(factor),) or not np.all(residual >= 0):
                raise InvalidProblemError(f"residual must be {len(factor)} variances of at least 0, one for each row.")
            object.__setattr__(self, "residual", residual)
        object.__setattr__(self, "factor", factor)

    def __len__(self) -> int:
        return len(self.factor)

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.factor)

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return self.factor.shape[1]

    @cached_property
    def diag(self) -> Array:
        """Prior variances, without residuals."""
        m = self.factor
        return np.einsum("ij,ij->i", m if self.prior is None else m @ self.prior.covariance, m)

    @cached_property
    def dense(self) -> Array:
        """``M M'``, residuals left out."""
        refuse_beyond_memory(self.size, 1, "use an engine that works on the factor, such as EP, or fewer rows")
        return self._standard().factor @ self.factor.T

    @property
    def signature(self) -> Array:
        """The factor."""
        return self.factor

    def part(self, rows: Any) -> LowRank:
        """The same for some of the points."""
        return LowRank(self.factor[rows], self.prior, None if self.residual is None else self.residual[rows])

    def times(self, weights: Array) -> Array:
        """``M M' a``."""
        used = np.flatnonzero(weights)
        times: Array = self._standard().factor @ (weights[used] @ self.factor[used])
        return times

    def root(self, most: float = 1.0) -> Array:
        """The factor as it is."""
        return self._standard().factor

    def whitened(self) -> FactorRoot:
        """The factor as it is."""
        return FactorRoot(self._standard().factor)

    def weights(self, rows: Any, alpha: Array) -> Array:
        """Coordinates."""
        weights: Array = alpha @ self.factor[rows]
        return weights

    def length(self, weights: Array) -> float:
        """Of coordinates."""
        return float(np.linalg.norm(weights))

    def conditioned(self, tau: Array, nu: Array) -> FactorGaussian | None:
        """The prior times sites, by ``P + M'T M = L L'`` in O(n r^2), P the precision of the prior or I."""
        m, prior = self.factor, self.prior
        precision = np.eye(self.rank) if prior is None else prior.precision
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
        variance = np.einsum("ij,ij->j", white, white)
        if not variance.all():
            squares = np.einsum("ij,ij->i", m, m)
            lifted = np.where(squares > 0, squares, ROUNDING * (squares.max(initial=0.0) or 1.0))
            variance = np.where(variance > 0, variance, lifted / (1 + lifted * tau))
        pushed = white @ nu if prior is None else white @ nu + root @ prior.shift
        mean = pushed @ white
        log_det = 2 * float(np.log(np.diagonal(lower)).sum()) - (0.0 if prior is None else prior.log_det)
        return FactorGaussian(self, tau, nu, root, log_det, root.T @ pushed, nu - tau * mean, mean, variance)

    def conditioned_classes(self, sites: Array, nu: Array) -> FactorClasses | None:
        """The prior of several classes times sites."""
        precision = site_precision(sites) if sites.ndim == 2 else sites
        return factor_classes(self._standard().factor, precision, nu)

    def expansion(self, new: FeaturePoints, rows: Any, weights: Array) -> Array:
        """Values at new points of functions that are expansions in some of the training points."""
        values: Array = new.features @ (self._standard().factor[rows].T @ weights)
        return values

    def appended(self, new: FeaturePoints) -> LowRank:
        """With new points as further rows."""
        residual = None if self.residual is None else np.r_[self.residual, new.residual]
        return LowRank(np.vstack([self.factor, new.features]), self.prior, residual)

    def by_rows(self) -> KernelRows:
        """Inner products of the rows of the factor."""
        return KernelRows(DotProduct(0.0, "fixed"), self._standard().factor)

    def _standard(self) -> LowRank:
        """The matrix itself, if its coordinates are N(0, I)."""
        if self.prior is not None:
            raise InvalidProblemError(
                "Only expectation propagation takes a prior of the coordinates that is not N(0, I): use the EP engine."
            )
        return self


@told_briefly()
@dataclass(frozen=True, eq=False)
class FeaturePoints:
    """New points by their coordinates.

    Parameters
    ----------
    features : array-like of shape (n_points, rank)
        Coordinates.
    diag : array-like of shape (n_points,), optional
        Kernel value of each point with itself; the squared length of its features by default.
    prior : ndarray of shape (n_points, n_points), optional
        Kernel values of the points with each other; products of the features by default.

    Examples
    --------
    >>> from bayespoint.grams import FeaturePoints
    >>> FeaturePoints([[1.0, 2.0]]).diag
    array([5.])
    """

    features: Array
    diag: Array = None  # type: ignore[assignment]
    prior: Array | None = None

    def __post_init__(self) -> None:
        features = np.asarray(self.features, dtype=np.float64)
        diag = np.einsum("ij,ij->i", features, features) if self.diag is None else np.asarray(self.diag, np.float64)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "diag", diag)

    def __len__(self) -> int:
        return len(self.features)

    def together(self, prior: Array) -> FeaturePoints:
        """The same, with their kernel values with each other."""
        return replace(self, prior=prior)

    def among_many(self, asked: int) -> FeaturePoints:
        """Many are asked for as few are."""
        return self

    @property
    def among(self) -> Array:
        """Kernel values of the new points with each other."""
        if self.prior is None:
            among = self.features @ self.features.T
            among.flat[:: len(among) + 1] = self.diag
            return among
        return self.prior

    @property
    def residual(self) -> Array:
        """Prior variance that the features do not have."""
        return np.maximum(self.diag - np.einsum("ij,ij->i", self.features, self.features), 0.0)


@told_briefly()
@dataclass(frozen=True, eq=False)
class FactorGaussian(WithTriangle):
    """Sites on ``f = M w``: coordinates have posterior covariance ``(P + M'T M)^-1 = root' root`` and mean `centre`.

    What it can do is told by `Conditioned`; `shrunk` is for the evidence's derivative in the factor.
    """

    gram: LowRank
    tau: Array
    nu: Array
    root: Array
    log_det: float
    centre: Array
    alpha: Array
    mean: Array
    variance: Array

    _triangle: ClassVar[str] = "root"

    @property
    def weights(self) -> Array:
        return self.centre

    @property
    def log_ratio(self) -> float:
        value = -0.5 * self.log_det + 0.5 * float((self.nu * self.mean).sum())
        prior = self.gram.prior
        return value if prior is None else value + 0.5 * float(prior.shift @ (self.centre - prior.mean))

    def at(self, new: FeaturePoints) -> tuple[Array, Array]:
        """What its features do not have of the prior's variance stays with each point."""
        left = blas.dtrmm(1.0, self.root, new.features.T, lower=1)
        own = new.diag - np.einsum("ij,ij->i", new.features, new.features)
        variance = own + np.einsum("ij,ij->j", left, left)
        return new.features @ self.centre, above_rounding(variance, new.diag)

    def explained(self) -> tuple[Array | None, Array | None]:
        """All of the features' variance, and what is left of it."""
        return np.eye(len(self.centre)), self.root.T

    def jointly_at(self, new: FeaturePoints) -> tuple[Array, Array]:
        left = blas.dtrmm(1.0, self.root, new.features.T, lower=1)
        return new.features @ self.centre, new.among - new.features @ new.features.T + left.T @ left

    def with_training(self, new: FeaturePoints) -> Array:
        covariance: Array = new.features @ (self.root.T @ (self.root @ self.gram.factor.T))
        return covariance

    @cached_property
    def covariance(self) -> Array:
        """Without residuals."""
        left = blas.dtrmm(1.0, self.root, self.gram.factor.T, lower=1)
        covariance: Array = left.T @ left
        return covariance

    def precision_change(self) -> Array:
        """``W = T - T M (I + M'T M)^-1 M'T``."""
        scaled = self._scaled()
        w: Array = np.diag(self.tau) - blas.dgemm(1.0, scaled, scaled, trans_a=1)
        return w

    def shrunk(self) -> Array:
        """``W M = T M (I + M'T M)^-1``."""
        shrunk: Array = blas.dtrmm(1.0, self.root, self._scaled(), lower=1, trans_a=1, overwrite_b=1).T
        return shrunk

    def _scaled(self) -> Any:
        return blas.dtrmm(1.0, self.root, np.asfortranarray((self.tau[:, None] * self.gram.factor).T), lower=1)

    def one_by_one(self) -> OneByOne:
        return OneByOne(self.centre.copy(), self.root.T @ self.root, self.gram.factor)

    @cached_property
    def coordinates(self) -> NaturalGaussian:
        """The prior of rows still to come."""
        prior = NaturalGaussian.standard(self.gram.rank) if self.gram.prior is None else self.gram.prior
        return prior + NaturalGaussian.of_sites(self.gram.factor, self.tau, self.nu)


@told_briefly()
@dataclass(frozen=True, eq=False)
class FactorRoot:
    """The factor of a low-rank Gram matrix, whose coordinates are those of new points, too."""

    factor: Array

    def features(self, new: Any) -> Array:
        features: Array = new.features
        return features

    def coordinates(self, latents: Array) -> Array:
        """Those whose latents are closest."""
        nearest: Array = self._inverse @ latents
        return nearest

    def weights(self, w: Array) -> Array:
        return w

    def expansion(self, w: Array) -> Array:
        """The shortest expansion in the training points, of the part of the function that is in their span."""
        spanned: Array = w @ self._inverse
        return spanned

    @cached_property
    def _inverse(self) -> Array:
        inverse: Array = pinv(self.factor)
        return inverse

    def with_row(self, features: Array, own: float) -> FactorRoot:
        """One more row; what its features do not have is left out, as it is of all others."""
        return replace(self, factor=np.vstack([self.factor, features]))


def root_of_precision(scaled: Array) -> Array:
    """Lower triangle L with ``L L' = I + scaled' scaled``, the product never formed: QR keeps what squares round away.

    Several times the work of a Cholesky decomposition, for where that fails.
    """
    rank = scaled.shape[1]
    (upper,) = qr(np.vstack([scaled, np.eye(rank)]), mode="r", check_finite=False)
    return np.asfortranarray((upper[:rank] * np.where(np.diagonal(upper) < 0, -1.0, 1.0)[:, None]).T)
