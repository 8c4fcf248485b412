"""The Gaussian margin machine by sweeps over the rows, as its paper had it (section 6); `solver` is much faster.

"Our algorithm iterates over the training points and for each point updates the parameters to classify that point
optimally" - a Hildreth-like method of which no more is said. Here a visit sets alpha and beta of one row to their
optimum while those of all others stand still: without the row its margin has mean m and variance v, and with it

    1/s^2 = 1/v + beta,    phi alpha = beta s,    r + phi s = m + K_ii alpha    (or alpha at a bound),

a quadratic equation in s. The Gaussian follows by a change of rank one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.compiling import compiled
from ..._core.telling import tell
from ..._core.typing import Array
from .geometry import DenseGeometry
from .interior import Machine, Point, evaluate
from .solver import Live, MarginSolution

__all__ = ["hildreth"]

_BETWEEN_CHECKS = 10  # sweeps at first; a tenth of those made so far later on


def hildreth(
    gram: Array,
    y: Any,
    phi: Any,
    cap: Any,
    target: Any = 0.0,
    *,
    tolerance: float = 1e-3,
    max_sweeps: int = 10_000,
) -> MarginSolution:
    """What `gaussian_margin` solves, by sweeps, with the same certificate; slow below the default tolerance."""
    found = Live.of(gram, y, phi, cap, target).solved(lambda machine: _sweep_until(machine, tolerance, max_sweeps))
    if not found.gap <= tolerance:
        tell(
            f"The sweeps of the Gaussian margin machine stopped after {found.iterations} of them with a relative gap "
            f"of {found.gap:.1g} (tolerance {tolerance:.1g}): use a finite or lower C, or the Newton solver.",
            stacklevel=2,
        )
    return found


def _sweep_until(machine: Machine, tolerance: float, max_sweeps: int) -> tuple[Point, int]:
    """The best point at a check, and the sweeps made."""
    geometry = machine.geometry
    assert isinstance(geometry, DenseGeometry)
    alpha, beta = np.zeros((2, len(machine.y)))
    asked = machine.y, machine.phi, machine.cap, machine.target
    best = evaluate(machine, alpha.copy(), beta.copy())
    sweeps = 0
    while best.gap > tolerance and sweeps < max_sweeps:
        some = min(max(_BETWEEN_CHECKS, sweeps // 10), max_sweeps - sweeps)
        # afresh at every check: changes of rank one add up rounding
        shared, latents = np.ascontiguousarray(geometry.covariance(beta).s), geometry.latents(machine.y * alpha)
        _sweep(geometry.gram, asked, (alpha, beta, latents, shared), some)
        sweeps += some
        point = evaluate(machine, alpha.copy(), beta.copy())
        best = point if point.gap <= best.gap else best
    return best, sweeps


@compiled(nogil=True)
def _sweep(gram, asked, state, sweeps):  # type: ignore[no-untyped-def]
    """Visit all rows in turn. The state, of which `shared` is ``X Sigma X'``, changes in place."""
    y, phi, cap, target = asked
    alpha, beta, latents, shared = state
    n = len(y)
    for _ in range(sweeps):
        for i in range(n):
            length, now = gram[i, i], max(shared[i, i], 1e-30 * gram[i, i])  # rounding may leave none of a variance
            margin = y[i] * latents[i] - alpha[i] * length
            rest = now / max(1.0 - beta[i] * now, 1e-12)  # variance without the row
            shy = phi[i]
            if shy > 0.0:
                # (phi + K / (phi v)) s^2 + (r - m) s - K / phi = 0
                square, linear, constant = shy + length / (shy * rest), target[i] - margin, length / shy
                root = np.sqrt(linear * linear + 4.0 * square * constant)
                s = (root - linear) / (2.0 * square) if linear < 0 else 2.0 * constant / (root + linear)
                new = (1.0 / s - s / rest) / shy
                if new > cap[i]:  # 1 / s - s / v = phi cap
                    new = cap[i]
                    pull = 0.5 * shy * new
                    s = 1.0 / (pull + np.sqrt(pull * pull + 1.0 / rest))
                if new > 0.0:
                    new_beta = shy * new / s
                else:
                    new, new_beta = 0.0, 0.0
            else:
                new, new_beta = min(max((target[i] - margin) / length, 0.0), cap[i]), 0.0
            change, change_beta = y[i] * (new - alpha[i]), new_beta - beta[i]
            alpha[i], beta[i] = new, new_beta
            if change != 0.0:
                for j in range(n):
                    latents[j] += change * gram[i, j]
            if change_beta != 0.0:
                column = shared[i].copy()
                share = change_beta / (1.0 + change_beta * now)
                for j in range(n):
                    factor = share * column[j]
                    for k in range(n):
                        shared[j, k] -= factor * column[k]
