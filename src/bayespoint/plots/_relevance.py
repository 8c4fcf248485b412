"""What each column contributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..estimators import FeatureRelevance
from ._style import BLUE, new_axes

__all__ = ["FeatureRelevanceDisplay"]


@dataclass(eq=False, repr=False)
class FeatureRelevanceDisplay:
    """Shares of the columns of a table in what makes rows differ to a classifier, the largest on top.

    Parameters
    ----------
    relevances : sequence of FeatureRelevance
        As from `BayesPointClassifier.get_feature_relevance`.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> from bayespoint.estimators import FeatureRelevance
    >>> from bayespoint.plots import FeatureRelevanceDisplay
    >>> display = FeatureRelevanceDisplay([FeatureRelevance("age", 0.8), FeatureRelevance("size", 0.2)])
    >>> display.plot().ax_.get_xlabel()
    'share of the relevance'
    """

    relevances: Sequence[FeatureRelevance]

    @classmethod
    def from_estimator(cls, estimator: Any, *, top: int = 20, ax: Any = None) -> Self:
        """Draw the most relevant columns of a fitted classifier.

        Parameters
        ----------
        estimator : BayesPointClassifier
            Fitted, with a kernel that has length scales.
        top : int, default=20
            How many columns.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        return cls(estimator.get_feature_relevance()[:top]).plot(ax=ax)

    def plot(self, *, ax: Any = None, **options: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **options
            For `matplotlib.axes.Axes.barh`.
        """
        rows = list(reversed(self.relevances))
        if ax is None:
            ax = new_axes(height=1.0 + 0.25 * len(rows))
        ax.barh(np.arange(len(rows)), [row.share for row in rows], **({"color": BLUE} | options))
        ax.set_yticks(np.arange(len(rows)), [row.name for row in rows])
        ax.set_xlabel("share of the relevance")
        self.ax_, self.figure_ = ax, ax.figure
        return self
