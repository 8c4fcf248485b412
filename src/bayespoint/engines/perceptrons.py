"""Perceptrons on permutations of the training rows (Herbrich, Graepel & Campbell 2001, section 3.2 and Algorithm 1).

Each permutation leads a perceptron to another classifier of version space; their mean is close to the Bayes point. All
perceptrons, of all classes, advance side by side and share one bounded store of kernel rows: each scans its
permutation until it needs a row that is not there; then all rows waited for are computed as one block of matrix
products. Where a perceptron goes depends neither on the store nor on the others. Slip mended: a mistake on the
i-th row of the permutation counts on row Pi(i), not on row i.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from .._core.compiling import compiled
from .._core.random import as_generator
from .._core.settings import check_at_least
from .._core.telling import tell
from .._core.threads import workers
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..grams import Gram, RowSource
from ..grams.rows import Single
from ..posteriors import ExpandedPosterior
from ..problem import Problem
from .base import Engine

__all__ = ["Perceptrons"]

Ints = NDArray[np.int64]

_FEW = 16  # rows that are hardly worth a round
_AHEAD = 8  # mistakes to come that each perceptron may name
_SMALL = 20_000  # outputs of all perceptrons, below which threads cost more than they save
_PATIENCE = 1000  # mistakes between looks at the clock
_NO_ROW = -1
_DONE, _GOES_ON, _WAITS = 0, 1, 2  # what a perceptron answers


@dataclass(frozen=True)
class Perceptrons(Engine):
    """Kernel perceptrons on random permutations, for hard or soft boundaries and many rows.

    Memory is linear in the number of rows but for the store of kernel rows, whose size is yours to choose; a smaller
    one computes rows more than once and finds the same classifiers.

    Parameters
    ----------
    permutations : int, default=10
        Perceptrons for each label vector.
    max_epochs : int, default=1000
        Scans through all rows at the most; a perceptron stops before it when a scan finds no mistake.
    cache_size : float, default=6000
        Megabytes for rows of the Gram matrix, if that does not come as an array.
    time_budget : float or None, default=None
        Seconds after which perceptrons are returned as they are.
    n_jobs : int or None, default=None
        Threads; None takes as many as the linear algebra library does. The classifiers do not depend on it. On a
        joblib backend without shared memory the permutations are divided among its workers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import Perceptrons
    >>> from bayespoint.grams import KernelRows
    >>> rows = KernelRows(DotProduct(1.0) ** 2, np.array([[-2.0], [-1.0], [1.0], [2.0]]))
    >>> posterior = Perceptrons(permutations=20).infer(Problem(rows, [-1, -1, 1, 1], Step()), rng=0)
    >>> new = rows.new(np.array([[-3.0], [3.0]]))
    >>> readouts.vote(posterior, new)
    array([0., 1.])
    """

    permutations: int = 10
    max_epochs: int = 1000
    cache_size: float = 6000
    time_budget: float | None = None
    n_jobs: int | None = None

    takes: ClassVar[frozenset[str]] = frozenset({"hard", "soft"})
    takes_weights: ClassVar[bool] = False
    takes_residual: ClassVar[bool] = False
    refusal: ClassVar[str] = "Perceptrons live in version space: use a Step likelihood with noise=0."
    wants_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_at_least(self, permutations=1, max_epochs=1, cache_size=0)
        if self.time_budget is not None:
            check_at_least(self, time_budget=0)

    def infer(self, problem: Problem, rng: Any = None, start: ExpandedPosterior | None = None) -> ExpandedPosterior:
        """Classifiers of version space, one for each permutation.

        Parameters
        ----------
        problem : Problem
            A hard or soft boundary without label noise.
        rng : int, Generator, RandomState or None
            Source of randomness; each permutation has a stream of its own, however many there are.
        start : ExpandedPosterior, optional
            Earlier result, to which classifiers of further permutations are added.

        Returns
        -------
        ExpandedPosterior
        """
        return self.infer_all([problem], rng, start=None if start is None else [start])[0]

    def infer_all(
        self,
        problems: Sequence[Problem],
        rng: Any = None,
        start: Sequence[ExpandedPosterior] | None = None,
        n_jobs: int | None = None,
    ) -> list[ExpandedPosterior]:
        """The same for several label vectors on one Gram matrix, such as one class against the rest.

        Parameters
        ----------
        problems : sequence of Problem
            With the same Gram matrix.
        rng, start
            As for `infer`; one earlier result for each problem.
        n_jobs : int, optional
            In place of the engine's own.

        Returns
        -------
        list of ExpandedPosterior
            With one `support`, so that kernel values of new points are computed once for all.
        """
        _check(self, problems, start)
        engine = self if n_jobs is None else replace(self, n_jobs=n_jobs)
        walls = _Walls(
            problems[0].gram.by_rows(),
            np.array([problem.y for problem in problems]),
            problems[0].likelihood.softness,
        )
        first = 0 if start is None else start[0].draws
        which = np.arange(first, first + self.permutations)
        seed = int(as_generator(rng).integers(2**63))
        backend, jobs = get_active_backend(prefer="threads")
        if getattr(backend, "supports_sharedmem", False):
            found = _run(engine, walls, seed, which)
        else:
            count = backend.effective_n_jobs(engine.n_jobs or jobs or -1)
            groups = np.array_split(which, min(count, len(which)))
            alone = replace(engine, n_jobs=1)
            parts = Parallel(n_jobs=len(groups))(delayed(_run)(alone, walls, seed, group) for group in groups)
            found = _Found(*(np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)))
        self._warn(found)
        return _posteriors(self, problems, found, start)

    def _warn(self, found: _Found) -> None:
        missing = int((~found.separated).sum())
        if missing and not (found.epochs[~found.separated] < self.max_epochs).any():
            tell(
                f"{missing} of {found.separated.size} perceptrons had not separated their labels after "
                f"{self.max_epochs} epochs: raise softness, or max_epochs if the classes can be separated.",
                stacklevel=4,
            )
        elif missing:
            tell(
                f"The time budget of {self.time_budget:g} s ended when {found.separated.size - missing} of "
                f"{found.separated.size} perceptrons had separated their labels.",
                stacklevel=4,
            )


class _Walls(NamedTuple):
    """What the perceptrons see: rows of the Gram matrix, labels of shape (class, n), and the softness."""

    gram: RowSource
    labels: Array
    softness: float


class _Found(NamedTuple):
    """Results by class and permutation: of shape (class, permutation) or (class, permutation, n).

    `computed` is the number of kernel rows computed, of shape (class, group).
    """

    steps: NDArray[np.int32]
    outputs: Array
    epochs: Ints
    separated: NDArray[np.bool_]
    computed: Ints


def _check(engine: Perceptrons, problems: Sequence[Problem], start: Sequence[ExpandedPosterior] | None) -> None:
    if not problems:
        raise InvalidProblemError("There must be at least one problem to solve.")
    for problem in problems:
        engine.check(problem)
        if not _same_rows(problem.gram, problems[0].gram) or problem.likelihood != problems[0].likelihood:
            raise InvalidProblemError("Problems to be solved together must share one Gram matrix and one likelihood.")
    if start is not None and (
        len(start) != len(problems)
        or len({old.draws for old in start}) != 1
        or not all(np.array_equal(old.problem.y, new.y) for old, new in zip(start, problems, strict=True))
    ):
        raise InvalidProblemError("start must hold an earlier result for each problem, on the same labels.")


def _same_rows(one: Gram, other: Gram) -> bool:
    """Whether two problems were given one Gram matrix; each of them wraps an array for itself."""
    return one is other or (one.by_rows().held is not None and one.by_rows().held is other.by_rows().held)


def _posteriors(
    engine: Perceptrons, problems: Sequence[Problem], found: _Found, start: Sequence[ExpandedPosterior] | None
) -> list[ExpandedPosterior]:
    """Unit vectors in the feature space of the walls, as long as a Gaussian draw is in the mean."""
    n, softness = problems[0].size, problems[0].likelihood.softness
    lengths = np.sqrt(np.einsum("ckn,ckn->ck", found.steps, found.outputs))  # |w|^2 = alpha' (K + s I) alpha
    scale = np.sqrt(n) / np.where(lengths > 0, lengths, 1.0)[..., None]
    used: Any = found.steps.any(axis=(0, 1))
    if start is not None:
        used[start[0].support] = True
    support = np.flatnonzero(used)
    posteriors = []
    for c, problem in enumerate(problems):
        weights = found.steps[c][:, support] * scale[c]
        latents = (found.outputs[c] - softness * found.steps[c]) * scale[c]
        info: dict[str, Any] = {"epochs": found.epochs[c], "separated": found.separated[c]}
        info["mistakes"] = np.abs(found.steps[c]).sum(axis=1, dtype=np.int64)
        if start is not None:
            earlier = np.zeros((len(start[c].weights), n))
            earlier[:, start[c].support] = start[c].weights
            weights = np.concatenate([earlier[:, support], weights])
            latents = np.concatenate([start[c].latents[0], latents])
            info = {name: np.concatenate([start[c].info[name], values]) for name, values in info.items()}
        info |= {"rows_computed": int(found.computed[c].sum()), "settings": engine}
        posteriors.append(ExpandedPosterior(problem, support, weights, latents[None], info, engine))
    return posteriors


def _run(engine: Perceptrons, walls: _Walls, seed: int, which: Ints) -> _Found:
    """All classes on some of the permutations."""
    classes, n = walls.labels.shape
    shape = classes, len(which)
    order = np.empty((*shape, n), dtype=np.int32)
    for c in range(classes):
        for k, permutation in enumerate(which):
            order[c, k] = np.random.default_rng([seed, c, permutation]).permutation(n)
    outputs, steps = np.zeros((*shape, n)), np.zeros((*shape, n), dtype=np.int32)
    state = np.zeros((*shape, 4), dtype=np.int64)
    crew = [_Perceptron(order[i], walls.labels[i[0]], outputs[i], steps[i], state[i]) for i in np.ndindex(*shape)]
    with workers(engine.n_jobs if n * len(crew) > _SMALL else 1) as run:
        computed = _lockstep(engine, walls, crew, run)
    epochs, separated = state[..., 3] + (state[..., 0] > 0), state[..., 1] >= n
    return _Found(steps, outputs, epochs, separated, np.full((classes, 1), computed))


class _Perceptron(NamedTuple):
    """One perceptron: its permutation, labels, outputs o, coefficients alpha, and where it stands.

    `state` holds the position in the permutation, rows since the last mistake, the row waited for, and full scans.
    Loops get it as a plain tuple: to tell the types of one with names takes longer than a short scan.
    """

    order: NDArray[np.int32]
    y: Array
    outputs: Array
    steps: NDArray[np.int32]
    state: Ints


def _lockstep(engine: Perceptrons, walls: _Walls, crew: list[_Perceptron], run: Callable[..., Any]) -> int:
    """Advance all perceptrons as far as there are rows, compute those waited for, and again."""
    n = walls.labels.shape[1]
    end = np.inf if engine.time_budget is None else time.perf_counter() + engine.time_budget
    held = walls.gram.held
    store = _Store(walls.gram, n, engine.cache_size) if held is None else None
    rows = held if store is None else store.values
    slots = np.arange(n, dtype=np.int32) if store is None else store.slots

    def advance(p: _Perceptron) -> int:
        return int(_advance(tuple(p), rows, slots, walls.softness, engine.max_epochs))

    busy = crew
    while True:
        answers = list(run(advance, busy))
        waiting = [p for p, answer in zip(busy, answers, strict=True) if answer == _WAITS]
        busy = [p for p, answer in zip(busy, answers, strict=True) if answer != _DONE]
        if not busy or time.perf_counter() > end:
            return 0 if store is None else store.computed
        if store is not None and waiting:
            store.supply(waiting, crew, run)


class _Store:
    """A bounded number of rows of the Gram matrix, the least used of which make room for new ones."""

    def __init__(self, gram: RowSource, n: int, megabytes: float) -> None:
        self.gram = gram
        self.capacity = int(min(n, max(1, megabytes * 1e6 // (4 * n))))
        self.values: Single = np.empty((self.capacity, n), dtype=np.float32)
        self.slots = np.full(n, _NO_ROW, dtype=np.int32)  # where a row is
        self.owner = np.full(self.capacity, _NO_ROW, dtype=np.int64)  # which row is there
        self.filled = self.computed = 0

    def supply(self, waiting: list[_Perceptron], crew: list[_Perceptron], run: Callable[..., Any]) -> None:
        """Compute the rows waited for, and likely next ones while there is room in the block."""
        rows = _distinct(np.array([p.state[2] for p in waiting]))[: self.capacity]
        spare = max(-len(rows) % self.gram.granularity, _FEW - len(rows))
        spare = min(spare, self.capacity // 4, self.capacity - len(rows))
        if spare > 0:
            found = np.full((_AHEAD, len(waiting)), _NO_ROW, dtype=np.int64)

            def look(k: int) -> None:
                _look_ahead(tuple(waiting[k]), self.slots, found[:, k])

            list(run(look, range(len(waiting))))
            likely = _distinct(found.ravel())  # first the next mistake of each, then the one after it
            likely = likely[(likely != _NO_ROW) & ~np.isin(likely, rows)][:spare]
            rows = np.concatenate([rows, likely])
        places = self._room(len(rows), crew)
        self.slots[rows], self.owner[places] = places, rows
        self.gram.write(rows, self.values, places, run)
        self.computed += len(rows)

    def _room(self, count: int, crew: list[_Perceptron]) -> Ints:
        """Places for new rows: free ones, then those of the rows that perceptrons have used least."""
        free = np.arange(self.filled, min(self.filled + count, self.capacity))
        self.filled += len(free)
        short = count - len(free)
        if not short:
            return free
        uses = np.zeros(self.capacity, dtype=np.int64)
        for p in crew:
            uses += np.abs(p.steps[self.owner])  # a row is used once for each mistake on it
        uses[free] = np.iinfo(np.int64).max
        least = np.argpartition(uses, short - 1)[:short]
        self.slots[self.owner[least]] = _NO_ROW
        return np.concatenate([free, least])


def _distinct(rows: Ints) -> Ints:
    """In the order of their first appearance."""
    _, first = np.unique(rows, return_index=True)
    return rows[np.sort(first)]


@compiled(nogil=True)
def _advance(perceptron, rows, slots, softness, max_epochs):  # type: ignore[no-untyped-def]
    """Algorithm 1 from where `state` stands: to its end, to a row that is not there, or out of patience."""
    order, y, outputs, steps, state = perceptron
    n = len(order)
    position, clean, _, epoch = state
    answer, patience = _DONE, _PATIENCE
    while clean < n and epoch < max_epochs:
        i = order[position]
        if y[i] * outputs[i] <= 0.0:
            if slots[i] < 0 or patience == 0:
                answer = _WAITS if slots[i] < 0 else _GOES_ON
                state[2] = i
                break
            steps[i] += np.int32(y[i])  # the paper prints alpha_i for alpha_Pi(i)
            _add(outputs, rows[slots[i]], y[i])
            outputs[i] += y[i] * softness
            clean, patience = 0, patience - 1
        else:
            clean += 1
        position += 1
        if position == n:
            position, epoch = 0, epoch + 1
    state[0], state[1], state[3] = position, clean, epoch
    return answer


@compiled(nogil=True)
def _add(outputs, row, label):  # type: ignore[no-untyped-def]
    if label > 0:
        for j in range(len(row)):
            outputs[j] += row[j]
    else:
        for j in range(len(row)):
            outputs[j] -= row[j]


@compiled(nogil=True)
def _look_ahead(perceptron, slots, found):  # type: ignore[no-untyped-def]
    """The next rows in the permutation that are wrong as things stand, and not at hand."""
    order, y, outputs, _, state = perceptron
    n, count, position = len(order), 0, state[0]
    for _ in range(n - 1):
        position = position + 1 if position < n - 1 else 0
        i = order[position]
        if y[i] * outputs[i] <= 0.0 and slots[i] < 0:
            found[count] = i
            count += 1
            if count == len(found):
                return
