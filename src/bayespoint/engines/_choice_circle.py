"""A great circle among the walls of several classes: the step of the kernel Gibbs sampler.

On the circle ``cos(a) w + sin(a) v`` the latent of a row's label leads that of another class on half a turn, and all of
them on what these halves have in common: one arc a row, or none. So the posterior is constant between the ends of arcs.
"""

from __future__ import annotations

import numpy as np

from .._core.compiling import compiled

__all__ = ["draw_choice_angle"]


@compiled(nogil=True)
def draw_choice_angle(along, across, y, energy, first, second):  # type: ignore[no-untyped-def]
    """An angle from the piecewise constant posterior; latents of all classes stand in one vector, class by class."""
    n = len(y)
    low, high = np.empty(n), np.empty(n)
    for i in range(n):
        low[i], high[i] = _arc(along, across, y[i], i, n)
    if n == 0 or energy[0] == np.inf:
        return _within_all(low, high, second)
    ends, rises = np.empty(2 * n), np.empty(2 * n)
    height = 0.0  # of the potential just after the angle zero
    for i in range(n):
        start, stop = low[i] % (2 * np.pi), high[i] % (2 * np.pi)
        ends[2 * i], rises[2 * i] = start, -energy[i]
        ends[2 * i + 1], rises[2 * i + 1] = stop, energy[i]
        is_empty = high[i] <= low[i]
        if is_empty:
            rises[2 * i] = rises[2 * i + 1] = 0.0
        if is_empty or start <= stop:  # the angle zero is not within
            height += energy[i]
    order = np.argsort(ends)
    log_mass = np.empty(2 * n + 1)
    before = 0.0
    for k in range(2 * n + 1):
        after = ends[order[k]] if k < 2 * n else 2 * np.pi
        log_mass[k] = np.log(after - before) - height if after > before else -np.inf
        before = after
        if k < 2 * n:
            height += rises[order[k]]
    mass = np.exp(log_mass - log_mass.max())
    target = first * mass.sum()
    k = 0
    while target > mass[k] and k < 2 * n:
        target -= mass[k]
        k += 1
    start = ends[order[k - 1]] if k > 0 else 0.0
    stop = ends[order[k]] if k < 2 * n else 2 * np.pi
    return start + second * (stop - start)


@compiled(nogil=True)
def _arc(along, across, label, i, n):  # type: ignore[no-untyped-def]
    """Ends of the arc on which the label's latent is the largest of row i; the first is the larger if there is none."""
    centre, least, most = 0.0, 0.0, 0.0
    is_first = True
    for c in range(len(along) // n):
        if c == label:
            continue
        angle = np.arctan2(
            across[label * n + i] - across[c * n + i],
            along[label * n + i] - along[c * n + i],
        )
        if is_first:
            centre, is_first = angle, False
        offset = (angle - centre + np.pi) % (2 * np.pi) - np.pi
        least, most = min(least, offset), max(most, offset)
    return centre + most - 0.5 * np.pi, centre + least + 0.5 * np.pi


@compiled(nogil=True)
def _within_all(low, high, share):  # type: ignore[no-untyped-def]
    """An angle uniformly from what hard arcs, which all hold the angle zero, have in common."""
    start, stop = -np.pi, np.pi
    for i in range(len(low)):
        middle = 0.5 * (low[i] + high[i])
        middle -= 2 * np.pi * np.round(middle / (2 * np.pi))
        half = 0.5 * (high[i] - low[i])
        start, stop = max(start, middle - half), min(stop, middle + half)
    return start + share * (stop - start) if start < 0.0 < stop else 0.0  # thinner than rounding: stay
