"""Settings are names, numbers or objects: what every part that has some asks of them."""

from __future__ import annotations

from typing import Any

from ..exceptions import InvalidProblemError


def is_named(setting: Any, *names: str) -> bool:
    """Whether a setting is one of these names, rather than a number or an object."""
    return isinstance(setting, str) and setting in names


def check_at_least(engine: Any, **least: float) -> None:
    """Raise with one sentence unless each named setting is a number of at least its limit."""
    for name, limit in least.items():
        if not getattr(engine, name) >= limit:
            raise InvalidProblemError(f"{name} must be at least {limit:g}, got {getattr(engine, name)!r}.")
