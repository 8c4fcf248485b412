"""Walls between several classes, as the billiard meets them: a row has the energy of the class whose latent leads.

Version space of C classes is the cone ``h_y > h_c``, n (C - 1) walls. A wall stands where the leading latent of a row
and another one meet; what it takes to cross is the difference of two entries of a table ``energy[i, c]``: nothing at
the class of the label and ``E = log((1 - q) (C - 1) / q)`` at all others, so that only the walls around the label's own
class stop the ball, and others are passed in silence. Rows on top of each other share one table, the sum of theirs.

At a wall between latents k and c of row i the ball has normal speed ``p = (nu_ik - nu_ic) / sqrt(2 K_ii)``, and a kick
turns the velocities of two latents, ``nu_k += kick K[i]``, ``nu_c -= kick K[i]``: O(n) an event, whatever C is.

The search for the next wall: between events latents are sinusoids, so a row whose leader still leads at the end of a
window of time (shorter than half a turn) meets no wall within it. The loop carries positions and velocities as they
will be at the end of the window; a kick changes two columns of them, and only rows that are led by somebody else there
have their times computed. Windows are as long as a handful of events take; nothing but rounding depends on that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.compiling import compiled
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..likelihoods import Choice
from ..problem import Problem
from ._walls import same_walls

__all__ = ["ChoiceWalls", "energies_of_choices"]


def energies_of_choices(problem: Problem) -> Array:
    """What it costs each row to be led by each class: nothing at its label, the same everywhere else."""
    assert isinstance(problem.likelihood, Choice)
    assert problem.n_classes is not None
    high, low = problem.likelihood.levels(problem.n_classes)
    energy = problem.exponents * np.log(high / low) if low > 0 else np.full(problem.size, np.inf)
    return np.where(np.arange(problem.n_classes) == problem.y[:, None], 0.0, energy[:, None])


class ChoiceWalls(NamedTuple):
    """What the loops see: rows of positive length, what each has of its own, and its table of energies."""

    gram: Array
    own: Array
    energy: Array
    rows: Any  # places of their latents in the vector of all, those of the first class first
    floor: float  # potential that no flight changes, of labels at odds at one place

    @property
    def remedy(self) -> str:
        """What helps where walls are too many."""
        return Choice.remedy

    @property
    def diag(self) -> Array:
        """Prior variance of what the walls see of each latent."""
        diag: Array = np.diagonal(self.gram) + self.own
        return diag

    @classmethod
    def of(cls, problem: Problem, height: float | None = None) -> ChoiceWalls:
        """All walls of a problem that a ball can hit; `height` is that of all of them instead of the likelihood's."""
        problem.refuse_weights_of_noise()
        assert problem.n_classes is not None
        gram, own, floor = problem.dense, problem.own, 0.0
        energy = energies_of_choices(problem)
        if height is not None:
            energy = np.where(energy > 0, height, 0.0)
        live = problem.diag + own > 0
        if np.isfinite(energy).all() and not own.all():
            energy = _merge_coincident(gram, problem.diag + own, energy)
            lowest = energy.min(axis=1)
            floor = float(lowest[live].sum())
            energy = energy - lowest[:, None]
            live &= energy.any(axis=1)  # no wall to hit
        rows: Any = slice(None)
        if not live.all():
            kept = np.flatnonzero(live)
            gram, own, energy = np.ascontiguousarray(gram[np.ix_(kept, kept)]), own[kept], energy[kept]
            rows = (problem.size * np.arange(problem.n_classes)[:, None] + kept).ravel()
        return cls(gram, own, energy, rows, floor)

    def scaled(self, factor: float) -> ChoiceWalls:
        """Walls lower or higher by a factor."""
        return self._replace(energy=factor * self.energy)

    def potential(self, latents: Array) -> Array:
        """Energy of positions, given as latents of shape (draws, C n)."""
        lead = latents.reshape(len(latents), *self.energy.T.shape).argmax(axis=1)
        return self.energy[np.arange(len(self.energy)), lead].sum(axis=1)

    def fly(self, theta: Array, velocity: Array, flight: float, max_events: int) -> tuple[Array, Array, Any]:
        """One flight for each row of `velocity`; as `Walls.fly`."""
        size, shape = len(velocity), self.energy.T.shape
        impulse = np.empty((size, *shape))
        potential, events = np.empty(size), np.empty(size, dtype=np.int64)
        position = theta.reshape(shape)
        is_hard = np.isinf(self.energy).any(axis=1)
        lead = np.where(is_hard, self.energy.argmin(axis=1), position.argmax(axis=0)).astype(np.float64)
        walls = self.gram, self.own, self.energy, lead
        if _fly(walls, position, velocity.reshape(size, *shape), flight, max_events, (impulse, potential, events)):
            raise InvalidProblemError(
                f"A flight met more than {max_events} walls and was given up: the posterior is too thin for the "
                f"rounding of this Gram matrix; {self.remedy}."
            )
        return impulse.reshape(velocity.shape), potential, events


def _merge_coincident(gram: Array, diag: Array, energy: Array) -> Array:
    """Rows whose latents are the same up to a factor as one row, the first of them, with the sum of their tables.

    Of two classes a negative factor will do, with the classes exchanged; of more, it makes the largest latent the
    smallest.
    """
    energy = energy.copy()
    for i in range(len(gram)):
        if not energy[i].any():
            continue
        same = same_walls(gram, diag, i)
        for j in same[energy[same].any(axis=1)]:
            if gram[i, j] > 0 or energy.shape[1] == 2:
                energy[i] += energy[j] if gram[i, j] > 0 else energy[j, ::-1]
                energy[j] = 0.0
    return energy


# Compiled loops
_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}  # no NaN can arise; infinities are only compared
_BLOCK = 64  # rows whose leaders are checked together
_EVENTS = 8  # of a window, about


@compiled(fastmath=_FAST, nogil=True)
def _fly(walls, theta, velocity, flight, max_events, results):  # type: ignore[no-untyped-def]
    """Fly once for each entry of `velocity`; `theta` ends at the last position. Whether one is stuck.

    `theta` has shape (C, n), velocities and impulses (flights, C, n).
    """
    gram, own, energy, lead = walls
    impulse, potential, counts = results
    classes, n = theta.shape
    v, w = theta, np.empty((classes, n))  # position and velocity at the end of the window
    top, rest = np.empty(n), np.empty(n)
    flags = np.zeros((n + _BLOCK - 1) // _BLOCK, dtype=np.int64)
    rows = lead, top, rest, flags
    width = 0.05
    for f in range(len(velocity)):
        _begin(velocity[f], w, impulse[f])
        left, events = flight, 0
        while left > 0.0:
            turn = min(width, left)
            left = left - turn if left - turn > 1e-9 else 0.0
            _rotate(v, w, np.cos(turn), np.sin(turn))
            _find_leaders(v, rows)
            cos_left, sin_left = np.cos(left), np.sin(left)
            now = np.tan(turn)  # tangent of the time to the end of the window
            before = events
            while True:
                i, c, now = _next_wall(v, w, rows, now)
                if i < 0:
                    break
                events += 1
                if events > max_events:
                    return True
                k = int(lead[i])
                rise = energy[i, c] - energy[i, k]
                if rise != 0.0:
                    cos_e = 1.0 / np.sqrt(1.0 + now * now)
                    sin_e = now * cos_e
                    length = np.sqrt(2.0 * (gram[i, i] + own[i]))
                    speed = (cos_e * (w[k, i] - w[c, i]) + sin_e * (v[k, i] - v[c, i])) / length  # < 0: towards it
                    crosses = speed * speed > 2.0 * rise
                    after = -np.sqrt(speed * speed - 2.0 * rise) if crosses else -speed
                    kick = (after - speed) / length
                    pushed = kick * (sin_left * cos_e + cos_left * sin_e)
                    impulse[f, k, i] += pushed
                    impulse[f, c, i] -= pushed
                    _kick(v, w, rows, gram[i], k, c, kick * sin_e, kick * cos_e)
                    v[k, i] += kick * sin_e * own[i]
                    w[k, i] += kick * cos_e * own[i]
                    away = abs(after) * length if not crosses else -abs(after) * length
                    v[c, i] = v[k, i] - away * sin_e  # the wall is left behind, whatever rounding says
                    w[c, i] = w[k, i] - away * cos_e
                    if crosses:
                        lead[i] = c
                else:
                    lead[i] = c
                _find_leader(v, rows, i)
            if events - before > 2 * _EVENTS:
                width *= 0.5
            elif events - before < _EVENTS // 2:
                width = min(2.0 * width, 1.0)
        height = 0.0
        for i in range(n):
            height += energy[i, int(lead[i])]
        potential[f] = height
        counts[f] = events
    return False


@compiled(nogil=True)
def _begin(velocity, w, impulse):  # type: ignore[no-untyped-def]
    """A flight's velocity, and no impulse yet: an assignment of slices would take seconds to compile."""
    for c in range(len(w)):
        for j in range(len(w[c])):
            w[c, j] = velocity[c, j]
            impulse[c, j] = 0.0


@compiled(fastmath=_FAST, nogil=True)
def _rotate(v, w, cos, sin):  # type: ignore[no-untyped-def]
    """Positions and velocities some time later."""
    for c in range(len(v)):
        v_, w_ = v[c], w[c]
        for j in range(len(v_)):
            new = cos * v_[j] + sin * w_[j]
            w_[j] = cos * w_[j] - sin * v_[j]
            v_[j] = new


@compiled(fastmath=_FAST, nogil=True)
def _find_leaders(v, rows):  # type: ignore[no-untyped-def]
    """The latent of each row's leader, the largest of the others, and in which blocks the leader does not lead."""
    lead, top, rest, flags = rows
    for j in range(len(top)):
        top[j] = -np.inf
        rest[j] = -np.inf
    for c in range(len(v)):
        v_ = v[c]
        for j in range(len(v_)):
            h, leads, first, second = v_[j], lead[j] == c, top[j], rest[j]
            top[j] = h if leads else first
            rest[j] = max(second, second if leads else h)
    for b in range(len(flags)):
        beaten = 0
        for j in range(b * _BLOCK, min((b + 1) * _BLOCK, len(top))):
            beaten += 1 if rest[j] > top[j] else 0
        flags[b] = beaten


@compiled(nogil=True)
def _find_leader(v, rows, i):  # type: ignore[no-untyped-def]
    """The same for one row."""
    lead, top, rest, flags = rows
    k = int(lead[i])
    top[i] = v[k, i]
    largest = -np.inf
    for c in range(len(v)):
        if c != k and v[c, i] > largest:
            largest = v[c, i]
    rest[i] = largest
    if largest > top[i]:
        flags[i // _BLOCK] += 1


@compiled(fastmath=_FAST, nogil=True)
def _kick(v, w, rows, row, up, down, shift, push):  # type: ignore[no-untyped-def]
    """Two columns after a kick: the O(n) of the algorithm. What the others of a row reach at most is only raised."""
    lead, top, rest, flags = rows
    for b in range(len(flags)):
        part = slice(b * _BLOCK, min((b + 1) * _BLOCK, len(row)))
        row_, high, low = row[part], v[up, part], v[down, part]
        _push(high, low, row_, shift)
        _push(w[up, part], w[down, part], row_, push)
        flags[b] = _compare(high, low, lead[part], top[part], rest[part], up, down)


# Loops rather than one: the compiler vectorises a loop only over few arrays that may overlap.
@compiled(fastmath=_FAST, nogil=True, inline="always")
def _push(plus, minus, row, size):  # type: ignore[no-untyped-def]
    for j in range(len(row)):
        plus[j] += size * row[j]
        minus[j] -= size * row[j]


@compiled(fastmath=_FAST, nogil=True, inline="always")
def _compare(high, low, lead, top, rest, up, down):  # type: ignore[no-untyped-def]
    """The leaders' latents and the largest of the others, after two columns have changed; how many are beaten."""
    beaten = 0
    for j in range(len(high)):
        a, b, k, first, second = high[j], low[j], lead[j], top[j], rest[j]  # all read: a read with an if is no vector
        mine = a if k == up else first
        mine = b if k == down else mine
        others = max(second, max(b if k == up else a, a if k == down else b))
        top[j] = mine
        rest[j] = others
        beaten += 1 if others > mine else 0
    return beaten


@compiled(fastmath=_FAST, nogil=True)
def _next_wall(v, w, rows, now):  # type: ignore[no-untyped-def]
    """Row, class and time (tangent of what is left of the window) of the first wall ahead; row -1 if there is none.

    With r the time to the end of the window, a lead is ``dv cos r - dw sin r``: zero at ``tan r = dv / dw``.
    """
    lead, top, rest, flags = rows
    first, other, found = -1, -1, 0.0
    for b in range(len(flags)):
        if flags[b] == 0:
            continue
        beaten = 0
        for j in range(b * _BLOCK, min((b + 1) * _BLOCK, len(top))):
            if rest[j] > top[j]:
                k = int(lead[j])
                v_k, w_k, largest = v[k, j], w[k, j], -np.inf
                for c in range(len(v)):
                    if c == k:
                        continue
                    largest = max(largest, v[c, j])
                    dv, dw = v_k - v[c, j], w_k - w[c, j]
                    if dv < found * dw and dw < 0.0:  # dv / dw > found, both below zero
                        found = dv / dw
                        first = j
                        other = c
                rest[j] = largest
                beaten += 1 if largest > top[j] else 0
        flags[b] = beaten
    return first, other, min(found, now)
