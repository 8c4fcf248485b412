"""What a fit will take, before it begins: operations counted, their speed measured in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._core.speed import factorisation_speed
from .._core.telling import tell
from ..engines import EP
from ..grams.views import largest_rank
from ..tuning.climb import Model

if TYPE_CHECKING:
    from ._fit import Prepared, Recipe

__all__ = ["Forecast", "duration", "forecast"]

_EVALUATIONS = 8, 2  # of the evidence in a climb, and for each free parameter
_CUBIC = 2.5  # times n r^2 in one evaluation: some three sweeps, and the gradient
_SQUARE = 700  # times n^2: kernel values and their gradient, no part of which is as fast as a factorisation
_BETWEEN = 3000  # times n r, the same between rows and landmarks, with the way to features
_SWEEPS = 2.5  # evaluations' worth of the posteriors in the end, which are followed to the tolerance
_KEPT, _AT_WORK = 2, 9  # n x r matrices that a posterior keeps, and that inference and gradient hold in between
_LONG = 300.0  # seconds from which a user is told, asked or not
_SHORT = 1e11  # operations that take less on any machine, so that nothing need be measured


class Forecast(NamedTuple):
    """Rows, the largest rank, kernels to try, bytes, and operations: to tune each kernel, and for the posteriors."""

    rows: int
    rank: int
    kernels: tuple[str, ...]
    memory: int
    tuning: tuple[float, ...]
    finishing: float
    then: str = ""  # an engine whose work is not counted

    @property
    def seconds(self) -> tuple[float, ...]:
        """To tune each kernel, and for the posteriors."""
        speed = factorisation_speed(self.rank)
        return tuple(operations / speed for operations in (*self.tuning, self.finishing))

    def warn_if_long(self) -> None:
        """Long work is announced before it begins."""
        if sum(self.tuning) + self.finishing > _SHORT and sum(self.seconds) > _LONG:
            tell(
                f"This fit will take long: {self}. Watch it with verbose=1, end it in time with "
                "Progress(time_budget=...), or lower max_rank.",
                stacklevel=2,
            )

    def __str__(self) -> str:
        rank = "the whole Gram matrix" if self.rank >= self.rows else f"rank {self.rank:,} at most"
        kernels = "" if len(self.kernels) < 2 else f", {len(self.kernels)} kernels"
        then = f", then {self.then}" if self.then else ""
        size = f"{self.memory / 1e9:,.1f} GB" if self.memory >= 5e7 else f"{self.memory / 1e6:,.0f} MB"
        return f"{self.rows:,} rows, {rank}{kernels}; about {duration(sum(self.seconds))} and {size}{then}"


def forecast(recipe: Recipe, ready: Prepared, models: Sequence[Model], landmarks: int | None) -> Forecast | None:
    """What it will take to tune these models, by so many landmarks at the most if by any, and to infer posteriors.

    None where the kernel is chosen on a sample: by draws, or for an engine whose work depends on the labels.
    """
    if recipe.climbs_on_sample or ready.engine.wants_rows:
        return None
    n, X, classes = len(ready.data.y), ready.points.X, len(ready.data.targets)
    limits = recipe.max_rank, recipe.linear_from
    rough = [largest_rank(model.kernel, X, *limits, rough=landmarks) for model in models]
    final = [largest_rank(model.kernel, X, *limits) for model in models]
    climbs = 1 + recipe.n_restarts if recipe.tunes else 0
    evaluations = [climbs * (_EVALUATIONS[0] + _EVALUATIONS[1] * model.theta.size) for model in models]
    tuning = tuple(count * _evaluation(n, rank, classes) for count, rank in zip(evaluations, rough, strict=True))
    again = [rank for rank, before in zip(final, rough, strict=True) if not (recipe.tunes and rank == before)]
    by_ep = isinstance(ready.engine, EP)
    finishing = _SWEEPS * sum(_evaluation(n, rank, classes) for rank in again) if by_ep else 0.0
    largest = [max(pair) for pair in zip(rough, final, strict=True)]
    matrices = _KEPT * classes * sum(largest) + _AT_WORK * max(largest)  # all are kept until they have been weighted
    names = tuple(model.name for model in models)
    then = "" if by_ep else type(ready.engine).__name__
    return Forecast(n, max(final), names, 8 * n * matrices, tuning, finishing, then)


def _evaluation(n: int, rank: int, classes: int) -> float:
    """Operations of one evaluation of the evidence and its gradient; classes share the kernel."""
    return classes * _CUBIC * n * rank**2 + (_SQUARE if rank == n else _BETWEEN) * n * rank


def duration(seconds: float) -> str:
    """As people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
