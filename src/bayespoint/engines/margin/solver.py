"""The Gaussian margin machine (Crammer, Mohri and Pereira 2009), solved by an interior point method.

The Gaussian closest to the prior that is sure of its labels, in its natural form (their (13) has
``Sigma_13 = phi^2 Sigma`` and ``psi = 1 / phi^2``):

    minimise  KL(N(mu, Sigma) || N(0, I)) + sum_i c_i xi_i
    subject to  y_i mu.x_i >= r_i + phi s_i - D_i xi_i,  xi_i >= 0,  s_i = sqrt(x_i' Sigma x_i).

At the optimum ``mu = sum_i alpha_i y_i x_i`` (16) and ``Sigma^-1 = I + sum_i beta_i x_i x_i'`` (20) with
``beta_i = phi alpha_i / s_i`` (22) and ``0 <= alpha_i <= cap_i = c_i / D_i`` (21), so a Gram matrix is all it takes.
The dual is concave in alpha, with G_ij = y_i y_j K_ij:

    W = r'alpha - alpha'G alpha / 2 + min_beta [log det(I + B^1/2 K B^1/2) + phi^2 sum_i alpha_i^2 / beta_i] / 2,

its slope is the violation ``g_i = r_i + phi s_i - (G alpha)_i`` and its curvature ``-(G + N)`` (`geometry`).
The dual (23) as printed has no free beta and lacks a factor 1/2; it is not what is solved here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._core.telling import tell
from ..._core.threads import blas_threads_for
from ..._core.typing import Array
from ...exceptions import EmptyVersionSpaceError, InvalidProblemError
from ...grams.separation import separating_latents
from .geometry import DenseGeometry, FactorGeometry, Geometry
from .interior import Machine, Point, evaluate, relative_gap, solve

__all__ = ["MarginSolution", "bound_minimising", "gaussian_margin"]

_DAMPINGS = 4  # halvings of a change of scales that does not pay
_PAYS = 1e-6  # relative fall of the objective that makes another convex problem worth while


LOST = (
    "The Gaussian margin machine is lost in rounding: lower C, eta or the amplitude of the kernel, or rescale the "
    "features."
)


class MarginSolution(NamedTuple):
    """Multipliers of the Gaussian margin machine, the Gaussian at its rows, and how far it may be from the optimum.

    The mean has weights ``y * alpha`` and the precision is ``I + sum_i beta_i x_i x_i'``. `primal` is the divergence
    from the prior and the price of slack; where no slack is allowed it is that of a mean scaled up until every margin
    is kept to the last digit.
    """

    alpha: Array
    beta: Array
    latents: Array  # mu.x_i
    deviations: Array  # s_i
    cap: Array  # c_i / D_i, the largest alpha
    violations: Array  # r_i + phi s_i - y_i mu.x_i; what is above zero is D_i xi_i
    primal: float
    dual: float
    iterations: int
    rounds: int = 0  # convex problems of `bound_minimising`

    @property
    def gap(self) -> float:
        """Certified distance from the optimum, beside the objective or one."""
        return relative_gap(self.primal, self.dual)

    @property
    def is_local(self) -> bool:
        """Whether the gap is that of the last of several convex problems, and the optimum a local one."""
        return self.rounds > 0

    @property
    def slack(self) -> Array:
        """``D_i xi_i``: by how much each row misses its margin."""
        return np.maximum(self.violations, 0.0)

    @property
    def divergence(self) -> float:
        """``KL(N(mu, Sigma) || N(0, I))``."""
        soft = np.isfinite(self.cap)
        return self.primal - float(self.cap[soft] @ self.slack[soft])

    @property
    def support(self) -> Any:
        """Rows that the solution depends on."""
        return np.flatnonzero(self.alpha > 0)


def gaussian_margin(
    geometry: Geometry | Array,
    y: Any,
    phi: Any,
    cap: Any,
    target: Any = 0.0,
    *,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
    start: Array | None = None,
) -> MarginSolution:
    """Solve the Gaussian margin machine to a certified gap, on a Gram matrix (bias included) or a factor of it.

    `phi`, `cap` (``c_i / D_i``) and `target` (r: 0 for (13), 1 for the robust support vector machine (29)) are numbers,
    or one for each row; phi of 0 is a support vector machine, an infinite cap allows no slack. `start` holds the alpha
    of a similar problem: of many rows it tells which to look at first, on each set of which `max_iterations` count.
    """
    live = Live.of(geometry, y, phi, cap, target)
    if start is not None:
        start = np.clip(np.asarray(start, np.float64)[live.rows], 0.0, live.machine.cap)
    found = live.solved(lambda machine: _solved(machine, tolerance, max_iterations, start))
    if not found.gap <= tolerance:
        tell(
            f"The Gaussian margin machine stopped after {found.iterations} iterations with a relative gap of "
            f"{found.gap:.1g} (tolerance {tolerance:.1g}): lower C or phi, or rescale the features.",
            stacklevel=2,
        )
    return found


def _solved(machine: Machine, tolerance: float, max_iterations: int, start: Array | None) -> tuple[Point, int]:
    """The optimum, with multipliers at their bounds where they belong there, and the number of steps."""
    if not (machine.phi.any() or (machine.target > 0).any()):  # nothing is asked: the prior is the answer
        nothing = np.zeros(len(machine.y))
        return evaluate(machine, nothing, nothing), 0
    point, iterations = solve(machine, tolerance, max_iterations, start)
    if not point.gap <= tolerance:
        _refuse_inseparable(machine, point)
    return _snapped(machine, point, tolerance), iterations


def bound_minimising(
    geometry: Geometry | Array,
    y: Any,
    phi: float,
    price: Any,
    target: Any = 0.0,
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 50,
    max_iterations: int = 300,
) -> MarginSolution:
    """The machine with ``D_i = s_i``, which minimises the bound of Corollary 5: a local optimum.

    The objective ``KL + sum_i c_i max(0, phi - z_i)``, ``z_i = (y_i mu.x_i - r_i) / s_i``, is not convex. A row that
    stands at z loses by a larger deviation not phi but z (``-dz = (z ds - dm) / s``), so to hold D_i at s_i and no more
    would not even go downhill. Each round therefore takes phi_i = z_i between 0 and phi, with a target to match,
    ``r_i + (phi - phi_i) s_i``: a convex problem with the value and the slope of the objective. Only rows on the wrong
    side (z < 0), which gain by a larger deviation, are not followed there. A change that does not pay is damped, then
    dropped, so that the objective never rises. The answer is that of the last convex problem that paid: primal, slack
    and gap are its own. `price` is c_i, `tolerance` that of each convex problem; no round is begun after so many
    iterations in all.
    """
    geometry = _as_geometry(geometry)
    y = np.asarray(y, dtype=np.float64)
    price, target = (np.broadcast_to(np.asarray(a, np.float64), geometry.size) for a in (price, target))
    if not np.isfinite(price).all():
        raise InvalidProblemError("Slack in units of the deviation needs a finite C.")

    def at(scale: Array, slope: Array, start: Array | None) -> tuple[float, MarginSolution]:
        """The convex problem with these scales and slopes, and what its solution is worth."""
        shifted = target + (phi - slope) * scale
        found = gaussian_margin(geometry, y, slope, price / scale, shifted, tolerance=tolerance, start=start)
        return found.divergence + float(price @ np.maximum(phi - scores(found), 0.0)), found

    def scores(found: MarginSolution) -> Array:
        return (y * found.latents - target) / _positive(found.deviations)

    scale, slope = _positive(np.sqrt(geometry.diag)), np.full(geometry.size, float(phi))
    value, found = at(scale, slope, None)
    rounds, damping, spent = 1, 1.0, found.iterations
    while damping > 0.5**_DAMPINGS:
        if rounds == max_rounds or spent >= max_iterations:
            tell(
                f"The Gaussian margin machine with slack in deviations was left after {rounds} rounds and {spent} "
                "iterations, while its objective still fell: lower C, or rescale the features.",
                stacklevel=2,
            )
            break
        new_scale = scale ** (1 - damping) * _positive(found.deviations) ** damping
        new_slope = slope + damping * (np.clip(scores(found), 0.0, phi) - slope)
        try:
            new_value, new = at(new_scale, new_slope, found.alpha)
        except InvalidProblemError:  # a change too large for the rounding
            new_value, new = np.inf, found
        rounds, spent = rounds + 1, spent + new.iterations
        if new_value < value - _PAYS * max(1.0, abs(value)):
            scale, slope, value, found = new_scale, new_slope, new_value, new
        else:
            damping *= 0.5
    return found._replace(rounds=rounds)


def _positive(deviations: Array) -> Array:
    """Deviations to divide by; those of rows of norm zero do not matter."""
    return np.where(deviations > 0, deviations, 1.0)


def _as_geometry(geometry: Geometry | Array) -> Geometry:
    if isinstance(geometry, DenseGeometry | FactorGeometry):
        return geometry
    return DenseGeometry(np.ascontiguousarray(geometry, dtype=np.float64))


class Live(NamedTuple):
    """The problem on rows of positive norm, and the way back to all rows."""

    machine: Machine
    rows: Any
    cap: Array
    target: Array

    @classmethod
    def of(cls, geometry: Geometry | Array, y: Any, phi: Any, cap: Any, target: Any) -> Live:
        geometry = _as_geometry(geometry)
        n, diag = geometry.size, geometry.diag
        phi, cap, target = (np.array(np.broadcast_to(np.asarray(a, np.float64), n)) for a in (phi, cap, target))
        bad = np.flatnonzero((diag <= 0) & np.isinf(cap) & (target > 0))
        if bad.size:
            raise EmptyVersionSpaceError(
                f"Row {bad[0]} has kernel value zero with itself and can never reach its margin: use a finite C."
            )
        rows = np.flatnonzero(diag > 0)
        part = geometry if len(rows) == n else geometry.rows(rows)
        return cls(
            Machine(part, np.asarray(y, np.float64)[rows], phi[rows], cap[rows], target[rows]), rows, cap, target
        )

    def solved(self, by: Callable[[Machine], tuple[Point, int]]) -> MarginSolution:
        """The answer of a solver, or a sentence if it is lost in rounding."""
        with blas_threads_for(len(self.rows)):
            try:
                return self._on_all_rows(*by(self.machine))
            except np.linalg.LinAlgError:
                raise InvalidProblemError(LOST) from None

    def _on_all_rows(self, point: Point, iterations: int) -> MarginSolution:
        """One of norm zero misses its target whatever the Gaussian: all or nothing."""
        void = np.ones(len(self.cap), dtype=bool)
        void[self.rows] = False
        missed = void & (self.target > 0)
        alpha, violations = np.where(missed, self.cap, 0.0), self.target.copy()
        beyond = float(alpha[missed] @ self.target[missed])
        beta, latents, deviations = np.zeros((3, len(alpha)))
        alpha[self.rows], beta[self.rows], latents[self.rows] = point.alpha, point.beta, point.latents
        deviations[self.rows], violations[self.rows] = point.covariance.deviations, point.violations
        bounds = point.primal + beyond, point.dual + beyond
        return MarginSolution(alpha, beta, latents, deviations, self.cap, violations, *bounds, iterations)


def _snapped(machine: Machine, point: Point, tolerance: float) -> Point:
    """Multipliers next to a bound set to it, as many as the gap bears: an interior point leaves none at zero."""
    alpha, violations = point.alpha, point.violations
    beside = violations / max(float(np.abs(violations).max(initial=0.0)), np.finfo(float).tiny)
    cap = np.where(np.isfinite(machine.cap), machine.cap, 0.0)
    for near in (1.0, 1e-3, 1e-6, 1e-9, 1e-12):
        nothing = alpha < -near * beside * alpha.max(initial=0.0)
        everything = (cap > 0) & (cap - alpha < near * beside * cap)
        bounded = np.where(everything, cap, np.where(nothing, 0.0, alpha))
        try:
            snapped = evaluate(machine, bounded, np.where(nothing, 0.0, point.beta))
        except np.linalg.LinAlgError:
            continue
        if snapped.gap <= max(tolerance, point.gap):
            return snapped
    return point


def _refuse_inseparable(machine: Machine, point: Point) -> None:
    """Raise if no function has the labels of all rows that allow no slack as its signs."""
    hard = np.flatnonzero(np.isinf(machine.cap))
    if np.isfinite(point.primal) or not hard.size:
        return
    part = machine.geometry.rows(hard)
    if separating_latents(part.as_gram(), machine.y[hard]) is None:
        raise EmptyVersionSpaceError(
            "No function of this kernel separates the training labels, so no margin can be kept without slack: "
            "use a finite C."
        )
