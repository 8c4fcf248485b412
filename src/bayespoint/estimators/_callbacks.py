"""Progress through scikit-learn's callback protocol (version 1.9 and later); silent before that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9 has no callbacks: nothing to support, nothing to tear down

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "fit_progress", "with_callbacks"]


@contextmanager
def fit_progress(
    estimator: Any, X: Any, y: Any, attributes: Callable[[Any], dict[str, Any]]
) -> Iterator[Callable[[Any], bool]]:
    """The iterations of a fit as subtasks of unknown number: whoever reports one learns whether a callback says stop.

    What an iteration has found becomes `attributes` of a fitted estimator only if a callback looks at them.
    """
    context, data = None, {"estimator": estimator, "X": X, "y": y}
    if hasattr(estimator, "_init_callback_context"):
        context = estimator._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(**data)

    def report(found: Any) -> bool:
        if context is None:
            return False
        task = context.subcontext(task_name="evidence iteration")
        task.call_on_fit_task_begin(**data)
        return bool(task.call_on_fit_task_end(**data, reconstruction_attributes=lambda: attributes(found)))

    yield report
    if context is not None:
        context.call_on_fit_task_end(**data, reconstruction_attributes={})
