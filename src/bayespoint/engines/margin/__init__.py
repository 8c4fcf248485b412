"""The Gaussian margin machine: the engine, and the convex problem that it solves."""

from .engine import Margin
from .solver import Dense, Factor, MarginSolution, bound_minimising, gaussian_margin, margin_geometry

__all__ = ["Dense", "Factor", "Margin", "MarginSolution", "bound_minimising", "gaussian_margin", "margin_geometry"]
