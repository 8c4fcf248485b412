"""Where samplers start: any point of positive posterior density, in whitened coordinates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import pinv

from .._core.compiling import compiled
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..grams.separation import separating_latents
from ..grams.whitening import Stacked, Whitened
from ..problem import Problem
from ._choice_start import first_inside, regressions, starting_choice
from ._walls import gram_of_walls

__all__ = ["coordinates_of", "perceptron_position", "start_of", "starting_position"]


def start_of(problem: Problem, latents: Array | None = None) -> tuple[Whitened | Stacked, Array]:
    """Whitened coordinates of a problem, and those of a feasible point."""
    white = coordinates_of(problem)
    if isinstance(white, Stacked):
        return white, starting_choice(problem, white, latents)
    return white, starting_position(problem, white, latents)


def coordinates_of(problem: Problem) -> Whitened | Stacked:
    """Whitened coordinates of the function of a problem, or of those of all its classes."""
    white = problem.whitened()
    return white if problem.n_classes is None else Stacked(white, problem.n_classes)


def starting_position(problem: Problem, white: Whitened, latents: Array | None = None) -> Array:
    """Coordinates of a feasible point: the given latents, or the first that is found.

    Only a hard boundary is a search: a perceptron, then interpolation of the labels, then a linear programme whose
    answer is final. Raises `EmptyVersionSpaceError` if there is no feasible point.
    """
    if latents is not None:
        return _given(problem, white, np.asarray(latents, dtype=np.float64))
    position = np.zeros(white.dimension)
    if problem.hard.any():
        position[:] = _search(problem, white)
    elif white.is_soft:
        position[white.rank :] = problem.y  # h = y sqrt(s), whatever the kernel
    return position


def _given(problem: Problem, white: Whitened, latents: Array) -> Array:
    if latents.shape != (problem.size,) or not np.isfinite(latents).all():
        raise InvalidProblemError(f"start must be {problem.size} finite numbers, a latent for each row.")
    position = _with_noise(problem, white, white.coordinates(latents))
    if problem.likelihood.is_hard and not _separates(problem, white, position):
        raise InvalidProblemError("The start is not in version space: its signs must be the labels.")
    return position


def _with_noise(problem: Problem, white: Whitened, coordinates: Array) -> Array:
    """Coordinates of a function, and of noise that takes it to the right side wherever rows have some of their own."""
    if not white.is_soft:
        return coordinates
    f, root = white.factor @ coordinates, np.sqrt(white.softness)
    wanted = problem.y * np.maximum(problem.y * f, root) - f
    return np.r_[coordinates, np.divide(wanted, root, out=np.zeros_like(f), where=root > 0)]


def perceptron_position(problem: Problem, white: Whitened) -> Array | None:
    """Coordinates of a perceptron that separates the labels of the walls, or None where it takes too many mistakes."""
    steps = np.zeros(problem.size)
    if not _perceptron(gram_of_walls(problem), problem.y, np.zeros(problem.size), steps, 20 * problem.size):
        return None
    position = white.pull(steps)
    return position if _separates(problem, white, position) else None


def _search(problem: Problem, white: Whitened) -> Array:
    position = perceptron_position(problem, white)
    if position is not None:
        return position
    positions = (_with_noise(problem, white, coordinates) for coordinates in _candidates(problem, white))
    return first_inside(problem, positions, lambda position: _separates(problem, white, position))


def _candidates(problem: Problem, white: Whitened) -> Iterator[Array]:
    """Functions that may have the labels of hard walls as their signs, the cheapest first."""
    walls, hard = problem.walls(), np.flatnonzero(problem.hard)
    factor = white.factor[hard]
    if len(hard) == problem.size == white.rank:
        yield white.coordinates(problem.y)
    yield from regressions(factor, walls.y)
    latents = separating_latents(walls.gram, walls.y)
    if latents is not None:
        yield white.coordinates(latents) if len(hard) == problem.size else pinv(factor) @ latents


def _separates(problem: Problem, white: Whitened, position: Array) -> bool:
    return bool(np.all(white.latents(position) * problem.y > 0))


@compiled()
def _perceptron(gram, y, theta, steps, max_mistakes):  # type: ignore[no-untyped-def]
    """BPM Algorithm 1 on the training order: whether all labels came out right within `max_mistakes` corrections."""
    mistakes = 0
    while True:
        clean = True
        for i in range(len(y)):
            if y[i] * theta[i] <= 0.0:
                clean = False
                mistakes += 1
                if mistakes > max_mistakes:
                    return False
                steps[i] += y[i]
                row = gram[i]
                for j in range(len(y)):
                    theta[j] += y[i] * row[j]
        if clean:
            return True
