"""Decision boundaries of draws from the posterior (KGS Figure 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from ._plane import Plane, label_axes, posterior_step, scatter_classes
from ._style import INK, finer, new_axes

__all__ = ["DecisionBoundariesDisplay"]


@told_briefly()
@dataclass(eq=False, repr=False)
class DecisionBoundariesDisplay:
    """Where classifiers drawn from the posterior change their mind, beside the Bayes point, in two dimensions.

    Parameters
    ----------
    x0, x1 : ndarray of shape (n_points, n_points)
        Grid of the two features.
    draws : ndarray of shape (n_draws, n_points, n_points)
        Latent functions on the grid; a boundary is where one is zero.
    mean : ndarray of shape (n_points, n_points)
        Posterior mean: the Bayes point.
    names : tuple of str
        Names of the features.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    boundaries_ : list of QuadContourSet
        One for each draw that changes sign on the grid.
    bayes_point_ : QuadContourSet or None
        Boundary of the Bayes point, None if there is none on the grid.
    points_ : list of PathCollection
        Training points by class.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.plots import DecisionBoundariesDisplay
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> display = DecisionBoundariesDisplay.from_estimator(BayesPointClassifier("rbf").fit(X, y), X, y, n_draws=5)
    >>> len(display.boundaries_)
    5
    """

    x0: Array
    x1: Array
    draws: Array
    mean: Array
    names: tuple[str, str] = ("feature 0", "feature 1")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        n_draws: int = 20,
        n_points: int = 32,
        ax: Any = None,
        random_state: Any = 0,
    ) -> Self:
        """Draw functions from the posterior of a fitted classifier, and their boundaries.

        Parameters
        ----------
        estimator : classifier or Pipeline
            A fitted classifier of this library with two classes and two features, or a pipeline that ends in one.
        X : array-like or DataFrame of shape (n_samples, 2)
            Points that say which part of the plane to show.
        y : array-like of shape (n_samples,), optional
            Their labels; without them no points are drawn.
        n_draws : int, default=20
            Functions to draw, on the whole grid at once.
        n_points : int, default=32
            Points of the grid in each direction.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        random_state : int, Generator, RandomState or None, default=0
            Randomness of the draws.
        """
        if n_draws < 1:
            raise InvalidProblemError(f"n_draws must be at least 1, got {n_draws!r}.")
        plane = Plane.around(X, n_points)
        classifier, rows = posterior_step(estimator, plane.rows)
        if len(classifier.classes_) > 2:
            raise InvalidProblemError(
                f"Boundaries of draws are for two classes, the classifier has {len(classifier.classes_)}."
            )
        draws = classifier.sample_latent(rows, n_draws, random_state)
        mean = classifier.latent(rows).mean
        shape = plane.x0.shape
        display = cls(plane.x0, plane.x1, draws.reshape(-1, *shape), mean.reshape(shape), plane.names).plot(ax=ax)
        if y is not None:
            display.points_ = scatter_classes(display.ax_, X, y, classifier.classes_)
        display._legend()
        return display

    def plot(self, *, ax: Any = None, **options: Any) -> Self:
        """Draw the boundaries.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **options
            For `matplotlib.axes.Axes.contour` of the draws.
        """
        if ax is None:
            ax = new_axes(6.4, 4.4)
        style = {"colors": "0.35", "alpha": 0.35, "linewidths": 0.8, "zorder": 2} | options
        axes = self.x0[0], self.x1[:, 0]
        self.boundaries_ = [ax.contour(*finer(*axes, f), [0.0], **style) for f in self.draws if _changes_sign(f)]
        self.bayes_point_ = None
        if _changes_sign(self.mean):
            self.bayes_point_ = ax.contour(*finer(*axes, self.mean), [0.0], colors=INK, linewidths=2.2, zorder=3)
        self.points_: list[Any] = []
        label_axes(ax, self.x0, self.x1, self.names)
        self.ax_, self.figure_ = ax, ax.figure
        self._legend()
        return self

    def _legend(self) -> None:
        """Contours have no entry of their own."""
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], color=INK, lw=2.2, label="Bayes point"),
            Line2D([], [], color="0.6", lw=0.8, label="draws"),
            *self.points_,
        ]
        self.ax_.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0.0)


def _changes_sign(values: Array) -> bool:
    return bool(np.min(values) < 0 < np.max(values))
