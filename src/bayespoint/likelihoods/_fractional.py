"""Fractional powers of a soft step under a Gaussian: no closed form, but a few sums over a few dozen nodes.

In units of the softness and of the label, ``t = y f / sqrt(s)`` has the cavity N(a, v) and the likelihood is
``L(t) = q + (1 - 2q) Phi(t)``. With ``G = L^u``,

    Z = E[G],    d log Z / da = E[G'] / Z = r,    -d2 log Z / da2 = r (mean of G - mean of G') / v,

where the means are those of t under the cavity times G and times G' (by parts once). ``G'`` is a hump that vanishes
on both sides. So is ``G`` less its limit on the side where the cavity lies: that limit is integrated in closed form,
and only the rest on nodes, so that no digits cancel. The humps have details from the width of the step (one) to that
of the cavity; a trapezoidal rule in ``t = centre + width sinh(x)`` sees all of them, and converges geometrically.
"""

from __future__ import annotations

from math import log, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from .._core.typing import Array

__all__ = ["FractionalStep", "fractional_step"]

_SPACING = 0.125  # of the nodes in x
_REACH = 9.0  # standard deviations beyond which a Gaussian is nothing
_BLOCK = 512  # rows whose nodes are in memory at a time


class FractionalStep(NamedTuple):
    """``log Z``, its slope r and minus its curvature c in a, ``1 - v c``, and its derivatives in log q and log s."""

    log_z: Array
    slope: Array
    curvature: Array
    gap: Array
    d_noise: Array
    d_softness: Array


def fractional_step(q: float, a: Array, v: Array, u: Array) -> FractionalStep:
    """Integrals of N(a, v) times ``(q + (1 - 2q) Phi(t))^u``, for powers u of at most one."""
    blocks = [_block(q, *(part[i : i + _BLOCK, None] for part in (a, v, u))) for i in range(0, len(a), _BLOCK)]
    return FractionalStep(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _block(q: float, a: Array, v: Array, u: Array) -> FractionalStep:
    """One row an observation, one column a node."""
    right = a >= 0
    centre, shift, weight = _nodes(q, a, v, u)
    t, offset = centre + shift, a - centre
    log_l = log_ndtr(t) if q == 0 else np.log(q + (1 - 2 * q) * ndtr(t))
    # a cavity far on the wrong side leaves nothing that a float holds: all in units of the largest part
    log_cavity = -0.5 * np.square(shift - offset) / v
    log_full = log_cavity + u * log_l
    limit = np.where(right, np.log1p(-q), log(q) if q > 0 else -np.inf)  # of log L, on the side of the cavity
    log_base = u * limit
    scale = np.where(right, 0.0, np.maximum(log_full.max(axis=1, keepdims=True), log_base))
    base, cavity = np.exp(log_base - scale), weight * np.exp(log_cavity)
    hump = weight * np.exp(log_full - scale) - base * cavity
    z = base + _sum(hump)
    mean = (base * offset + _sum(hump * shift)) / z  # from the centre
    variance = (base * (v + np.square(offset - mean)) + _sum(hump * np.square(shift - mean))) / z

    rise = weight * np.exp(log_full - log_l - 0.5 * np.square(t) - scale)  # G' = u (1 - 2q) phi L^(u-1)
    rise *= u * ((1 - 2 * q) / sqrt(2 * pi)) / z
    slope = _sum(rise)
    curvature = slope * mean - _sum(rise * shift)
    d_softness = -0.5 * _sum(rise * t)
    d_noise = np.zeros_like(z)
    if q > 0:  # d G / d log q = u q / (1 - 2q) (L^(u-1) - 2 L^u), which has limits of its own
        side = np.exp(log_base - limit - scale)
        inverse = (side + _sum(weight * np.exp(log_full - log_l - scale) - side * cavity)) / z
        d_noise = u * q / (1 - 2 * q) * (inverse - 2)
    parts = scale + np.log(z), slope, np.maximum(curvature, 0.0) / v if q == 0 else curvature / v
    return FractionalStep(*(part[:, 0] for part in (*parts, variance / v, d_noise, d_softness)))


def _nodes(q: float, a: Array, v: Array, u: Array) -> tuple[Array, Array, Array]:
    """A centre for the nodes, the nodes as shifts from it, and their weights under N(a, v) but for its exponential.

    Beyond the step both 1 - G and G fall like Gaussians: of precision one on the right, on the left of precision u.
    """
    sd, right_side = np.sqrt(v), a >= 0
    near, far = a / (1 + v), a / (1 + u * v)  # the cavity's centre times either Gaussian
    width, broad = sd / np.sqrt(1 + v), sd / np.sqrt(1 + u * v)
    hump = np.where(right_side, near, far)
    below = np.where(right_side, np.maximum(hump - a + _REACH * sd, 10 * width), 10 * broad)
    above = np.where(right_side, 10 * width, _REACH * sd)
    # L bends most at zero, or where noise takes over: if the humps reach there, that is where nodes must be close
    bend = float(ndtri(q)) if q > 0 else 0.0
    seen = (hump - 0.55 * below < bend) & (bend < hump + 5.5 * np.where(right_side, width, broad))
    centre = np.where(seen, bend, hump)
    start = np.arcsinh((hump - below - centre) / width)
    stop = np.arcsinh((hump + above - centre) / width)
    count = int(np.ceil(np.max(stop - start) / _SPACING)) + 1
    dx = (stop - start) / (count - 1)
    grown = np.exp(start + dx * np.arange(count))
    shift = 0.5 * width * (grown - 1 / grown)
    return centre, shift, dx * (0.5 * width * (grown + 1 / grown)) / (sqrt(2 * pi) * sd)


def _sum(values: Array) -> Array:
    return values.sum(axis=1, keepdims=True)
