"""A fit as tasks that others watch and may stop: scikit-learn's callbacks (version 1.9 and later) and `verbose`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..tuning.climb import Candidate, Model
from ._progress import ITERATION, KERNEL, POSTERIORS, ROOT, Progress

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9 has no callbacks: nothing to support, nothing to tear down

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Watch", "fit_progress", "with_callbacks"]

Metadata = Callable[[], dict[str, Any]]


class Watch:
    """What a fit reports to those who watch it.

    Tasks: the fit; below it kernels, where there are several, and the posteriors; below these iterations.
    """

    def __init__(self, top: Callable[[int | None], _Task], attributes: Callable[[Any], dict[str, Any]]) -> None:
        self.top, self.attributes = top, attributes
        self.root: _Task | None = None
        self.open: _Task | None = None  # the kernel at hand, or the posteriors
        self.about: dict[str, Any] = {}
        self.iterations, self.stopped = 0, False

    def begin(self, forecast: Any = None, kernels: int = 0) -> None:
        """What is to come, and how many kernels there are to mix."""
        self.root = self.top(kernels + 1 if kernels else None)
        self.root.begin(lambda: {"forecast": forecast})

    def iteration(self, found: Candidate) -> bool:
        """The best so far after an iteration; true if the climb is to stop there."""
        parent = self.open or self.root
        assert parent is not None
        self.iterations += 1
        task = parent.subtask(ITERATION)
        task.begin(dict)
        self.about = about = self.about | {"iteration": self.iterations, "log_evidence": found.log_evidence}
        return task.end(lambda: about, lambda: self.attributes(found)) or self.stopped

    def members(self, models: Sequence[Model], so_far: Callable[[], tuple[Candidate, float]]) -> Iterator[Model]:
        """Models to tune, one after the other, until somebody says stop.

        `so_far` is the mixture of those that are tuned, and its leave-one-out log loss: worked out if somebody looks.
        """
        for model in models:
            self._start(f"{KERNEL} {model.name}", {"kernel": model.name})
            yield model
            if self._finish(so_far):
                self.stopped = True
                break
        self._start(POSTERIORS, {})

    def end(self, metadata: Metadata) -> None:
        """The fit is done."""
        if self.root is None:
            self.begin()
        assert self.root is not None
        if self.open is not None:
            self.open.end(lambda: self.about, dict)
        self.root.end(metadata, dict)

    def _start(self, name: str, about: dict[str, Any]) -> None:
        assert self.root is not None
        self.about, self.iterations = about, 0
        self.open = self.root.subtask(name, None)
        self.open.begin(lambda: about)

    def _finish(self, so_far: Callable[[], tuple[Candidate, float]]) -> bool:
        assert self.open is not None
        task, about, known = self.open, self.about, cache(so_far)
        self.open = None
        return task.end(lambda: about | {"loo_log_loss": known()[1]}, lambda: self.attributes(known()[0]))


@dataclass(frozen=True)
class _Task:
    """A task as scikit-learn's callbacks know it (its context), and as the line of `verbose` does."""

    task_name: str
    data: dict[str, Any]
    context: Any  # None where scikit-learn has none
    line: Progress | None

    def subtask(self, name: str, max_subtasks: int | None = 0) -> _Task:
        context = None if self.context is None else self.context.subcontext(name, max_subtasks=max_subtasks)
        return _Task(name, self.data, context, self.line)

    def begin(self, metadata: Metadata) -> None:
        if self.line is not None:
            self.line.on_fit_task_begin(self.data["estimator"], self, metadata=metadata())
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self.data, metadata=metadata)

    def end(self, metadata: Metadata, attributes: Callable[[], dict[str, Any]]) -> bool:
        """Whether somebody says stop. What was found becomes `attributes` of an estimator only if somebody looks."""
        if self.line is not None:
            self.line.on_fit_task_end(self.data["estimator"], self, metadata=metadata())
        if self.context is None:
            return False
        return bool(
            self.context.call_on_fit_task_end(**self.data, metadata=metadata, reconstruction_attributes=attributes)
        )


@contextmanager
def fit_progress(
    estimator: Any,
    X: Any,
    y: Any,
    attributes: Callable[[Any], dict[str, Any]],
    result: Metadata = dict,
) -> Iterator[Watch | None]:
    """Report a fit, whose `result` is told in the end; the line of `verbose` ends with it, however it ends.

    None where nobody watches.
    """
    callbacks = getattr(estimator, "_skl_callbacks", [])
    if not (callbacks or estimator.verbose):
        yield None
        return
    has_line = any(isinstance(one, Progress) for one in callbacks)
    line = Progress() if estimator.verbose and not has_line else None

    def top(max_subtasks: int | None) -> _Task:
        context = None
        if hasattr(estimator, "_init_callback_context"):
            context = estimator._init_callback_context(max_subtasks=max_subtasks)
        return _Task(ROOT, {"estimator": estimator, "X": X, "y": y}, context, line)

    watch = Watch(top, attributes)
    if line is not None:
        line.setup(estimator, None)
    try:
        yield watch
        watch.end(result)
    finally:
        if line is not None:
            line.teardown(estimator, None)
