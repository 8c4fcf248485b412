"""Kernel values of new points with given ones, and of new points with themselves, as nodes of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Kernel,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..kernels import GroupedRBF, Normalized, OnFeatures, Spectral
from .features import write_features
from .graph import Graph

__all__ = ["write_diagonal", "write_kernel"]


def write_kernel(g: Graph, kernel: Kernel, x: str, points: Array) -> str:
    """Kernel values of rows `x` with points, one column each."""
    if isinstance(kernel, (Sum, Product)):
        parts = [write_kernel(g, one, x, points) for one in (kernel.k1, kernel.k2)]
        return g("Add" if isinstance(kernel, Sum) else "Mul", *parts)
    if isinstance(kernel, OnFeatures):
        return write_kernel(g, kernel.kernel, write_features(g, kernel.features, x), kernel.features(points))
    if isinstance(kernel, Normalized):
        lengths = g("Sqrt", write_diagonal(g, kernel.kernel, x))
        inner = g("Div", write_kernel(g, kernel.kernel, x, points), lengths)
        return g("Div", inner, np.sqrt(kernel.kernel.diag(points))[None, :])
    if isinstance(kernel, Exponentiation):
        return g("Pow", write_kernel(g, kernel.kernel, x, points), np.float64(kernel.exponent))
    if isinstance(kernel, ConstantKernel):  # as a row: runtimes merge a single number into products, as a float32
        return g.constant(np.full((1, len(points)), kernel.constant_value))
    if isinstance(kernel, WhiteKernel):
        return g.constant(np.zeros((1, len(points))))
    if isinstance(kernel, Spectral):
        scaled = points * np.r_[kernel.scales()[:-1], 0.0]
        return g("MatMul", x, scaled.T)
    if type(kernel) is DotProduct:
        return g("Add", g("MatMul", x, points.T), np.float64(kernel.sigma_0**2))
    return _by_distance(g, kernel, x, points)


def _by_distance(g: Graph, kernel: Kernel, x: str, points: Array) -> str:
    if type(kernel) is GroupedRBF:
        return g("Exp", g("Mul", _squares(g, x, points, kernel.of_features), np.float64(-0.5)))
    if type(kernel) is RBF or (type(kernel) is Matern and np.isinf(kernel.nu)):
        return g("Exp", g("Mul", _squares(g, x, points, kernel.length_scale), np.float64(-0.5)))
    if type(kernel) is RationalQuadratic:
        share = g("Div", _squares(g, x, points, kernel.length_scale), np.float64(2 * kernel.alpha))
        return g("Pow", g("Add", share, np.float64(1.0)), np.float64(-kernel.alpha))
    if type(kernel) is Matern and kernel.nu in (0.5, 1.5, 2.5):
        scale = np.float64(np.sqrt(2 * kernel.nu))
        distance = g("Mul", g("Sqrt", _squares(g, x, points, kernel.length_scale)), scale)
        decay = g("Exp", g("Neg", distance))
        if kernel.nu == 0.5:
            return decay
        factor = g("Add", distance, np.float64(1.0))
        if kernel.nu == 2.5:
            factor = g("Add", factor, g("Div", g.square(distance), np.float64(3.0)))
        return g("Mul", factor, decay)
    raise InvalidProblemError(
        f"The kernel {type(kernel).__name__} has no form in ONNX: use one of 'linear', 'rbf', 'poly', 'laplacian' or "
        "'auto', or their like of sklearn.gaussian_process.kernels."
    )


def _squares(g: Graph, x: str, points: Array, scale: Any) -> str:
    """Squared distances in length scales; zero is moved to where the points are, which keeps what they differ by."""
    centre = points.mean(axis=0)
    scale = np.broadcast_to(scale, centre.shape).astype(float)
    moved, right = g("Sub", x, centre[None, :]), (points - centre) / scale
    inner = g("MatMul", moved, -2 * (right / scale).T)  # a factor of its own would be rounded to single precision
    own = g("MatMul", g.square(moved), (scale**-2)[:, None])
    return g.at_least(g("Add", g("Add", inner, own), np.square(right).sum(axis=1)[None, :]), 0.0)


def write_diagonal(g: Graph, kernel: Kernel, x: str) -> str:
    """Kernel value of each row with itself, as a column; one number where it is the same for all."""
    if isinstance(kernel, (Sum, Product)):
        parts = [write_diagonal(g, one, x) for one in (kernel.k1, kernel.k2)]
        return g("Add" if isinstance(kernel, Sum) else "Mul", *parts)
    if isinstance(kernel, OnFeatures):
        return write_diagonal(g, kernel.kernel, write_features(g, kernel.features, x))
    if isinstance(kernel, Exponentiation):
        return g("Pow", write_diagonal(g, kernel.kernel, x), np.float64(kernel.exponent))
    if isinstance(kernel, ConstantKernel):
        return g.constant(np.full((1, 1), kernel.constant_value))
    if isinstance(kernel, WhiteKernel):
        return g.constant(np.full((1, 1), kernel.noise_level))
    if isinstance(kernel, Spectral):
        return g("MatMul", g.square(x), kernel.scales()[:, None])
    if type(kernel) is DotProduct:
        return g("Add", g.total(g.square(x)), np.float64(kernel.sigma_0**2))
    return g.constant(np.ones((1, 1)))
