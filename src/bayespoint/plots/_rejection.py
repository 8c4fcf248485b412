"""Error of a classifier that may decline to answer."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from .._core.words import told_briefly
from ..uses.metrics import RejectionCurve, rejection_curve
from ._style import PALETTE, new_axes

__all__ = ["RejectionCurveDisplay"]


@told_briefly()
@dataclass(eq=False, repr=False)
class RejectionCurveDisplay:
    """Error on the points that are answered against the share that is not.

    Parameters
    ----------
    curve : RejectionCurve
        As from `bayespoint.uses.rejection_curve`.
    name : str, optional
        What the legend says.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    line_ : Line2D
        The curve.

    Examples
    --------
    >>> from bayespoint.plots import RejectionCurveDisplay
    >>> display = RejectionCurveDisplay.from_predictions([0, 1, 1, 0], [0, 1, 0, 0], [0.9, 0.8, 0.6, 0.7])
    >>> display.ax_.get_xlabel()
    'share of points rejected'
    """

    curve: RejectionCurve
    _: KW_ONLY
    name: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the curve of a fitted classifier that rejects the points whose most probable class is least probable.

        Parameters
        ----------
        estimator : classifier
            Fitted, with `predict_proba`.
        X : array-like of shape (n_samples, n_features)
            Test inputs.
        y : array-like of shape (n_samples,)
            Their labels.
        name : str, optional
            What the legend says; the class of the estimator by default.
        ax, **options
            As for `plot`.
        """
        proba = estimator.predict_proba(X)
        predicted = estimator.classes_[np.argmax(proba, axis=1)]
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, predicted, proba.max(axis=1), name=name, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, confidence: Any, *, name: str | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the curve of given predictions.

        Parameters
        ----------
        y_true, y_pred, confidence
            As for `bayespoint.uses.rejection_curve`.
        name : str, optional
            What the legend says.
        ax, **options
            As for `plot`.
        """
        return cls(rejection_curve(y_true, y_pred, confidence), name=name).plot(ax=ax, **options)

    def plot(self, *, ax: Any = None, **options: Any) -> Self:
        """Draw; a second curve into the axes of a first takes the next colour.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **options
            For `matplotlib.axes.Axes.step`.
        """
        from matplotlib.ticker import PercentFormatter

        if ax is None:
            ax = new_axes(6.0, 4.0)
        style = {"lw": 1.8, "label": self.name, "color": PALETTE[len(ax.lines) % len(PALETTE)]} | options
        (self.line_,) = ax.step(self.curve.rate, self.curve.error, where="post", **style)
        ax.set(xlabel="share of points rejected", ylabel="error on the others", xlim=(0, 1))
        ax.set_ylim(bottom=0, auto=True)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1.0))
        ax.grid(alpha=0.3)
        if ax.get_legend_handles_labels()[1]:
            ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
