"""Where samplers start: any point of positive posterior density, in whitened coordinates."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.linalg import lapack, solve_triangular

from .._typing import Array
from ..exceptions import InvalidProblemError
from ..problem import Problem, separating_latents
from ..whitening import Whitened

__all__ = ["starting_position"]


def starting_position(problem: Problem, white: Whitened, latents: Array | None = None) -> Array:
    """Coordinates of a feasible point: the given latents, or the first that is found.

    Only a hard boundary is a search: a perceptron, then interpolation of the labels, then a linear programme whose
    answer is final. Raises `EmptyVersionSpaceError` if there is no feasible point.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines.start import starting_position
    >>> from bayespoint.whitening import whiten
    >>> problem = Problem(np.eye(2), [1, -1], Step())
    >>> starting_position(problem, whiten(problem))
    array([ 1., -1.])
    """
    position = np.zeros(white.dimension)
    hard = problem.likelihood.is_hard
    if latents is not None:
        latents = np.asarray(latents, dtype=np.float64)
        if latents.shape != (problem.size,) or not np.isfinite(latents).all():
            raise InvalidProblemError(f"start must be {problem.size} finite numbers, a latent for each row.")
        position[: white.rank] = _coordinates(white, latents)
        if hard and not _separates(problem, white, position):
            raise InvalidProblemError("The start is not in version space: its signs must be the labels.")
        if white.softness > 0:  # latent noise that takes f to the right side
            f = white.factor @ position[: white.rank]
            root = np.sqrt(white.softness)
            position[white.rank :] = (problem.y * np.maximum(problem.y * f, root) - f) / root
        return position
    if white.softness > 0:
        position[white.rank :] = problem.y  # h = y sqrt(s), whatever the kernel
    elif hard:
        position[:] = _search(problem, white)
    return position


def _search(problem: Problem, white: Whitened) -> Array:
    steps = np.zeros(problem.size)
    if _perceptron(problem.dense, problem.y, np.zeros(problem.size), steps, 20 * problem.size):
        position = white.pull(steps)
        if _separates(problem, white, position):
            return position
    factor = white.factor
    if white.rank == problem.size:
        position = solve_triangular(factor[white.pivots], problem.y[white.pivots], lower=True)
        if _separates(problem, white, position):
            return position
    square = factor.T @ factor
    for ridge in 10.0 ** np.arange(-2, -13, -2.0):
        shifted = square + ridge * np.trace(square) / white.rank * np.eye(white.rank)
        position, failed = lapack.dposv(shifted, factor.T @ problem.y, overwrite_a=1)[1:]
        if not failed and _separates(problem, white, position):
            return position
    latents = separating_latents(problem.gram, problem.y)
    if latents is not None:
        position = _coordinates(white, latents)
        if _separates(problem, white, position):
            return position
    problem.raise_if_empty()
    raise InvalidProblemError(
        "Version space is not empty, but too thin for a start to be found: raise softness or noise above 0."
    )


def _coordinates(white: Whitened, latents: Array) -> Array:
    position: Array = solve_triangular(white.factor[white.pivots], latents[white.pivots], lower=True)
    return position


def _separates(problem: Problem, white: Whitened, position: Array) -> bool:
    return bool(np.all(white.latents(position) * problem.y > 0))


@njit(cache=True)
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
