"""Packages that come with an extra of this one."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, extra: str, why: str) -> Any:
    """The module, or one sentence that says what needs it and names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{why}: install bayespoint[{extra}].") from error
