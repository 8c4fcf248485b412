"""The Gaussian margin machine: the engine, and the convex problem that it solves."""

from .engine import Margin
from .geometry import DenseGeometry, FactorGeometry, margin_geometry
from .solver import MarginSolution, bound_minimising, gaussian_margin

__all__ = [
    "DenseGeometry",
    "FactorGeometry",
    "Margin",
    "MarginSolution",
    "bound_minimising",
    "gaussian_margin",
    "margin_geometry",
]
