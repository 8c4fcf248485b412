"""Features of the columns of a table as nodes of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..exceptions import InvalidProblemError
from ..kernels import Directions, Features
from ..kernels.features import ConstantColumn, NominalColumn, NumberColumn, TwoColumn
from .graph import Graph

__all__ = ["write_features"]

_APART = np.sqrt(2.0)  # distance of values that are merely different, as in `bayespoint.kernels.Features`
_TOGETHER = 4096  # values that columns of ranks are compared with at the same time


def write_features(g: Graph, features: Any, x: str) -> str:
    """What a kernel makes of the columns of `x` before it looks at them; kernels may share it."""
    key = id(features), x
    if key not in g.written:
        g.written[key] = _written(g, features, x)
    return g.written[key]


def _written(g: Graph, features: Any, x: str) -> str:
    if isinstance(features, Directions):
        return _directions(g, features, x)
    if isinstance(features, Features):
        return _table(g, features, x)
    raise InvalidProblemError(f"Features of the kind {type(features).__name__} have no form in ONNX.")


def _table(g: Graph, features: Features, x: str) -> str:
    """Each column by what was learned of it; numbers many at a time."""
    first = np.cumsum([0, *features.widths])
    parts: list[tuple[str, list[int]]] = []  # features, and their places
    numbers: dict[str, list[tuple[int, NumberColumn]]] = {"scaled": [], "ranked": []}
    for j, column in enumerate(features.learned):
        if isinstance(column, NumberColumn):
            numbers["ranked" if len(column.values) > 2 else "scaled"].append((j, column))
        elif features.widths[j]:
            parts.append((_column(g, column, g.columns(x, [j])), list(range(first[j], first[j + 1]))))
    for some in [numbers["scaled"], *_chunks(numbers["ranked"])]:
        if some:
            which, columns = [j for j, _ in some], [column for _, column in some]
            part = g.columns(x, which)
            write = _scaled if len(columns[0].values) == 2 else _ranked
            gap = g("IsNaN", part)
            filled = g("Where", gap, np.array([[column.values[0] for column in columns]]), part)
            parts.append((_unless(g, gap, write(g, filled, columns)), [first[j] for j in which]))
    if with_gaps := [j for group in numbers.values() for j, column in group if column.has_gaps]:
        marked = g("Mul", g.double(g("IsNaN", g.columns(x, with_gaps))), np.float64(_APART))
        parts.append((marked, [first[j] + 1 for j in with_gaps]))
    found = g("Concat", *(name for name, _ in parts), axis=1) if len(parts) > 1 else parts[0][0]
    places = [place for _, some in parts for place in some]
    return g.rounded(g.columns(found, np.argsort(places)))


def _column(g: Graph, column: Any, x: str) -> str:
    """The features of a column that is not of numbers, side by side."""
    gap = g("IsNaN", x)
    marked = g("Mul", g.double(gap), np.float64(_APART))
    if isinstance(column, ConstantColumn):
        return marked
    if isinstance(column, NominalColumn):
        filled = g("Where", gap, np.full((1, 1), np.inf), x)
        known = g.double(g("Equal", filled, column.levels[None, :]))
        return g("Concat", known, g("Sub", np.float64(1.0), g.total(known)), axis=1)
    assert isinstance(column, TwoColumn)
    filled = g("Where", gap, np.full((1, 1), column.low), x)
    share = g("Div", g("Sub", filled, np.float64(column.low)), np.float64(column.high - column.low))
    place = g("Mul", g("Sub", share, np.float64(0.5)), np.float64(_APART))
    return g("Concat", _unless(g, gap, place), g("Mul", marked, np.float64(np.sqrt(0.75))), axis=1)


def _chunks(numbers: list[tuple[int, NumberColumn]]) -> Iterator[list[tuple[int, NumberColumn]]]:
    """Columns that are worked on together: as many as have so many values together, each as many as the longest."""
    some: list[tuple[int, NumberColumn]] = []
    for one in sorted(numbers, key=lambda pair: len(pair[1].values)):
        if some and (len(some) + 1) * len(one[1].values) > _TOGETHER:
            yield some
            some = []
        some.append(one)
    yield some


def _scaled(g: Graph, x: str, columns: list[NumberColumn]) -> str:
    """In their own spreads."""
    start, end = np.array([column.values for column in columns]).T
    return g("Div", g("Sub", x, start[None, :]), (end - start)[None, :])


def _ranked(g: Graph, x: str, columns: list[NumberColumn]) -> str:
    """Between the two values on either side; beyond the ends, what the ends have."""
    longest = max(len(column.values) for column in columns)
    inner = np.full((len(columns), longest - 2), np.inf)
    start, at, rise = np.zeros((3, len(columns), longest - 1))
    for k, column in enumerate(columns):
        m = len(column.values)
        inner[k, : m - 2] = column.values[1:-1]
        start[k, : m - 1], at[k, : m - 1] = column.values[:-1], column.places[:-1]
        rise[k, : m - 1] = np.diff(column.places) / np.diff(column.values)
    low, high = np.array([[column.values[0], column.values[-1]] for column in columns]).T
    x = g("Min", g("Max", x, low[None, :]), high[None, :])
    beyond = g.double(g("GreaterOrEqual", g.with_axis(x, 2), inner[None]))  # (rows, columns, values)
    reached = g.whole(g("ReduceSum", beyond, np.array([2]), keepdims=0))
    place = g("Add", reached, (longest - 1) * np.arange(len(columns))[None, :])
    begun, height, slope = (g("Gather", part.ravel(), place, axis=0) for part in (start, at, rise))
    return g("Add", height, g("Mul", slope, g("Sub", x, begun)))


def _unless(g: Graph, gap: str, x: str) -> str:
    return g("Where", gap, np.zeros((1, 1)), x)


def _directions(g: Graph, directions: Directions, x: str) -> str:
    """Coordinates along the directions, and the distance from all of them."""
    if directions.before is not None:
        x = write_features(g, directions.before, x)
    origin = directions.origin
    inside = g("Sub", g("MatMul", x, directions.directions), (origin @ directions.directions)[None, :])
    along = g("MatMul", x, -2 * origin[:, None])
    squares = g("Add", g("Add", g.total(g.square(x)), along), np.float64(origin @ origin))
    outside = g("Sub", squares, g.total(g.square(inside)))
    size = g("Add", squares, np.float64(2 * (origin @ origin)))
    clear = g("Less", g("Mul", size, np.float64(1e-12)), outside)  # rounding is not distance
    outside = g("Where", clear, outside, np.zeros((1, 1)))
    return g("Concat", inside, g("Sqrt", outside), axis=1)
