"""The form that the Gram matrix of some points takes, for any kernel: exact, or by features of few dimensions.

A basis makes the Gram matrix of its points under a kernel, brings new points into the form that posteriors of such
problems take (`cross`), and turns the evidence's gradient in the Gram matrix into one in the kernel's parameters.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lapack, solve_triangular
from sklearn.gaussian_process.kernels import Kernel

from .._core.memory import refuse_beyond_memory
from .._core.typing import Array
from ..exceptions import InferenceWarning
from ..kernels import kernel_values
from ..kernels.gradients import by_differences, contract_gradient
from ..kernels.linear import linear_features
from ..posteriors.gaussian import EvidenceGradient
from ..problem import LowRank, as_generator
from .cholesky import pivoted_cholesky
from .rows import CrossRows, KernelRows

__all__ = [
    "Approximation",
    "Basis",
    "Exact",
    "Landmarks",
    "Linear",
    "Rows",
    "as_basis",
    "choose_basis",
    "few_features",
    "linear_or_none",
    "may_take_landmarks",
]

_JITTER = 1e-12  # of the prior variance, on the diagonal of the landmarks
_MANY = 1000  # rows from which landmarks may pay
_TOO_MANY = 4000  # rows from which they are taken even if they leave out more than they should
_LARGEST = 1000  # landmarks that are chosen without being asked for
_ROUGH = 200  # landmarks to climb the evidence by
_COPIES = 3  # of the Gram matrix that inference on it holds at the same time
_BEARABLE = 10_000  # rows up to which the exact Gram matrix is worth recommending
SHARE = 1e-3  # of the prior variance that may be left out


class Approximation(NamedTuple):
    """What a low-rank Gram matrix leaves out, measured.

    Attributes
    ----------
    rank : int
        Dimensions of the features.
    rows : int
        Training rows.
    left_out : float
        Share of the prior variance at the training rows that the features do not have, on average.
    largest : float
        The same at the row where it is largest.

    Examples
    --------
    >>> from bayespoint.grams import Approximation
    >>> print(Approximation(rank=300, rows=10_000, left_out=2e-5, largest=1e-3))
    rank 300 for 10,000 rows; 0.002 % of the prior variance is left out, 0.1 % at most
    """

    rank: int
    rows: int
    left_out: float
    largest: float

    def __str__(self) -> str:
        return (
            f"rank {self.rank} for {self.rows:,} rows; {100 * self.left_out:.2g} % of the prior variance is left out, "
            f"{100 * self.largest:.2g} % at most"
        )


@dataclass(frozen=True, eq=False)
class Exact:
    """All kernel values of the points with each other.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_features)
        Points, in any form that the kernel takes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import Exact
    >>> Exact(np.zeros((2, 1))).gram(RBF(1.0))
    array([[1., 1.],
           [1., 1.]])
    """

    X: Any

    def gram(self, kernel: Kernel) -> Array:
        """Gram matrix of the points."""
        refuse_beyond_memory(self.X.shape[0], _COPIES, "let landmarks stand for all (max_rank), or take fewer rows")
        return kernel_values(kernel, self.X)

    def crossing(self, kernel: Kernel) -> Callable[[Any], Array]:
        """The map from new points to their kernel values with these."""
        return lambda Z: kernel_values(kernel, Z, self.X)

    def over(self, X: Any) -> Exact:
        """The same for other points."""
        return Exact(X)

    def slope(self, kernel: Kernel, gradients: Sequence[EvidenceGradient]) -> Array:
        """Gradient of the evidence in ``kernel.theta``."""
        return contract_gradient(kernel, self.X, np.sum([gradient.gram() for gradient in gradients], axis=0))


@dataclass(frozen=True, eq=False)
class Linear:
    """The points themselves as features of a linear kernel; nothing is left out.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Points.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.grams import Linear
    >>> from bayespoint.kernels import make_kernel
    >>> X = np.array([[1.0, 2.0]])
    >>> Linear(X).gram(make_kernel("linear", X)).factor
    array([[1., 2.]])
    """

    X: Any

    def gram(self, kernel: Kernel) -> LowRank:
        """Features of the points."""
        return LowRank(_linear(kernel, self.X))

    def crossing(self, kernel: Kernel) -> Callable[[Any], Array]:
        """The map from new points to their features."""
        return lambda Z: _linear(kernel, Z)

    def over(self, X: Any) -> Linear:
        """The same for other points."""
        return Linear(X)

    def slope(self, kernel: Kernel, gradients: Sequence[EvidenceGradient]) -> Array:
        """Gradient of the evidence in ``kernel.theta``."""
        g = np.sum([gradient.root() for gradient in gradients], axis=0)
        return by_differences(kernel, lambda varied: float(np.vdot(g, _linear(varied, self.X))))


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Features ``k(x, landmarks) L^-T`` with ``L L' = k(landmarks, landmarks)``: the part of the prior they determine.

    Parameters
    ----------
    X : array of shape (n, n_features)
        Points.
    landmarks : array of shape (rank, n_features)
        Points that stand for all.
    keeps_residual : bool, default=True
        Whether each point keeps the variance that the landmarks leave out. The evidence is a better guide to the kernel
        without, predictions are better with it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import Landmarks
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> basis = Landmarks.among(X, RBF(1.0), tolerance=1e-8, rng=0)
    >>> basis.gram(RBF(1.0)).factor.shape[1] < 15
    True
    """

    X: Any
    landmarks: Any
    keeps_residual: bool = True

    @classmethod
    def among(
        cls, X: Any, kernel: Kernel, *, max_rank: int | None = None, tolerance: float = 1e-6, rng: Any = None
    ) -> Landmarks:
        """Choose landmarks among the points, see `bayespoint.grams.pivoted_cholesky`."""
        return cls(X, X[pivoted_cholesky(kernel, X, max_rank=max_rank, tolerance=tolerance, rng=rng).pivots])

    def gram(self, kernel: Kernel) -> LowRank:
        """Features of the points, and the variance that each point has beside them."""
        features = self.crossing(kernel)(self.X)
        return LowRank(features, residual=self.residual(kernel, self.X, features) if self.keeps_residual else None)

    @staticmethod
    def residual(kernel: Kernel, X: Any, features: Array) -> Array:
        """Prior variance of points that their features do not have."""
        left: Array = kernel.diag(X) - np.einsum("ij,ij->i", features, features)
        return np.maximum(left, 0.0)

    def crossing(self, kernel: Kernel) -> Callable[[Any], Array]:
        """The map from new points to their features."""
        triangle = self._triangle(kernel)

        def features(Z: Any) -> Array:
            values = kernel_values(kernel, Z, self.landmarks)
            solved: Array = solve_triangular(triangle, values.T, lower=True, check_finite=False, overwrite_b=True)
            return solved.T

        return features

    def over(self, X: Any) -> Landmarks:
        """The same for other points."""
        return replace(self, X=X)

    def grown(
        self, kernel: Kernel, *, max_rank: int | None = None, tolerance: float = 1e-6, rng: Any = None
    ) -> Landmarks:
        """With more landmarks among the points, where those so far leave too much out; the old ones come first."""
        start = self.crossing(kernel)(self.X)
        found = pivoted_cholesky(kernel, self.X, max_rank=max_rank, tolerance=tolerance, rng=rng, start=start)
        return replace(self, landmarks=_stacked(self.landmarks, self.X[found.pivots]))

    def slope(self, kernel: Kernel, gradients: Sequence[EvidenceGradient]) -> Array:
        """Gradient of the evidence in ``kernel.theta``.

        With ``A = K_xz K_zz^-1`` the Gram matrix changes by ``dK_xz A' + A dK_zx - A dK_zz A'``.
        """
        triangle = self._triangle(kernel)
        features = self.crossing(kernel)(self.X)
        g = np.sum([gradient.root() for gradient in gradients], axis=0)  # 2 G M
        outer = solve_triangular(triangle, g.T, lower=True, trans=1).T  # 2 G A
        inner = 0.5 * solve_triangular(triangle, features.T @ outer, lower=True, trans=1)  # A'G A
        slope = contract_gradient(kernel, self.X, outer, self.landmarks)
        slope -= contract_gradient(kernel, self.landmarks, 0.5 * (inner + inner.T))
        by_residual = [gradient.by_residual for gradient in gradients if gradient.by_residual is not None]
        if by_residual:
            own = np.sum(by_residual, axis=0)
            slope += by_differences(kernel, lambda varied: float(own @ varied.diag(self.X)))
        return slope

    def approximation(self, kernel: Kernel) -> Approximation:
        """What the features leave out at the points."""
        prior = np.asarray(kernel.diag(self.X), dtype=np.float64)
        features = self.crossing(kernel)(self.X)
        left = self.residual(kernel, self.X, features)
        safe = np.maximum(prior, np.finfo(float).tiny)
        return Approximation(
            features.shape[1], len(prior), float(left.sum() / max(prior.sum(), 1e-300)), float((left / safe).max())
        )

    def _triangle(self, kernel: Kernel) -> Array:
        gram = kernel_values(kernel, self.landmarks)
        scale = float(np.mean(np.diagonal(gram)))
        for power in range(10):  # landmarks of one kernel may be next to dependent under another
            gram.flat[:: len(gram) + 1] += _JITTER * 10.0**power * scale
            lower, failed = lapack.dpotrf(gram, lower=1)
            if not failed:
                return np.asarray(lower)
        raise np.linalg.LinAlgError("The landmarks have no positive definite Gram matrix.")


@dataclass(frozen=True, eq=False)
class Rows:
    """Kernel values row by row, when an engine asks for them: the Gram matrix is never held.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_features)
        Points.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from bayespoint.grams import Rows
    >>> Rows(np.array([[1.0], [2.0]])).gram(DotProduct(0.0)).block([1])
    array([[2., 4.]], dtype=float32)
    """

    X: Any

    def gram(self, kernel: Kernel) -> KernelRows:
        """Gram matrix of the points, not yet computed."""
        return KernelRows(kernel, self.X)

    def crossing(self, kernel: Kernel) -> Callable[[Any], CrossRows]:
        """The map from new points to their kernel values with these, computed for points that matter."""
        return KernelRows(kernel, self.X).cross

    def over(self, X: Any) -> Rows:
        """The same for other points."""
        return Rows(X)


def _stacked(X: Any, Z: Any) -> Any:
    if sparse.issparse(X) or sparse.issparse(Z):
        return sparse.vstack([sparse.csr_array(X), sparse.csr_array(Z)], format="csr")
    return np.concatenate([X, Z])


def choose_basis(
    kernel: Kernel, X: Any, max_rank: int | str | None, linear_from: int = 0, rng: Any = None, *, rough: bool = False
) -> Basis:
    """The form of the Gram matrix that suits a kernel and a number of points.

    A linear kernel with fewer features than points goes by its features, which is exact. Beyond 1,000 points
    landmarks stand for all, if a thousand of them leave out less than a thousandth of the prior variance; beyond 4,000
    in any case, with a warning if it is more than a hundredth.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    X : array of shape (n, n_features)
        Points.
    max_rank : int, "auto" or None
        Landmarks at the most; "auto" decides; None is exact.
    linear_from : int, default=0
        Number of points beyond which features of a linear kernel are used; at 0 in any case.
    rng : int, Generator, RandomState or None
        For the choice of landmarks; None is a fixed seed, so that fits can be repeated.
    rough : bool, default=False
        Whether a few landmarks will do.

    Returns
    -------
    Basis

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import choose_basis
    >>> X = np.linspace(0, 1, 2000)[:, None]
    >>> len(choose_basis(RBF(0.2), X, "auto").landmarks) < 30
    True
    >>> type(choose_basis(RBF(0.2), X, None)).__name__
    'Exact'
    """
    n = X.shape[0]
    wants_linear = linear_from == 0 or max_rank is not None
    if wants_linear and linear_from < n > X.shape[1] + 1 and (linear := linear_or_none(kernel, X)) is not None:
        return linear
    if max_rank is None or not may_take_landmarks(n, max_rank):
        return Exact(X)
    auto = max_rank == "auto"
    limit = _LARGEST if auto else int(max_rank)
    basis = Landmarks.among(
        X,
        kernel,
        max_rank=min(limit, _ROUGH) if rough else limit,
        tolerance=SHARE,
        rng=as_generator(0 if rng is None else rng),
    )
    if rough:
        return replace(basis, keeps_residual=False)
    if not auto:
        return basis
    found = basis.approximation(kernel)
    if found.left_out > SHARE and n <= _TOO_MANY:
        return Exact(X)
    if found.left_out > 10 * SHARE:
        exact = ", or set it to None for the exact Gram matrix" if n <= _BEARABLE else ""
        warnings.warn(
            f"Low rank: {found}; raise max_rank{exact}.",
            InferenceWarning,
            stacklevel=2,
        )
    return basis


def may_take_landmarks(n: int, max_rank: int | str | None) -> bool:
    """Whether landmarks may stand for n points.

    Examples
    --------
    >>> from bayespoint.grams import may_take_landmarks
    >>> may_take_landmarks(1000, "auto"), may_take_landmarks(1000, 50), may_take_landmarks(5000, "auto")
    (False, True, True)
    """
    return max_rank is not None and (max_rank != "auto" or n > _MANY)


def few_features(
    kernel: Kernel, X: Any, *, max_rank: int | None = None, tolerance: float = SHARE, rng: Any = None
) -> Linear | Landmarks:
    """Features of a linear kernel as they are, of any other kernel by landmarks among the points.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import few_features
    >>> len(few_features(RBF(1.0), np.linspace(0, 1, 100)[:, None], rng=0).landmarks) < 10
    True
    """
    linear = linear_or_none(kernel, X)
    return linear or Landmarks.among(X, kernel, max_rank=max_rank, tolerance=tolerance, rng=rng)


def linear_or_none(kernel: Kernel, X: Any) -> Linear | None:
    """Features of a linear kernel; None for any other, or for points that are no array.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import linear_or_none
    >>> linear_or_none(RBF(1.0), np.eye(2)) is None
    True
    """
    return None if linear_features(kernel, X[:1]) is None else Linear(X)


def _linear(kernel: Kernel, X: Any) -> Array:
    features = linear_features(kernel, X)
    assert features is not None
    return features


Basis = Exact | Linear | Landmarks | Rows


def as_basis(X: Any) -> Any:
    """Points as an exact basis; a basis as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.grams import as_basis
    >>> type(as_basis(np.eye(2))).__name__
    'Exact'
    """
    return X if hasattr(X, "crossing") else Exact(X)
