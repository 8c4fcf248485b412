"""Engines: one algorithm a file, each with ``infer(problem, rng) -> posterior``."""

from .ep import EP

__all__ = ["EP", "Billiard"]


def __getattr__(name: str) -> object:
    """Engines with compiled loops are imported when first asked for: the default path compiles nothing."""
    if name == "Billiard":
        from .billiard import Billiard

        return Billiard
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
