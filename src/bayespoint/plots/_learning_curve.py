"""Error against the number of labels, for several ways of asking for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import t as student

from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from ._style import look, new_axes

__all__ = ["LearningCurveDisplay"]


@told_briefly()
@dataclass(eq=False, repr=False)
class LearningCurveDisplay:
    """Mean error against the number of labels, one curve for each way of choosing them, with confidence bands.

    Parameters
    ----------
    histories : dict of str to ndarray of shape (n_repeats, n_steps)
        Errors after each step, one row a repeat.
    n_labels : ndarray of shape (n_steps,)
        Labels at each step.
    level : float, default=0.95
        Confidence of the bands around the means (Student's t over repeats); a single repeat has none.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : dict of str to Line2D
        The mean curves.
    bands_ : dict of str to FillBetweenPolyCollection
        Their bands.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.plots import LearningCurveDisplay
    >>> errors = np.array([[0.5, 0.3, 0.2], [0.4, 0.3, 0.1]])
    >>> display = LearningCurveDisplay.from_histories({"active": errors, "random": errors + 0.1})
    >>> list(display.lines_["active"].get_ydata().round(2))
    [np.float64(0.45), np.float64(0.3), np.float64(0.15)]
    """

    histories: Mapping[str, Array]
    n_labels: Array
    level: float = 0.95

    @classmethod
    def from_histories(
        cls, histories: Mapping[str, Any], *, n_labels: Any = None, level: float = 0.95, ax: Any = None
    ) -> Self:
        """Draw curves of errors.

        Parameters
        ----------
        histories : dict of str to array-like of shape (n_repeats, n_steps) or (n_steps,)
            Errors after each step, by the name of the curve.
        n_labels : array-like of shape (n_steps,), optional
            Labels at each step; 1, 2, ... by default.
        level : float, default=0.95
            Confidence of the bands.
        ax
            As for `plot`.
        """
        arrays = {name: np.atleast_2d(np.asarray(values, dtype=np.float64)) for name, values in histories.items()}
        steps = {values.shape[1:] for values in arrays.values()}
        if len(steps) != 1 or len(only := next(iter(steps))) != 1:
            raise InvalidProblemError("Histories must be arrays of shape (n_repeats, n_steps) with equal steps.")
        labels = np.arange(1, only[0] + 1) if n_labels is None else np.asarray(n_labels)
        if labels.shape != only:
            raise InvalidProblemError(f"n_labels must have one number for each of {only[0]} steps, got {labels.shape}.")
        if not 0 < level < 1:
            raise InvalidProblemError(f"level must lie between 0 and 1, got {level!r}.")
        return cls(arrays, labels, level).plot(ax=ax)

    def plot(self, *, ax: Any = None, **options: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **options
            For `matplotlib.axes.Axes.plot`.
        """
        if ax is None:
            ax = new_axes(6.0, 4.0)
        self.lines_, self.bands_ = {}, {}
        for k, (name, errors) in enumerate(self.histories.items()):
            mean, repeats = errors.mean(axis=0), len(errors)
            style = look(k) | {"ms": 4, "lw": 1.6}
            every = max(1, len(mean) // 12)
            (line,) = ax.plot(self.n_labels, mean, **({"label": name, "markevery": every} | style | options))
            self.lines_[name] = line
            if repeats > 1:
                half = student.ppf((1 + self.level) / 2, repeats - 1) * errors.std(axis=0, ddof=1) / np.sqrt(repeats)
                self.bands_[name] = ax.fill_between(
                    self.n_labels, mean - half, mean + half, color=line.get_color(), alpha=0.18, lw=0
                )
        ax.set(xlabel="labels", ylabel="test error")
        ax.set_ylim(bottom=0, auto=True)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
