"""Latents of the Gaussian margin machine at its training rows, each without its own label.

Taking the terms of a row away, ``alpha_i y_i x_i`` from the mean and ``beta_i x_i x_i'`` from the precision, leaves the
others where they were, and they would not stay there: beside true fits without the row, probabilities of such latents
are off by 0.2 to 0.4, and those of the cavity, which the Gaussian of the others is in expectation propagation, by
0.01 to 0.1 (root of the mean square). So the others move as the dual problem has it around its optimum,

    maximise  g'd - d'(G + N) d / 2   over  0 <= alpha + d <= cap,  alpha_i + d_i = 0,

with slope and curvature of `solver`: along the path on which alpha_i goes to zero, by small systems that border one
inverse for all rows. Then probabilities are off by 0.005 to 0.03. Where the path has too many corners, and beyond some
hundred rows, it is the cavity; the variance is always that of the cavity.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from ..._core.threads import blas_threads_for
from ..._core.typing import Array
from ...posteriors import GaussianPosterior, Latent

__all__ = ["left_out"]

_MOST = 500  # rows: beyond, each counts for little and the cavity is near enough
_EVENTS = 100  # on the way of a row, after which it is given up
_BESIDE = 1e-9  # of the largest slope or multiplier: what is below is rounding


def left_out(posterior: GaussianPosterior, share: Any = 1.0) -> Latent:
    """Moments at each training row without a share of its label, such as one of several copies."""
    found = posterior.found
    alpha = found.alpha
    others = np.broadcast_to(1.0 - np.asarray(share, dtype=np.float64), alpha.shape)
    remains = np.multiply(others, found.cap, out=np.zeros_like(alpha), where=others > 0)
    taken = np.maximum(alpha - remains, 0.0)  # another copy takes over what one leaves, up to its own price
    cavity = posterior.leaving_out(np.divide(taken, alpha, out=np.zeros_like(alpha), where=alpha > 0))
    if len(alpha) > _MOST:
        return cavity
    mean = cavity.mean.copy()
    with blas_threads_for(len(alpha)), np.errstate(all="ignore"), suppress(LinAlgError):  # else it is the cavity
        around = _Around.of(posterior)
        for row in np.flatnonzero(taken > 0):
            change = around.without(int(row), taken[row])
            moved = np.nan if change is None else posterior.mean[row] + around.signed[row] @ change
            mean[row] = moved if np.isfinite(moved) else mean[row]
    return Latent(mean, cavity.variance)


class _Around(NamedTuple):
    """The dual problem around its optimum."""

    alpha: Array
    cap: Array
    slope: Array  # of the rows at a bound; zero of the others
    curvature: Array  # G + N
    signed: Array  # K_ij y_j
    free: Any  # rows between their bounds
    place: Any  # of each row among these, or -1
    inverse: Array  # of their curvature
    response: Array  # the inverse times their curvature with all rows

    @classmethod
    def of(cls, posterior: GaussianPosterior) -> _Around:
        found, y = posterior.found, posterior.problem.y
        alpha, longest = found.alpha, found.deviations.max(initial=0.0)
        s = np.maximum(found.deviations, _BESIDE * longest if longest > 0 else 1.0)  # a row of zeros has none
        signed = posterior.problem.gram.dense * y
        phi = np.divide(found.beta * s, alpha, out=np.full_like(s, posterior.engine.phi), where=alpha > 0)
        squares = np.square(posterior.covariance)
        inner = 2 * np.eye(len(y)) - (found.beta / s**2)[:, None] * squares
        answer = np.linalg.solve(inner.T, squares).T * np.outer(phi / s, phi / s)  # N of `geometry`
        curvature = y[:, None] * signed + 0.5 * (answer + answer.T)
        between = (alpha > _BESIDE * alpha.max(initial=0.0)) & (alpha < (1 - _BESIDE) * found.cap)
        free = np.flatnonzero(between)
        block = curvature[np.ix_(free, free)]
        block.flat[:: len(free) + 1] *= 1 + _BESIDE
        slope = np.where(between, 0.0, found.violations)
        inverse, place = np.linalg.inv(block), np.full(len(y), -1)
        place[free] = np.arange(len(free))
        return cls(alpha, found.cap, slope, curvature, signed, free, place, inverse, inverse @ curvature[free])

    def without(self, row: int, taken: float) -> Array | None:
        """How all multipliers change while that of a row is lowered to where it is held; None after too many events.

        Straight on, until a free one comes to a bound, or the slope of one at a bound to zero: that one changes sides.
        """
        held = np.ones(len(self.alpha), dtype=bool)
        held[self.free] = False
        held[row] = True
        change, slope, left = np.zeros_like(self.alpha), self.slope, taken
        for _ in range(_EVENTS):
            step = self._step(held, row)
            moving = np.flatnonzero(step)
            few = len(moving) < len(step) // 4
            turn = -(step[moving] @ self.curvature[moving] if few else self.curvature @ step)
            reach = self._reach(held, self.alpha + change, slope, step, turn)
            reach[row] = np.inf
            first = int(np.argmin(reach))
            length = min(reach[first], left)
            change, slope, left = change + length * step, slope + length * turn, left - length
            if left <= 0:
                return change
            held[first] = not held[first]
        return None

    def _reach(self, held: Any, new: Array, slope: Array, step: Array, turn: Array) -> Array:
        """How far each row lets the others go before it changes sides."""
        at_cap = new > 0.5 * self.cap
        rises = step > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            hits = np.where(rises, self.cap - new, -new) / step
            wakes = -slope / turn
        bound_for = held & np.where(at_cap, turn < 0, turn > 0)
        reach = np.where(~held & (step != 0), hits, np.where(bound_for, wakes, np.inf))
        return np.maximum(reach, 0.0)

    def _step(self, held: Any, row: int) -> Array:
        """Change of all rows for one of -1 of `row`, such that the slopes of those that are not held stay.

        Rows that were free and are held now get a multiplier, rows that were not and are free now a variable: both
        border the system whose inverse is known.
        """
        fixed, added = np.flatnonzero(held[self.free]), np.flatnonzero(~held & (self.place < 0))
        answer, crossed = self.response[:, added], self.response[np.ix_(fixed, added)]
        inner = self.curvature[np.ix_(added, added)] - self.curvature[np.ix_(added, self.free)] @ answer
        border = np.block([[inner, crossed.T], [crossed, -self.inverse[np.ix_(fixed, fixed)]]])
        if self.place[row] >= 0:
            alone, below = np.zeros(len(self.free)), np.r_[np.zeros(len(added)), self.free[fixed] == row]
        else:
            alone = self.response[:, row]
            at_added = self.curvature[added, row] - self.curvature[np.ix_(added, self.free)] @ alone
            below = np.r_[at_added, alone[fixed]]
        z = np.linalg.lstsq(border, below, rcond=None)[0]
        step = np.zeros_like(self.alpha)
        step[self.free] = alone - answer @ z[: len(added)] + self.inverse[:, fixed] @ z[len(added) :]
        step[added] = z[: len(added)]
        step[self.free[fixed]] = 0.0
        step[row] = -1.0
        return step
