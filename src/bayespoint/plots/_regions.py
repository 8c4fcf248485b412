"""Regions of several classes in the plane."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.ndimage import distance_transform_edt
from sklearn.utils.validation import check_is_fitted

from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from ._plane import Plane, label_axes, scatter_classes
from ._style import INK, new_axes, rgb_of_class

__all__ = ["ClassRegionsDisplay"]

_STRONGEST = 0.75  # of a class's colour, where it is certain: points of the same hue stay visible


@told_briefly()
@dataclass(eq=False, repr=False)
class ClassRegionsDisplay:
    """Most probable class over a plane of two features, the paler the less sure.

    White is where all classes are equally probable, full colour where one is certain. Full lines part the regions;
    inside of dashed ones the most probable class has nine tenths or more.

    Parameters
    ----------
    x0, x1 : ndarray of shape (n_points, n_points)
        Grid of the two features.
    proba : ndarray of shape (n_points, n_points, n_classes)
        Class probabilities.
    classes : sequence of labels
        Names of the classes.
    names : tuple of str
        Names of the features.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    image_ : AxesImage
        The colours.
    boundaries_ : list of QuadContourSet
        Line around the region of each class that has one.
    sure_ : QuadContourSet or None
        Line at a probability of 0.9.
    texts_ : list of Text
        Names of the classes, well inside of their regions.
    points_ : list of PathCollection
        Points by class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.plots import ClassRegionsDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesPointClassifier("rbf").fit(X[::2, 2:], y[::2])
    >>> display = ClassRegionsDisplay.from_estimator(model, X[::2, 2:], y[::2], n_points=30)
    >>> display.proba.shape
    (30, 30, 3)
    """

    x0: Array
    x1: Array
    proba: Array
    classes: Any
    _: KW_ONLY
    names: tuple[str, str] = ("feature 0", "feature 1")

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, *, n_points: int = 100, ax: Any = None) -> Self:
        """Draw the regions of a fitted classifier.

        Parameters
        ----------
        estimator : classifier or Pipeline
            Fitted, with two features and `predict_proba`; of this library or any other.
        X : array-like or DataFrame of shape (n_samples, 2)
            Points that say which part of the plane to show.
        y : array-like of shape (n_samples,), optional
            Their labels; without them no points are drawn.
        n_points : int, default=100
            Points of the grid in each direction.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise InvalidProblemError(f"{type(estimator).__name__} has no predict_proba: regions need probabilities.")
        plane = Plane.around(X, n_points)
        proba = np.asarray(estimator.predict_proba(plane.rows)).reshape(*plane.x0.shape, -1)
        display = cls(plane.x0, plane.x1, proba, estimator.classes_, names=plane.names).plot(ax=ax)
        if y is not None:
            display.points_ = scatter_classes(display.ax_, X, y, estimator.classes_)
        return display

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        self.ax_ = new_axes(5.4, 4.4) if ax is None else ax
        self.figure_ = self.ax_.figure
        best, top = self.proba.argmax(axis=2), self.proba.max(axis=2)
        extent = (self.x0.min(), self.x0.max(), self.x1.min(), self.x1.max())
        self.image_ = self.ax_.imshow(
            self._colours(best, top), extent=extent, origin="lower", aspect="auto", interpolation="bilinear"
        )
        present = np.unique(best)
        self.boundaries_ = [self._boundary(k) for k in present] if len(present) > 1 else []
        self.sure_ = None
        if top.min() < 0.9 < top.max():
            self.sure_ = self.ax_.contour(self.x0, self.x1, top, [0.9], colors=INK, linewidths=1, linestyles="--")
        self.texts_ = [self._name(k, best == k) for k in present]
        label_axes(self.ax_, self.x0, self.x1, self.names)
        self.points_: list[Any] = []
        return self

    def _colours(self, best: Any, top: Array) -> Array:
        """From white, where all classes are equally probable, to the colour of the most probable one."""
        least = 1 / self.proba.shape[2]
        strength = _STRONGEST * np.clip((top - least) / (1 - least), 0.0, 1.0)[..., None]
        hues = np.array([rgb_of_class(k) for k in range(self.proba.shape[2])])
        return np.asarray(1 - strength * (1 - hues[best]))

    def _boundary(self, k: int) -> Any:
        lead = self.proba[..., k] - np.delete(self.proba, k, axis=2).max(axis=2)
        return self.ax_.contour(self.x0, self.x1, lead, [0.0], colors=INK, linewidths=1.6)

    def _name(self, k: int, region: Any) -> Any:
        """At the point of the region that is farthest from its border."""
        depth = distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
        at = np.unravel_index(np.argmax(depth), depth.shape)
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
        place = self.x0[at], self.x1[at]
        return self.ax_.text(*place, str(self.classes[k]), ha="center", va="center", color=INK, bbox=box, zorder=5)
