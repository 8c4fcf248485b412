"""The last step of a pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

__all__ = ["last_step", "steps_of"]


def steps_of(estimator: Any) -> tuple[list[tuple[str, Any]], str, Any]:
    """Transformers, and name and object of what comes last; an estimator by itself is the last of no others."""
    *transformers, (name, last) = estimator.steps if isinstance(estimator, Pipeline) else [("", estimator)]
    return transformers, name, last


def last_step(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """A fitted classifier, from the end of a pipeline if it is at one, and inputs as they get there."""
    check_is_fitted(estimator)
    if not isinstance(estimator, Pipeline):
        return estimator, X
    return last_step(estimator[-1], X if X is None or len(estimator) == 1 else estimator[:-1].transform(X))
