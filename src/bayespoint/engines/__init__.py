"""Engines: one algorithm a file, each with ``infer(problem, rng) -> posterior``."""

from importlib import import_module

from .base import Engine
from .ep import EP

__all__ = [
    "EP",
    "Billiard",
    "ClassicBilliard",
    "Corners",
    "EllipticalSlice",
    "Engine",
    "GibbsSampler",
    "Laplace",
    "Margin",
    "Perceptrons",
]

_COMPILED = {
    "Billiard": "billiard",
    "ClassicBilliard": "classic_billiard",
    "Corners": "corners",
    "EllipticalSlice": "elliptical_slice",
    "GibbsSampler": "gibbs",
    "Laplace": "laplace",
    "Margin": "margin",
    "Perceptrons": "perceptrons",
}


def __getattr__(name: str) -> object:
    """Engines with compiled loops are imported when first asked for: the default path compiles nothing."""
    if name in _COMPILED:
        return getattr(import_module(f"{__name__}.{_COMPILED[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
