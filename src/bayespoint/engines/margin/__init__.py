"""The Gaussian margin machine: the engine, and the convex problem that it solves."""

from .engine import Margin
from .solver import DenseGeometry, FactorGeometry, MarginSolution, bound_minimising, gaussian_margin, margin_geometry

__all__ = [
    "DenseGeometry",
    "FactorGeometry",
    "Margin",
    "MarginSolution",
    "bound_minimising",
    "gaussian_margin",
    "margin_geometry",
]
