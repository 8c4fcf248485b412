"""The kernel billiard as printed (Herbrich, Graepel & Campbell 2001, section 3.1 and Algorithm 2), at O(m) a bounce.

A ball flies straight in version space, is reflected at its walls, and the centre of mass is a weighted mean on the
sphere of the segments' midpoints. Kept for reproduction and teaching: `Billiard` flies on the sphere exactly. Random
directions, at the start and after each escape, have random coefficients beta: they favour where the rows lie, and the
centre stays a little off the Bayes point however long the ball flies. Slips mended: the flight time carries no labels
on either side, and the sign in rho_2 is the one that makes it non-negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._core.compiling import compiled
from .._core.random import as_generator
from .._core.settings import check_at_least
from .._core.telling import heard_by, nobody, tell
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..grams.whitening import Whitened
from ..posteriors import SampledPosterior
from ..problem import Problem
from ._start import perceptron_position, starting_position
from ._walls import gram_of_walls
from .base import Engine
from .svm import hard_margin

__all__ = ["ClassicBilliard"]

_LONELY = "The ball of ClassicBilliard needs two walls within tau_max to fly between, and finds one: use Billiard."


@dataclass(frozen=True)
class ClassicBilliard(Engine):
    """Kernel billiard with its stopping rule on rho_2, for version space (``Step`` without label noise).

    Parameters
    ----------
    tolerance : float, default=1e-3
        TOL: bound on the weight rho_2 of a new segment at which the ball stops. The paper has about 1e-4 and 1,000
        bounces, which cannot both be: the bound is about 0.01 then, and falls as one over the bounces.
    max_bounces : int, default=100_000
        Bounces at the most.
    tau_max : float, default=1e3
        Flight time beyond which the ball has escaped and gets a new direction.
    draws : int, default=1000
        Points kept, equally spaced along the trajectory.
    start : {"svm", "perceptron"}, default="svm"
        Where in version space the ball starts; the paper names both.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import ClassicBilliard
    >>> posterior = ClassicBilliard(tolerance=1e-3).infer(Problem(np.eye(2), [1, -1], Step()), rng=0)
    >>> readouts.bayes_point(posterior).round(1)
    array([ 0.7, -0.7])
    """

    tolerance: float = 1e-3
    max_bounces: int = 100_000
    tau_max: float = 1e3
    draws: int = 1000
    start: str = "svm"

    takes: ClassVar[frozenset[str]] = frozenset({"hard", "soft"})
    refusal: ClassVar[str] = "ClassicBilliard plays in version space: use a Step likelihood with noise=0."

    def __post_init__(self) -> None:
        check_at_least(self, draws=1, max_bounces=1, tolerance=1e-300, tau_max=1e-300)
        if self.start not in ("svm", "perceptron"):
            raise InvalidProblemError(f"start must be 'svm' or 'perceptron', got {self.start!r}.")

    def infer(self, problem: Problem, rng: Any = None, *, start: None = None) -> SampledPosterior:
        """Points along the ball's way as draws; see `Billiard.infer`.

        The paper's centre of mass is the `centre` of the posterior, scaled to the mean of a draw from it.
        """
        self.check(problem)
        problem.refuse_weights_of_noise()
        white = problem.whitened()
        if white.dimension < 2:
            raise InvalidProblemError(_LONELY)
        generator = as_generator(rng)
        ball = self._first(problem, white)
        ball /= np.linalg.norm(ball)
        path = np.empty((self.max_bounces + 1, white.dimension))
        own = np.sqrt(white.softness[: white.dimension - white.rank])
        walls = _Walls(gram_of_walls(problem), problem.y, np.ascontiguousarray(white.factor), own)
        centre, bounces, escapes, rho = _play(
            walls, ball, white.latents(ball), generator, self.tolerance, self.tau_max, path
        )
        if bounces < 0:
            raise InvalidProblemError(_LONELY)
        if rho > self.tolerance:
            tell(
                f"The billiard stopped after {bounces} bounces with rho_2 = {rho:.1g} above its tolerance "
                f"{self.tolerance:.1g}: raise max_bounces.",
                stacklevel=2,
            )
        points = _equally_spaced(path[: bounces + 1], self.draws)
        # the radius of a Gaussian draw is independent of its direction: its mean, and a random one for each point
        radius = np.sqrt(generator.chisquare(white.dimension, size=(len(points), 1)))
        info = {"bounces": bounces, "escapes": escapes, "rho_2": rho, "settings": self}
        scale = np.linalg.norm(points.mean(axis=0)) * radius.mean()
        return SampledPosterior(
            problem,
            white,
            (radius * points)[None, :, : white.rank],
            info=info,
            own_centre=scale * centre[: white.rank],
            engine=self,
        )

    def _first(self, problem: Problem, white: Whitened) -> Array:
        """Coordinates of the machine to start from, or of any function that is found where it fails in rounding."""
        if self.start == "svm":
            with heard_by(nobody):  # inside version space is enough
                position: Array | None = white.pull(problem.y * hard_margin(problem).alpha)
        else:
            position = perceptron_position(problem, white)
        if position is None or not np.all(white.latents(position) * problem.y > 0):
            return starting_position(problem, white)
        return position


def _equally_spaced(path: Array, count: int) -> Array:
    """Unit vectors at equal distances along a trajectory of chords, the first left out."""
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    travelled = np.r_[0.0, np.cumsum(lengths)]
    stops = travelled[-1] * (np.arange(count) + 0.5) / count
    segment = np.clip(np.searchsorted(travelled, stops) - 1, 0, len(lengths) - 1)
    share = ((stops - travelled[segment]) / np.maximum(lengths[segment], 1e-300))[:, None]
    points = (1 - share) * path[segment] + share * path[segment + 1]
    normalised: Array = points / np.linalg.norm(points, axis=1, keepdims=True)
    return normalised


class _Walls(NamedTuple):
    """What the loop sees: Gram matrix, labels, a factor of the matrix, and deviations of a soft boundary, if any."""

    gram: Array
    y: Array
    factor: Array
    own: Array


@compiled(nogil=True)
def _play(walls, ball, d, rng, tolerance, tau_max, path):  # type: ignore[no-untyped-def]
    """Algorithm 2. `d` and `nu` are the outputs of the ball and of its direction at the training points."""
    gram, y, factor, own = walls
    m, rank = factor.shape
    centre = np.zeros(len(ball))  # alpha
    escapes, last = 0, -1
    v, nu = _random_direction(walls, last, rng)
    total, longest, p_min, rho = 0.0, 0.0, 1.0, 1.0  # Xi, xi_max, p_min
    _copy(ball, path[0])
    bounces = 0
    while rho > tolerance and bounces < len(path) - 1:
        # the nearest wall, equation (21); the ball is on the right side, so only walls it moves towards count
        lost = 0
        while True:
            c, tau = -1, tau_max
            for i in range(m):
                if y[i] * nu[i] < 0.0 and i != last:
                    t = max(-d[i] / nu[i], 0.0)  # in a corner rounding may have it beyond the wall
                    if t < tau:
                        c, tau = i, t
            if c >= 0:
                break
            lost += 1
            if lost > 1000:
                return centre, -1, escapes, rho
            escapes += 1  # a new direction that points into version space, equation (22)
            v, nu = _random_direction(walls, last, rng)
        # position (23) and direction (24), each normalised
        before = ball.copy()
        ball += tau * v
        d += tau * nu
        norm = np.sqrt(np.sum(ball * ball))
        ball /= norm
        d /= norm
        if norm < 0.1 or bounces % m == 0:  # a chord past the centre magnifies rounding, and it piles up
            d, nu = _outputs(walls, ball), _outputs(walls, v)
        d[c] = 0.0
        push = 2.0 * nu[c] / gram[c, c]
        nu -= push * gram[c]
        within = v[:rank]  # a slice that is assigned to takes seconds to compile
        within -= push * factor[c]
        if len(own) > 0:
            v[rank + c] -= push * own[c]
        norm = np.sqrt(np.sum(v * v))
        v /= norm
        nu /= norm
        last = c
        # the centre of mass: a weighted sum on the sphere with the midpoint of the segment
        middle = before + ball
        middle /= np.sqrt(np.sum(middle * middle))
        length = np.sqrt(np.sum((before - ball) ** 2))
        p = np.sum(middle * centre)  # zero at first, since alpha is: and so p_min is never above zero
        rho_1, rho_2 = _rho(p, total / (total + length))
        centre = rho_1 * centre + rho_2 * middle
        p_min, longest = min(p, p_min), max(length, longest)
        total += length
        rho = _rho(p_min, total / (total + longest))[1]
        bounces += 1
        _copy(ball, path[bounces])
    return centre, bounces, escapes, rho


@compiled(nogil=True)
def _random_direction(walls, last, rng):  # type: ignore[no-untyped-def]
    """Random coefficients beta: the unit vector and its outputs, pointing away from the wall last hit (22)."""
    _, y, factor, own = walls
    m, rank = factor.shape
    beta = rng.standard_normal(m)
    v = np.empty(rank + len(own))
    np.dot(beta, factor, v[:rank])
    for i in range(len(own)):
        v[rank + i] = own[i] * beta[i]
    v /= np.sqrt(np.sum(v * v))
    nu = _outputs(walls, v)
    if last >= 0 and y[last] * nu[last] <= 0.0:
        return -v, -nu
    return v, nu


@compiled(nogil=True)
def _copy(vector, row):  # type: ignore[no-untyped-def]
    """As ``row[:] = vector``."""
    for k in range(len(row)):
        row[k] = vector[k]


@compiled(nogil=True)
def _outputs(walls, vector):  # type: ignore[no-untyped-def]
    """What the walls see of a vector."""
    _, _, factor, own = walls
    rank = factor.shape[1]
    outputs = np.dot(factor, vector[:rank])
    if len(own) > 0:
        outputs += own * vector[rank:]
    return outputs


@compiled(nogil=True)
def _rho(p, mu):  # type: ignore[no-untyped-def]
    """rho_1 and rho_2: ``rho_1 s + rho_2 t`` has unit length and lies a share `mu` of the chord from t."""
    rho_1 = mu * np.sqrt((2.0 - mu * mu * (1.0 - p)) / (1.0 + p))
    return rho_1, 1.0 - mu * mu * (1.0 - p) - rho_1 * p
