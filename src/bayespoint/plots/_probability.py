"""Class probability over the plane, and how sure the classifier is of it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import entr
from sklearn.utils.validation import check_is_fitted

from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from ._plane import Plane, label_axes, posterior_step, scatter_classes
from ._style import INK, new_grid, own_axes, pick_one

__all__ = ["ProbabilitySurfaceDisplay"]

_PALE = {"vmin": -0.15, "vmax": 1.15}  # points of the same hue stay visible on the colours of 0 and 1
_MEANING = {"sd": "standard deviation of the latent function", "entropy": "entropy of the label in bits"}


@told_briefly()
@dataclass(eq=False, repr=False)
class ProbabilitySurfaceDisplay:
    """Class probability over a plane of two features, with the uncertainty behind it as a second panel.

    Parameters
    ----------
    x0, x1 : ndarray of shape (n_points, n_points)
        Grid of the two features.
    proba : ndarray of shape (n_points, n_points)
        Probability of the class of interest.
    uncertainty : ndarray of shape (n_points, n_points) or None
        What the second panel shows.
    class_name, uncertainty_name : str
        What the two are called.
    names : tuple of str
        Names of the features.

    Attributes
    ----------
    axes_ : list of Axes
        One panel, or two.
    ax_, figure_
        The first panel and the figure.
    surface_, contour_ : QuadContourSet
        Probability as colours, and its lines at 0.1, 0.5 and 0.9.
    uncertainty_ : QuadContourSet or None
        Colours of the second panel.
    points_ : list of PathCollection
        Training points by class, in every panel.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.plots import ProbabilitySurfaceDisplay
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> display = ProbabilitySurfaceDisplay.from_estimator(BayesPointClassifier("rbf").fit(X, y), X, y, n_points=30)
    >>> len(display.axes_)
    2
    """

    x0: Array
    x1: Array
    proba: Array
    uncertainty: Array | None = None
    _: KW_ONLY
    class_name: str = "1"
    uncertainty_name: str = "uncertainty"
    names: tuple[str, str] = ("feature 0", "feature 1")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        class_of_interest: Any = None,
        uncertainty: str | None = "sd",
        n_points: int = 100,
        ax: Any = None,
    ) -> Self:
        """Draw the probabilities of a fitted classifier.

        Parameters
        ----------
        estimator : classifier or Pipeline
            Fitted, with two features; for the standard deviation of the latent function one of this library, or a
            pipeline that ends in one.
        X : array-like or DataFrame of shape (n_samples, 2)
            Points that say which part of the plane to show.
        y : array-like of shape (n_samples,), optional
            Their labels; without them no points are drawn.
        class_of_interest : label, optional
            Whose probability; the second of two classes by default.
        uncertainty : {"sd", "entropy"} or None, default="sd"
            What the second panel shows: the standard deviation of the latent function, which is large where there are
            no rows; the entropy of the label, which is large at the boundary as well; or nothing, for one panel.
        n_points : int, default=100
            Points of the grid in each direction.
        ax : matplotlib Axes or sequence of two, optional
            Where to draw; a new figure by default.
        """
        pick_one("uncertainty", uncertainty, ("sd", "entropy", None))
        check_is_fitted(estimator)
        classes = np.asarray(estimator.classes_).tolist()
        if class_of_interest is None and len(classes) > 2:
            raise InvalidProblemError(f"Say which class_of_interest to show, one of {classes}.")
        wanted = classes[1] if class_of_interest is None else class_of_interest
        if wanted not in classes:
            raise InvalidProblemError(f"class_of_interest must be one of {classes}, got {wanted!r}.")
        column = classes.index(wanted)
        plane = Plane.around(X, n_points)
        proba = estimator.predict_proba(plane.rows)
        spread = None
        if uncertainty == "sd":
            classifier, rows = posterior_step(estimator, plane.rows)
            variance = classifier.latent(rows).variance
            spread = np.sqrt(variance if variance.ndim == 1 else variance[:, column])
        elif uncertainty == "entropy":
            spread = entr(proba).sum(axis=1) / np.log(2)
        shape = plane.x0.shape
        display = cls(
            plane.x0,
            plane.x1,
            proba[:, column].reshape(shape),
            None if spread is None else spread.reshape(shape),
            class_name=str(wanted),
            uncertainty_name="" if uncertainty is None else _MEANING[uncertainty],
            names=plane.names,
        ).plot(ax=ax)
        if y is not None:
            display.points_ = [p for panel in display.axes_ for p in scatter_classes(panel, X, y, classes)]
            display.ax_.legend(loc="upper right", framealpha=0.9)
        return display

    def plot(self, *, ax: Any = None, cmap: Any = "RdBu_r", uncertainty_cmap: Any = "cividis") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of two, optional
            Where to draw; a new figure by default.
        cmap, uncertainty_cmap : str or Colormap
            Colours of the two panels.
        """
        panels = 1 if self.uncertainty is None else 2
        if ax is None:
            ax = new_grid(1, panels, 5.4 * panels, 4.2, sharey=True)
        self.axes_ = own_axes(ax, panels, "probability" if panels == 1 else "probability and uncertainty")
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        self.surface_ = self.ax_.contourf(self.x0, self.x1, self.proba, np.linspace(0, 1, 21), cmap=cmap, **_PALE)
        bar = self.figure_.colorbar(self.surface_, ax=self.ax_, label=f"probability of class {self.class_name}")
        bar.set_ticks(np.linspace(0, 1, 6))
        self.contour_ = self._lines(self.ax_)
        self.uncertainty_ = None
        if self.uncertainty is not None:
            second = self.axes_[1]
            self.uncertainty_ = second.contourf(self.x0, self.x1, self.uncertainty, 20, cmap=uncertainty_cmap)
            self.figure_.colorbar(self.uncertainty_, ax=second, label=self.uncertainty_name)
            self._lines(second, colors="white")
        for panel in self.axes_:
            label_axes(panel, self.x0, self.x1, self.names)
            panel.label_outer()
        self.points_: list[Any] = []
        return self

    def _lines(self, ax: Any, colors: str = INK) -> Any:
        """Lines of equal probability, where there are any."""
        levels = [level for level in (0.1, 0.5, 0.9) if self.proba.min() < level < self.proba.max()]
        if not levels:
            return None
        widths = [2.0 if level == 0.5 else 1.0 for level in levels]
        styles = ["-" if level == 0.5 else "--" for level in levels]
        return ax.contour(self.x0, self.x1, self.proba, levels, colors=colors, linewidths=widths, linestyles=styles)
