"""Paths to normalisers by elliptical slices, compiled: those that average over inputs, (7) and (29), and N(X) of
squared slack, whose latents given labels no billiard draws.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from ..._core.compiling import compiled
from ..._core.typing import Array
from ...engines.elliptical_slice import Ellipse
from ...exceptions import InvalidProblemError
from ...likelihoods import Hinge, SquaredHinge
from ...problem import Problem
from .._paths import Draws, SlicePath

__all__ = ["Loss", "SlackPath", "Survival", "SurvivalPath", "bend_of", "hinge_of", "loss_of"]

Loss = Hinge | SquaredHinge
_MIRRORS = 16  # a slice


def hinge_of(problem: Problem) -> Hinge:
    """The likelihood of a support vector machine's problem; refuses others."""
    if not isinstance(problem.likelihood, Hinge):
        raise InvalidProblemError(f"The support vector machine's evidence is for Hinge(C), not {problem.likelihood}.")
    return problem.likelihood


def loss_of(problem: Problem) -> Loss:
    """The likelihood of a machine with linear or quadratic slack; refuses others."""
    if not isinstance(problem.likelihood, Loss):
        raise InvalidProblemError(
            f"The support vector machine's evidence is for Hinge(C) or SquaredHinge(C), not {problem.likelihood}."
        )
    return problem.likelihood


def bend_of(loss: Loss) -> int:
    """The power p of the slack in ``C max(0, 1 - y f)^p / p``."""
    return 1 if isinstance(loss, Hinge) else 2


def log_both(loss: Loss, f: Array, power: Array | float = 1.0) -> Array:
    """``log(Q(+1|f)^power + Q(-1|f)^power)``, the logarithm of v of a weighted row."""
    up, down = (power * loss.log_likelihood(label, f) for label in np.array([1.0, -1.0]))
    return np.logaddexp(up, down)


class Survival(Ellipse):
    """The prior, and ``(sum_x Q(x) v(theta(x)))^n``: the chance that n rows in a row get a label (29).

    Inputs are the rows of the problem, with equal probabilities unless `share` says otherwise; n is their number.
    """

    def __init__(self, problem: Problem, share: Array | None = None, n: int | None = None) -> None:
        problem.refuse_weights_of_noise()
        super().__init__(problem, problem.whitened().spelt_out(), np.zeros(problem.size), np.zeros(problem.size))
        self.share = np.full(problem.size, 1 / problem.size) if share is None else share
        self.n = problem.size if n is None else n
        self.loss = loss_of(problem)

    def log_v(self, f: Array) -> Array:
        """Logarithm of v at each row."""
        return log_both(self.loss, f, self.weights)

    def log_target(self, f: Array) -> Array:
        """Logarithm of the n-th power of the mean of v."""
        total: Array = self.n * logsumexp(self.log_v(f), b=self.share, axis=-1)
        return total


class BothLabels(Survival):
    """The prior, and ``prod_i v(theta_i)``: the chance that every row gets a label (28)."""

    def log_target(self, f: Array) -> Array:
        """Sum of the logarithms of v."""
        total: Array = self.log_v(f).sum(axis=-1)
        return total


class SurvivalPath(SlicePath):
    """`SlicePath` of `Survival`, its slices compiled: there is no site, and the mean is zero."""

    base: Survival

    def __init__(self, base: Survival) -> None:
        super().__init__(base)
        loss, weights = base.loss, base.weights
        # shares with kappa to the power of each row's weight; prices with the weight in them
        share = base.share * np.exp(weights * loss.log_kappa)
        self.model = share, loss.C * weights / bend_of(loss), bend_of(loss), self._power()
        self.gram = np.zeros((0, 0))

    def _power(self) -> float:
        """n of (29)."""
        return float(self.base.n)

    def advance(self, level: float, states: Array, count: int, rng: np.random.Generator) -> Draws:
        """See `SlicePath.advance`: the same law, by one loop over all chains."""
        fresh = rng.standard_normal((len(states), count, states.shape[1]))
        kept, potential = np.empty_like(fresh), np.empty((len(states), count))
        across = np.ascontiguousarray(fresh @ self.base.root.T)
        latents = np.ascontiguousarray(self.base.latents(states))
        walk = states, fresh, across, self._mirrors()
        proposals = _slices(self.model, latents, walk, (kept, potential), level, rng)
        return Draws(kept, potential, 20.0 * proposals * latents.shape[1])

    def _mirrors(self) -> tuple[int, Array, Array]:
        """How many mirrors a slice, and what they need: none."""
        return 0, self.gram, self.gram


class SlackPath(SurvivalPath):
    """To ``prod_i v(theta_i)``: after every slice functions are mirrored at random rows, as in `LabelPath`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(BothLabels(problem, np.ones(problem.size)))
        self.root = np.ascontiguousarray(self.base.root)
        self.gram = self.root @ self.root.T

    def _power(self) -> float:
        """The mark of a product."""
        return 0.0

    def _mirrors(self) -> tuple[int, Array, Array]:
        return _MIRRORS, self.gram, self.root


@compiled(nogil=True)
def _slices(model, latents, sources, found, level, rng):  # type: ignore[no-untyped-def]
    """Elliptical slices of every chain, one after the other; returns how many functions were tried."""
    states, fresh, across, (mirrors, gram, root) = sources
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
            for _ in range(mirrors):  # coordinates by an orthogonal map: the prior does not mind
                i = rng.integers(0, len(theta))
                if gram[i, i] == 0.0:
                    continue
                push = -2.0 * theta[i] / gram[i, i]
                proposed = theta + push * gram[i]
                value = _log_survival(model, proposed)
                if level * (value - target) > -rng.standard_exponential():
                    theta, target = proposed, value
                    z = z + push * root[i]
            kept[c, k], potential[c, k] = z, -target
    return proposals


@compiled(nogil=True)
def _log_survival(model, theta):  # type: ignore[no-untyped-def]
    """``n log sum_x Q(x) v(theta(x))``, v being kappa times a sum of two exponentials; if n = 0, sum_i log v_i."""
    share, price, bend, n = model
    total = 0.0
    for i in range(len(theta)):
        near = price[i] * max(0.0, 1.0 - abs(theta[i])) ** bend  # v is even
        far = price[i] * (1.0 + abs(theta[i])) ** bend
        if n > 0:
            total += share[i] * (np.exp(-near) + np.exp(-far))
        else:
            total += np.log(share[i]) - near + np.log1p(np.exp(near - far))
    return n * np.log(total) if n > 0 else total
