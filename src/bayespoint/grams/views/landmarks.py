"""The view by a few points that stand for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lapack, solve_triangular
from sklearn.gaussian_process.kernels import Kernel

from ..._core.typing import Array
from ..._core.words import told_briefly
from ...kernels import contract_gradient, kernel_values
from ..cholesky import pivoted_cholesky
from ..factor import FeaturePoints, LowRank
from ..rows import stacked
from .view import GramSlope, as_seen, slope_of_residuals

__all__ = ["Landmarks"]

_JITTER = 1e-12  # of the prior variance, on the diagonal of the landmarks


@told_briefly()
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
    >>> view = Landmarks.among(X, RBF(1.0), tolerance=1e-8, rng=0)
    >>> view.gram(RBF(1.0)).rank < 15
    True
    """

    X: Any
    landmarks: Any
    keeps_residual: bool = True

    is_exact: ClassVar[bool] = False
    has_coordinates: ClassVar[bool] = True
    saw_rows: ClassVar[bool] = True

    @classmethod
    def among(
        cls, X: Any, kernel: Kernel, *, max_rank: int | None = None, tolerance: float = 1e-6, rng: Any = None
    ) -> Landmarks:
        """Choose landmarks among the points, see `bayespoint.grams.pivoted_cholesky`."""
        return cls(X, X[pivoted_cholesky(kernel, X, max_rank=max_rank, tolerance=tolerance, rng=rng).pivots])

    def gram(self, kernel: Kernel) -> LowRank:
        """Features of the points, and the variance that each point has beside them."""
        points = self.new(kernel)(self.X)
        return LowRank(points.features, residual=points.residual if self.keeps_residual else None)

    def new(self, kernel: Kernel) -> Callable[[Any], FeaturePoints]:
        """New points by their features."""
        triangle = self._triangle(kernel)

        def points(Z: Any) -> FeaturePoints:
            values = kernel_values(kernel, Z, self.landmarks)
            solved: Array = solve_triangular(triangle, values.T, lower=True, check_finite=False, overwrite_b=True)
            return FeaturePoints(solved.T, kernel.diag(Z))

        return points

    def over(self, X: Any) -> Landmarks:
        """The same for other points."""
        return replace(self, X=X)

    def spanned(self, kernel: Kernel) -> tuple[Any, Array | None]:
        """The landmarks: no other point is needed."""
        triangle = self._triangle(kernel)
        inverse: Array = solve_triangular(triangle, np.eye(len(triangle)), lower=True)
        return as_seen(kernel, self.landmarks), inverse.T

    def mapped(self, function: Callable[[Any], Any], X: Any) -> Landmarks:
        """The same in other coordinates of the inputs, in which the points are `X`."""
        return replace(self, X=X, landmarks=function(self.landmarks))

    def grown(
        self, kernel: Kernel, *, max_rank: int | None = None, tolerance: float = 1e-6, rng: Any = None
    ) -> Landmarks:
        """With more landmarks among the points, where those so far leave too much out; the old ones come first."""
        start = self.new(kernel)(self.X).features
        found = pivoted_cholesky(kernel, self.X, max_rank=max_rank, tolerance=tolerance, rng=rng, start=start)
        return replace(self, landmarks=stacked(self.landmarks, self.X[found.pivots]))

    def slope(self, kernel: Kernel, gradients: Sequence[GramSlope]) -> Array:
        """Derivative in ``kernel.theta``.

        With ``A = K_xz K_zz^-1`` the Gram matrix changes by ``dK_xz A' + A dK_zx - A dK_zz A'``.
        """
        triangle = self._triangle(kernel)
        features = gradients[0].features
        g = np.sum([gradient.by_factor() for gradient in gradients], axis=0)  # 2 G M
        outer = solve_triangular(triangle, g.T, lower=True, trans=1).T  # 2 G A
        inner = 0.5 * solve_triangular(triangle, features.T @ outer, lower=True, trans=1)  # A'G A
        slope = contract_gradient(kernel, self.X, outer, self.landmarks)
        slope -= contract_gradient(kernel, self.landmarks, 0.5 * (inner + inner.T))
        return slope + slope_of_residuals(kernel, self.X, gradients)

    def _triangle(self, kernel: Kernel) -> Array:
        gram = kernel_values(kernel, self.landmarks)
        scale = float(np.mean(np.diagonal(gram)))
        for power in range(10):  # landmarks of one kernel may be next to dependent under another
            gram.flat[:: len(gram) + 1] += _JITTER * 10.0**power * scale
            lower, failed = lapack.dpotrf(gram, lower=1)
            if not failed:
                return np.asarray(lower)
        raise np.linalg.LinAlgError("The landmarks have no positive definite Gram matrix.")
