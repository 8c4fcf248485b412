"""How sure a classifier is of its own classifications, by itself or with a second opinion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import entr

from ..._core.pipelines import last_step
from ..._core.scikit import num_samples
from ..._core.typing import Array
from ...exceptions import InvalidProblemError

__all__ = ["agreement", "check_confidence", "confidence_of", "is_opinion", "leave_one_out", "left_out", "own_opinion"]


def is_opinion(confidence: Any) -> bool:
    """Whether it is another classifier."""
    return hasattr(confidence, "fit")


def check_confidence(confidence: Any) -> None:
    if is_opinion(confidence):
        if isinstance(confidence, type) or not hasattr(confidence, "predict_proba"):
            raise InvalidProblemError(
                f"A second opinion must be a classifier with predict_proba, got {confidence!r}: choose another one."
            )
    elif not (callable(confidence) or (isinstance(confidence, str) and confidence in _KINDS)):
        names = ", ".join(map(repr, _KINDS))
        raise InvalidProblemError(f"confidence must be one of {names}, a function or a classifier, got {confidence!r}.")


def confidence_of(confidence: Any, fitted: Any, second: Any, X: Any) -> Array:
    """Of the classifications of some rows; larger where they are more to be trusted."""
    if second is not None:
        return agreement(fitted.predict(X), [*own_opinion(fitted, X), *own_opinion(second, X)])
    if callable(confidence):
        scores = np.asarray(confidence(fitted, X), dtype=np.float64)
        if scores.shape != (num_samples(X),):
            raise InvalidProblemError(f"confidence must return one number for each row, got shape {scores.shape}.")
        return scores
    method, reduce = _KINDS[confidence]
    if not hasattr(fitted, method):
        raise InvalidProblemError(
            f"confidence={confidence!r} needs {method}, which {type(fitted).__name__} lacks: choose another."
        )
    return reduce(np.asarray(getattr(fitted, method)(X), dtype=np.float64))


def own_opinion(fitted: Any, X: Any) -> list[tuple[Any, Any]]:
    """Probabilities and their classes, of a classifier that has them."""
    return [(fitted.predict_proba(X), fitted.classes_)] if hasattr(fitted, "predict_proba") else []


def agreement(labels: Any, opinions: list[tuple[Any, Any]]) -> Array:
    """Mean of the probabilities that several opinions, each with its classes, have of these labels."""
    found: Array = np.mean([_of_class(np.asarray(proba), np.asarray(own), labels) for proba, own in opinions], axis=0)
    return found


def _of_class(proba: Array, classes: Any, labels: Any) -> Array:
    """0 for classes that are not known."""
    column = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[column] == labels, proba[np.arange(len(labels)), column], 0.0)


def left_out(confidence: Any, fitted: Any, second: Any, y: Any) -> tuple[Any, Array] | None:
    """Errors and confidence on the training rows by leave-one-out probabilities, if all who are asked have them."""
    known = second is not None or (isinstance(confidence, str) and _KINDS[confidence][0] == "predict_proba")
    proba = leave_one_out(fitted, len(y))
    other = leave_one_out(second, len(y))
    if proba is None or not known or (second is not None and other is None):
        return None
    labels = np.asarray(fitted.classes_)[proba.argmax(axis=1)]
    if second is None:
        return labels != y, _KINDS[confidence][1](proba)
    return labels != y, agreement(labels, [(proba, fitted.classes_), (other, second.classes_)])


def leave_one_out(fitted: Any, n: int) -> Array | None:
    """Of each of the n training rows, by a classifier that has such probabilities."""
    proba = None if fitted is None else getattr(last_step(fitted)[0], "loo_proba_", None)
    return None if proba is None or len(proba) != n else np.asarray(proba, dtype=np.float64)


def _margin(scores: Array) -> Array:
    """Distance of the best class from the second."""
    if scores.ndim == 1:
        return np.abs(scores)
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    return best - second


_KINDS: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "probability": ("predict_proba", lambda proba: proba.max(axis=1)),
    "margin": ("predict_proba", _margin),
    "decision": ("decision_function", _margin),
    "entropy": ("predict_proba", lambda proba: -entr(proba).sum(axis=1)),
}
