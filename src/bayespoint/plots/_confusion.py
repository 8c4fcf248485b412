"""Which classes are taken for which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._core.words import told_briefly
from ..uses.confusion import Confusion, confusion
from ._style import INK, new_axes

__all__ = ["ConfusionDisplay"]

_ROOM = 6  # classes up to which a cell has room for more than its count


@told_briefly()
@dataclass(eq=False, repr=False)
class ConfusionDisplay:
    """Confusion matrix with intervals: classes that came true against the most probable ones.

    A cell has its count; beside it, in brackets, the count that the probabilities themselves expect; below, its share
    of the row and the limits of that share. With more than six classes it has the count alone.

    Parameters
    ----------
    confusion : Confusion
        As from `bayespoint.uses.confusion`.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    image_ : AxesImage
        Shares as colours.
    texts_ : list of Text
        What the cells say, row by row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.plots import ConfusionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesPointClassifier("rbf").fit(X[::2], y[::2])
    >>> len(ConfusionDisplay.from_estimator(model, X[1::2], y[1::2]).texts_)
    9
    >>> display = ConfusionDisplay.from_predictions(y[::2], model.loo_proba_)  # each training label, left out
    >>> int(display.confusion.count.sum())
    75
    """

    confusion: Confusion

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, level: float = 0.95, ax: Any = None) -> Self:
        """Draw the matrix of a fitted classifier on rows that it has not seen.

        Parameters
        ----------
        estimator : classifier
            Fitted, with `predict_proba`.
        X : array-like of shape (n_samples, n_features)
            Test inputs.
        y : array-like of shape (n_samples,)
            Their labels.
        level : float, default=0.95
            Confidence of the limits.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        return cls.from_predictions(y, estimator.predict_proba(X), classes=estimator.classes_, level=level, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: Any, proba: Any, *, classes: Any = None, level: float = 0.95, ax: Any = None
    ) -> Self:
        """Draw the matrix of given probabilities: those of test rows, or `loo_proba_` of a fitted classifier.

        Parameters
        ----------
        y_true, proba, classes, level
            As for `bayespoint.uses.confusion`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        return cls(confusion(y_true, proba, classes=classes, level=level)).plot(ax=ax)

    def plot(self, *, ax: Any = None, cmap: Any = "Blues") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        cmap : str or Colormap
            Colours of the shares.
        """
        found, size = self.confusion, len(self.confusion.classes)
        if ax is None:
            side = 1.3 * size + 1.5 if size <= _ROOM else 0.45 * size + 2
            ax = new_axes(1.15 * side, side)
        self.ax_, self.figure_ = ax, ax.figure
        self.image_ = ax.imshow(np.nan_to_num(found.share), cmap=cmap, vmin=0, vmax=1)
        self.figure_.colorbar(self.image_, ax=ax, label="share of the true class", shrink=0.8)
        self.texts_ = [
            ax.text(
                j,
                i,
                self._said(i, j),
                ha="center",
                va="center",
                fontsize=9,
                color="white" if found.share[i, j] > 0.55 else INK,
            )
            for i in range(size)
            for j in range(size)
        ]
        names = [str(label) for label in found.classes]
        ax.set_xticks(range(size), names)
        ax.set_yticks(range(size), names)
        ax.set(xlabel="most probable class", ylabel="true class")
        return self

    def _said(self, i: int, j: int) -> str:
        found = self.confusion
        if len(found.classes) > _ROOM:
            return str(found.count[i, j])
        share = "" if np.isnan(found.share[i, j]) else f"{found.share[i, j]:.0%}\n"
        limits = f"{found.low[i, j]:.0%} to {found.high[i, j]:.0%}"
        return f"{found.count[i, j]} ({found.expected[i, j]:.1f})\n{share}{limits}"
