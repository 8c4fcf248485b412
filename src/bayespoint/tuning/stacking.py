"""Several models instead of one: weights that make the left-out labels most probable under their mixture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from .._core.typing import Array
from .climb import Candidate, Model

__all__ = ["stacking_weights", "warm_start"]

_PRIOR = 3.0  # rows' worth of indifference between the models
_ROUNDS = 1000
_STILL = 1e-7


def stacking_weights(log_densities: Array, weights: Array | None = None) -> Array:
    """Weights on the simplex that maximise ``sum_i log sum_m w_m p_m(y_i | all other rows)``, a little shrunken.

    By expectation maximisation, which never makes it smaller; the shrinkage is that of three further rows which all
    models explain alike (Yao, Vehtari, Simpson & Gelman 2018 call this stacking of predictive distributions).

    Parameters
    ----------
    log_densities : ndarray of shape (n, n_models)
        Leave-one-out log-probabilities of the labels under each model.
    weights : ndarray of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_models,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.tuning import stacking_weights
    >>> good, bad = np.full(100, np.log(0.9)), np.full(100, np.log(0.4))
    >>> stacking_weights(np.stack([good, bad], axis=1)).round(2)
    array([0.97, 0.03])
    """
    n_models = log_densities.shape[1]
    rows = np.ones(len(log_densities)) if weights is None else weights
    densities = np.exp(log_densities - log_densities.max(axis=1, keepdims=True))
    share = np.full(n_models, 1 / n_models)
    for _ in range(_ROUNDS):
        parts = densities * share
        parts *= (rows / parts.sum(axis=1))[:, None]
        new = (parts.sum(axis=0) + _PRIOR / n_models) / (rows.sum() + _PRIOR)
        if np.abs(new - share).max() < _STILL:
            return np.asarray(new)
        share = new
    return share


def warm_start(model: Model, tuned: Sequence[Candidate]) -> tuple[Model, Candidate | None]:
    """A model that begins where a Gaussian kernel tuned before it ended, and that: one length scale is all groups'."""
    width = _length_scales(model)
    for other in reversed(tuned):
        if width and _length_scales(other.model) == 1:
            amplitude, scale, *rest = other.model.theta
            theta = np.r_[amplitude, np.full(width, scale), rest]
            return model.at(np.clip(theta, *model.bounds.T)), other
    return model, None


def _length_scales(model: Model) -> int:
    """How many there are in an amplitude times a Gaussian kernel; none for another kernel."""
    inner = getattr(model.kernel.k1, "kernel", None)
    shape = getattr(inner, "k2", None)
    return int(shape.n_dims) if isinstance(shape, RBF) else 0
