"""Where samplers of several classes start: any point of positive posterior density, in whitened coordinates.

As `starting_position` for two: only hard boundaries are a search, by a perceptron, by regressions on the labels, and by
a linear programme whose answer is final.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from scipy.linalg import lapack, pinv

from .._core.compiling import compiled
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..grams.whitening import Stacked
from ..problem import Problem
from ._walls import gram_of_walls

__all__ = ["first_inside", "regressions", "starting_choice"]


def starting_choice(problem: Problem, stacked: Stacked, latents: Array | None = None) -> Array:
    """Coordinates of a feasible point: the given latents of shape (n, C), or the first that is found.

    Raises `EmptyVersionSpaceError` if there is no feasible point.
    """
    if latents is not None:
        return _given(problem, stacked, np.asarray(latents, dtype=np.float64))
    if problem.hard.any():
        return _search(problem, stacked)
    one_hot = np.eye(stacked.count)[:, problem.y]
    return _with_noise(problem, stacked, one_hot @ stacked.white.factor)


def _given(problem: Problem, stacked: Stacked, latents: Array) -> Array:
    if latents.shape != (problem.size, stacked.count) or not np.isfinite(latents).all():
        raise InvalidProblemError(
            f"start must be {problem.size} x {stacked.count} finite numbers, a latent for each row and class."
        )
    coordinates = np.stack([stacked.white.coordinates(column) for column in latents.T])
    position = _with_noise(problem, stacked, coordinates)
    if problem.likelihood.is_hard and not _separates(problem, stacked, position):
        raise InvalidProblemError("The start is not in version space: the largest latents must be those of the labels.")
    return position


def _with_noise(problem: Problem, stacked: Stacked, coordinates: Array) -> Array:
    """Coordinates (C, rank) of functions, and of noise that lifts the label's latent wherever rows have some."""
    white = stacked.white
    if not white.is_soft:
        return coordinates.ravel()
    f, root = coordinates @ white.factor.T, np.sqrt(white.softness)
    own = np.arange(stacked.count)[:, None] == problem.y
    above = np.where(own, -np.inf, f).max(axis=0) + root
    lift = np.maximum(above - f[problem.y, np.arange(problem.size)], 0.0)
    noise = own * np.divide(lift, root, out=np.zeros_like(lift), where=root > 0)
    return np.concatenate([coordinates, noise], axis=1).ravel()


def _search(problem: Problem, stacked: Stacked) -> Array:
    shape = stacked.count, problem.size
    steps = np.zeros(shape)
    if _perceptron(gram_of_walls(problem), problem.y, np.zeros(shape), steps, 20 * problem.size):
        position = stacked.pull(steps.ravel())
        if _separates(problem, stacked, position):
            return position
    positions = (_with_noise(problem, stacked, coordinates) for coordinates in _candidates(problem, stacked))
    return first_inside(problem, positions, lambda position: _separates(problem, stacked, position))


def first_inside(problem: Problem, positions: Iterable[Array], separates: Callable[[Array], bool]) -> Array:
    """The first of some positions that has the labels of all hard walls right; a sentence if there is none."""
    for position in positions:
        if separates(position):
            return position
    problem.raise_if_empty()
    raise InvalidProblemError(
        "Version space is not empty, but too thin for a start to be found: raise softness or noise above 0."
    )


def regressions(factor: Array, labels: Array) -> Iterator[Array]:
    """Coordinates whose functions come near some labels in squares, the smoothest first."""
    square, rank = factor.T @ factor, factor.shape[1]
    for ridge in 10.0 ** np.arange(-2, -13, -2.0):
        shifted = square + ridge * np.trace(square) / rank * np.eye(rank)
        found, failed = lapack.dposv(shifted, factor.T @ labels, overwrite_a=1)[1:]
        if not failed:
            yield found


def _candidates(problem: Problem, stacked: Stacked) -> Iterator[Array]:
    """Functions that may have the labels of hard walls as their largest, the cheapest first."""
    walls, hard, white = problem.walls(), np.flatnonzero(problem.hard), stacked.white
    factor = white.factor[hard]
    one_hot = np.eye(stacked.count)[walls.y]
    if len(hard) == problem.size == white.rank:
        yield np.stack([white.coordinates(column) for column in one_hot.T])
    yield from (coordinates.T for coordinates in regressions(factor, one_hot))
    latents = walls.separating()
    if latents is not None:
        yield (pinv(factor) @ latents).T


def _separates(problem: Problem, stacked: Stacked, position: Array) -> bool:
    latents = stacked.apart(stacked.latents(position))
    own = np.arange(stacked.count)[:, None] == problem.y
    return bool(np.all(np.where(own, latents, np.inf).min(axis=0) > np.where(own, -np.inf, latents).max(axis=0)))


@compiled()
def _perceptron(gram, y, theta, steps, max_mistakes):  # type: ignore[no-untyped-def]
    """The perceptron of several classes: a mistake lifts the label's latent and lowers the largest of the others."""
    mistakes = 0
    while True:
        clean = True
        for i in range(len(y)):
            other = -1
            for c in range(len(theta)):
                if c != y[i] and (other < 0 or theta[c, i] > theta[other, i]):
                    other = c
            if theta[y[i], i] <= theta[other, i]:
                clean = False
                mistakes += 1
                if mistakes > max_mistakes:
                    return False
                steps[y[i], i] += 1.0
                steps[other, i] -= 1.0
                row = gram[i]
                for j in range(len(row)):
                    theta[y[i], j] += row[j]
                    theta[other, j] -= row[j]
        if clean:
            return True
