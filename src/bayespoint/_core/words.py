"""What objects say of themselves: short enough to read, in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

__all__ = ["as_html_table", "as_html_text", "brief", "told_briefly"]

_FEW = 6  # numbers that are shown as they are
_LONG = 80  # characters of anything else

Told = TypeVar("Told", bound=type)


def told_briefly(*names: str) -> Callable[[Told], Told]:
    """Let a dataclass or a named tuple show these parts, or all of them, in one line, with sizes for many numbers."""

    def decorate(cls: Told) -> Told:
        own = [field.name for field in fields(cls) if field.repr] if is_dataclass(cls) else getattr(cls, "_fields", ())

        def told(self: Any) -> str:
            parts = [(name, getattr(self, name)) for name in names or own]
            shown = ", ".join(f"{name}={brief(part)}" for name, part in parts if part is not None)
            return f"{type(self).__name__}({shown})"

        cls.__repr__ = told  # type: ignore[assignment]
        return cls

    return decorate


def brief(value: Any) -> str:
    """A value in some words."""
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        if isinstance(value, np.ndarray) and value.size <= _FEW:
            return repr(value)
        return f"<{' x '.join(map(str, value.shape))} {value.dtype}>"
    if isinstance(value, Mapping) and not hasattr(value, "_fields"):
        return "{" + ", ".join(f"{name!r}: {brief(part)}" for name, part in value.items()) + "}"
    if type(value) in (list, tuple):
        if len(value) > _FEW:
            return f"<{len(value)} of {type(value[0]).__name__}>"
        shown = ", ".join(map(brief, value))
        return f"[{shown}]" if isinstance(value, list) else f"({shown}{',' * (len(value) == 1)})"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = repr(value)
    return text if len(text) <= 4 * _LONG else f"<{type(value).__name__}>"


def as_html_text(text: str) -> str:
    """Lines of text for a notebook, as they are."""
    return f"<pre>{escape(text)}</pre>"


def as_html_table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table for a notebook; whatever is in it is text."""
    titles = "".join(f"<th>{escape(str(one))}</th>" for one in head)
    lines = ("".join(f"<td>{escape(str(one))}</td>" for one in row) for row in rows)
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(f"<tr>{one}</tr>" for one in lines)
    return f"<table>{said}<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
