"""Settings of engines are checked when an engine is made, in one place."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..exceptions import InvalidProblemError


@runtime_checkable
class Announcing(Protocol):
    """An engine that says what a number of rows will take before it begins."""

    def announce(self, n: int) -> None:
        """Raise if memory does not do, warn if it takes long."""


def check_at_least(engine: Any, **least: float) -> None:
    """Raise with one sentence unless each named setting is a number of at least its limit."""
    for name, limit in least.items():
        if not getattr(engine, name) >= limit:
            raise InvalidProblemError(f"{name} must be at least {limit:g}, got {getattr(engine, name)!r}.")
