"""What every view of training points is, and what those that are not exact leave out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from ..._core.typing import Array
from ..._core.words import told_briefly
from ...kernels import by_differences
from ...kernels.tables import without_features
from ..gram import Gram

__all__ = ["Approximation", "GramSlope", "View", "WholeKernel", "approximation", "as_seen", "slope_of_residuals"]


class GramSlope(Protocol):
    """The derivative of some quantity in the Gram matrix."""

    @property
    def by_residual(self) -> Array | None:
        """In each row's residual."""
        ...

    def by_gram(self) -> Array:
        """The symmetric matrix G with ``dQ = sum_ij G_ij dK_ij``."""
        ...

    def by_factor(self) -> Array:
        """``2 G M`` for a Gram matrix ``M M'``: in its factor."""
        ...

    @property
    def features(self) -> Array:
        """The factor M."""
        ...


class View(Protocol):
    """Training points, in the form in which their Gram matrix is worked on."""

    @property
    def X(self) -> Any:
        """The points."""
        ...

    is_exact: ClassVar[bool]  # whether nothing of the kernel is left out
    has_coordinates: ClassVar[bool]  # whether latents are products of few features
    saw_rows: ClassVar[bool]  # whether the view itself was chosen by looking at the points

    def gram(self, kernel: Kernel) -> Gram:
        """Gram matrix of the points."""
        ...

    def new(self, kernel: Kernel) -> Callable[[Any], Any]:
        """The map from new points to the form in which posteriors of such Gram matrices take them."""
        ...

    def spanned(self, kernel: Kernel) -> tuple[Any, Array | None]:
        """Points P and a matrix T with ``r = T'k(P, z)``, kernel values or features of a point z.

        They are in the form in which the kernel sees them: features, if it makes any.
        """
        ...

    def over(self, X: Any) -> View:
        """The same for other points."""
        ...

    def mapped(self, function: Callable[[Any], Any], X: Any) -> View:
        """The same in other coordinates of the inputs, in which the points are `X`."""
        ...

    def slope(self, kernel: Kernel, gradients: Sequence[GramSlope]) -> Array:
        """Derivative in ``kernel.theta`` from derivatives in the Gram matrix."""
        ...


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


def approximation(view: View, kernel: Kernel) -> Approximation:
    """What a view that is not exact leaves out at its points."""
    points = view.new(kernel)(view.X)
    prior, left = points.diag, points.residual
    safe = np.maximum(prior, np.finfo(float).tiny)
    rank, share = points.features.shape[1], float(left.sum() / max(prior.sum(), 1e-300))
    return Approximation(rank, len(prior), share, float((left / safe).max()))


@told_briefly()
@dataclass(frozen=True, eq=False)
class WholeKernel:
    """What views have in common that are their points and no more: they leave nothing of the kernel out."""

    X: Any

    is_exact: ClassVar[bool] = True
    has_coordinates: ClassVar[bool] = False
    saw_rows: ClassVar[bool] = False

    def spanned(self, kernel: Kernel) -> tuple[Any, Array | None]:
        """The points as they are."""
        return as_seen(kernel, self.X), None

    def over(self, X: Any) -> Self:
        """The same for other points."""
        return replace(self, X=X)

    def mapped(self, function: Callable[[Any], Any], X: Any) -> Self:
        """The same in other coordinates of the inputs, in which the points are `X`."""
        return self.over(X)


def as_seen(kernel: Kernel, X: Any) -> Any:
    """Points as the kernel sees them."""
    _, features = without_features(kernel)
    return X if features is None else features(X)


def slope_of_residuals(kernel: Kernel, X: Any, gradients: Sequence[GramSlope]) -> Array:
    """Derivative in ``kernel.theta`` by the prior variance of rows that keep what features leave out of it."""
    by_residual = [gradient.by_residual for gradient in gradients if gradient.by_residual is not None]
    if not by_residual:
        return np.zeros(kernel.n_dims)
    own = np.sum(by_residual, axis=0)
    return by_differences(kernel, lambda varied: float(own @ varied.diag(X)))
