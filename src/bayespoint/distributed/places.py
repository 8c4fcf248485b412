"""Where partitions live: in this process, or with the workers of dask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from joblib import Parallel, delayed

from .._core.extras import needed
from ..exceptions import InvalidProblemError

__all__ = ["Places", "places_of"]

_FAN_IN = 8  # reports that one task adds up


class Places(Protocol):
    """Partitions, and what each of them remembers from round to round."""

    def shapes(self) -> list[tuple[int, int, int]]:
        """Rows, coordinates and label vectors of each partition."""
        ...

    def round(self, advance: Callable[..., Any], add: Callable[[list[Any]], Any], *words: Any) -> Any:
        """``memory, report = advance(partition, memory, *words)`` everywhere; ``add`` of all reports."""
        ...


def places_of(parts: Sequence[Any], n_jobs: int | None) -> Places:
    """The places of partitions that are at hand, or of objects of dask that compute to them."""
    parts = list(parts)
    if not parts:
        raise InvalidProblemError("There must be at least one partition.")
    with_dask = [hasattr(part, "__dask_graph__") for part in parts]
    if all(with_dask):
        return DaskWorkers(parts)
    if any(with_dask):
        raise InvalidProblemError("Partitions must either all be in this process or all be of dask.")
    return InProcess(parts, n_jobs)


class InProcess:
    """Partitions in the memory of this process, one thread each at the most."""

    def __init__(self, parts: list[Any], n_jobs: int | None) -> None:
        self.parts, self.n_jobs = parts, n_jobs
        self.memories: list[Any] = [None] * len(parts)

    def shapes(self) -> list[tuple[int, int, int]]:
        return [part.shape for part in self.parts]

    def round(self, advance: Callable[..., Any], add: Callable[[list[Any]], Any], *words: Any) -> Any:
        done = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(advance)(part, memory, *words) for part, memory in zip(self.parts, self.memories, strict=True)
        )
        self.memories = [memory for memory, _ in done]
        return add([report for _, report in done])


class DaskWorkers:
    """Partitions with the workers of dask: of the active client if there is one, of the local scheduler if not.

    A partition and its memory stay with their worker; words go out with the task graph, and only the sum of the reports
    comes back. Everything is a task of the ones before it, so what is lost with a worker is worked out again.
    """

    def __init__(self, parts: list[Any]) -> None:
        self.dask: Any = needed("dask", "distributed", "Rows with the workers of dask need dask")
        self.parts = list(self.dask.persist(*parts))
        self.memories: list[Any] = [None] * len(parts)
        self.homes: list[Any] = [None] * len(parts)

    def shapes(self) -> list[tuple[int, int, int]]:
        shapes = list(self.dask.compute(*(self.dask.delayed(_shape)(part) for part in self.parts)))
        self.homes = [_home(part) for part in self.parts]
        return shapes

    def round(self, advance: Callable[..., Any], add: Callable[[list[Any]], Any], *words: Any) -> Any:
        delayed = self.dask.delayed
        said = delayed(words, traverse=False)
        memories, reports = [], []
        for part, memory, home in zip(self.parts, self.memories, self.homes, strict=True):
            # a scheduler in search of balance would rather move small partitions; it still may if their worker is gone
            with self.dask.annotate(**({"workers": home, "allow_other_workers": True} if home else {})):
                memory, report = delayed(_advance, nout=2)(advance, part, memory, said)
            memories.append(memory)
            reports.append(report)
        while len(reports) > 1:
            groups = (reports[i : i + _FAN_IN] for i in range(0, len(reports), _FAN_IN))
            reports = [delayed(add)(group) for group in groups]
        *self.memories, total = self.dask.persist(*memories, *reports)
        return total.compute()


def _home(part: Any) -> list[str] | None:
    """Workers that hold a partition, None where there is but this process."""
    futures = [future for future in part.__dask_graph__().values() if hasattr(future, "client")]
    return [worker for future in futures for worker in future.client.who_has(future).get(future.key, ())] or None


def _shape(part: Any) -> tuple[int, int, int]:
    shape: tuple[int, int, int] = part.shape
    return shape


def _advance(advance: Callable[..., Any], part: Any, memory: Any, words: tuple[Any, ...]) -> Any:
    return advance(part, memory, *words)
