"""Which arrays are Gram matrices, and which are but for rounding."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, lapack

from .._core.telling import tell
from .._core.typing import Array
from ..exceptions import InvalidProblemError

__all__ = ["check_gram", "mended_gram"]

_SLIGHT = 1e-8  # of the largest entry (times n for eigenvalues): what is mended, or borne where it cannot be
_ROUNDING = 1e-13  # the same, of what nobody is told


def check_gram(gram: Array) -> None:
    """Raise with one sentence unless `gram` is finite, symmetric and positive semi-definite up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.grams import check_gram
    >>> check_gram(np.array([[1.0, 2.0], [2.0, 1.0]]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bayespoint.exceptions.InvalidProblemError: The kernel is not positive semi-definite ...
    """
    if not np.isfinite(gram).all():
        raise InvalidProblemError(
            "The Gram matrix has NaN or infinite entries: check the kernel, or rescale the features "
            "(for example with StandardScaler)."
        )
    scale = float(np.abs(gram).max(initial=0.0))
    if np.abs(gram - gram.T).max(initial=0.0) > _SLIGHT * scale:
        raise InvalidProblemError("The Gram matrix is not symmetric; a kernel must satisfy k(x, z) = k(z, x).")
    if scale > 1e150:
        raise InvalidProblemError(f"Kernel values reach {scale:.1g}, too large to square: rescale the features.")
    if 0 < scale < 1e-150:
        raise InvalidProblemError(f"Kernel values reach only {scale:.1g}, too small to square: rescale the features.")
    shifted = gram + len(gram) * _SLIGHT * scale * np.eye(len(gram))
    if scale > 0 and lapack.dpotrf(shifted.T, lower=1, overwrite_a=1, clean=0)[1] != 0:
        lowest = float(eigh(gram, eigvals_only=True, subset_by_index=[0, 0])[0])
        raise InvalidProblemError(
            f"The kernel is not positive semi-definite (lowest eigenvalue of the Gram matrix {lowest:.3g}): "
            "use a valid kernel, or clip the negative eigenvalues of a precomputed one."
        )


def mended_gram(gram: Array) -> Array:
    """A Gram matrix given by a user, refused as by `check_gram`, and mended where it is off by no more than rounding.

    A matrix that is not quite symmetric becomes its mean with its transpose; negative eigenvalues of one that is
    slightly indefinite become zero. Whoever gave it is told by how much, if double precision does not explain it.
    """
    check_gram(gram)
    scale = float(np.abs(gram).max(initial=0.0))
    apart = float(np.abs(gram - gram.T).max(initial=0.0))
    if apart > 0:
        gram = 0.5 * (gram + gram.T)
    if apart > len(gram) * _ROUNDING * scale:
        tell(
            f"The Gram matrix is not quite symmetric: entries differ by up to {apart:.1g}, and their means are used.",
            stacklevel=4,
        )
    shifted = gram + len(gram) * _ROUNDING * scale * np.eye(len(gram))
    if scale == 0 or lapack.dpotrf(shifted.T, lower=1, overwrite_a=1, clean=0)[1] == 0:
        return gram
    values, vectors = eigh(gram)
    lowest = float(values[0])
    mended: Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
    mended = 0.5 * (mended + mended.T)
    changed = float(np.abs(mended - gram).max())
    tell(
        f"The Gram matrix is slightly indefinite (lowest eigenvalue {lowest:.1g}): negative eigenvalues were set to "
        f"zero, which changed entries by up to {changed:.1g}.",
        stacklevel=4,
    )
    return mended
