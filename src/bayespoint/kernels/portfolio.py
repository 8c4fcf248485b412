"""The kernels that ``kernel="auto"`` tries on a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.gaussian_process.kernels import RBF, DotProduct, Kernel

from .._core.typing import Array, Matrix
from .directions import Directions, Spectral
from .features import Features, kinds_of_columns
from .objects import amplitude
from .tables import GroupedRBF, OnFeatures

__all__ = ["is_wide", "table_kernel", "table_kernels", "wide_kernels"]

_FEW = 12  # numbers in a column up to which they may stand for names
_ROWS_EACH = 5  # that each of these numbers has at least on average
_MANY_COLUMNS = 1000  # beyond which rows go by their leading directions
_MANY_GROUPS = 200  # beyond which length scales are not chosen one by one


def table_kernel(X: Array, nominal: Sequence[int] = (), weights: Array | None = None) -> Kernel:
    """A Gaussian kernel with one length scale, every column in its own spread.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import table_kernel
    >>> table_kernel(np.array([[1.0, 1e6], [2.0, 3e6], [4.0, 2e6], [8.0, 7e6]]))
    OnFeatures(1**2 * RBF(length_scale=1.41))
    """
    return _isotropic(Features(X, kinds_of_columns(X, nominal), weights=weights))


def table_kernels(X: Array, nominal: Sequence[int] = (), weights: Array | None = None) -> dict[str, Kernel]:
    """Kernels for the columns of a table, the cheap ones first, by what a reader would call them.

    A linear kernel; then Gaussian ones with one length scale for all columns, or one for each (a hyper-prior keeps
    these together); of numbers by their values, and by their ranks, which heavy tails do not disturb. Numbers of a
    column that has few of them may be names: they are categories for the linear kernel and beside ranks.

    Parameters
    ----------
    X : ndarray of shape (n, n_columns)
        Training rows; nominal columns as numbers that stand for their values, NaN where there is a gap.
    nominal : sequence of int
        Which columns are known to be nominal.
    weights : ndarray of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    dict of str to Kernel

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import table_kernels
    >>> list(table_kernels(np.random.default_rng(0).standard_normal((50, 3))))
    ['linear', 'isotropic', 'relevance', 'isotropic on ranks', 'relevance on ranks']
    """
    rows = float(len(X) if weights is None else weights.sum())
    few = min(_FEW, int(rows / _ROWS_EACH))
    kinds, as_names = kinds_of_columns(X, nominal), kinds_of_columns(X, nominal, few=few)
    values = Features(X, kinds, weights=weights)
    linear = OnFeatures(amplitude() * DotProduct(0.0, "fixed"), Features(X, as_names, weights=weights))
    found: dict[str, Kernel] = {"linear": linear} | _pair("", values)
    if is_wide(X):
        found |= wide_kernels(Directions(X, values, weights))
    if "number" in kinds:
        found |= _pair(" on ranks", Features(X, as_names, ranked=True, weights=weights))
    return found


def is_wide(X: Matrix) -> bool:
    """Whether rows have so many columns that a linear machine should not treat all directions alike.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import is_wide
    >>> is_wide(np.zeros((50, 3))), is_wide(np.zeros((50, 300)))
    (False, True)
    """
    return bool(X.shape[1] >= X.shape[0] or X.shape[1] > _MANY_COLUMNS)


def wide_kernels(directions: Directions) -> dict[str, Kernel]:
    """Kernels for rows of many columns, by their directions: a linear one, and a Gaussian one if these are all.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import Directions, wide_kernels
    >>> wide_kernels(Directions(np.random.default_rng(0).standard_normal((20, 500))))["linear"]
    OnFeatures(1**2 * Spectral(power=1))
    """
    linear = Spectral(variances=directions.variances, beside=directions.beside)
    found = {"linear": OnFeatures(amplitude() * linear, directions)}
    if not directions.beside:
        scale = float(np.sqrt(directions.variances.sum()))
        found["isotropic"] = OnFeatures(amplitude() * RBF(scale, (scale / 100, scale * 100)), directions)
    return found


def _pair(suffix: str, features: Features) -> dict[str, Kernel]:
    """With one length scale, and with one for each group."""
    found = {f"isotropic{suffix}": _isotropic(features)}
    if 1 < len(features.kinds) <= _MANY_GROUPS:
        scale, bounds = _length_scale(features)
        inner = GroupedRBF(np.full(len(features.kinds), scale), bounds, features.groups)
        found[f"relevance{suffix}"] = OnFeatures(amplitude() * inner, features)
    return found


def _isotropic(features: Features) -> Kernel:
    return OnFeatures(amplitude() * RBF(*_length_scale(features)), features)


def _length_scale(features: Features) -> tuple[float, tuple[float, float]]:
    """Start and bounds: the distance of two rows is of this size."""
    start = float(np.sqrt(max(len(features.kinds), 1)))
    return start, (start / 100, start * 100)
