"""Model files: one file a fitted classifier, which runs no code when it is read."""

from .model import describe, load, save

__all__ = ["describe", "load", "save"]
