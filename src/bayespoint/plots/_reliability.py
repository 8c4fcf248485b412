"""Predicted probabilities against observed frequencies."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np

from .._core.words import told_briefly
from ..uses.metrics import ReliabilityCurve, reliability_curve
from ._style import look, new_grid, own_axes

__all__ = ["ReliabilityDisplay"]


@told_briefly()
@dataclass(eq=False, repr=False)
class ReliabilityDisplay:
    """Reliability diagram: observed share of a class against its predicted probability, with binomial bands.

    The closer to the diagonal, the better; a bar that misses it is more than chance. Below, how many points each bin
    has.

    Parameters
    ----------
    curve : ReliabilityCurve
        As from `bayespoint.uses.reliability_curve`.
    name : str, optional
        What the legend says.
    of : str, optional
        Whose probability it is, for the label of the axis.

    Attributes
    ----------
    axes_ : list of Axes
        The diagram and, unless it was drawn into a single pair of axes, the counts.
    ax_, figure_
        The diagram's axes and the figure.
    line_ : Line2D
        Observed against predicted.
    bars_ : LineCollection
        Binomial bands, one bar a bin.
    counts_ : LineCollection or None
        Points in each bin.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.plots import ReliabilityDisplay
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=1000)
    >>> display = ReliabilityDisplay.from_predictions(rng.uniform(size=1000) < p, p, n_bins=10)
    >>> len(display.line_.get_xdata())
    10
    """

    curve: ReliabilityCurve
    _: KW_ONLY
    name: str | None = None
    of: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 15,
        strategy: Literal["quantile", "uniform"] = "quantile",
        level: float = 0.95,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the diagram of a fitted classifier: of its second class, or of the most probable one if there are more.

        Parameters
        ----------
        estimator : classifier
            Fitted, with `predict_proba`.
        X : array-like of shape (n_samples, n_features)
            Test inputs.
        y : array-like of shape (n_samples,)
            Their labels.
        n_bins, strategy, level
            As for `bayespoint.uses.reliability_curve`.
        name : str, optional
            What the legend says; the class of the estimator by default.
        ax
            As for `plot`.
        """
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            classes=estimator.classes_,
            n_bins=n_bins,
            strategy=strategy,
            level=level,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        *,
        classes: Any = None,
        n_bins: int = 15,
        strategy: Literal["quantile", "uniform"] = "quantile",
        level: float = 0.95,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the diagram of given probabilities.

        Parameters
        ----------
        y_true, proba, classes, n_bins, strategy, level
            As for `bayespoint.uses.reliability_curve`.
        name : str, optional
            What the legend says.
        ax
            As for `plot`.
        """
        curve = reliability_curve(y_true, proba, n_bins=n_bins, strategy=strategy, level=level, classes=classes)
        labels = np.unique(y_true) if classes is None else classes
        of = f"class {labels[1]}" if len(labels) == 2 else "the most probable class"
        return cls(curve, name=name, of=of).plot(ax=ax)

    def plot(self, *, ax: Any = None, **options: Any) -> Self:
        """Draw; a second display into the axes of a first takes the next colour.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of two, optional
            Where to draw: the diagram, and counts if there are two; a new figure by default.
        **options
            For `matplotlib.axes.Axes.plot`.
        """
        if ax is None:
            ax = new_grid(2, 1, 5.0, 5.6, sharex=True, height_ratios=[4, 1])
        self.axes_ = own_axes(ax, 2 if np.size(np.asarray(ax, dtype=object)) > 1 else 1, "the diagram and counts")
        top = self.axes_[0]
        before = len(top.containers)
        if not before:
            top.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--", zorder=1)
        style = look(before) | {"ms": 5, "lw": 1.2, "label": self.name} | options
        predicted, observed = np.asarray(self.curve.predicted), np.asarray(self.curve.observed)
        reach = np.maximum([observed - self.curve.low, self.curve.high - observed], 0.0)
        container = top.errorbar(predicted, observed, yerr=reach, elinewidth=1.0, capsize=2, **style)
        self.line_, self.bars_ = container.lines[0], container.lines[2][0]
        top.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="observed share")
        top.set_aspect("equal" if len(self.axes_) == 1 else "auto")
        top.grid(alpha=0.3)
        if top.get_legend_handles_labels()[1]:
            top.legend(loc="upper left", frameon=False)
        self.counts_ = None
        if len(self.axes_) == 2:
            bottom = self.axes_[1]
            self.counts_ = bottom.vlines(predicted, 0, self.curve.count, color=style["color"], lw=3, alpha=0.7)
            bottom.set_ylabel("points")
            bottom.set_ylim(bottom=0, auto=True)
            bottom.grid(alpha=0.3)
        self.axes_[-1].set_xlabel(f"predicted probability of {self.of}" if self.of else "predicted probability")
        self.ax_, self.figure_ = top, top.figure
        return self
