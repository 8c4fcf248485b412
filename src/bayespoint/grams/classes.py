"""Latents of several classes with one Gram matrix, and the Gaussian that sites of rows make of them.

A site of a row is ``exp(nu'f - f'P f / 2)`` in its C latents, ``P = diag(pi) - pi pi' / sum(pi)``: what is left of
``sum_c pi_c (v - f_c)^2`` when a common level v is integrated out. Given all v the classes are independent, so that the
work is that of C matrices of n rows and of one for v (Rasmussen & Williams 2006, section 3.5, where pi are
probabilities): with ``D_c = diag(pi_c)`` and ``E_c = (K + D_c^-1)^-1`` the level v has precision ``Q = sum_c E_c``, and
the latents have the covariance

    K [c = d] - K (E_c [c = d] - E_c Q^-1 E_d) K.

On a factor M the C r coordinates have a precision of ``I [c = d] + M' diag(P_cd) M``: O(n C^2 r^2 + C^3 r^3). That way
P may be any matrix, which is what label noise asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import blas, lapack

from .._core.files import packed_triangle, parts_of, unpacked_triangle
from .._core.typing import Array
from .gram import above_rounding

__all__ = [
    "ConditionedClasses",
    "DenseClasses",
    "FactorClasses",
    "RootClasses",
    "dense_classes",
    "factor_classes",
    "site_precision",
]

_TILE = 128  # columns that are turned into rows at a time
_WEAK = 1e-5  # share of a latent's variance that a site must explain for the short way to its moments


class ConditionedClasses(Protocol):
    """The Gaussian that sites make of the latents of several classes."""

    @property
    def alpha(self) -> Array:
        """Weights of the means in ``sum_i alpha_ic k(., x_i)``, of shape (n, C)."""
        ...

    @property
    def weights(self) -> Array:
        """The means as functions: `alpha`, or the coordinates of a factor, of shape (rank, C)."""
        ...

    @property
    def mean(self) -> Array:
        """Of the latents at the training points, of shape (n, C)."""
        ...

    @property
    def covariance(self) -> Array:
        """Of the latents of the classes at each training point, of shape (n, C, C)."""
        ...

    @property
    def log_ratio(self) -> float:
        """Logarithm of the integral of the prior times the sites."""
        ...

    def mean_under(self, gram: Any, nu: Array) -> Array:
        """What `mean` would be with other shifts of the sites and the same precisions: O(C n^2), or O(n C r)."""
        ...

    def at(self, new: Any) -> tuple[Array, Array]:
        """Mean and covariance of the latents of the classes at each new point."""
        ...

    def jointly_at(self, new: Any) -> tuple[Array, Array]:
        """Mean (m, C) and covariance (m C, m C) of all latents at the new points."""
        ...

    def precision_change(self) -> Array:
        """``sum_c W_c``, W_c the change of precision of class c, of shape (n, n)."""
        ...


def site_precision(pi: Array) -> Array:
    """``diag(pi) - pi pi' / sum(pi)`` of each row, by its off-diagonals: pi may be of very different sizes."""
    precision = -pi[:, :, None] * pi[:, None, :] / pi.sum(axis=1)[:, None, None]
    index = np.arange(pi.shape[1])
    precision[:, index, index] = 0.0
    precision[:, index, index] = -precision.sum(axis=2)
    return precision


@dataclass(frozen=True, eq=False)
class DenseClasses:
    """``E_c = plus_c' plus_c - minus_c minus_c'`` for each class and ``Q^-1 = level' level``, with lower triangles."""

    plus: tuple[Array, ...]
    minus: tuple[Array, ...]
    level: Array
    alpha: Array
    mean: Array
    covariance: Array
    log_ratio: float

    def __getstate__(self) -> dict[str, Any]:
        packed = {"plus": tuple(map(packed_triangle, self.plus)), "level": packed_triangle(self.level)}
        return parts_of(self) | packed

    def __setstate__(self, state: dict[str, Any]) -> None:
        plus, level = tuple(map(unpacked_triangle, state["plus"])), unpacked_triangle(state["level"])
        vars(self).update(state | {"plus": plus, "level": level})

    @property
    def weights(self) -> Array:
        """The means as expansions."""
        return self.alpha

    def mean_under(self, gram: Any, nu: Array) -> Array:
        """By the values of the Gram matrix."""
        first = self._each(gram.dense @ nu)
        common = self.level.T @ (self.level @ first.sum(axis=1))
        return np.asarray(gram.dense @ (nu - first + self._each(np.tile(common[:, None], nu.shape[1]))))

    def _each(self, x: Array) -> Array:
        """``E_c x_c`` for each class c and column of x."""
        return np.hstack([self._pulled(c, np.asfortranarray(x[:, c : c + 1])) for c in range(x.shape[1])])

    def at(self, new: Any) -> tuple[Array, Array]:
        """Mean and covariance at each new point."""
        cross = np.asfortranarray(np.asarray(new.cross, dtype=np.float64).T)
        n_classes = len(self.plus)
        covariance = np.zeros((cross.shape[1], n_classes, n_classes))
        shared = []
        for c, (plus, minus) in enumerate(zip(self.plus, self.minus, strict=True)):
            white = blas.dtrmm(1.0, plus, cross, lower=1)
            own = new.diag - np.einsum("ij,ij->j", white, white)
            pulled = blas.dtrmm(1.0, plus, white, lower=1, trans_a=1)
            if minus.shape[1]:
                left = minus.T @ cross
                own = own + np.einsum("ij,ij->j", left, left)
                pulled -= minus @ left
            shared.append(blas.dtrmm(1.0, self.level, pulled, lower=1))
            covariance[:, c, c] = above_rounding(own, new.diag)
        _add_products(covariance, shared)
        return cross.T @ self.alpha, covariance

    def jointly_at(self, new: Any) -> tuple[Array, Array]:
        """Mean and covariance of all latents at the new points."""
        cross = np.asfortranarray(np.asarray(new.cross, dtype=np.float64).T)
        shared = [blas.dtrmm(1.0, self.level, self._pulled(c, cross), lower=1) for c in range(len(self.plus))]
        own = [new.among - cross.T @ self._pulled(c, cross) for c in range(len(self.plus))]
        return cross.T @ self.alpha, _joint(own, shared)

    def _pulled(self, c: int, x: Array) -> Array:
        """``E_c x``."""
        pulled = blas.dtrmm(1.0, self.plus[c], blas.dtrmm(1.0, self.plus[c], x, lower=1), lower=1, trans_a=1)
        minus = self.minus[c]
        return np.asarray(pulled - minus @ (minus.T @ x) if minus.shape[1] else pulled)

    def precision_change(self) -> Array:
        """``sum_c E_c - E_c Q^-1 E_c``."""
        n = len(self.alpha)
        total = np.zeros((n, n), order="F")
        for plus, minus in zip(self.plus, self.minus, strict=True):
            precision = precision_of(plus, minus)
            total += precision
            shared = blas.dtrmm(1.0, self.level, precision, lower=1)
            total = blas.dgemm(-1.0, shared, shared, trans_a=1, beta=1.0, c=total, overwrite_c=1)
        return total


def dense_classes(gram: Array, pi: Array, nu: Array, factorise: Any) -> DenseClasses | None:
    """The prior times sites; `factorise` takes one class apart. None if that is no proper Gaussian."""
    n, n_classes = pi.shape
    parts, precisions, log_det = [], [], -float(np.log(pi.sum(axis=1)).sum())
    total = np.zeros((n, n), order="F")
    for c in range(n_classes):
        built = factorise(gram, pi[:, c])
        if built is None:
            return None
        log_det += built[2]
        parts.append(built)
        precisions.append(precision_of(*built[:2]))
        total += precisions[c]
    lower, failed = lapack.dpotrf(total, lower=1, overwrite_a=1)
    if failed:
        return None
    log_det += 2 * float(np.log(np.diagonal(lower)).sum())
    level = np.asfortranarray(lapack.dtrtri(lower, lower=1, overwrite_c=1)[0])
    pushed = gram @ nu
    first = np.stack([blas.dsymv(1.0, one, pushed[:, c], lower=1) for c, one in enumerate(precisions)], axis=1)
    common = level.T @ (level @ first.sum(axis=1))
    alpha = nu - first + np.stack([blas.dsymv(1.0, one, common, lower=1) for one in precisions], axis=1)
    mean = gram @ alpha
    covariance = np.zeros((n, n_classes, n_classes))
    for c in range(n_classes):
        covariance[:, c, c] = parts[c][3]
        precisions[c] = _pulled_to_latents(level, precisions[c], gram, pi[:, c])
    _add_products(covariance, precisions)
    log_ratio = -0.5 * log_det + 0.5 * float((nu * mean).sum())
    plus, minus = tuple(part[0] for part in parts), tuple(part[1] for part in parts)
    return DenseClasses(plus, minus, level, alpha, mean, covariance, log_ratio)


def _pulled_to_latents(level: Array, precision: Array, gram: Array, pi: Array) -> Array:
    """``level E K = level (I - E D^-1)``, in place of E; columns where D is next to nothing are worked out directly."""
    weak = np.flatnonzero(~(np.abs(pi) * np.diagonal(gram) > _WEAK))
    pulled: Array = blas.dtrmm(1.0, level, precision, lower=1, overwrite_b=1)
    direct = blas.dgemm(1.0, pulled, np.asfortranarray(gram[:, weak])) if weak.size else None
    with np.errstate(divide="ignore", invalid="ignore"):
        pulled *= -1 / pi
        pulled += level
    if direct is not None:
        pulled[:, weak] = direct
    return pulled


def precision_of(plus: Array, minus: Array) -> Array:
    """``plus' plus - minus minus'`` for a lower triangle `plus`."""
    precision: Array = lapack.dlauum(plus, lower=1)[0]
    n = len(precision)
    for start in range(0, n, _TILE):  # the upper triangle from the lower one
        stop = min(start + _TILE, n)
        corner = precision[start:stop, start:stop]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        precision[start:stop, stop:] = precision[stop:, start:stop].T
    if minus.shape[1]:
        precision = blas.dgemm(-1.0, minus, minus, trans_b=1, beta=1.0, c=precision, overwrite_c=1)
    return precision


def _add_products(covariance: Array, columns: list[Array]) -> None:
    """Add ``columns_c[:, i] . columns_d[:, i]`` to each point i and pair of classes."""
    for c, one in enumerate(columns):
        for d in range(c + 1):
            products = np.einsum("ij,ij->j", one, columns[d])
            covariance[:, c, d] += products
            if c != d:
                covariance[:, d, c] += products


def _joint(own: list[Array], columns: list[Array]) -> Array:
    """Covariance of all latents at some points: blocks (c, d) in the order (point, class)."""
    n_classes, m = len(own), own[0].shape[0]
    joint = np.empty((m, n_classes, m, n_classes))
    for c in range(n_classes):
        for d in range(n_classes):
            joint[:, c, :, d] = columns[c].T @ columns[d] + (own[c] if c == d else 0.0)
    return joint.reshape(m * n_classes, m * n_classes)


@dataclass(frozen=True, eq=False)
class FactorClasses:
    """Coordinates of all classes, class by class: covariance ``root' root`` with a lower triangle, mean `weights`."""

    factor: Array
    sites: Array
    root: Array
    alpha: Array
    weights: Array
    mean: Array
    covariance: Array
    log_ratio: float

    def __getstate__(self) -> dict[str, Any]:
        return parts_of(self) | {"root": packed_triangle(self.root)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"root": unpacked_triangle(state["root"])})

    def at(self, new: Any) -> tuple[Array, Array]:
        """What features do not have of the prior's variance stays with each point and class."""
        own = new.diag - np.einsum("ij,ij->i", new.features, new.features)
        covariance = self._covariances(new.features)
        index = np.arange(covariance.shape[1])
        covariance[:, index, index] = above_rounding(covariance[:, index, index] + own[:, None], new.diag[:, None])
        return new.features @ self.weights, covariance

    def jointly_at(self, new: Any) -> tuple[Array, Array]:
        """Mean and covariance of all latents at the new points."""
        own = [new.among - new.features @ new.features.T] * self.weights.shape[1]
        return new.features @ self.weights, _joint(own, self._white(new.features))

    def mean_under(self, gram: Any, nu: Array) -> Array:
        """In coordinates."""
        return np.asarray(self.factor @ _coordinates(self.root, self.factor, nu))

    def _white(self, features: Array) -> list[Array]:
        rank = features.shape[1]
        return [self.root[:, start : start + rank] @ features.T for start in range(0, len(self.root), rank)]

    def precision_change(self) -> Array:
        """Over all classes."""
        total = np.zeros((len(self.sites), len(self.sites)))
        for precision, scaled in self._scaled():
            total += np.diag(precision) - scaled.T @ scaled
        return total

    def shrunk(self) -> Array:
        """`precision_change` times the factor, ``sum_cd P_cd M S_dc``: with that precision S is no more than this."""
        total = np.zeros_like(self.factor)
        for c, d, product in self._spread_of(self.factor):
            total += self.sites[:, c, d][:, None] * product
        return total

    def _spread_of(self, features: Array) -> Iterator[tuple[int, int, Array]]:
        """For each pair of classes ``M S_cc``, or ``M (S_cd + S_dc)``: S is the covariance of the coordinates."""
        rank = features.shape[1]
        lower, n_classes = self._spread, self.weights.shape[1]
        for d, c in combinations_with_replacement(range(n_classes), 2):
            block = lower[c * rank : (c + 1) * rank, d * rank : (d + 1) * rank]
            block = np.tril(block) + np.tril(block, -1).T if c == d else block + block.T
            yield c, d, blas.dgemm(1.0, block, features.T).T  # the block is symmetric

    @cached_property
    def _spread(self) -> Array:
        """``root' root``, the lower triangle."""
        return np.asarray(lapack.dlauum(self.root, lower=1)[0])

    def _covariances(self, features: Array) -> Array:
        """Between the classes at each point, of what features have."""
        covariance = np.empty((len(features), *2 * (self.weights.shape[1],)))
        for c, d, product in self._spread_of(features):
            shared = np.einsum("ij,ij->i", product, features)
            covariance[:, c, d] = covariance[:, d, c] = shared if c == d else 0.5 * shared
        return covariance

    def _scaled(self) -> Iterator[tuple[Array, Array]]:
        """For each class c ``P_cc``, and A with ``W_c = P_cc - A'A``."""
        white = self._white(self.factor)
        for c in range(self.sites.shape[1]):
            scaled = sum(one * self.sites[:, c, d] for d, one in enumerate(white))
            yield self.sites[:, c, c], np.asarray(scaled)


def factor_classes(m: Array, sites: Array, nu: Array) -> FactorClasses | None:
    """The prior of a Gram matrix ``m m'`` times sites of precision (n, C, C). None if that is no proper Gaussian."""
    (n, rank), n_classes = m.shape, nu.shape[1]
    precision = np.zeros((rank * n_classes, rank * n_classes), order="F")
    for c in range(n_classes):
        for d in range(c + 1):
            block = blas.dgemm(1.0, (m * sites[:, c, d][:, None]).T, m.T, trans_b=1)
            precision[c * rank : (c + 1) * rank, d * rank : (d + 1) * rank] = block
    precision.flat[:: len(precision) + 1] += 1.0
    lower, failed = lapack.dpotrf(precision, lower=1, overwrite_a=1)
    if failed:
        return None
    root = np.asfortranarray(lapack.dtrtri(lower, lower=1)[0])
    weights = _coordinates(root, m, nu)
    mean = m @ weights
    alpha = nu - np.einsum("icd,id->ic", sites, mean)
    log_ratio = -float(np.log(np.diagonal(lower)).sum()) + 0.5 * float((nu * mean).sum())
    covariance = np.empty((n, n_classes, n_classes))
    found = FactorClasses(m, sites, root, alpha, weights, mean, covariance, log_ratio)
    covariance[:] = found._covariances(m)
    index = np.arange(n_classes)
    prior = np.einsum("ij,ij->i", m, m)[:, None]
    covariance[:, index, index] = above_rounding(covariance[:, index, index], prior)
    return found


def _coordinates(root: Array, factor: Array, nu: Array) -> Array:
    """Means of the coordinates of each class, of shape (rank, C)."""
    pushed = (factor.T @ nu).T.ravel()
    return np.asarray((root.T @ (root @ pushed)).reshape(nu.shape[1], -1).T)


@dataclass(frozen=True, eq=False)
class RootClasses:
    """`FactorClasses` of a root of a Gram matrix that is known by its values, as new points are."""

    coordinates: FactorClasses
    whitened: Any

    @property
    def alpha(self) -> Array:
        """Weights of the means."""
        return self.coordinates.alpha

    @property
    def weights(self) -> Array:
        """The same."""
        return self.coordinates.alpha

    @property
    def mean(self) -> Array:
        """At the training points."""
        return self.coordinates.mean

    @property
    def covariance(self) -> Array:
        """At the training points."""
        return self.coordinates.covariance

    @property
    def log_ratio(self) -> float:
        """Of the integral of the prior times the sites."""
        return self.coordinates.log_ratio

    def mean_under(self, gram: Any, nu: Array) -> Array:
        """In coordinates."""
        return self.coordinates.mean_under(gram, nu)

    def at(self, new: Any) -> tuple[Array, Array]:
        """By the features of new points."""
        return self.coordinates.at(_Featured(self.whitened.features(new), new.diag))

    def jointly_at(self, new: Any) -> tuple[Array, Array]:
        """By the features of new points."""
        return self.coordinates.jointly_at(_Featured(self.whitened.features(new), new.diag, new.among))

    def precision_change(self) -> Array:
        """Over all classes."""
        return self.coordinates.precision_change()


class _Featured(NamedTuple):
    """New points by their features."""

    features: Array
    diag: Array
    among: Any = None
