"""What displays of two features share: a grid, the classifier at the end of a pipeline, points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.pipelines import last_step
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ._style import look


class Plane(NamedTuple):
    """A grid over the plane, the same as rows of two features, and the names of these."""

    x0: Array
    x1: Array
    rows: Any
    names: tuple[str, str]

    @classmethod
    def around(cls, X: Any, n_points: int, margin: float = 0.15) -> Plane:
        """A grid over the range of some rows and a little more."""
        values = np.asarray(X, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != 2:
            raise InvalidProblemError(f"A picture of the plane needs rows of two features, got shape {values.shape}.")
        if n_points < 2:
            raise InvalidProblemError(f"n_points must be at least 2, got {n_points!r}.")
        low, high = values.min(axis=0), values.max(axis=0)
        room = margin * np.where(high > low, high - low, 1.0)
        x0, x1 = np.meshgrid(*(np.linspace(a, b, n_points) for a, b in zip(low - room, high + room, strict=True)))
        rows: Any = np.column_stack([x0.ravel(), x1.ravel()])
        names = ("feature 0", "feature 1")
        if hasattr(X, "iloc"):  # the estimator wants to see the names again
            rows, names = type(X)(rows, columns=X.columns), (str(X.columns[0]), str(X.columns[1]))
        return cls(x0, x1, rows, names)


def label_axes(ax: Any, x0: Array, x1: Array, names: tuple[str, str]) -> None:
    """Limits and names of the axes."""
    ax.set(xlim=(x0.min(), x0.max()), ylim=(x1.min(), x1.max()), xlabel=names[0], ylabel=names[1])


def posterior_step(estimator: Any, rows: Any) -> tuple[Any, Any]:
    """A fitted kernel classifier and rows as it takes them, from the end of a pipeline if it is at one."""
    classifier, rows = last_step(estimator, rows)
    if not hasattr(classifier, "posterior_"):
        raise InvalidProblemError(f"{type(classifier).__name__} has no posterior: use a classifier of bayespoint.")
    return classifier, rows


def scatter_classes(ax: Any, X: Any, y: Any, classes: Any) -> list[Any]:
    """Points of each class with a colour and a marker of their own."""
    values, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if y.shape != values.shape[:1]:
        raise InvalidProblemError(f"y must have one label for each of the {len(values)} rows, got shape {y.shape}.")
    return [
        ax.scatter(
            *values[y == label].T,
            s=26,
            **look(k),
            edgecolor="white",
            linewidth=0.7,
            zorder=4,
            label=f"class {label}",
        )
        for k, label in enumerate(classes)
    ]
