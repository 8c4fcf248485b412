"""Version space of rows in three dimensions: a cell on the sphere of weight vectors, sampled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import null_space

from .. import readouts
from .._core.random import as_generator
from .._core.typing import Array
from ..estimators._validation import signs_of
from ..exceptions import InvalidProblemError
from ..grams import Dense
from ..likelihoods import Step
from ..problem import Problem

__all__ = ["VersionSpace", "sampled_version_space"]


class VersionSpace(NamedTuple):
    """Walls, draws, the path of a ball, and two classifiers, all unit vectors in three dimensions.

    Attributes
    ----------
    walls : ndarray of shape (n, 3)
        Normals that point into version space, ``y_i x_i / |x_i|``.
    draws : ndarray of shape (n_draws, 3)
        Weight vectors drawn from version space.
    path : ndarray of shape (n_bounces + 1, 3)
        Where a ball starts, and where it bounces.
    bayes_point, svm : ndarray of shape (3,)
        The centre of mass, and the centre of the largest circle inside.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.uses import VersionSpace
    >>> VersionSpace(np.eye(3), np.ones((1, 3)), np.ones((1, 3)), np.ones(3), np.ones(3)).walls.shape
    (3, 3)
    """

    walls: Array
    draws: Array
    path: Array
    bayes_point: Array
    svm: Array


def sampled_version_space(
    X: Any, y: Any, *, n_draws: int = 300, n_bounces: int = 25, random_state: Any = 0
) -> VersionSpace:
    """Sample the version space of some labelled rows.

    Parameters
    ----------
    X : array-like of shape (n, 3)
        Rows; a column of ones stands for a bias. Version space does not depend on their lengths.
    y : array-like of shape (n,)
        Two classes; the larger label is the positive one.
    n_draws : int, default=300
        Draws to keep.
    n_bounces : int, default=25
        Bounces of the ball.
    random_state : int, Generator, RandomState or None, default=0
        Randomness of draws and ball.

    Returns
    -------
    VersionSpace

    Raises
    ------
    EmptyVersionSpaceError
        If no classifier through the origin puts every row right.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.uses import sampled_version_space
    >>> X = np.random.default_rng(0).normal(size=(10, 3))
    >>> found = sampled_version_space(X, np.sign(X @ [1.0, 0.5, 0.2]))
    >>> bool((found.draws @ found.walls.T > 0).all())
    True
    """
    from ..engines.billiard import Billiard  # compiles
    from ..engines.svm import hard_margin

    rows, signs = _checked(X, y)
    rng = as_generator(random_state)
    gram = Dense(rows @ rows.T)
    problem = Problem(gram, signs, Step())
    posterior = Billiard(draws=max(n_draws, 1000), chains=1).infer(problem, rng=rng)
    weights = posterior.alpha[0] @ rows
    beyond = null_space(rows)  # what few rows leave open is as under the prior
    draws = unit(weights + rng.standard_normal((len(weights), beyond.shape[1])) @ beyond.T)
    walls = signs[:, None] * rows
    return VersionSpace(
        walls,
        draws[np.linspace(0, len(draws) - 1, n_draws).astype(int)],
        trace_ball(draws[0], rng.standard_normal(3), walls, n_bounces),
        unit(readouts.bayes_point(posterior) @ rows),
        unit((signs * hard_margin(problem).alpha) @ rows),
    )


def _checked(X: Any, y: Any) -> tuple[Array, Array]:
    """Rows of unit length and labels -1 and +1."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 3:
        raise InvalidProblemError(f"The sphere of weight vectors needs rows of three features, got shape {X.shape}.")
    if y.shape != X.shape[:1]:
        raise InvalidProblemError(f"y must have one label for each of the {len(X)} rows, got shape {y.shape}.")
    lengths = np.linalg.norm(X, axis=1)
    if not np.all(np.isfinite(lengths)) or not lengths.all():
        raise InvalidProblemError("Every row must be finite and other than zero: a row of zeros has no wall.")
    classes = np.unique(y)
    if len(classes) != 2:
        raise InvalidProblemError(f"Version space is drawn for two classes, y has {len(classes)}.")
    return X / lengths[:, None], signs_of(y, classes)[0]


def unit(vectors: Array) -> Array:
    """Vectors of length one."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def first_wall(position: Array, direction: Array, walls: Array) -> tuple[Array, Array]:
    """Angle at which a ball on ``position cos t + direction sin t`` meets a wall ``<w, a> = 0``, and which one.

    Many balls at a time: `position` and `direction` have shape (..., 3), `walls` has one normal a row.
    """
    distance = position @ walls.T
    times = np.where(distance > 1e-9, np.arctan2(distance, -(direction @ walls.T)), np.pi)  # a wall just hit is behind
    hit = times.argmin(axis=-1)
    return np.take_along_axis(times, hit[..., None], -1)[..., 0], hit


def trace_ball(position: Array, direction: Array, walls: Array, bounces: int) -> Array:
    """Where a ball starts and where it bounces: unit vectors, of shape (bounces + 1, 3)."""
    direction = unit(direction - (direction @ position) * position)
    places = [position]
    for _ in range(bounces):
        time, hit = first_wall(position, direction, walls)
        normal = walls[int(hit)]
        position, direction = along(position, direction, time), along(direction, -position, time)
        direction = unit(direction - 2 * (direction @ normal) * normal)
        places.append(position)
    return np.array(places)


def along(start: Array, direction: Array, angle: Array) -> Array:
    """Points of a great circle."""
    angle = np.asarray(angle)[..., None]
    return np.cos(angle) * start + np.sin(angle) * direction
