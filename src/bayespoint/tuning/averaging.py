"""Several sets of hyper-parameters instead of the best one: draws around the maximum of the evidence, weighted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.random import as_generator
from .._core.telling import heard_by, nobody
from .._core.typing import Array
from ..problem import Weights
from .climb import Candidate, infer_candidate

__all__ = ["Weighted", "plausible_candidates"]

_STEP = 0.02  # of differences of the gradient, in log-parameters
_WIDEST = 1.0  # largest standard deviation of a log-parameter: flat evidence is no licence to go anywhere
_NEGLIGIBLE = 1e-3


class Weighted(NamedTuple):
    """A candidate and its share of the evidence.

    Examples
    --------
    >>> from bayespoint.tuning import Weighted
    >>> Weighted(candidate=None, weight=0.5).weight
    0.5
    """

    candidate: Candidate
    weight: float


def plausible_candidates(
    best: Candidate,
    X: Any,
    targets: Sequence[Array],
    weights: Weights | None,
    engine: Any,
    *,
    count: int = 16,
    rng: Any = None,
) -> list[Weighted]:
    """Draw hyper-parameters around the maximum of the evidence and weight them by it.

    Log-parameters have a flat prior within their bounds. Proposals are a Gaussian with the curvature of the evidence at
    its maximum, in pairs on either side of it; weights are those of importance sampling. Parameters that sit on a bound
    stay there. Where `best` is the maximum of another evidence (a normalised one), the slope that is left at `best` is
    taken out.

    Parameters
    ----------
    best : Candidate
        The maximum.
    X, targets, weights
        Training data, as for `maximise_evidence`.
    engine : EP
        With a log-evidence and its gradient.
    count : int, default=16
        How many sets to draw; those with next to no weight are left out.
    rng : int, Generator, RandomState or None
        Source of randomness.

    Returns
    -------
    list of Weighted
        Weights sum to one; the heaviest first.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import Step
    >>> from bayespoint.tuning import plausible_candidates
    >>> from bayespoint.engines import EP
    >>> from bayespoint.tuning import Model, maximise_evidence
    >>> X = np.linspace(-2, 2, 20)[:, None]
    >>> targets = [np.sign(X[:, 0] + 0.1)]
    >>> best = maximise_evidence(Model(4.0 * RBF(1.0), Step(softness=1.0)), X, targets)
    >>> sets = plausible_candidates(best, X, targets, None, EP(), rng=0)
    >>> round(sum(one.weight for one in sets), 6)
    1.0
    """
    around = _Neighbourhood(best, X, targets, weights, engine)
    if not around.free.size:
        return [Weighted(best, 1.0)]
    z = as_generator(rng).standard_normal((-(-count // 2), around.free.size))
    z = np.concatenate([z, -z])[:count]
    shifts = z @ around.scale().T
    inside = around.contains(shifts)
    found = [around.at(shift) for shift in shifts[inside]]
    if not found:
        return [Weighted(best, 1.0)]
    log_weights = np.array([c.log_evidence for c in found]) + 0.5 * np.square(z[inside]).sum(axis=1)
    log_weights -= shifts[inside] @ around.gradient(np.zeros(around.free.size))
    share = np.exp(log_weights - log_weights.max())
    share[share < _NEGLIGIBLE * share.sum()] = 0.0
    share /= share.sum()
    return [Weighted(found[k], float(share[k])) for k in np.argsort(-share) if share[k] > 0]


class _Neighbourhood:
    """Hyper-parameters around a maximum of the evidence, as shifts of the log-parameters that are on no bound."""

    def __init__(self, best: Candidate, X: Any, targets: Any, weights: Any, engine: Any) -> None:
        self.best, self.data = best, (X, targets, weights, engine)
        self.centre, self.bounds = best.model.theta, best.model.bounds
        self.free = np.flatnonzero((self.centre > self.bounds[:, 0] + 1e-6) & (self.centre < self.bounds[:, 1] - 1e-6))

    def at(self, shift: Array) -> Candidate:
        theta = self.centre.copy()
        theta[self.free] += shift
        with heard_by(nobody):  # rough patches around it
            return infer_candidate(self.best.model.at(theta), *self.data, start=self.best)

    def contains(self, shifts: Array) -> Any:
        theta = self.centre[self.free] + shifts
        return np.all((theta >= self.bounds[self.free, 0]) & (theta <= self.bounds[self.free, 1]), axis=1)

    def scale(self) -> Array:
        """Root of the covariance that the curvature stands for."""
        steps = _STEP * np.eye(len(self.free))
        slopes = [self.gradient(step) - self.gradient(-step) for step in steps]
        curvature = -np.array(slopes) / (2 * _STEP)
        values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
        root: Array = vectors / np.sqrt(np.maximum(values, _WIDEST**-2))
        return root

    def gradient(self, shift: Array) -> Array:
        gradient: Array = self.at(shift).evidence_gradient()[self.free]
        return gradient
