"""Expectation propagation: the engine, its sites, and one more row."""

from .added_row import GrownPosterior, add_row
from .engine import EP

__all__ = ["EP", "GrownPosterior", "add_row"]
