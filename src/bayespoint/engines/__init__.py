"""Engines: one algorithm a file, each with ``infer(problem, rng) -> posterior``."""

from .ep import EP

__all__ = ["EP"]
