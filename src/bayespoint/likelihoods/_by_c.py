"""What likelihoods have in common whose one parameter is the slope C of their loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._core.typing import Array
from ..exceptions import InvalidProblemError

__all__ = ["ByC", "matching_site"]


@dataclass(frozen=True)
class ByC:
    """A positive parameter C, no wall and no noise of the latent."""

    C: float = 1.0

    BOUNDS: ClassVar[Mapping[str, tuple[float, float]]] = {"C": (1e-3, 1e3)}
    is_hard: ClassVar[bool] = False
    is_log_concave: ClassVar[bool] = True
    softness: ClassVar[float] = 0.0
    remedy: ClassVar[str] = "lower C or the amplitude of the kernel"

    def __post_init__(self) -> None:
        if not 0.0 < self.C < np.inf:
            raise InvalidProblemError(f"C must be a finite number above 0, got {self.C!r}.")


def matching_site(mean: Array, var: Array, slope: Array, curvature: Array) -> tuple[Array, Array]:
    """Precision, and precision times mean, of the site that gives N(mean, var) the moments of the tilted distribution.

    `slope` and minus the `curvature` are derivatives of its log-normaliser in the mean.
    """
    shrink = np.maximum(1 - var * curvature, 1e-12)
    tau = curvature / shrink
    return tau, tau * mean + slope / shrink
