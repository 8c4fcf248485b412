"""The exact billiard: event-driven Hamiltonian flights, the sampler of the house for steps.

Under the prior N(0, K) latents move on ellipses, ``theta(t) = theta cos t + nu sin t``, and velocities are refreshed by
``nu = M g`` with ``M M' = K``, ``g ~ N(0, I)``. The likelihood only shows at events, each O(m):

- Step: at a wall ``theta_i = 0`` with energy ``E = log((1-q)/q)`` the ball has normal speed ``p = nu_i / sqrt(K_ii)``.
  It crosses if the kinetic energy suffices, with ``p'^2 = p^2 - 2 dU``, and is reflected otherwise (always if q = 0:
  the kernel billiard of BPM section 3.1). Either way ``nu += (p' - p) / sqrt(K_ii) K[i]``.
- Hinge: a kink at ``y_i theta_i = 1`` switches the force of row i, which moves the centre of the ellipse by
  ``+-C_i y_i K[i]``.

Both leave the posterior invariant exactly (Pakman & Paninski 2014; Mohasel Afshar & Domke 2015).

Loops see margins: `a` is the latent times the sign of the side the ball is on, `b` its velocity, so that an event is
due when `a` falls to zero. What the events did to whitened coordinates is kept as one number a row (`impulse`), so
positions of a whole batch of flights follow from one matrix product, and the drift of the loop is removed at the end
of each batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import pi
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import delayed
from numba import njit

from .._core.memory import refuse_beyond_memory
from .._core.parallel import in_parallel
from .._core.random import as_generator
from .._core.settings import check_at_least
from .._core.threads import blas_threads_for
from .._core.typing import Array
from ..exceptions import InferenceWarning, InvalidProblemError
from ..grams.whitening import Stacked, Whitened
from ..likelihoods import Hinge, Step
from ..problem import Problem
from ._choice_walls import ChoiceWalls
from ._draws import sampled_posterior
from ._start import start_of
from ._walls import KINDS_WITH_WALLS, energy_of_walls, gram_of_walls, same_walls
from .base import Engine, draws_of_share

__all__ = ["Billiard"]

_BATCH = 64  # flights whose refreshes share a matrix product
_TINY = 1e-200
_USUAL = 0.01  # of the most events of a flight, what they may be on average of up to so many rows:
_FEW_ROWS = 100
_SECONDS = 2e-9  # of a flight, a row and an event, of which there is about one for every other row
_LONG = 20  # minutes from which a user is told beforehand


@dataclass(frozen=True)
class Billiard(Engine):
    """Exact event-driven sampler for `Step`, `Choice` and `Hinge` likelihoods.

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
        Events after which a single flight is given up as stuck. A chain is given up when its flights come to more than
        a hundredth of that on average; of more than 100 rows, to more than a ten-thousandth a row.
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

    takes: ClassVar[frozenset[str]] = KINDS_WITH_WALLS | {"hinge"}
    takes_classes: ClassVar[bool] = True
    refusal: ClassVar[str] = "Billiard samples Step, Choice and Hinge likelihoods, not {}: use EllipticalSlice or EP."
    is_exact: ClassVar[bool] = True
    can_grow: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_at_least(self, draws=1, chains=1, warmup=0, max_events=1)
        if not 0 < self.flight < pi:
            raise InvalidProblemError(f"flight must lie between 0 and pi, got {self.flight!r}.")

    def for_share(self, share: float) -> Billiard:
        """See `Engine.for_share`."""
        return replace(self, draws=draws_of_share(self.draws, share))

    def infer(self, problem: Problem, rng: Any = None, *, start: Array | None = None) -> Any:
        """Draws from the posterior of `problem`.

        Parameters
        ----------
        problem : Problem
            What to sample.
        rng : int, Generator, RandomState or None
            Source of randomness; each chain has a stream of its own.
        start : ndarray of shape (n,) or (n, C), optional
            Feasible latents to start from; found by the engine if not given.

        Returns
        -------
        SampledPosterior, or SampledClasses of a `Choice`
        """
        self.check(problem)
        self.announce(problem.size, problem.n_classes or 1)
        with blas_threads_for(problem.size):
            return self._infer(problem, rng, start)

    def announce(self, n: int, functions: int = 1) -> None:
        """Before any work is done, refuse n rows that memory cannot hold, and warn of those that take long."""
        refuse_beyond_memory(
            n, 1, "use expectation propagation or the elliptical slice sampler, which work on landmarks, or fewer rows"
        )
        flights = self.chains * (self.warmup + self.draws)
        minutes = flights * _SECONDS * n * n * functions / 60
        if minutes > _LONG:
            warnings.warn(
                f"The billiard holds the Gram matrix of {n:,} rows ({8e-9 * n * n:,.1f} GB) and takes some "
                f"{_rounded(minutes)} for {flights:,} flights: lower draws or chains, or use expectation propagation.",
                InferenceWarning,
                stacklevel=3,
            )

    def _infer(self, problem: Problem, rng: Any, start: Array | None) -> Any:
        walls = walls_of(problem)
        white, origin = start_of(problem, start)
        streams = as_generator(rng).spawn(self.chains)
        tasks = (delayed(_run_chain)(self, walls, white, origin, stream) for stream in streams)
        chains = in_parallel(tasks, self.n_jobs)
        info = {
            "events_per_flight": np.array([chain.events / self.draws for chain in chains]),
            "drift": max(chain.drift for chain in chains),
            "settings": self,
        }
        warn_of_drift(info["drift"], "a smaller C" if problem.likelihood.kind == "hinge" else "a little softness")
        return sampled_posterior(problem, white, np.stack([chain.kept for chain in chains]), info=info, engine=self)


def _rounded(minutes: float) -> str:
    return f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:,.0f} hours"


class Walls(NamedTuple):
    """What the loops see: rows of positive length, each with the energy of its wall or the slope of its hinge."""

    loop: Any
    gram: Array
    y: Array
    diag: Array
    energy: Array
    rows: Any
    kink: float  # margin at which a hinge begins to push
    floor: float  # potential that no flight changes: of rows of length zero, and of labels at odds on one wall

    @property
    def is_hinge(self) -> bool:
        """Whether these are slopes rather than steps."""
        return self.loop is _fly_hinges

    @property
    def remedy(self) -> str:
        """What helps where walls are too many."""
        return (Hinge if self.is_hinge else Step).remedy

    def fly(self, theta: Array, velocity: Array, flight: float, max_events: int) -> tuple[Array, Array, Any]:
        """One flight for each row of `velocity`; `theta` ends at the last position.

        Returns what the events did to the coordinates as impulses at the rows, the potential where each flight ended,
        and the number of its events.
        """
        impulse = np.empty_like(velocity)
        potential, events = np.empty(len(velocity)), np.empty(len(velocity), dtype=np.int64)
        walls = self.gram, self.y, self.diag, self.energy, self.kink
        turn = np.cos(flight), np.sin(flight)
        if self.loop(walls, theta, velocity, turn, max_events, (impulse, potential, events)):
            raise InvalidProblemError(
                f"A flight met more than {max_events} walls and was given up: the posterior is too thin for the "
                f"rounding of this Gram matrix; {self.remedy}."
            )
        return impulse, potential, events

    def scaled(self, factor: float) -> Walls:
        """Walls lower or higher by a factor."""
        return self._replace(energy=factor * self.energy)

    def potential(self, latents: Array) -> Array:
        """Energy of positions, given as latents of shape (draws, rows)."""
        margin = latents * self.y
        losses = np.maximum(self.kink - margin, 0.0) if self.is_hinge else margin < 0
        height: Array = losses @ self.energy
        return height

    @classmethod
    def slopes(cls, problem: Problem) -> Walls:
        """Walls of a step as slopes that begin at zero: a potential of one for each deviation on the wrong side."""
        diag = problem.diag + problem.own
        return cls(_fly_hinges, problem.dense, problem.y, diag, 1 / np.sqrt(diag), slice(None), 0.0, 0.0)

    @classmethod
    def of(cls, problem: Problem) -> Walls:
        """All walls of a problem that a ball can hit."""
        problem.refuse_weights_of_noise()
        likelihood, gram, y = problem.likelihood, problem.dense, problem.y
        diag = problem.diag + problem.own
        live, floor = diag > 0, 0.0
        if isinstance(likelihood, Hinge):
            loop, energy = _fly_hinges, likelihood.C * problem.exponents
            gram = gram_of_walls(problem)  # a kink pushes its row's residual, too
            floor = float(energy[~live].sum())  # a latent that is always zero pays the whole hinge
        else:
            loop, energy = _fly_steps, energy_of_walls(problem)
            if np.isfinite(energy).all() and not problem.own.all():  # walls that let through, and may coincide
                total = energy[live].sum()
                y, energy = _merge_coincident(gram, diag, y, energy)
                floor = 0.5 * float(total - energy[live].sum())
                live &= energy > 0  # no wall to hit
        rows: Any = slice(None)
        if not live.all():
            rows = np.flatnonzero(live)
            gram = np.ascontiguousarray(gram[np.ix_(rows, rows)])
        return cls(loop, gram, y[rows], diag[rows], energy[rows], rows, 1.0, floor)


def _merge_coincident(gram: Array, diag: Array, y: Array, energy: Array) -> tuple[Array, Array]:
    """Walls on top of each other as one wall, at the first of their rows, with the sum of their energies.

    Met one after the other, a wall to climb would turn the ball back that the next one would have let through.
    """
    signed = y * energy
    for i in range(len(y)):
        same = same_walls(gram, diag, i)
        if same.size and signed[i] != 0:
            signed[i] += np.sum(np.sign(gram[i, same]) * signed[same])
            signed[same] = 0.0
    return np.where(signed < 0, -1.0, 1.0), np.abs(signed)


AnyWalls = Walls | ChoiceWalls


def walls_of(problem: Problem) -> AnyWalls:
    """The walls of a problem: of labels -1 and +1, or between several classes."""
    return Walls.of(problem) if problem.n_classes is None else ChoiceWalls.of(problem)


class Chain(NamedTuple):
    """Whitened coordinates of the draws of one chain, its number of events, and the largest drift seen."""

    kept: Array
    events: int
    drift: float


def _run_chain(
    engine: Billiard, walls: AnyWalls, white: Whitened | Stacked, origin: Array, rng: np.random.Generator
) -> Chain:
    """One chain. It returns all it has to say, for it may run where no memory is shared."""
    total = engine.warmup + engine.draws
    kept = np.empty((engine.draws, white.rank))
    events, drift, spent = 0, 0.0, 0
    most = _USUAL * engine.max_events * total * max(1.0, len(walls.diag) / _FEW_ROWS)
    with blas_threads_for(len(walls.diag)):  # of the process it runs in
        for first, batch in flights(engine, walls, white, origin, rng, total):
            skip = max(engine.warmup - first, 0)
            last = max(first - engine.warmup + len(batch.positions), 0)
            kept[max(first - engine.warmup, 0) : last] = white.function(batch.positions[skip:])
            events += int(batch.events[skip:].sum())
            drift = max(drift, batch.drift)
            spent += int(batch.events.sum())
            flown = first + len(batch.positions)
            if spent > most and flown < total:
                raise InvalidProblemError(
                    f"The chain was given up after {flown} of {total} flights, which met {spent // flown:,} walls "
                    f"each: {walls.remedy}, use EP or EllipticalSlice, or raise max_events."
                )
    return Chain(kept, events, drift)


def warn_of_drift(drift: float, helper: str = "a little softness") -> None:
    """Tell if latents and coordinates came apart by more than can be put right at the end of a batch."""
    if drift > 1e-6:
        warnings.warn(
            f"Latents drifted by {drift:.1g} prior standard deviations within {_BATCH} flights: the Gram matrix is "
            f"ill-conditioned; {helper} helps.",
            InferenceWarning,
            stacklevel=3,
        )


class Batch(NamedTuple):
    """Where some flights in a row ended: whitened coordinates, and the height of the potential there."""

    positions: Array
    potential: Array
    events: Any
    drift: float


def flights(
    engine: Billiard, walls: AnyWalls, white: Whitened | Stacked, origin: Array, rng: np.random.Generator, total: int
) -> Iterator[tuple[int, Batch]]:
    """Fly `total` times from `origin`; batches, each with the number of its first flight."""
    cos_t, sin_t = np.cos(engine.flight), np.sin(engine.flight)
    position = origin
    theta = np.ascontiguousarray(white.latents(position)[walls.rows])
    for first in range(0, total, _BATCH):
        size = min(_BATCH, total - first)
        refresh = rng.standard_normal((size, white.dimension))
        velocity = np.ascontiguousarray(white.latents(refresh)[:, walls.rows])
        impulse, potential, events = walls.fly(theta, velocity, engine.flight, engine.max_events)
        refresh *= sin_t
        refresh += white.pull(impulse, walls.rows)
        _accumulate(cos_t, position, refresh)  # w' = w cos T + g sin T + M' impulse
        position = refresh[-1]
        exact = np.ascontiguousarray(white.latents(position)[walls.rows])
        drift = float(np.max(np.abs(exact - theta), initial=0.0) / np.sqrt(walls.diag.max(initial=1e-300)))
        yield first, Batch(refresh, potential, events, drift)
        theta = exact


# Compiled loops. A search for the first event compares all rows with the best time so far by multiplication alone, and
# divides only in blocks where some row is earlier: a count vectorises, a running maximum of quotients does not. The
# search is inlined by order: left to itself, code from the compiler's cache was 2.4 times slower than fresh code.
_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}  # no NaN can arise; infinities are only compared
_BLOCK = 128


@njit(cache=True, nogil=True)
def _accumulate(factor, start, rows):  # type: ignore[no-untyped-def]
    """Add to each row `factor` times the row before it, to the first one `factor` times `start`."""
    for k in range(len(rows)):
        before = start if k == 0 else rows[k - 1]
        for j in range(rows.shape[1]):
            rows[k, j] += factor * before[j]


@njit(cache=True, fastmath=_FAST, nogil=True)
def _fly_steps(walls, theta, velocity, turn, max_events, results):  # type: ignore[no-untyped-def]
    """Fly once for each row of `velocity`, from wall to wall; `theta` ends at the last position. Whether one is stuck.

    `turn` is cosine and sine of the time of a flight; `results` are filled as `Walls.fly` returns them.
    """
    gram, y, diag, energy, _ = walls
    cos_t, sin_t = turn
    impulse, potential, counts = results
    m = len(y)
    ball = a, b, side = np.empty(m), np.empty(m), np.empty(m)
    for k in range(len(velocity)):
        for j in range(m):
            side[j] = y[j] if energy[j] == np.inf or theta[j] * y[j] > 0 else -y[j]
            a[j] = side[j] * theta[j]
            b[j] = side[j] * velocity[k, j]
            impulse[k, j] = 0.0
        cos_left, sin_left = cos_t, sin_t  # of the time left
        i, cot = _next_wall(ball, gram[0], (1.0, 0.0, 0.0), cos_left / sin_left, -1)
        events = 0
        while i >= 0:
            events += 1
            if events > max_events:
                return True
            sin_e = 1.0 / np.sqrt(1.0 + cot * cot)  # no trigonometry: the time is only known by its cotangent
            cos_e = cot * sin_e
            length = np.sqrt(diag[i])
            speed = (cos_e * b[i] - sin_e * a[i]) / length  # < 0: towards the wall
            rise = energy[i] if side[i] == y[i] else -energy[i]
            crosses = speed * speed > 2.0 * rise
            after = -np.sqrt(speed * speed - 2.0 * rise) if crosses else -speed
            kick = side[i] * (after - speed) / length
            cos_left, sin_left = cos_left * cos_e + sin_left * sin_e, sin_left * cos_e - cos_left * sin_e
            impulse[k, i] += kick * sin_left
            hit = i
            limit = min(cos_left / max(sin_left, _TINY), 1e150)
            i, cot = _next_wall(ball, gram[hit], (cos_e, sin_e, kick), limit, hit)
            a[hit] = 0.0
            b[hit] = abs(after) * length  # away from it; under a soft boundary the kick has a part of its own here
            if crosses:
                side[hit] = -side[hit]
        height = 0.0
        for j in range(m):
            theta[j] = side[j] * (cos_left * a[j] + sin_left * b[j])
            height += energy[j] if side[j] != y[j] else 0.0
        potential[k] = height
        counts[k] = events
    return False


@njit(cache=True, fastmath=_FAST, nogil=True, inline="always")
def _next_wall(ball, row, event, cot, hit):  # type: ignore[no-untyped-def]
    """Rotate all margins to the event, kick the velocities, and find the next wall: the O(m) of the algorithm.

    A wall is due when ``a cos t + b sin t = 0``, ``cot t = -b / a``; the earliest has the largest cotangent above
    `cot`. The wall just hit cannot be next: it is due again half a turn later.
    """
    a, b, side = ball
    cos_e, sin_e, kick = event
    first = -1
    for start in range(0, len(a), _BLOCK):
        a_, b_ = a[start : start + _BLOCK], b[start : start + _BLOCK]
        side_, row_ = side[start : start + _BLOCK], row[start : start + _BLOCK]
        earlier = 0
        for j in range(len(a_)):
            a_new = cos_e * a_[j] + sin_e * b_[j]
            b_new = cos_e * b_[j] - sin_e * a_[j] + kick * side_[j] * row_[j]
            a_[j] = a_new
            b_[j] = b_new
            earlier += 1 if -b_new > cot * a_new else 0
        if earlier:
            for j in range(len(a_)):
                gap = max(a_[j], _TINY)  # rounding may have put a row that is due at the same moment past its wall
                if -b_[j] > cot * gap and start + j != hit:
                    cot = min(-b_[j] / gap, 1e150)
                    first = start + j
    return first, cot


@njit(cache=True, fastmath=_FAST, nogil=True)
def _fly_hinges(walls, theta, velocity, turn, max_events, results):  # type: ignore[no-untyped-def]
    """The same from kink to kink; the energy of a wall is the slope of its hinge."""
    gram, y, _, slope, kink = walls
    cos_t, sin_t = turn
    impulse, potential, counts = results
    m = len(y)
    ball = a, b, centre, push = np.empty(m), np.empty(m), np.zeros(m), np.empty(m)
    for i in range(m):
        push[i] = 1.0 if y[i] * theta[i] < kink else -1.0  # +1: the hinge pushes
        if push[i] > 0:
            for j in range(m):
                centre[j] += slope[i] * y[i] * y[j] * gram[i, j]
    for k in range(len(velocity)):
        for j in range(m):
            a[j] = y[j] * theta[j]
            b[j] = y[j] * velocity[k, j]
            impulse[k, j] = -slope[j] * y[j] * cos_t if push[j] > 0 else 0.0
        cos_left, sin_left = cos_t, sin_t
        i, tan = _next_kink(ball, y, gram[0], (1.0, 0.0, 0.0), sin_left / (1.0 + cos_left), kink)
        events = 0
        while i >= 0:
            events += 1
            if events > max_events:
                return True
            cos_e, sin_e = (1.0 - tan * tan) / (1.0 + tan * tan), 2.0 * tan / (1.0 + tan * tan)
            cos_left, sin_left = cos_left * cos_e + sin_left * sin_e, sin_left * cos_e - cos_left * sin_e
            force = -push[i] * slope[i] * y[i]  # switched on, or off if it was on
            impulse[k, i] -= force * cos_left
            push[i] = -push[i]
            limit = max(sin_left, 0.0) / (1.0 + cos_left)
            crossed = i
            i, tan = _next_kink(ball, y, gram[crossed], (cos_e, sin_e, force), limit, kink)
            a[crossed] = kink
        height = 0.0
        for j in range(m):
            margin = centre[j] + cos_left * (a[j] - centre[j]) + sin_left * b[j]
            theta[j] = y[j] * margin
            height += slope[j] * max(kink - margin, 0.0)
            if push[j] > 0:
                impulse[k, j] += slope[j] * y[j]
        potential[k] = height
        counts[k] = events
    return False


@njit(cache=True, fastmath=_FAST, nogil=True)
def _next_kink(ball, y, row, event, tan, kink):  # type: ignore[no-untyped-def]
    """Rotate all margins about their centre, move the centres, and find the first kink before ``tan(t/2) = tan``.

    With u = tan(t/2), ``(a - c) cos t + b sin t = kink - c`` is ``far u^2 - 2 toward u + gap = 0``, where gap >= 0 is
    the distance to the kink; it has a root before `tan` if it is negative there, or dips below zero on the way.
    """
    a, b, centre, push = ball
    cos_e, sin_e, force = event
    first = -1
    for start in range(0, len(a), _BLOCK):
        a_, b_, c_ = a[start : start + _BLOCK], b[start : start + _BLOCK], centre[start : start + _BLOCK]
        push_, y_, row_ = push[start : start + _BLOCK], y[start : start + _BLOCK], row[start : start + _BLOCK]
        earlier = 0
        for j in range(len(a_)):
            old = a_[j] - c_[j]
            a_new = c_[j] + cos_e * old + sin_e * b_[j]
            b_new = cos_e * b_[j] - sin_e * old
            c_new = c_[j] + force * y_[j] * row_[j]
            a_[j] = a_new
            b_[j] = b_new
            c_[j] = c_new
            gap = push_[j] * (kink - a_new)
            toward = push_[j] * b_new
            far = push_[j] * (kink + a_new - 2.0 * c_new)
            below = far * tan * tan - 2.0 * toward * tan + gap < 0.0
            dips = (toward > 0.0) & (toward < far * tan) & (toward * toward > gap * far)
            earlier += 1 if below | dips else 0
        if earlier:
            for j in range(len(a_)):
                gap = max(push_[j] * (kink - a_[j]), 0.0)
                toward = push_[j] * b_[j]
                far = push_[j] * (kink + a_[j] - 2.0 * c_[j])
                root = toward * toward - gap * far
                if root > 0.0:
                    root = np.sqrt(root)
                    # the smaller positive root, each form free of cancellation on its side
                    inverse = (toward + root) / max(gap, _TINY) if toward >= 0.0 else -far / (root - toward)
                    if inverse * tan > 1.0:
                        tan = 1.0 / inverse
                        first = start + j
    return first, tan
