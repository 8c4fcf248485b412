"""Interior point method for the dual of the Gaussian margin machine (`solver` has the formulas).

Every row has a multiplier alpha between 0 and its cap. The optimality conditions are

    g + lower - upper = 0,    alpha lower = 0,    (cap - alpha) upper = 0,

with ``g = r + phi s - G alpha``; `lower` is how far a row is beyond its margin, `upper` how far it misses it. A step
solves their linearisation with the products set to a small centre, then corrects for what linearisation left out
(Mehrotra) and for products that would come out far from the centre (Gondzio); all corrections share one factorisation.
Large problems start from the solution of an eighth of their rows at eight times the price.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._core.typing import Array
from .geometry import Geometry

_TO_THE_WALL = 0.995  # share of the way to the nearest bound that a step may go
_CORRECTIONS = 3  # of centrality in a step
_THINNING = 8
_FEW = 1000
_FEW_KNOWN = 100  # where a similar problem has told which rows are near their margins
_SURPLUS = 0.01  # of the tolerance: bounds are then told from what is next to them
_ROUNDS = 20  # of rows joining
_FAIR = 1e-3  # gap at which it is known fairly well which rows are near their margins
_ROUGH = 1e-2  # gap at which a smaller problem is good enough to start from


class Machine(NamedTuple):
    """The problem on rows of positive norm."""

    geometry: Geometry
    y: Array
    phi: Array
    cap: Array
    target: Array

    def on(self, rows: Any) -> Machine:
        """The same for some of the rows, in the form in which steps are cheapest."""
        geometry = self.geometry if len(rows) == len(self.y) else self.geometry.rows(rows)
        return Machine(geometry.for_newton(), *(a[rows] for a in (self.y, self.phi, self.cap, self.target)))


class Point(NamedTuple):
    """Multipliers, the Gaussian they make, and bounds on the optimum from both sides."""

    alpha: Array
    beta: Array
    covariance: Any
    latents: Array
    violations: Array
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Certified distance from the optimum, beside the objective or one."""
        return relative_gap(self.primal, self.dual)


def relative_gap(primal: float, dual: float) -> float:
    """The gap beside the objective or one."""
    return (primal - dual) / max(1.0, abs(primal)) if np.isfinite(primal) else np.inf


def evaluate(machine: Machine, alpha: Array, beta: Array) -> Point:
    """The primal and the dual at any alpha and beta, consistent with each other or not.

    In terms of the root ``Y`` of Sigma the inner problem ``-log det Y + |Y|^2 / 2 + phi sum_i alpha_i |Y x_i|`` of the
    dual is strongly convex with modulus one (14), so that its minimum is at most half the squared slope below the value
    at Sigma(beta). The slope is no longer than ``X' diag(e) X Y`` with ``e = phi alpha / s - beta``.
    """
    y, phi = machine.y, machine.phi
    covariance = machine.geometry.covariance(beta)
    s = covariance.deviations
    latents = machine.geometry.latents(y * alpha)
    energy = float(alpha @ (y * latents))  # |mu|^2
    spread = 0.5 * (covariance.log_det - float(beta @ np.square(s)))  # the share of Sigma in the divergence
    dual = float(alpha @ (machine.target + phi * s)) - 0.5 * energy + spread
    dual -= 0.5 * covariance.mismatch(phi * alpha / s - beta)
    if not np.isfinite(dual):
        raise np.linalg.LinAlgError("The dual is not finite.")
    primal = spread + _price_of_mean(machine, y * latents, s, energy)
    return Point(alpha, beta, covariance, latents, machine.target + phi * s - y * latents, primal, dual)


def _price_of_mean(machine: Machine, margins: Array, s: Array, energy: float) -> float:
    """``|mu|^2 / 2`` and slack. Where no slack is allowed the mean is scaled until all is well; infinite if never."""
    asked = machine.target + machine.phi * s
    soft = np.isfinite(machine.cap)
    short = ~soft & (asked > margins)
    scale = 1.0
    if short.any():
        if (margins[short] <= 0).any():
            return np.inf
        scale = float((asked[short] / margins[short]).max())
        if (scale * margins < asked)[~soft & ~short].any():  # a negative margin under a negative target
            return np.inf
    slack = np.maximum(asked - scale * margins, 0.0)[soft]
    return 0.5 * scale**2 * energy + float(machine.cap[soft] @ slack)


@np.errstate(all="ignore")
def solve(machine: Machine, tolerance: float, max_iterations: int, start: Array | None = None) -> tuple[Point, int]:
    """The best point met on the way to `tolerance`, and the number of steps.

    Many rows are far beyond their margins and have no say: the steps are made on those that a rough solution leaves
    near their margins or short of them, and rows join as they turn out to miss theirs.
    """
    n = len(machine.y)
    if n == 0:
        return evaluate(machine, machine.y, machine.y), 0
    few = _FEW if start is None else _FEW_KNOWN
    if n <= few:
        return _interior_point(machine.on(np.arange(n)), tolerance, max_iterations)
    alpha = _from_fewer_rows(machine, max_iterations) if start is None else start
    best = point = evaluate(machine, alpha, _settled(machine, alpha))
    rows, steps = np.arange(0), 0
    for enough in (max(tolerance, _FAIR), *[tolerance] * _ROUNDS):
        rows = _with_violators(rows if enough == tolerance else rows[:0], point.violations, few)
        enough = tolerance if len(rows) > n / 2 else enough  # nothing to gain by a closer look
        part, more = _interior_point(machine.on(rows), enough, max_iterations)
        alpha, beta = np.zeros((2, n))
        alpha[rows], beta[rows] = part.alpha, part.beta
        point, steps = evaluate(machine, alpha, beta), steps + more
        best = point if point.gap <= best.gap else best
        failed = more == max_iterations or not np.isfinite(part.gap)
        if best.gap <= tolerance or failed or (len(rows) == n and enough == tolerance):
            break
    return best, steps


def _with_violators(rows: Any, violations: Array, few: int) -> Any:
    """Rows that miss their margins, and as many again that come next."""
    n, short = len(violations), int((violations > 0).sum())
    count = max(few, 2 * short)
    if count >= n:
        return np.arange(n)
    return np.union1d(rows, np.argpartition(-violations, count)[:count])


def _from_fewer_rows(machine: Machine, max_iterations: int) -> Array:
    """Multipliers of a random share of the rows, whose price goes up by as much as the others' is left out."""
    n = len(machine.y)
    rows = np.sort(np.random.default_rng(0).permutation(n)[: n // _THINNING])
    few = machine.on(rows)._replace(cap=_THINNING * machine.cap[rows])
    alpha = np.zeros(n)
    alpha[rows] = solve(few, _ROUGH, max_iterations)[0].alpha
    return alpha


def _settled(machine: Machine, alpha: Array) -> Array:
    """The fixed point ``beta = phi alpha / s(beta)``, a contraction by one half in the logarithm, roughly."""
    beta = machine.phi * alpha / np.sqrt(machine.geometry.diag)
    for _ in range(5):
        beta = machine.phi * alpha / machine.geometry.covariance(beta).deviations
    return beta


def _interior_point(machine: Machine, tolerance: float, max_iterations: int) -> tuple[Point, int]:
    point, lower, upper = _start(machine)
    best = point
    plenty = tolerance if tolerance >= _FAIR else _SURPLUS * tolerance
    for iteration in range(max_iterations):
        if best.gap <= plenty or (point.gap > best.gap and best.gap <= tolerance):
            return best, iteration
        try:
            point, lower, upper = _Newton(machine, point, lower, upper).step()
        except np.linalg.LinAlgError:  # rounding: the end of the road, or a problem without a solution
            return best, iteration
        if point.gap < best.gap:
            best = point
    return best, max_iterations


def _start(machine: Machine) -> tuple[Point, Array, Array]:
    """Equal weights on rows of unit norm, as long as the dual likes best, and multipliers without a residual."""
    norms = np.sqrt(machine.geometry.diag)
    alpha = np.minimum(0.5 * machine.cap, (1.0 + machine.phi) / norms)
    point = evaluate(machine, alpha, machine.phi * alpha / norms)
    while (shorter := evaluate(machine, 0.25 * point.alpha, 0.25 * point.beta)).dual > point.dual:
        point = shorter
    floor = float(np.abs(point.violations).max()) + 1e-8
    lower = np.maximum(-point.violations, 0.0) + floor
    return point, lower, np.where(np.isfinite(machine.cap), lower + point.violations, 0.0)


class _Newton:
    """One factorisation at a point, and the step made with it."""

    def __init__(self, machine: Machine, point: Point, lower: Array, upper: Array) -> None:
        self.machine, self.point, self.lower, self.upper = machine, point, lower, upper
        self.boxed = np.isfinite(machine.cap)
        self.room = np.where(self.boxed, machine.cap - point.alpha, 1.0)
        self.barrier = lower / point.alpha + upper / self.room
        self.solve, respond = point.covariance.newton(machine.phi, machine.y, self.barrier)
        # What phi s has yet to give way to the present alpha, to first order.
        self.stale = respond(machine.phi * point.alpha - point.beta * point.covariance.deviations)

    def step(self) -> tuple[Point, Array, Array]:
        """The next point and its multipliers."""
        way, aim = self._predict_and_correct()
        way = self._centre(way, aim)
        machine, point = self.machine, self.point
        d, d_lower, d_upper = way
        length, length_of_walls = (min(1.0, _TO_THE_WALL * reach) for reach in self._reaches(way))
        alpha = point.alpha + length * d
        s = point.covariance.deviations
        # g + dg + lower + d_lower - upper - d_upper = 0 tells what phi s will be.
        moved = machine.y * machine.geometry.latents(machine.y * d)
        loss = point.violations - self.stale - moved + self.lower + d_lower - self.upper - d_upper
        change = np.divide(length * loss + self.stale, machine.phi, out=np.zeros_like(s), where=machine.phi > 0)
        s = np.clip(s - change, 0.3 * s, 3.0 * s)
        new = evaluate(machine, alpha, machine.phi * alpha / s)
        return new, self.lower + length_of_walls * d_lower, self.upper + length_of_walls * d_upper

    def _predict_and_correct(self) -> tuple[Array, float]:
        """Mehrotra's direction, and the centre it aims at."""
        alpha, room, zero = self.point.alpha, self.room, np.zeros(len(self.lower))
        count = len(alpha) + int(self.boxed.sum())
        centre = float(alpha @ self.lower + room @ self.upper) / count
        way = self._towards(self.point.violations - self.stale, zero, zero)
        way[1] -= self.lower
        way[2] -= self.upper
        far = self._reach(way)
        d, d_lower, d_upper = far * way
        after = float((alpha + d) @ (self.lower + d_lower) + (room - d) @ (self.upper + d_upper)) / count
        aim = centre * min(1.0, after / centre) ** 3
        correction = self._towards(zero, -way[0] * way[1], way[0] * way[2])
        way = way + self._towards(zero, np.full_like(zero, aim), np.where(self.boxed, aim, 0.0))
        return max((way + share * correction for share in (1.0, far, far**2, 0.0)), key=self._reach), aim

    def _centre(self, way: Array, aim: float) -> Array:
        """Gondzio's corrections: a longer step where a few products out of range are what limits it."""
        for _ in range(_CORRECTIONS):
            now = self._reach(way)
            if now > 0.9:
                break
            d, d_lower, d_upper = min(1.0, now + 0.3) * way
            near = (self.point.alpha + d) * (self.lower + d_lower)
            far = np.where(self.boxed, (self.room - d) * (self.upper + d_upper), aim)
            fixes = (np.maximum(np.clip(p, 0.1 * aim, 10 * aim) - p, -10 * aim) for p in (near, far))
            better = way + self._towards(np.zeros_like(d), *fixes)
            if self._reach(better) < now + 0.03:
                break
            way = better
        return way

    def _towards(self, pull: Array, near: Array, far: Array) -> Array:
        """Directions of alpha, lower and upper that change the slope and the products by these amounts."""
        d = self.solve(pull + near / self.point.alpha - far / self.room)
        d_lower = (near - self.lower * d) / self.point.alpha
        return np.array([d, d_lower, np.where(self.boxed, (far + self.upper * d) / self.room, 0.0)])

    def _reach(self, way: Array) -> float:
        """The share of the way that all of them can go together."""
        return min(1.0, *self._reaches(way))

    def _reaches(self, way: Array) -> tuple[float, float]:
        """How far alpha, and how far its multipliers, can go before some are at a wall."""
        d, d_lower, d_upper = way
        boxed = self.boxed
        alpha = min(_times(self.point.alpha, d), _times(self.room[boxed], -d[boxed]))
        return alpha, min(_times(self.lower, d_lower), _times(self.upper[boxed], d_upper[boxed]))


def _times(value: Array, change: Array) -> float:
    """How many times `change` can be added before some value is zero."""
    falling = change < 0
    return float((value[falling] / -change[falling]).min(initial=np.inf))
