"""Conditions on the arguments of bounds, each with one sentence."""

from __future__ import annotations

from ..exceptions import InvalidProblemError

_ROUNDING = 1e-9  # a divergence that is zero in exact arithmetic may come out this far below


def check(holds: bool, sentence: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise InvalidProblemError(sentence)


def check_sample(n: int, delta: float, smallest: int = 1) -> None:
    """A sample size and a risk of being wrong."""
    check_count("n", n, smallest)
    check(0 < delta < 1, f"delta must lie strictly between 0 and 1, got {delta!r}.")


def check_count(name: str, value: int, smallest: int) -> None:
    """A whole number from `smallest` on."""
    check(value >= smallest and value % 1 == 0, f"{name} must be a whole number of at least {smallest}, got {value!r}.")


def check_share(name: str, value: float) -> None:
    """A probability or an error rate."""
    check(0 <= value <= 1, f"{name} must lie between 0 and 1, got {value!r}.")


def check_margin(margin: float, radius: float = 1.0) -> None:
    """The distance of a point in a ball from a hyperplane through the centre."""
    check(0 < margin <= radius, f"margin must be above 0 and at most {radius:g}, got {margin!r}.")


def not_negative(name: str, value: float) -> float:
    """The value without what rounding took it below zero."""
    check(value >= -_ROUNDING, f"{name} must not be negative, got {value!r}.")
    return max(float(value), 0.0)
