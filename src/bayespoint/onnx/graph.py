"""Nodes of a graph, all in double precision, and the normal distribution function, which ONNX does not have in it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import erfcx

from .._core.typing import Array

__all__ = ["Graph"]

_DEGREE = 30  # of the polynomial in the normal distribution function: to 1e-15
_PLACE = 4.0  # where the middle of its variable is
_TINY = 1e-300
_FLOAT, _INT64, _BOOL, _DOUBLE = 1, 7, 9, 11  # kinds of tensors, by their numbers in ONNX
_KINDS = {"f": _DOUBLE, "i": _INT64, "b": _BOOL}


class Graph:
    """Adds nodes to what a converter of skl2onnx writes to; values are known by their names."""

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope, self.container = scope, container
        self._constants: dict[tuple[Any, ...], str] = {}
        self.written: dict[Any, str] = {}  # what several kernels share

    def __call__(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """A node of some kind; arrays among its inputs become constants."""
        name: str = self.scope.get_unique_variable_name(kind.lower())
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        called = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, names, name, name=called, op_version=self.opset, **attributes)
        return name

    @property
    def opset(self) -> int:
        """The version of the operators."""
        return int(self.container.target_opset)

    def constant(self, value: Any) -> str:
        """Numbers, truth values or text."""
        array = np.asarray(value)
        key = (array.dtype.str, array.shape, array.tobytes() if array.dtype.kind != "O" else tuple(array.tolist()))
        if key in self._constants:
            return self._constants[key]
        name: str = self.scope.get_unique_variable_name("constant")
        self._constants[key] = name
        if array.dtype.kind in "UO":
            self.container.add_initializer(name, 8, list(array.shape), [str(one).encode() for one in array.ravel()])
        else:
            self.container.add_initializer(name, _KINDS[array.dtype.kind], list(array.shape), array.ravel().tolist())
        return name

    # -- arithmetic ------------------------------------------------------------------------------------------------

    def cast(self, x: str, kind: int) -> str:
        """As another kind of numbers."""
        return self("Cast", x, to=kind)

    def double(self, x: str) -> str:
        """In double precision."""
        return self.cast(x, _DOUBLE)

    def rounded(self, x: str) -> str:
        """To single precision, and back."""
        return self.double(self.cast(x, _FLOAT))

    def whole(self, x: str) -> str:
        """As a whole number."""
        return self.cast(x, _INT64)

    def square(self, x: str) -> str:
        """Of each entry."""
        return self("Mul", x, x)

    def total(self, x: str, axis: int = 1) -> str:
        """Sums along an axis, which stays."""
        return self("ReduceSum", x, np.array([axis]), keepdims=1)

    def largest(self, x: str, axis: int = 1) -> str:
        """Maxima along an axis, which stays."""
        if self.opset >= 18:
            return self("ReduceMax", x, np.array([axis]), keepdims=1)
        return self("ReduceMax", x, axes=[axis], keepdims=1)

    def at_least(self, x: str, bound: float) -> str:
        """No entry below a bound."""
        return self("Max", x, np.float64(bound))

    def log(self, x: str) -> str:
        """Of numbers that may be next to nothing."""
        return self("Log", self.at_least(x, _TINY))

    def columns(self, x: str, which: Any) -> str:
        """Some columns."""
        return self("Gather", x, np.asarray(which, dtype=np.int64), axis=1)

    def with_axis(self, x: str, axis: int) -> str:
        """With one more axis of length one."""
        return self("Unsqueeze", x, np.array([axis]))

    def shares(self, x: str) -> str:
        """Divided by the sum of their row."""
        return self("Div", x, self.total(x))

    def ascending(self, x: str, count: int) -> str:
        """Sorted along the last axis, which is `count` long."""
        values, _ = (self.scope.get_unique_variable_name(name) for name in ("values", "places"))
        self.container.add_node(
            "TopK",
            [x, self.constant(np.array([count]))],
            [values, _],
            name=self.scope.get_unique_operator_name("TopK"),
            op_version=self.opset,
            largest=0,
            sorted=1,
            axis=-1,
        )
        return str(values)

    # -- the normal distribution -----------------------------------------------------------------------------------

    def normal(self, z: str) -> tuple[str, str]:
        """The distribution function and its logarithm.

        With ``t = |z|`` it is ``0.5 erfcx(t / sqrt 2) exp(-t^2 / 2)`` below zero, and erfcx, times ``1 + t``, is a
        polynomial in ``(t - 4) / (t + 4)``.
        """
        t = self("Abs", z)
        u = self("Div", self("Sub", t, np.float64(_PLACE)), self("Add", t, np.float64(_PLACE)))
        scaled = self("Div", self._polynomial(u), self("Add", t, np.float64(1.0)))
        log_tail = self("Sub", self.log(scaled), self("Mul", self.square(t), np.float64(0.5)))
        tail = self("Exp", log_tail)
        rest = self("Sub", np.float64(1.0), tail)
        below = self("Less", z, np.float64(0.0))
        return self("Where", below, tail, rest), self("Where", below, log_tail, self.log(rest))

    def _polynomial(self, u: str) -> str:
        """By Clenshaw's recurrence on Chebyshev polynomials."""
        first, *rest = _half_erfcx().tolist()
        twice = self("Add", u, u)
        last, before = self.constant(0.0), self.constant(0.0)
        for coefficient in rest[::-1]:
            grown = self("Add", self("Mul", twice, last), np.float64(coefficient))
            last, before = self("Sub", grown, before), last
        return self("Sub", self("Add", self("Mul", u, last), np.float64(first)), before)


@cache
def _half_erfcx() -> Array:
    """Chebyshev coefficients of ``(1 + t) erfcx(t / sqrt 2) / 2``."""

    def function(u: Any) -> Any:
        t = _PLACE * (1 + u) / (1 - u)
        return 0.5 * (1 + t) * erfcx(t / np.sqrt(2))

    return np.asarray(np.polynomial.chebyshev.chebinterpolate(function, _DEGREE))
