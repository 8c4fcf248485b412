"""Warnings of the library, and silence for one thread alone.

The filters of `warnings` belong to the whole process: a thread that changes them for a while changes them for all
others, and two that overlap leave them changed. So what the library says of its own results goes through `tell`, and
whoever would rather not hear it says so to its own thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn

from ..exceptions import InferenceWarning

__all__ = ["heard_by", "nobody", "raiser", "tell"]

_ear: ContextVar[Callable[[str], None] | None] = ContextVar("_ear", default=None)


def tell(message: str, stacklevel: int = 1) -> None:
    """Warn the user that a result should be read with care, or whoever inside the library listens instead."""
    ear = _ear.get()
    if ear is None:
        warnings.warn(message, InferenceWarning, stacklevel=stacklevel + 1)
    else:
        ear(message)


@contextmanager
def heard_by(ear: Callable[[str], None]) -> Iterator[None]:
    """What would be told goes to `ear` instead: `nobody`, `raiser`, or the `append` of a list."""
    before = _ear.set(ear)
    try:
        yield
    finally:
        _ear.reset(before)


def nobody(message: str) -> None:
    """Hears nothing: of rough patches on a way whose end will be looked at."""


def raiser(message: str) -> NoReturn:
    """Takes what is told for an error."""
    raise InferenceWarning(message)
