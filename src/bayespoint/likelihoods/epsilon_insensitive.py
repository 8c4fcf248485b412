"""The likelihood of support vector regression (Sollich, section 2): real outputs, no problem of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.typing import Array
from ..exceptions import InvalidProblemError

__all__ = ["epsilon_insensitive"]


def epsilon_insensitive(y: Any, latent: Any, C: float = 1.0, epsilon: float = 0.1) -> Array:
    """Log-density ``log kappa(C, epsilon) - C max(|y - latent| - epsilon, 0)`` of real outputs y.

    What Vapnik's loss says of outputs, normalised over all of them: ``kappa = C / (2 (1 + C epsilon))``, whatever the
    latent. It is here beside the hinge, which has no such constant; engines and estimators take labels alone.

    Parameters
    ----------
    y, latent : array-like
        Outputs and latents, of shapes that go together.
    C : float, default=1.0
        How steeply the density falls outside the tube.
    epsilon : float, default=0.1
        Half the width of the tube, 0 or more.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from bayespoint.likelihoods import epsilon_insensitive
    >>> epsilon_insensitive([0.0, 0.4, 1.5], 0.0, C=2.0, epsilon=0.5).round(2)
    array([-0.69, -0.69, -2.69])
    """
    if not (0 < C < np.inf and 0 <= epsilon < np.inf):
        raise InvalidProblemError(f"C must be above 0 and epsilon not below it, both finite: {C!r}, {epsilon!r}.")
    beyond = np.maximum(np.abs(np.asarray(y, dtype=np.float64) - latent) - epsilon, 0.0)
    log_density: Array = np.log(C / (2 * (1 + C * epsilon))) - C * beyond
    return log_density
