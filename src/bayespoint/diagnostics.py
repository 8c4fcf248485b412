"""Can these draws be trusted? Effective sample size, R-hat and Monte Carlo error, all from arviz-stats."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._core.extras import needed
from ._core.telling import tell
from ._core.typing import Array
from .exceptions import InvalidProblemError
from .posteriors import SampledPosterior

__all__ = ["Diagnosis", "diagnose", "ess", "mcse", "rhat", "warn_if_poor"]


class Diagnosis(NamedTuple):
    """The worst figures over a posterior's latents.

    Examples
    --------
    >>> from bayespoint.diagnostics import Diagnosis
    >>> Diagnosis(rhat=1.01, ess=400.0).ess
    400.0
    """

    rhat: float
    ess: float


def ess(values: Array) -> Array:
    """Effective number of independent draws of each quantity.

    Parameters
    ----------
    values : ndarray of shape (chain, draw, ...)
        Draws.

    Returns
    -------
    ndarray
        One figure a quantity (bulk effective sample size).

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.diagnostics import ess
    >>> bool(ess(np.random.default_rng(0).normal(size=(4, 500))) > 1500)
    True
    """
    return _statistics().ess(_long_enough(values, 1), chain_axis=0, draw_axis=1, method="bulk")


def rhat(values: Array) -> Array:
    """Split R-hat of each quantity: near 1 if the chains agree.

    Parameters
    ----------
    values : ndarray of shape (chain, draw, ...)
        Draws of at least two chains.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.diagnostics import rhat
    >>> bool(rhat(np.random.default_rng(0).normal(size=(4, 500))) < 1.01)
    True
    """
    return _statistics().rhat(_long_enough(values, 2), chain_axis=0, draw_axis=1)


def mcse(values: Array) -> Array:
    """Monte Carlo standard error of the mean of each quantity.

    Parameters
    ----------
    values : ndarray of shape (chain, draw, ...)
        Draws.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.diagnostics import mcse
    >>> round(float(mcse(np.random.default_rng(0).normal(size=(4, 2500)))), 3)
    0.01
    """
    return _statistics().mcse(_long_enough(values, 1), chain_axis=0, draw_axis=1, method="mean")


def diagnose(posterior: SampledPosterior) -> Diagnosis:
    """Worst R-hat and effective sample size over latents at up to 20 training points and the radius.

    Parameters
    ----------
    posterior : SampledPosterior
        Draws of at least two chains.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.diagnostics import diagnose
    >>> from bayespoint.engines import Billiard
    >>> bool(diagnose(Billiard(draws=500).infer(Problem(np.eye(3), [1, 1, -1], Step()), rng=0)).rhat < 1.05)
    True
    """
    rows = np.unique(np.linspace(0, posterior.problem.size - 1, 20).round().astype(int))
    latents = np.matmul(posterior.coordinates, posterior.white.factor[rows].T)
    radius = np.linalg.norm(posterior.coordinates, axis=-1, keepdims=True)
    values = np.concatenate([latents, radius], axis=-1)
    values = values[..., np.ptp(values, axis=(0, 1)) > 0]  # a latent that is always zero has nothing to mix
    if not values.shape[-1]:
        return Diagnosis(1.0, float(values.shape[0] * values.shape[1]))
    return Diagnosis(float(np.max(rhat(values))), float(np.min(ess(values))))


def warn_if_poor(posterior: SampledPosterior) -> None:
    """Warn if R-hat exceeds 1.05 or the effective sample size is below 100; silent without arviz-stats or chains.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.diagnostics import warn_if_poor
    >>> from bayespoint.engines import Billiard
    >>> warn_if_poor(Billiard(draws=500).infer(Problem(np.eye(3), [1, 1, -1], Step()), rng=0))
    """
    chains, draws = posterior.coordinates.shape[:2]
    if chains < 2 or draws < _SHORTEST:
        return
    try:
        found = diagnose(posterior)
    except ImportError:
        return
    if found.rhat > 1.05 or found.ess < 100:
        tell(
            f"The chains have not mixed (R-hat {found.rhat:.2f}, effective sample size {found.ess:.0f}): take more "
            "draws or warmup before trusting these probabilities.",
            stacklevel=3,
        )


_SHORTEST = 8


def _long_enough(values: Array, chains: int) -> Array:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim < 2 or values.shape[0] < chains or values.shape[1] < _SHORTEST:
        raise InvalidProblemError(
            f"Too short to say: need at least {chains} chain{'s' if chains > 1 else ''} of {_SHORTEST} draws, "
            f"got shape {values.shape}."
        )
    return values


def _statistics() -> Any:
    return needed("arviz_stats.base", "report", "Diagnostics need arviz-stats").array_stats
