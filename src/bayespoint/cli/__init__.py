"""The command line: it reads tables, calls the layers below, and prints what they return."""

from __future__ import annotations

from .app import main

__all__ = ["main"]
