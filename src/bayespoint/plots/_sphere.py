"""Geometry of the sphere of weight vectors in three dimensions: walls, a ball between them, and maps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._core.typing import Array
from .._core.words import told_briefly
from ..uses.version_space import along, first_wall, unit


def tangents(centre: Array, count: int) -> Array:
    """Directions all around a point, of shape (count, 3)."""
    _, _, basis = np.linalg.svd(centre[None])
    return along(basis[1], basis[2], np.linspace(0, 2 * np.pi, count))


def cell_outline(centre: Array, walls: Array, count: int = 1440) -> tuple[Array, Array]:
    """Outline of the cell around a point, and the walls that make it: a ball shot in each direction."""
    directions = tangents(centre, count)
    time, hit = first_wall(np.broadcast_to(centre, directions.shape), directions, walls)
    return along(centre, directions, time), np.unique(hit)


def arcs(places: Array, count: int = 24) -> Array:
    """The way from each place to the next along great circles."""
    a, b = places[:-1], places[1:]
    angle = np.arccos(np.clip(np.sum(a * b, axis=1), -1, 1))
    side = unit(b - np.cos(angle)[:, None] * a + 1e-300)
    steps = np.linspace(0, 1, count)[:, None] * angle
    return np.swapaxes(np.cos(steps)[..., None] * a + np.sin(steps)[..., None] * side, 0, 1).reshape(-1, 3)


@told_briefly()
@dataclass(frozen=True, eq=False)
class Map:
    """From the sphere to the plane, seen from above a centre: Lambert's equal-area map, or a globe from afar."""

    centre: Array
    globe: bool = False

    def __call__(self, points: Array) -> Array:
        """Coordinates of points; those on the far side of a globe are not a number."""
        _, _, (_, right, up) = np.linalg.svd(self.centre[None])
        up = up * np.sign(np.linalg.det([right, up, self.centre]))
        height = points @ self.centre
        flat = np.stack([points @ right, points @ up], axis=-1)
        if self.globe:
            return np.where(height[..., None] >= -1e-9, flat, np.nan)
        return flat * np.sqrt(2 / np.maximum(1 + height, 1e-9))[..., None]
