"""Version space on the sphere of weight vectors (BPM Figures 3 and 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._core.typing import Array
from .._core.words import told_briefly
from ..uses.version_space import along, sampled_version_space
from ._sphere import Map, arcs, cell_outline, tangents
from ._style import BLUE, GREEN, INK, ORANGE, VERMILLION, new_axes, pick_one

__all__ = ["VersionSpaceDisplay"]


@told_briefly()
@dataclass(eq=False, repr=False)
class VersionSpaceDisplay:
    """Version space of a linear problem in three dimensions: a cell on the sphere of weight vectors.

    Every row is a wall, the great circle of weight vectors that put it on the boundary. Between the walls lies version
    space, all classifiers that put every row right; the Bayes point is its centre of mass, the support vector machine
    (on rows of unit length) the centre of its largest inscribed circle.

    Parameters
    ----------
    walls, draws, path, bayes_point, svm
        As in `bayespoint.uses.VersionSpace`.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    walls_ : list of Line2D
        One great circle a row; those that bound version space are darker.
    cell_ : Polygon
        Version space.
    path_, draws_, bayes_point_, svm_ : Line2D
        The ball's way, the draws, and the two classifiers.
    inscribed_ : Line2D
        The largest circle inside.

    See Also
    --------
    bayespoint.engines.Billiard : Where the draws come from.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.plots import VersionSpaceDisplay
    >>> X = np.random.default_rng(0).normal(size=(10, 3))
    >>> display = VersionSpaceDisplay.from_problem(X, np.sign(X @ [1.0, 0.5, 0.2]), random_state=0)
    >>> len(display.walls_)
    10
    """

    walls: Array
    draws: Array
    path: Array
    bayes_point: Array
    svm: Array

    @classmethod
    def from_problem(
        cls,
        X: Any,
        y: Any,
        *,
        n_draws: int = 300,
        n_bounces: int = 25,
        view: str = "cell",
        ax: Any = None,
        random_state: Any = 0,
    ) -> Self:
        """Sample and draw the version space of some labelled rows.

        Parameters
        ----------
        X, y, n_draws, n_bounces, random_state
            As for `bayespoint.uses.sampled_version_space`; no bounces leave the ball out.
        view, ax
            As for `plot`.
        """
        sampling: Any = {"n_draws": n_draws, "n_bounces": n_bounces, "random_state": random_state}
        return cls(*sampled_version_space(X, y, **sampling)).plot(ax=ax, view=view)

    @property
    def margin(self) -> float:
        """Sine of the angle between the support vector machine and the next wall."""
        return float(np.min(self.walls @ self.svm))

    def plot(self, *, ax: Any = None, view: str = "cell") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        view : {"cell", "globe"}, default="cell"
            The cell from near by, on a map that keeps areas, so that uniform draws look so; or the whole globe.
        """
        pick_one("view", view, ("cell", "globe"))
        if ax is None:
            ax = new_axes(7.8, 4.8)
        chart = Map(self.bayes_point, globe=view == "globe")
        outline, bounding = cell_outline(self.bayes_point, self.walls)

        def line(points: Array, **style: Any) -> Any:
            return ax.plot(*chart(points).T, **style)[0]

        if chart.globe:
            self._draw_globe(ax, line)
        self.walls_ = [
            line(
                tangents(wall, 721),
                lw=1.1 if row in bounding else 0.6,
                color=INK if row in bounding else "0.7",
                zorder=2,
            )
            for row, wall in enumerate(self.walls)
        ]
        (self.cell_,) = ax.fill(*chart(outline).T, facecolor=BLUE, alpha=0.16, lw=0, label="version space", zorder=1.5)
        dot = {"ls": "", "zorder": 3}
        self.draws_ = line(self.draws, **dot, marker="o", ms=2.6, color=BLUE, mec="none", alpha=0.55, label="draws")
        self.path_ = line(arcs(self.path), lw=0.9, color=ORANGE, alpha=0.9, zorder=2.5)
        if len(self.path) > 1:
            self.path_.set_label("billiard")
        circle = along(self.svm, tangents(self.svm, 361), np.full(361, np.arcsin(np.clip(self.margin, -1, 1))))
        self.inscribed_ = line(circle, lw=1.2, ls=(0, (4, 3)), color=GREEN, zorder=3.5, label="largest circle inside")
        mark = {"ls": "", "ms": 9, "mec": "white", "mew": 1.2, "zorder": 5}
        self.svm_ = line(self.svm[None], marker="s", color=GREEN, label="support vector machine", **mark)
        self.bayes_point_ = line(
            self.bayes_point[None], marker="o", color=VERMILLION, label="Bayes point", **(mark | {"ms": 10})
        )
        self._frame(ax, chart, outline)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @staticmethod
    def _draw_globe(ax: Any, line: Any) -> None:
        turn = np.linspace(0, 2 * np.pi, 361)
        ax.fill(np.cos(turn), np.sin(turn), facecolor="0.97", edgecolor="0.4", lw=1, zorder=0)
        for degrees in range(0, 180, 30):
            line(tangents(along(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), np.radians(degrees)), 361), **_NET)
        for degrees in range(-60, 61, 30):
            height = np.sin(np.radians(degrees))
            ring = np.sqrt(1 - height**2) * np.stack([np.cos(turn), np.sin(turn)])
            line(np.vstack([ring, np.full((1, len(turn)), height)]).T, **_NET)

    def _frame(self, ax: Any, chart: Map, outline: Array) -> None:
        """The part of the plane to show, without ticks that mean nothing."""
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
        if chart.globe:
            ax.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03))
            ax.spines[:].set_visible(False)
        else:
            low, high = chart(outline).min(axis=0), chart(outline).max(axis=0)
            half = 0.62 * np.max(high - low)
            for limits, middle in zip((ax.set_xlim, ax.set_ylim), (low + high) / 2, strict=True):
                limits(middle - half, middle + half)
            ax.spines[:].set_color("0.7")
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0.0)


_NET = {"lw": 0.5, "color": "0.88", "zorder": 0.5}
