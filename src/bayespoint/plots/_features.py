"""What is known of each feature or column, one a line: weights with their confidences, shares of the relevance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._core.words import told_briefly
from ..estimators import FeatureConfidence, FeatureRelevance
from ._style import BLUE, new_axes

__all__ = ["FeatureConfidenceDisplay", "FeatureRelevanceDisplay"]


@told_briefly()
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
        ax, places = _lines(ax, [row.name for row in rows], "weight, with two standard deviations")
        style = {"fmt": "o", "ms": 4, "capsize": 2, "color": BLUE} | options
        ax.axvline(0.0, color="0.7", lw=1)
        ax.errorbar([row.mean for row in rows], places, xerr=[2 * row.sd for row in rows], **style)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@told_briefly()
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
        ax, places = _lines(ax, [row.name for row in rows], "share of the relevance")
        ax.barh(places, [row.share for row in rows], **({"color": BLUE} | options))
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _lines(ax: Any, names: Sequence[str], label: str) -> tuple[Any, Any]:
    """Axes with a line for each name, the last on top, and where these are."""
    places = np.arange(len(names))
    ax = new_axes(height=1.0 + 0.25 * len(names)) if ax is None else ax
    ax.set_yticks(places, names)
    ax.set_xlabel(label)
    return ax, places
