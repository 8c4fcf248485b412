"""The kernel Gibbs sampler as printed (Graepel & Herbrich 2001, section 3): exact draws on random great circles.

Kept for reproduction and teaching; `Billiard` samples the same posterior thousands of times faster. Three slips of the
paper are mended: the midpoint of an interval is half the *sum* of its ends (step 6), the move of step 8 and the angles
of step 4 use the same sign, and the likelihood is q where ``y <w, x> <= 0``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import delayed

from .._core.compiling import compiled
from .._core.parallel import in_parallel
from .._core.random import as_generator
from .._core.settings import check_at_least
from .._core.typing import Array
from ..grams.whitening import Stacked, Whitened
from ..problem import Problem
from ._choice_circle import draw_choice_angle
from ._choice_walls import energies_of_choices
from ._draws import sampled_posterior
from ._start import start_of
from ._walls import KINDS_WITH_WALLS, energy_of_walls
from .base import Engine

__all__ = ["GibbsSampler"]


@dataclass(frozen=True)
class GibbsSampler(Engine):
    """Hit-and-run on the sphere of classifiers, for `Step` and `Choice` likelihoods.

    A chain would let the rounding of its processor grow until, after some hundred steps, draws are others. So positions
    are rounded to 20 binary digits, far less than the error of any number of draws: those of a seed agree to some ten
    digits on all kinds of processors. Only where this would leave a version space with hard walls is a position kept.

    Parameters
    ----------
    draws : int, default=1000
        Draws kept of each chain.
    chains : int, default=4
        Independent chains.
    warmup : int, default=500
        Steps of each chain before the first draw is kept.
    thin : int, default=1
        Steps between draws.
    n_jobs : int or None, default=None
        Chains run at the same time; the draws do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import GibbsSampler
    >>> posterior = GibbsSampler(draws=200, chains=2).infer(Problem(np.eye(2), [1, -1], Step(noise=0.1)), rng=0)
    >>> posterior.latents.shape
    (2, 200, 2)
    """

    draws: int = 1000
    chains: int = 4
    warmup: int = 500
    thin: int = 1
    n_jobs: int | None = None

    takes: ClassVar[frozenset[str]] = KINDS_WITH_WALLS
    takes_classes: ClassVar[bool] = True
    refusal: ClassVar[str] = "GibbsSampler samples Step and Choice likelihoods alone: use EllipticalSlice."
    is_exact: ClassVar[bool] = True
    can_grow: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_at_least(self, draws=1, chains=1, warmup=0, thin=1)

    def infer(self, problem: Problem, rng: Any = None, *, start: None = None) -> Any:
        """Draws from the posterior of `problem`; see `Billiard.infer`."""
        self.check(problem)
        problem.refuse_weights_of_noise()
        white, origin = start_of(problem)
        circle = _Circle.of(problem)
        streams = as_generator(rng).spawn(self.chains)
        tasks = (delayed(_run_chain)(self, circle, white, origin, stream) for stream in streams)
        coordinates = np.stack(in_parallel(tasks, self.n_jobs))
        return sampled_posterior(problem, white, white.function(coordinates), info={"settings": self}, engine=self)


_GRID = 2.0**20  # steps of a coordinate of a position, which has unit length


class _Circle(NamedTuple):
    """How to draw an angle, and what it takes beside the latents."""

    draw: Any
    y: Any
    energy: Array
    is_hard: bool

    @classmethod
    def of(cls, problem: Problem) -> _Circle:
        if problem.n_classes is None:
            draw, energy = _draw_angle, energy_of_walls(problem)
        else:
            draw, energy = draw_choice_angle, energies_of_choices(problem).max(axis=1)
        return cls(draw, problem.y, energy, bool(np.isinf(energy).any()))

    def rounded(self, w: Array, white: Whitened | Stacked) -> tuple[Array, Array]:
        """The position of unit length that all processors agree upon, and its latents."""
        coarse = np.rint(_GRID * w)
        coarse /= np.sqrt(coarse @ coarse)
        latents = white.latents(coarse)
        if not self.allows(latents):
            coarse = w / np.linalg.norm(w)
            latents = white.latents(coarse)
        return coarse, latents

    def allows(self, latents: Array) -> bool:
        """Whether they are on this side of all hard walls; those of several classes stand one class after the other."""
        if not self.is_hard:
            return True
        if len(latents) == len(self.y):
            return bool((latents * self.y > 0).all())
        return bool((latents.reshape(-1, len(self.y)).argmax(axis=0) == self.y).all())


def _run_chain(
    engine: GibbsSampler, circle: _Circle, white: Whitened | Stacked, start: Array, rng: np.random.Generator
) -> Array:
    y, energy = circle.y, circle.energy
    # Step 1: an arbitrary starting point of unit length
    w = start if start.any() else rng.standard_normal(white.dimension)
    w, along = circle.rounded(w / np.linalg.norm(w), white)
    kept = np.empty((engine.draws, white.dimension))
    for step in range(-engine.warmup, engine.draws * engine.thin):
        # Step 2: a direction in the tangent space
        v = rng.standard_normal(white.dimension)
        v -= (v @ w) * w
        length = np.linalg.norm(v)
        v = v / length if length > 1e-12 else np.zeros_like(v)  # in one dimension the circle is w and -w
        angle = circle.draw(along, white.latents(v), y, energy, rng.random(), rng.random())
        w, along = circle.rounded(np.cos(angle) * w + np.sin(angle) * v, white)  # step 8
        if step >= 0 and step % engine.thin == 0:
            kept[step // engine.thin] = w
    # A step sees only directions; under a Gaussian prior the radius is independent of them.
    kept *= np.sqrt(rng.spawn(1)[0].chisquare(white.dimension, size=(engine.draws, 1)))
    return kept


@compiled(nogil=True)
def _draw_angle(along, across, y, energy, first, second):  # type: ignore[no-untyped-def]
    """Steps 3 to 7: an angle from the piecewise constant posterior on the circle ``cos(a) w + sin(a) v``."""
    m = len(y)
    # Steps 3, 4: each hyperplane meets the circle at two opposite angles
    angles = np.empty(2 * m + 1)
    for i in range(m):
        angle = np.arctan2(-along[i], across[i])
        angles[2 * i] = angle % (2 * np.pi)
        angles[2 * i + 1] = (angle + np.pi) % (2 * np.pi)
    angles[: 2 * m].sort()  # step 5
    angles[2 * m] = angles[0] + 2 * np.pi
    # Step 6: energy of the training errors at the midpoint of each interval
    log_mass = np.empty(2 * m)
    for i in range(2 * m):
        middle = 0.5 * (angles[i] + angles[i + 1])
        cos, sin = np.cos(middle), np.sin(middle)
        total = 0.0
        for j in range(m):
            if y[j] * (cos * along[j] + sin * across[j]) <= 0.0:
                total += energy[j]
        width = angles[i + 1] - angles[i]
        log_mass[i] = np.log(width) - total if width > 0.0 and total < np.inf else -np.inf
    # Step 7: an interval by its mass, then an angle uniformly within it
    top = log_mass.max()
    if top == -np.inf:  # a version space thinner than rounding: stay
        return 0.0
    mass = np.exp(log_mass - top)
    target = first * mass.sum()
    i = 0
    while target > mass[i] and i < 2 * m - 1:
        target -= mass[i]
        i += 1
    return angles[i] + second * (angles[i + 1] - angles[i])
