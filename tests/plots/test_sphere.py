"""A ball between walls on the sphere, and maps of it."""

import numpy as np
import pytest

from bayespoint.plots._sphere import Map, arcs, cell_outline, tangents
from bayespoint.uses.version_space import along, first_wall, trace_ball, unit


@pytest.fixture
def cell(rng):
    """Walls, and a point inside."""
    inside = unit(rng.normal(size=3))
    normals = unit(rng.normal(size=(12, 3)))
    return normals * np.sign(normals @ inside)[:, None], inside


def test_the_first_wall_is_the_first(cell, rng):
    walls, inside = cell
    directions = tangents(inside, 50)
    time, hit = first_wall(np.broadcast_to(inside, directions.shape), directions, walls)
    for direction, t, wall in zip(directions, time, hit, strict=True):
        assert abs(along(inside, direction, t) @ walls[wall]) < 1e-12
        before = along(inside, direction, np.linspace(0, t, 200)[:-1])
        assert np.all(before @ walls.T > 0)


def test_a_ball_stays_inside_and_is_reflected(cell, rng):
    walls, inside = cell
    places = trace_ball(inside, rng.normal(size=3), walls, 200)
    assert places.shape == (201, 3)
    np.testing.assert_allclose(np.linalg.norm(places, axis=1), 1)
    assert np.all(places @ walls.T > -1e-9)
    assert np.all(np.min(np.abs(places[1:] @ walls.T), axis=1) < 1e-9)
    assert np.all(arcs(places) @ walls.T > -1e-8)
    for before, here, after in zip(places[:-2], places[1:-1], places[2:], strict=True):
        wall = walls[np.argmin(np.abs(walls @ here))]
        back, forth = (unit(p - (p @ here) * here) for p in (before, after))
        assert back @ wall == pytest.approx(forth @ wall, abs=1e-6)  # angle in, angle out
        side = np.cross(here, wall)
        assert back @ side == pytest.approx(-forth @ side, abs=1e-6)


def test_a_single_wall_sends_the_ball_to_the_far_side():
    walls = np.array([[0.0, 0.0, 1.0]])
    places = trace_ball(np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), walls, 3)
    np.testing.assert_allclose(places[1:], [[1, 0, 0], [-1, 0, 0], [1, 0, 0]], atol=1e-9)


def polygon_area(points):
    x, y = points.T
    return abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2


def test_the_outline_has_the_area_of_the_cell(cell, rng):
    walls, inside = cell
    outline, bounding = cell_outline(inside, walls)
    draws = unit(rng.normal(size=(400_000, 3)))
    right = draws @ walls.T > 0
    share = right.all(axis=1).mean()
    error = 4 * np.pi * np.sqrt(share / len(draws))
    assert polygon_area(Map(inside)(outline)) == pytest.approx(4 * np.pi * share, abs=4 * error + 1e-3)
    kept_out = (~right[right.sum(axis=1) == len(walls) - 1]).sum(axis=0)  # draws that a single wall keeps out
    assert set(np.flatnonzero(kept_out > 20)) <= set(bounding)
    assert kept_out[np.setdiff1d(np.arange(len(walls)), bounding)].max(initial=0) == 0


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.5])
def test_maps(angle, rng):
    centre = unit(rng.normal(size=3))
    cap = along(centre, tangents(centre, 2000), np.full(2000, angle))
    radius = np.linalg.norm(Map(centre)(cap), axis=1)
    np.testing.assert_allclose(np.pi * radius**2, 2 * np.pi * (1 - np.cos(angle)), rtol=1e-6)
    globe = Map(centre, globe=True)(cap)
    if angle < np.pi / 2:
        np.testing.assert_allclose(np.linalg.norm(globe, axis=1), np.sin(angle))
    else:
        assert np.isnan(globe).all()
