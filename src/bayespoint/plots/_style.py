"""Colours and figures that all displays share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import RectBivariateSpline

from .._core.extras import needed
from .._core.typing import Array
from ..exceptions import InvalidProblemError

BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)  # Okabe and Ito: told apart by the colour-blind, too
MARKERS = ("o", "s", "^", "D", "v", "P")
INK = "0.15"


def look(k: int) -> dict[str, Any]:
    """Colour and marker of the k-th curve or class."""
    return {"color": PALETTE[k % len(PALETTE)], "marker": MARKERS[k % len(MARKERS)]}


def rgb_of_class(k: int) -> list[float]:
    """The same colour as three numbers from 0 to 1."""
    code = PALETTE[k % len(PALETTE)]
    return [int(code[start : start + 2], 16) / 255 for start in (1, 3, 5)]


def new_axes(width: float = 6.0, height: float = 4.0) -> Any:
    """One pair of axes in a figure of its own."""
    return new_grid(1, 1, width, height)[0, 0]


def new_grid(rows: int, columns: int, width: float, height: float, **options: Any) -> Any:
    """An array of axes, of shape (rows, columns), in a figure of its own."""
    plt = needed("matplotlib.pyplot", "plot", "Displays need matplotlib")
    _, axes = plt.subplots(rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **options)
    return axes


def own_axes(ax: Any, count: int, parts: str) -> list[Any]:
    """The axes that a display of several panels was given, as a list."""
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != count:
        raise InvalidProblemError(f"ax must hold {count} axes, for {parts}, got {len(axes)}.")
    return axes


def finer(x: Array, y: Array, values: Array, factor: int = 4) -> tuple[Array, Array, Array]:
    """A cubic spline through all points of a grid, for smooth lines; `values` has one row for each y."""
    many = [np.linspace(a[0], a[-1], factor * (len(a) - 1) + 1) for a in (x, y)]
    spline = RectBivariateSpline(y, x, values, kx=min(3, len(y) - 1), ky=min(3, len(x) - 1))
    return many[0], many[1], spline(many[1], many[0])


def pick_one(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Refuse a setting that is not among those there are."""
    if value not in allowed:
        raise InvalidProblemError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
