"""The log-evidence as a landscape of two hyper-parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._core.typing import Array
from .._core.words import told_briefly
from ..uses.evidence_surface import evidence_surface
from ._style import INK, VERMILLION, finer, new_axes

__all__ = ["EvidenceSurfaceDisplay"]

_DEPTH = 20.0  # nats below the maximum that are told apart


@told_briefly()
@dataclass(eq=False, repr=False)
class EvidenceSurfaceDisplay:
    """Log-evidence of a model over two of its hyper-parameters, all others as fitted.

    Parameters
    ----------
    first, second, log_evidence, fitted, names
        As in `bayespoint.uses.EvidenceSurface`.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    surface_ : QuadContourSet
        Log-evidence less that of the best point, down to 20 nats.
    maximum_, fitted_ : Line2D
        The best point of the grid, and the estimator's own.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.plots import EvidenceSurfaceDisplay
    >>> X, y = make_moons(40, noise=0.2, random_state=0)
    >>> model = BayesPointClassifier(None).fit(X, y)
    >>> display = EvidenceSurfaceDisplay.from_estimator(model, X, y, n_points=5)
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('amplitude', 'length scale')
    >>> bool(display.log_evidence.max() <= model.log_evidence_ + 1e-6)
    True
    """

    first: Array
    second: Array
    log_evidence: Array
    fitted: tuple[float, float]
    names: tuple[str, str]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        parameters: Sequence[int | str] = (0, 1),
        n_points: int = 15,
        span: float = 10.0,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Compute the log-evidence on a grid around a fitted estimator, by expectation propagation, and draw it.

        Parameters
        ----------
        estimator, X, y, parameters, n_points, span, sample_weight
            As for `bayespoint.uses.evidence_surface`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        grid: Any = {"parameters": parameters, "n_points": n_points, "span": span, "sample_weight": sample_weight}
        return cls(*evidence_surface(estimator, X, y, **grid)).plot(ax=ax)

    def plot(self, *, ax: Any = None, cmap: Any = "cividis") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        cmap : str or Colormap, default="cividis"
            Colours of the surface.
        """
        if ax is None:
            ax = new_axes(6.2, 4.6)
        top = np.max(self.log_evidence)
        x, y, below = finer(np.log(self.first), np.log(self.second), self.log_evidence - top)
        fine = np.exp(x), np.exp(y), np.minimum(below, 0.0)
        self.surface_ = ax.contourf(*fine, np.linspace(-_DEPTH, 0, 21), cmap=cmap, extend="min")
        lines = [level for level in (-10.0, -5.0, -2.0, -1.0) if below.min() < level]
        if lines:
            contours = ax.contour(*fine, lines, colors=INK, linewidths=0.8, linestyles="-")
            ax.clabel(contours, fmt="%g", fontsize=8)
        j, i = np.unravel_index(np.argmax(self.log_evidence), self.log_evidence.shape)
        mark = {"ls": "", "ms": 10, "mec": "white", "mew": 1.2, "zorder": 5}
        (self.maximum_,) = ax.plot(
            [self.first[i]],
            [self.second[j]],
            marker="o",
            mfc="none",
            label="best on the grid",
            **(mark | {"ms": 18, "mec": INK}),
        )
        (self.fitted_,) = ax.plot(
            *np.array(self.fitted)[:, None], marker="*", color=VERMILLION, label="fitted", **(mark | {"ms": 14})
        )
        ax.figure.colorbar(self.surface_, ax=ax, label=f"log-evidence less that of the best point, {top:.2f} nats")
        ax.set(xscale="log", yscale="log", xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(loc="lower right", framealpha=0.9)
        self.ax_, self.figure_ = ax, ax.figure
        return self
