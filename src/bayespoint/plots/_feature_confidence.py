"""Weights of a linear machine with their confidences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..estimators import FeatureConfidence
from ._style import BLUE, new_axes

__all__ = ["FeatureConfidenceDisplay"]


@dataclass(eq=False, repr=False)
class FeatureConfidenceDisplay:
    """Weights of a linear `GaussianMarginClassifier` with their standard deviations, the surest on top.

    Parameters
    ----------
    confidences : sequence of FeatureConfidence
        As from `GaussianMarginClassifier.feature_confidences`.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> from bayespoint.estimators import FeatureConfidence
    >>> from bayespoint.plots import FeatureConfidenceDisplay
    >>> display = FeatureConfidenceDisplay([FeatureConfidence("age", 0.4, 0.1), FeatureConfidence("size", -0.1, 0.2)])
    >>> display.plot().ax_.get_xlabel()
    'weight, with two standard deviations'
    """

    confidences: Sequence[FeatureConfidence]

    @classmethod
    def from_estimator(cls, estimator: Any, *, top: int = 20, feature_names: Any = None, ax: Any = None) -> Self:
        """Draw the surest features of a fitted linear machine.

        Parameters
        ----------
        estimator : GaussianMarginClassifier
            Fitted, with a linear kernel and two classes.
        top : int, default=20
            How many features.
        feature_names : sequence of str, optional
            Their names.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        return cls(estimator.feature_confidences(feature_names)[:top]).plot(ax=ax)

    def plot(self, *, ax: Any = None, **options: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **options
            For `matplotlib.axes.Axes.errorbar`.
        """
        rows = list(reversed(self.confidences))
        if ax is None:
            ax = new_axes(height=1.0 + 0.25 * len(rows))
        style = {"fmt": "o", "ms": 4, "capsize": 2, "color": BLUE} | options
        ax.axvline(0.0, color="0.7", lw=1)
        ax.errorbar([row.mean for row in rows], np.arange(len(rows)), xerr=[2 * row.sd for row in rows], **style)
        ax.set_yticks(np.arange(len(rows)), [row.name for row in rows])
        ax.set_xlabel("weight, with two standard deviations")
        self.ax_, self.figure_ = ax, ax.figure
        return self
