"""Progress through scikit-learn's callback protocol (version 1.9 and later); silent before that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9 has no callbacks: nothing to support, nothing to tear down

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "FitProgress", "with_callbacks"]


class FitProgress:
    """Reports the iterations of a fit as subtasks of unknown number.

    Parameters
    ----------
    estimator : estimator
        The one being fitted.
    X, y : array-like
        Training data, handed on to callbacks.
    """

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self.estimator, self.data = estimator, {"X": X, "y": y}
        self.context = None
        if hasattr(estimator, "_init_callback_context"):
            self.context = estimator._init_callback_context(max_subtasks=None)
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def iteration(self, fitted_attributes: Callable[[], dict[str, Any]]) -> bool:
        """Report an iteration; whether a callback asks to stop. `fitted_attributes` is only called if one looks."""
        if self.context is None:
            return False
        task = self.context.subcontext(task_name="evidence iteration")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return bool(
            task.call_on_fit_task_end(
                estimator=self.estimator, **self.data, reconstruction_attributes=fitted_attributes
            )
        )

    def finish(self) -> None:
        """Report the end of the fit."""
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.estimator, **self.data, reconstruction_attributes={})
