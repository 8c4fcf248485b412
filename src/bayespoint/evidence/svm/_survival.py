"""The path to the normalisers that average over inputs, (7) and (29): functions by elliptical slices, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.special import logsumexp

from ..._core.typing import Array
from ...engines.elliptical_slice import Ellipse
from ...exceptions import InvalidProblemError
from ...likelihoods import Hinge, HingeSum
from ...problem import Problem
from .._paths import Draws, SlicePath

__all__ = ["Survival", "SurvivalPath", "hinge_of"]


def hinge_of(problem: Problem) -> Hinge:
    """The likelihood of a support vector machine's problem; refuses others."""
    if not isinstance(problem.likelihood, Hinge):
        raise InvalidProblemError(f"The support vector machine's evidence is for Hinge(C), not {problem.likelihood}.")
    return problem.likelihood


class Survival(Ellipse):
    """The prior, and ``(sum_x Q(x) v(theta(x)))^n``: the chance that n rows in a row get a label (29).

    Inputs are the rows of the problem, with equal probabilities unless `share` says otherwise; n is their number.
    """

    def __init__(self, problem: Problem, share: Array | None = None, n: int | None = None) -> None:
        problem.refuse_weights_of_noise()
        super().__init__(problem, problem.whitened().spelt_out(), np.zeros(problem.size), np.zeros(problem.size))
        self.share = np.full(problem.size, 1 / problem.size) if share is None else share
        self.n = problem.size if n is None else n
        self.sum = HingeSum(hinge_of(problem).C)

    def log_v(self, f: Array) -> Array:
        """Logarithm of v at each row."""
        return self.sum.log_sum(f, self.weights)

    def log_target(self, f: Array) -> Array:
        """Logarithm of the n-th power of the mean of v."""
        total: Array = self.n * logsumexp(self.log_v(f), b=self.share, axis=-1)
        return total


class SurvivalPath(SlicePath):
    """`SlicePath` of `Survival`, its slices compiled: there is no site, and the mean is zero."""

    base: Survival

    def __init__(self, base: Survival) -> None:
        super().__init__(base)
        hinge = hinge_of(base.problem)
        # shares with kappa to the power of each row's weight; slopes with the weight in them
        self.model = base.share * np.exp(base.weights * hinge.log_kappa), hinge.C * base.weights, float(base.n)

    def advance(self, level: float, states: Array, count: int, rng: np.random.Generator) -> Draws:
        """See `SlicePath.advance`: the same law, by one loop over all chains."""
        fresh = rng.standard_normal((len(states), count, states.shape[1]))
        kept, potential = np.empty_like(fresh), np.empty((len(states), count))
        across = np.ascontiguousarray(fresh @ self.base.root.T)
        latents = np.ascontiguousarray(self.base.latents(states))
        proposals = _slices(self.model, latents, (states, fresh, across), (kept, potential), level, rng)
        return Draws(kept, potential, 20.0 * proposals * latents.shape[1])


@njit(cache=True, nogil=True)
def _slices(model, latents, sources, found, level, rng):  # type: ignore[no-untyped-def]
    """Elliptical slices of every chain, one after the other; returns how many functions were tried."""
    states, fresh, across = sources
    kept, potential = found
    proposals = 0
    for c in range(len(states)):
        theta, z = latents[c].copy(), states[c].copy()
        target = _log_survival(model, theta)
        for k in range(kept.shape[1]):
            height = target - rng.standard_exponential() / level
            angle = rng.random() * 2 * np.pi
            low, high = angle - 2 * np.pi, angle
            while True:
                proposed = np.cos(angle) * theta + np.sin(angle) * across[c, k]
                value = _log_survival(model, proposed)
                proposals += 1
                if value > height:
                    break
                if angle < 0:
                    low = angle
                else:
                    high = angle
                if high - low < 1e-15:  # on a slice but for rounding: stay there
                    angle, proposed, value = 0.0, theta, target
                    break
                angle = low + (high - low) * rng.random()
            z = np.cos(angle) * z + np.sin(angle) * fresh[c, k]
            theta, target = proposed, value
            kept[c, k], potential[c, k] = z, -target
    return proposals


@njit(cache=True, nogil=True)
def _log_survival(model, theta):  # type: ignore[no-untyped-def]
    """``n log sum_x Q(x) v(theta(x))``, in which v is kappa times a sum of two exponentials."""
    share, slope, n = model
    total = 0.0
    for i in range(len(theta)):
        total += share[i] * (
            np.exp(-slope[i] * max(0.0, 1.0 - theta[i])) + np.exp(-slope[i] * max(0.0, 1.0 + theta[i]))
        )
    return n * np.log(total)
