"""Settings of engines are checked when an engine is made, in one place."""

from __future__ import annotations

from typing import Any

from ..exceptions import InvalidProblemError


def check_at_least(engine: Any, **least: float) -> None:
    """Raise with one sentence unless each named setting is a number of at least its limit."""
    for name, limit in least.items():
        if not getattr(engine, name) >= limit:
            raise InvalidProblemError(f"{name} must be at least {limit:g}, got {getattr(engine, name)!r}.")
