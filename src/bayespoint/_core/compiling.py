"""Compiled loops whose cache may be missing, read-only, full or damaged: then they are made anew."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

__all__ = ["bits_of", "compiled"]


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with these options, kept in numba's cache as far as there is one."""

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            made = njit(cache=True, **options)(function)
        except RuntimeError:  # there is no place that numba may write to
            return njit(**options)(function)
        if (cache := getattr(made, "_cache", None)) is not None:
            _forgive(cache)
        return made

    return decorate


def _forgive(cache: Any) -> None:
    """Whatever a cache fails in is as if it had not been there: it holds nothing that cannot be made again."""
    load, save = cache.load_overload, cache.save_overload

    def load_overload(*what: Any) -> Any:
        try:
            return load(*what)
        except Exception:  # pickles cut off, written over, of another time
            with suppress(Exception):
                cache.flush()
            return None

    def save_overload(*what: Any) -> None:
        with suppress(Exception):
            save(*what)

    cache.load_overload, cache.save_overload = load_overload, save_overload


def _bits_of(_context: Any, _number: Any) -> Any:
    def same_bits(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), same_bits


bits_of: Any = intrinsic(_bits_of)  # of a floating-point number, as an integer, in compiled loops
