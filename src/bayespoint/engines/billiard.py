"""The exact billiard: event-driven Hamiltonian flights, the sampler of the house for steps.

Under the prior N(0, K) latents move on ellipses, ``theta(t) = theta cos t + nu sin t``, and velocities are refreshed by
``nu = M g`` with ``M M' = K``, ``g ~ N(0, I)``. The likelihood only shows at events, each O(m):

- Step: at a wall ``theta_i = 0`` with energy ``E = log((1-q)/q)`` the ball has normal speed ``p = nu_i / sqrt(K_ii)``. It
  crosses if the kinetic energy suffices, with ``p'^2 = p^2 - 2 dU``, and is reflected otherwise (always if q = 0: the
  kernel billiard of BPM section 3.1). Either way ``nu += (p' - p) / sqrt(K_ii) K[i]``.
- Hinge: a kink at ``y_i theta_i = 1`` switches the force of row i, which moves the centre of the ellipse by
  ``+-C_i y_i K[i]``.

Both leave the posterior invariant exactly (Pakman & Paninski 2014; Mohasel Afshar & Domke 2015).

Loops see margins: `a` is the latent times the sign of the side the ball is on, `b` its velocity, so that an event is due
when `a` falls to zero. What the events did to whitened coordinates is kept as one number a row (`impulse`), so positions of
a whole batch of flights follow from one matrix product, and the drift of the loop is removed at the end of each batch.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numba import njit

from .._typing import Array
from ..exceptions import InferenceWarning, InvalidProblemError
from ..likelihoods import Hinge, Step
from ..posteriors import SampledPosterior
from ..problem import Problem, as_generator
from ..whitening import Whitened, whiten
from .start import starting_position

__all__ = ["Billiard"]

_BATCH = 64  # flights whose refreshes share a matrix product
_TINY = 1e-200


@dataclass(frozen=True)
class Billiard:
    """Exact event-driven sampler for `Step` and `Hinge` likelihoods.

    Parameters
    ----------
    draws : int, default=1000
        Draws kept of each chain.
    chains : int, default=4
        Independent chains.
    warmup : int, default=50
        Flights of each chain before the first draw is kept. A flight all but forgets where it started.
    flight : float, default=pi/2
        Length of a flight, between 0 and pi; pi/2 is a fresh draw where there are no events.
    max_events : int, default=1_000_000
        Events after which a single flight is given up as stuck.
    n_jobs : int or None, default=None
        Chains run at the same time; the draws do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import Billiard
    >>> posterior = Billiard(draws=500, chains=2).infer(Problem(np.eye(2), [1, -1], Step()), rng=0)
    >>> posterior.latents.shape
    (2, 500, 2)
    >>> bool(np.all(posterior.latents * [1, -1] > 0))
    True
    """

    draws: int = 1000
    chains: int = 4
    warmup: int = 50
    flight: float = pi / 2
    max_events: int = 1_000_000
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if not (self.draws >= 1 and self.chains >= 1 and self.warmup >= 0):
            raise InvalidProblemError("draws and chains must be at least 1, warmup at least 0.")
        if not 0 < self.flight < pi:
            raise InvalidProblemError(f"flight must lie between 0 and pi, got {self.flight!r}.")

    def infer(self, problem: Problem, rng: Any = None, *, start: Array | None = None) -> SampledPosterior:
        """Draws from the posterior of `problem`.

        Parameters
        ----------
        problem : Problem
            What to sample.
        rng : int, Generator, RandomState or None
            Source of randomness; each chain has a stream of its own.
        start : ndarray of shape (n,), optional
            Feasible latents to start from; found by the engine if not given.

        Returns
        -------
        SampledPosterior
        """
        loop, energy = _loop_of(problem)
        white = whiten(problem)
        origin = starting_position(problem, white, start)
        streams = as_generator(rng).spawn(self.chains)
        chains = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_run_chain)(self, problem, white, origin, loop, energy, stream) for stream in streams
        )
        coordinates = np.stack([chain[0] for chain in chains])
        events = np.array([chain[1] for chain in chains])
        info = {
            "events_per_flight": events.mean(axis=1),
            "drift": max(chain[2] for chain in chains),
            "settings": self,
        }
        return SampledPosterior(problem, white, coordinates[:, :, : white.rank], info=info)


def _loop_of(problem: Problem) -> tuple[Any, Array]:
    """The compiled loop for a likelihood, and the energy of each row's wall or the slope of its hinge."""
    likelihood = problem.likelihood
    weights = np.ones(problem.size) if problem.weights is None else problem.weights
    if isinstance(likelihood, Hinge):
        return _fly_hinges, likelihood.C * weights
    if isinstance(likelihood, Step):
        if problem.weights is not None and likelihood.softness > 0:
            raise InvalidProblemError(
                "The billiard cannot weight rows under a soft boundary: repeat rows, or use softness=0 or engine EP."
            )
        q = likelihood.noise
        return _fly_steps, weights * np.log((1 - q) / q) if q > 0 else np.full(problem.size, np.inf)
    raise InvalidProblemError(f"Billiard samples Step and Hinge likelihoods, not {type(likelihood).__name__}.")


def _run_chain(
    engine: Billiard,
    problem: Problem,
    white: Whitened,
    origin: Array,
    loop: Any,
    energy: Array,
    rng: np.random.Generator,
) -> tuple[Array, Array, float]:
    """One chain: whitened coordinates of each kept draw, events of each flight, largest drift seen."""
    gram, y, softness = problem.gram, problem.y, white.softness
    diag = np.diagonal(gram) + softness
    cos_t, sin_t = np.cos(engine.flight), np.sin(engine.flight)
    total = engine.warmup + engine.draws
    kept = np.empty((engine.draws, white.dimension))
    events = np.empty(total, dtype=np.int64)
    position = origin.copy()
    theta = white.latents(position)
    drift = 0.0
    for first in range(0, total, _BATCH):
        size = min(_BATCH, total - first)
        refresh = rng.standard_normal((size, white.dimension))
        velocity = white.latents(refresh)
        impulse = np.empty((size, problem.size))
        counts = events[first : first + size]
        stuck = loop(
            gram, y, softness, diag, energy, theta, velocity, cos_t, sin_t, impulse, counts, engine.max_events
        )
        if stuck:
            raise InvalidProblemError(
                f"A flight met more than {engine.max_events} walls and was given up: version space is too thin for "
                "the rounding of this Gram matrix; raise softness or noise."
            )
        refresh *= sin_t
        refresh += white.pull(impulse)
        for k in range(size):  # w' = w cos T + g sin T + M' impulse
            position = refresh[k] = cos_t * position + refresh[k]
            if first + k >= engine.warmup:
                kept[first + k - engine.warmup] = position
        exact = white.latents(position)
        drift = max(drift, float(np.max(np.abs(exact - theta)) / np.sqrt(diag.max())))
        theta = exact
    if drift > 1e-6:
        warnings.warn(
            f"Latents drifted by {drift:.1g} prior standard deviations within {_BATCH} flights: the Gram matrix is "
            "ill-conditioned; a little softness helps.",
            InferenceWarning,
            stacklevel=2,
        )
    return kept, events[engine.warmup :], drift


_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}  # no NaN can arise; infinities are only compared


@njit(cache=True, fastmath=_FAST, nogil=True)
def _fly_steps(gram, y, softness, diag, energy, theta, velocity, cos_t, sin_t, impulse, counts, max_events):  # type: ignore[no-untyped-def]
    """Fly once for each row of `velocity`, from wall to wall; `theta` ends at the last position."""
    m = len(y)
    side, a, b, ratio = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for k in range(len(velocity)):
        for j in range(m):
            side[j] = 1.0 if theta[j] > 0 else -1.0
            if energy[j] == np.inf:
                side[j] = y[j]
            a[j] = side[j] * theta[j]
            b[j] = side[j] * velocity[k, j]
            impulse[k, j] = 0.0
        cos_left, sin_left = cos_t, sin_t
        events = 0
        while True:
            best = -np.inf
            for j in range(m):
                ratio[j] = -b[j] / max(a[j], _TINY)  # cotangent of the time to this wall
                best = max(best, ratio[j])
            # the earliest wall is the largest cotangent; no trigonometry: sin t = 1/sqrt(1 + cot^2)
            best = min(best, 1e150)
            norm = 1.0 / np.sqrt(1.0 + best * best)
            cos_e, sin_e = best * norm, norm
            if sin_left * cos_e - cos_left * sin_e <= 0.0:
                break
            i = 0
            while ratio[i] < best:
                i += 1
            events += 1
            if events > max_events:
                return True
            speed = (cos_e * b[i] - sin_e * a[i]) / np.sqrt(diag[i])  # < 0: towards the wall
            rise = energy[i] if side[i] == y[i] else -energy[i]
            crosses = speed * speed > 2.0 * rise
            after = -np.sqrt(speed * speed - 2.0 * rise) if crosses else -speed
            kick = side[i] * (after - speed) / np.sqrt(diag[i])
            cos_left, sin_left = cos_left * cos_e + sin_left * sin_e, sin_left * cos_e - cos_left * sin_e
            row = gram[i]
            for j in range(m):
                old = a[j]
                a[j] = cos_e * old + sin_e * b[j]
                b[j] = cos_e * b[j] - sin_e * old + kick * side[j] * row[j]
            a[i] = 0.0
            b[i] = abs(after) * np.sqrt(diag[i])  # away from the wall, softness included
            impulse[k, i] += kick * sin_left
            if crosses:
                side[i] = -side[i]
        for j in range(m):
            theta[j] = side[j] * (cos_left * a[j] + sin_left * b[j])
        counts[k] = events
    return False


@njit(cache=True, fastmath=_FAST, nogil=True)
def _fly_hinges(gram, y, softness, diag, slope, theta, velocity, cos_t, sin_t, impulse, counts, max_events):  # type: ignore[no-untyped-def]
    """Fly once for each row of `velocity`, from kink to kink; `theta` ends at the last position.

    With u = tan(t/2) the kink ``A cos t + B sin t = 1 - c`` is a quadratic; `ratio` is 1/u, the largest is the first.
    """
    m = len(y)
    a, b, centre, side, ratio = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for j in range(m):
        centre[j] = 0.0
        side[j] = 1.0 if y[j] * theta[j] < 1.0 else -1.0  # +1: the hinge pushes
    for i in range(m):
        if side[i] > 0:
            for j in range(m):
                centre[j] += slope[i] * y[i] * y[j] * gram[i, j]
    for k in range(len(velocity)):
        for j in range(m):
            a[j] = y[j] * theta[j]
            b[j] = y[j] * velocity[k, j]
            impulse[k, j] = -slope[j] * y[j] * cos_t if side[j] > 0 else 0.0
        cos_left, sin_left = cos_t, sin_t
        events = 0
        while True:
            best = -1.0
            for j in range(m):
                gap = max(side[j] * (1.0 - a[j]), 0.0)
                toward = side[j] * b[j]
                far = side[j] * (1.0 + a[j] - 2.0 * centre[j])
                disc = toward * toward - gap * far
                root = np.sqrt(max(disc, 0.0))
                near = (toward + root) / max(gap, _TINY)
                away = -far / max(root - toward, _TINY)
                r = near if toward >= 0.0 else away
                ratio[j] = r if disc > 0.0 else -1.0
                best = max(best, ratio[j])
            best = min(best, 1e150)
            # u < tan(left/2) with tan(left/2) = sin / (1 + cos)
            if best * sin_left <= 1.0 + cos_left:
                break
            i = 0
            while ratio[i] < best:
                i += 1
            events += 1
            if events > max_events:
                return True
            square = best * best
            cos_e, sin_e = (square - 1.0) / (square + 1.0), 2.0 * best / (square + 1.0)
            cos_left, sin_left = cos_left * cos_e + sin_left * sin_e, sin_left * cos_e - cos_left * sin_e
            pull = -side[i] * slope[i] * y[i]  # the force that is switched on (or, negative, off)
            row = gram[i]
            for j in range(m):
                old = a[j] - centre[j]
                a[j] = centre[j] + cos_e * old + sin_e * b[j]
                b[j] = cos_e * b[j] - sin_e * old
                centre[j] += pull * y[j] * row[j]
            a[i] = 1.0
            impulse[k, i] -= pull * cos_left
            side[i] = -side[i]
        for j in range(m):
            theta[j] = y[j] * (centre[j] + cos_left * (a[j] - centre[j]) + sin_left * b[j])
            if side[j] > 0:
                impulse[k, j] += slope[j] * y[j]
        counts[k] = events
    return False
