"""The exact billiard: event-driven Hamiltonian flights, the sampler of the house for steps.

Under the prior N(0, K) latents move on ellipses, ``theta(t) = theta cos t + nu sin t``, and velocities are refreshed by
``nu = M g`` with ``M M' = K``, ``g ~ N(0, I)``. The likelihood only shows at events, each O(m):

- Step: at a wall ``theta_i = 0`` with energy ``E = log((1-q)/q)`` the ball has normal speed ``p = nu_i / sqrt(K_ii)``.
  It crosses if the kinetic energy suffices, with ``p'^2 = p^2 - 2 dU``, and is reflected otherwise (always if q = 0:
  the kernel billiard of BPM section 3.1). Either way ``nu += (p' - p) / sqrt(K_ii) K[i]``.
- Hinge: a kink at ``y_i theta_i = 1`` switches the force of row i, which moves the centre of the ellipse by
  ``+-C_i y_i K[i]``.

Both leave the posterior invariant exactly (Pakman & Paninski 2014; Mohasel Afshar & Domke 2015).

What the events did to whitened coordinates is kept as one number a row (`impulse`), so positions of a whole batch of
flights follow from one matrix product, and the drift of the loop is removed at the end of each batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import pi
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import delayed

from .._core.compiling import bits_of, compiled
from .._core.memory import refuse_beyond_memory
from .._core.parallel import in_parallel
from .._core.random import as_generator
from .._core.settings import check_at_least
from .._core.telling import tell
from .._core.threads import blas_threads_for
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..grams.whitening import Stacked, Whitened
from ..likelihoods import Hinge, Step
from ..problem import Problem
from ._choice_walls import ChoiceWalls
from ._draws import sampled_posterior
from ._start import start_of
from ._walls import KINDS_WITH_WALLS, energy_of_walls, gram_of_walls, same_walls
from .base import Engine, draws_of_share

__all__ = ["Billiard"]

_BATCH = 64  # flights whose refreshes share a matrix product, at least;
_MANY = 2**15  # numbers that they may come to, so that small problems do not spend their time between batches
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
            Source of randomness. Each chain has a stream of its own: of one seed, more draws or more chains begin
            with those of a shorter run, so one that was interrupted can be made again and gone on with.
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
            tell(
                f"The billiard holds the Gram matrix of {n:,} rows ({8e-9 * n * n:,.1f} GB) and takes some "
                f"{_rounded(minutes)} for {flights:,} flights: lower draws or chains, or use expectation propagation.",
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
        kept = np.stack([chain.kept for chain in chains]) if self.chains > 1 else chains[0].kept[None]
        return sampled_posterior(problem, white, kept, info=info, engine=self)


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
        tell(
            f"Latents drifted by {drift:.1g} prior standard deviations within a batch of flights: the Gram matrix is "
            f"ill-conditioned; {helper} helps.",
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
    turn = np.cos(engine.flight), np.sin(engine.flight)
    position = origin
    theta = np.ascontiguousarray(white.latents(position)[walls.rows])
    first, most = 0, max(_BATCH, _MANY // max(white.dimension, 1))
    while first < total:
        size = min(max(first, _BATCH), most, total - first)  # they grow with the chain, which may be given up early
        refresh = rng.standard_normal((size, white.dimension))
        velocity = np.ascontiguousarray(white.latents(refresh)[:, walls.rows])
        impulse, potential, events = walls.fly(theta, velocity, engine.flight, engine.max_events)
        _accumulate(turn, position, refresh, white.pull(impulse, walls.rows))
        position = refresh[-1]
        exact = np.ascontiguousarray(white.latents(position)[walls.rows])
        drift = float(np.max(np.abs(exact - theta), initial=0.0) / np.sqrt(walls.diag.max(initial=1e-300)))
        yield first, Batch(refresh, potential, events, drift)
        theta, first = exact, first + size


# Compiled loops. Rows are compared by a figure that is the larger the earlier their event, and positive if it is due
# before the flight ends. A running maximum of floating-point numbers does not vectorise, one of integers does, and
# positive numbers are in the order of their bits: so the last bits of a figure make room for the number of its row, and
# one maximum finds both, in the same pass over the rows that moves them. Rows whose figures agree to 2**-40 (a few
# thousand rows) are due at once, in any order.
_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}  # no NaN can arise; infinities are only compared
_LOOP: dict[str, Any] = {"fastmath": _FAST, "nogil": True, "error_model": "numpy"}


@compiled(nogil=True)
def _accumulate(turn, start, refresh, pulled):  # type: ignore[no-untyped-def]
    """Positions from refreshes, in place: ``w' = w cos T + g sin T + M' impulse``, each from the one before it."""
    cos_t, sin_t = turn
    for k in range(len(refresh)):
        before = start if k == 0 else refresh[k - 1]
        for j in range(refresh.shape[1]):
            refresh[k, j] = cos_t * before[j] + sin_t * refresh[k, j] + pulled[k, j]


@compiled(**_LOOP)
def _fly_steps(walls, theta, velocity, turn, max_events, results):  # type: ignore[no-untyped-def]
    """Fly once for each row of `velocity`, from wall to wall; `theta` ends at the last position. Whether one is stuck.

    `turn` is cosine and sine of the time T of a flight; `results` are filled as `Walls.fly` returns them. All latents
    are ``a cos t + b sin t`` until the end, with `a` and `b` of the start of the flight. A wall is met at the normal
    speed ``r / sqrt(K_ii)``, ``r^2 = a_i^2 + b_i^2``, which becomes `keep` times that (-1: reflected), and the kick
    ``(1 - keep) r / K_ii`` at that moment is the same as ``(keep - 1) / K_ii`` times `a_i` and `b_i` from the start on:
    a mirrored flight is the mirror image of the whole flight. So no time is ever computed.
    """
    gram, y, diag, energy, _ = walls
    cos_t, sin_t = turn
    impulse, potential, counts = results
    m, cot, room = len(y), cos_t / sin_t, _room_for(len(y))
    ball = a, b, side = np.empty(m), np.empty(m), np.empty(m)
    for k in range(len(velocity)):
        for j in range(m):
            side[j] = y[j] if (energy[j] == np.inf) | (theta[j] * y[j] > 0) else -y[j]
            a[j] = side[j] * max(side[j] * theta[j], _TINY)  # rounding may have put it past its wall
            b[j] = velocity[k, j]
            impulse[k, j] = 0.0
        i = _next_wall(ball, gram[0], 0.0, 0.0, cot, room)
        events = 0
        while i >= 0:
            events += 1
            if events > max_events:
                return True
            keep = -1.0
            if energy[i] < np.inf:
                rise = energy[i] if side[i] == y[i] else -energy[i]
                a_i, b_i = a[i] / np.sqrt(diag[i]), b[i] / np.sqrt(diag[i])
                share = 1.0 - 2.0 * rise / max(a_i * a_i + b_i * b_i, _TINY)  # of the energy towards the wall
                keep = np.sqrt(share) if share > 0.0 else -1.0
            kick_a, kick_b = (keep - 1.0) / diag[i] * a[i], (keep - 1.0) / diag[i] * b[i]
            impulse[k, i] += cos_t * kick_a + sin_t * kick_b
            hit, a_hit, b_hit, from_side = i, keep * a[i], keep * b[i], side[i]
            side[hit] = 0.0  # not to be met: it is due again half a turn later
            i = _next_wall(ball, gram[hit], kick_a, kick_b, cot, room)
            a[hit], b[hit] = a_hit, b_hit  # under a soft boundary the kick has a part of its own here
            side[hit] = -from_side if keep > 0.0 else from_side
        height = 0.0
        for j in range(m):
            theta[j] = cos_t * a[j] + sin_t * b[j]
            height += energy[j] if side[j] != y[j] else 0.0
        potential[k] = height
        counts[k] = events
    return False


@compiled(**_LOOP, inline="always")
def _next_wall(ball, row, kick_a, kick_b, cot, room):  # type: ignore[no-untyped-def]
    """Kick all latents and find the next wall before the end, of cotangent `cot`, or -1: the O(m) of the algorithm.

    Latents on their side at both moments, the start and now, meet the wall at ``cot t = -b / a``; others were sent
    across or back on the way, and would meet it only after half a turn.
    """
    a, b, side = ball
    first = np.int64(0)
    for j in range(len(row)):
        a_j, b_j = a[j] + kick_a * row[j], b[j] + kick_b * row[j]
        a[j], b[j] = a_j, b_j
        due = -b_j / a_j - cot if a_j * side[j] > 0.0 else 0.0
        first = max(first, (bits_of(due) & -room) | j)
    return first & (room - 1) if first >= room else -1


@compiled(**_LOOP, inline="always")
def _room_for(rows):  # type: ignore[no-untyped-def]
    """A power of two that is no smaller than the number of rows."""
    room = 1
    while room < rows:
        room *= 2
    return room


@compiled(**_LOOP)
def _fly_hinges(walls, theta, velocity, turn, max_events, results):  # type: ignore[no-untyped-def]
    """The same from kink to kink; the energy of a wall is the slope of its hinge.

    Margins `a` and their velocities `b` are those of the moment, `tan` that of half the time left.
    """
    gram, y, _, slope, kink = walls
    cos_t, sin_t = turn
    impulse, potential, counts = results
    m, room = len(y), _room_for(len(y))
    ball = a, b, centre, push, _ = np.empty(m), np.empty(m), np.zeros(m), np.empty(m), np.empty(m)
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
        i, inverse = _next_kink(ball, y, gram[0], (1.0, 0.0, 0.0), (1.0 + cos_left) / sin_left, kink, room)
        events = 0
        while i >= 0:
            events += 1
            if events > max_events:
                return True
            tan = 1.0 / inverse
            cos_e, sin_e = (1.0 - tan * tan) / (1.0 + tan * tan), 2.0 * tan / (1.0 + tan * tan)
            cos_left, sin_left = cos_left * cos_e + sin_left * sin_e, sin_left * cos_e - cos_left * sin_e
            force = -push[i] * slope[i] * y[i]  # switched on, or off if it was on
            impulse[k, i] -= force * cos_left
            push[i] = -push[i]
            limit = (1.0 + cos_left) / max(sin_left, _TINY)
            crossed = i
            i, inverse = _next_kink(ball, y, gram[crossed], (cos_e, sin_e, force), limit, kink, room)
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


@compiled(**_LOOP, inline="always")
def _next_kink(ball, y, row, event, limit, kink, room):  # type: ignore[no-untyped-def]
    """Rotate all margins about their centre, move the centres, and find the first kink with ``1 / tan(t/2) > limit``.

    With u = tan(t/2), ``(a - c) cos t + b sin t = kink - c`` is ``far u^2 - 2 toward u + gap = 0``, where gap >= 0 is
    the distance to the kink. The inverse of the smaller positive root has two forms, each free of cancellation on its
    side. Returns the row, or -1, and that inverse.
    """
    a, b, centre, push, due = ball
    cos_e, sin_e, force = event
    first = np.int64(0)
    for j in range(len(row)):
        old = a[j] - centre[j]
        a[j] = centre[j] + cos_e * old + sin_e * b[j]
        b[j] = cos_e * b[j] - sin_e * old
        centre[j] += force * y[j] * row[j]
        gap = max(push[j] * (kink - a[j]), 0.0)
        toward = push[j] * b[j]
        far = push[j] * (kink + a[j] - 2.0 * centre[j])
        square = toward * toward - gap * far
        root = np.sqrt(max(square, 0.0))
        above = toward + root if toward >= 0.0 else -far
        below = max(gap, _TINY) if toward >= 0.0 else root - toward
        due[j] = above / below - limit if square > 0.0 else 0.0
        first = max(first, (bits_of(due[j]) & -room) | j)
    i = first & (room - 1) if first >= room else -1
    return i, due[i] + limit if i >= 0 else 0.0
