"""Parameters by the names that people have for them, and a word where one of them ended at a bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core.telling import tell
from .climb import Model

__all__ = ["parameter_names", "shown_power", "warn_at_bounds"]

_CLOSE = 1e-4  # in log-parameters


def parameter_names(model: Model) -> list[str]:
    """Names of the free parameters in the order of `theta`; constants are told apart, and shown as deviations."""
    names: list[str] = []
    for parameter in model.kernel.hyperparameters:
        if parameter.fixed:
            continue
        own = parameter.name.split("__")[-1].replace("_", " ")
        if own == "constant value":
            own = "bias" if parameter.name == "k2__constant_value" else "amplitude"
        names += [own] if parameter.n_elements == 1 else [f"{own} {k}" for k in range(parameter.n_elements)]
    return names + list(model.free)


def shown_power(name: str) -> float:
    """Which root of a parameter people know: of the variance of a constant the second, a standard deviation."""
    return 2.0 if name in ("amplitude", "bias") else 1.0


def warn_at_bounds(models: Sequence[Model]) -> None:
    """Say which parameters ended at a bound of their search, by name, value and bound."""
    found = []
    for model in models:
        theta, (low, high) = model.theta, model.bounds.T
        of_kernel = f" of kernel '{model.name}'" if model.name else ""
        for k in np.flatnonzero((theta < low + _CLOSE) | (theta > high - _CLOSE)):
            name = parameter_names(model)[k]
            value, least, most = np.exp(np.array([theta[k], low[k], high[k]]) / shown_power(name))
            found.append(f"{name} {value:.3g} (of {least:.3g} to {most:.3g}){of_kernel}")
    if found:
        tell(
            f"Hyper-parameters at a bound of their search: {', '.join(found)}; the labels would have them further, so "
            "give a kernel object with other bounds or a fixed value if that matters.",
            stacklevel=4,
        )
