"""Which view suits a kernel and a number of points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.gaussian_process.kernels import Kernel

from ..._core.random import as_generator
from ..._core.telling import tell
from ...kernels import linear_features, spectral_leaf
from .landmarks import Landmarks
from .linear import Linear, Range, leading_directions, linear_view
from .view import View, approximation
from .whole import Exact

__all__ = ["SHARE", "choose_view", "largest_rank", "may_take_landmarks", "view_by_features"]

_MANY_ROWS = 1500  # from which a thousand landmarks pay
_MUCH = 0.3  # of the prior variance that is left out, of which people should know
_MOST_LANDMARKS = 1000  # that are chosen without being asked for
_BEARABLE = 10_000  # rows up to which the exact Gram matrix is worth recommending
SHARE = 1e-3  # of the prior variance that may be left out


def choose_view(
    kernel: Kernel,
    X: Any,
    max_rank: int | str | None,
    linear_from: int = 0,
    rng: Any = None,
    *,
    rough: int | None = None,
) -> View:
    """The form of the Gram matrix that suits a kernel and a number of points.

    A linear kernel with fewer features than points goes by its features, which is exact. Beyond 1,500 points
    landmarks stand for all, as many as leave out a thousandth of the prior variance and a thousand at the most; each
    point keeps the variance that they leave out.

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
    rough : int, optional
        So many landmarks will do, without what they leave out: to climb the evidence by.

    Returns
    -------
    View

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import choose_view
    >>> X = np.linspace(0, 1, 2000)[:, None]
    >>> len(choose_view(RBF(0.2), X, "auto").landmarks) < 30
    True
    >>> type(choose_view(RBF(0.2), X, None)).__name__
    'Exact'
    """
    n = X.shape[0]
    linear_from = linear_from if rough is None else 0
    wants_linear = linear_from == 0 or max_rank is not None
    spectral = spectral_leaf(kernel)
    if spectral is not None and (leading := leading_directions(kernel, spectral, X, linear_from, rough)) is not None:
        return leading
    if wants_linear and linear_from < n > X.shape[1] + 1 and (linear := linear_view(kernel, X)) is not None:
        return linear
    if max_rank is None or not (may_take_landmarks(n, max_rank) or (rough is not None and n > rough)):
        return Exact(X)
    auto = max_rank == "auto"
    limit = _MOST_LANDMARKS if auto else int(max_rank)
    most = limit if rough is None else min(limit, rough)
    view = Landmarks.among(X, kernel, max_rank=most, tolerance=SHARE, rng=as_generator(0 if rng is None else rng))
    if rough is not None:
        return replace(view, keeps_residual=False)
    if not auto:
        return view
    found = approximation(view, kernel)
    if found.left_out > _MUCH:
        exact = ", or set it to None for the exact Gram matrix" if n <= _BEARABLE else ""
        tell(
            f"Low rank: {found}; raise max_rank{exact}.",
            stacklevel=2,
        )
    return view


def may_take_landmarks(n: int, max_rank: int | str | None) -> bool:
    """Whether landmarks may stand for n points."""
    return max_rank is not None and (max_rank != "auto" or n > _MANY_ROWS)


def largest_rank(
    kernel: Kernel, X: Any, max_rank: int | str | None, linear_from: int = 0, *, rough: int | None = None
) -> int:
    """The rank at the most that `choose_view` will give the Gram matrix, told without making it."""
    n = X.shape[0]
    linear_from = linear_from if rough is None else 0
    if n > linear_from and max_rank is not None and (features := linear_features(kernel, X[:1])) is not None:
        return min(n, features.shape[1])
    if max_rank is None or not (may_take_landmarks(n, max_rank) or (rough is not None and n > rough)):
        return n
    limit = _MOST_LANDMARKS if max_rank == "auto" else int(max_rank)
    return min(n, limit) if rough is None else min(n, limit, rough)


def view_by_features(
    kernel: Kernel, X: Any, *, max_rank: int | None = None, tolerance: float = SHARE, rng: Any = None
) -> Linear | Range | Landmarks:
    """Features of a linear kernel as they are, of any other kernel by landmarks among the points.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint.grams import view_by_features
    >>> len(view_by_features(RBF(1.0), np.linspace(0, 1, 100)[:, None], rng=0).landmarks) < 10
    True
    """
    linear = linear_view(kernel, X)
    return linear or Landmarks.among(X, kernel, max_rank=max_rank, tolerance=tolerance, rng=rng)
