"""Weak hyper-priors: log-normal around values that make sense whatever the data, so that no ridge has no end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Exponentiation, Kernel, KernelOperator

from .._core.typing import Array
from .._core.words import told_briefly
from ..kernels import OnFeatures, Spectral

__all__ = ["HyperPrior", "weak_hyper_prior"]

_VARIANCE = 4.0  # of the latent function, in units of softness, around which amplitudes are
_ROWS = 256  # sparse ones that are arrays at a time
_SPREADS: Mapping[str, float] = {"amplitude": 2.0, "length scale": 1.0, "power": 1.0, "noise": 1.0, "softness": 1.0}
_RATIOS: Mapping[str, float] = {"number": 0.5, "gap": 0.5, "nominal": 1.0}  # of one length scale to their mean


@told_briefly()
@dataclass(frozen=True, eq=False)
class HyperPrior:
    """A Gaussian over log-parameters; those without a prior have precision zero.

    Parameters
    ----------
    mean : ndarray of shape (n_parameters,)
        Where it has its maximum.
    precision : ndarray of shape (n_parameters, n_parameters)
        Inverse of the covariance.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.tuning import HyperPrior
    >>> prior = HyperPrior(np.zeros(1), np.eye(1))
    >>> prior.log_density(np.array([2.0])), prior.gradient(np.array([2.0]))
    (-2.0, array([-2.]))
    """

    mean: Array
    precision: Array

    def log_density(self, theta: Array) -> float:
        """Beside that of its maximum."""
        away = theta - self.mean
        return float(-0.5 * away @ self.precision @ away)

    def gradient(self, theta: Array) -> Array:
        """Of the log-density."""
        gradient: Array = -self.precision @ (theta - self.mean)
        return gradient


def weak_hyper_prior(
    kernel: Kernel, X: Any, likelihood: Any, free: Sequence[str] = (), weights: Array | None = None
) -> HyperPrior:
    """The prior of a kernel with bias whose parameters are where a search begins.

    In logarithms: amplitudes are such that the latent function has a variance of four (in units of softness) on
    average, give or take a factor of e^2 as one standard deviation; so is the squared bias around where it starts;
    length scales around where they start, their mean within a factor of e and the ratio of each to that mean within
    e^0.5 (e for nominal columns); noise, softness and the power of a `Spectral` kernel within a factor of e. Other
    parameters have none. Rows of `X` count by their weights, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import Step
    >>> from bayespoint.kernels import with_bias
    >>> from bayespoint.tuning import weak_hyper_prior
    >>> kernel = with_bias(1.0 * RBF(3.0), 1.0, tuned=True)
    >>> np.exp(weak_hyper_prior(kernel, np.zeros((2, 1)), Step(softness=1.0)).mean).round(3)
    array([4., 3., 1.])
    """
    shape = kernel.k1
    by_blocks = sparse.issparse(X) and shape.requires_vector_input
    variance = float(np.average(_diagonal(shape, X) if by_blocks else shape.diag(X), weights=weights))
    lift = np.log(_VARIANCE / variance) if variance > 0 else 0.0  # no kernel, as will be said elsewhere
    blocks = [*_blocks(shape, lift), *_blocks(kernel.k2, 0.0)]
    blocks += [(np.log([getattr(likelihood, name)]), np.array([[_SPREADS[name] ** -2]])) for name in free]
    means, precisions = zip(*blocks, strict=True) if blocks else ((), ())
    return HyperPrior(np.concatenate([np.empty(0), *means]), block_diag(*precisions) if blocks else np.empty((0, 0)))


def _diagonal(kernel: Kernel, X: Any) -> Array:
    """Kernel value of each sparse row with itself; kernels of scikit-learn take them as arrays, some at a time."""
    blocks = (X[start : start + _ROWS].toarray() for start in range(0, X.shape[0], _ROWS))
    return np.concatenate([kernel.diag(block) for block in blocks])


def _blocks(kernel: Kernel, lift: float, kinds: Sequence[str] = ()) -> Iterator[tuple[Array, Array]]:
    """Means and precisions of the parameters of a kernel, leaf by leaf in the order of `theta`."""
    if isinstance(kernel, OnFeatures):
        yield from _blocks(kernel.kernel, lift, kernel.features.kinds)
    elif isinstance(kernel, KernelOperator):
        yield from _blocks(kernel.k1, lift, kinds)
        yield from _blocks(kernel.k2, lift, kinds)
    elif isinstance(kernel, Exponentiation):
        yield from _blocks(kernel.kernel, lift, kinds)
    elif kernel.n_dims and isinstance(kernel, ConstantKernel):
        yield kernel.theta + lift, np.array([[_SPREADS["amplitude"] ** -2]])
    elif kernel.n_dims and isinstance(kernel, RBF):  # Matern is one, too
        count = kernel.n_dims
        ratios = [_RATIOS[kind] for kind in kinds] if len(kinds) == count else [_RATIOS["number"]] * count
        own = np.diag(np.square(ratios)) if count > 1 else np.zeros((1, 1))  # beside what they share
        yield kernel.theta, np.asarray(np.linalg.inv(_SPREADS["length scale"] ** 2 + own), dtype=float)
    elif kernel.n_dims and isinstance(kernel, Spectral):
        yield kernel.theta, np.array([[_SPREADS["power"] ** -2]])
    elif kernel.n_dims:
        yield kernel.theta, np.zeros((kernel.n_dims, kernel.n_dims))
