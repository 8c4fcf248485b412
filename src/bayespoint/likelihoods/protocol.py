"""What engines and read-outs may ask of a likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from .._core.typing import Array

__all__ = ["Likelihood"]


class Likelihood(Protocol):
    """``exp(-U(y f))``: a frozen dataclass whose fields are its parameters.

    Labels `y` are -1 and +1; a cavity is N(mean, var); `power` is what the likelihood is raised to, at most one.
    """

    @property
    def BOUNDS(self) -> Mapping[str, tuple[float, float]]:
        """Between which values each parameter may be chosen."""
        ...

    @property
    def kind(self) -> str:
        """What engines say that they take."""
        ...

    @property
    def is_hard(self) -> bool:
        """Whether a wrong sign has probability zero."""
        ...

    @property
    def is_log_concave(self) -> bool:
        """Whether every site has a precision of at least zero."""
        ...

    @property
    def softness(self) -> float:
        """Variance of noise on the latent before its sign is taken; 0 where there is none."""
        ...

    @property
    def remedy(self) -> str:
        """What a user of it can do where rounding takes over."""
        ...

    def log_likelihood(self, y: Array, f: Array) -> Array:
        """Of labels at given latents."""
        ...

    def site(self, y: Array, mean: Array, var: Array, power: Array) -> tuple[Array, Array, Array]:
        """Log-normaliser of the tilted distribution, precision and precision times mean of the matching site."""
        ...

    def log_normaliser_gradient(self, y: Array, mean: Array, var: Array, power: Array) -> dict[str, Array]:
        """Derivative of the log-normaliser in the logarithm of each parameter, cavity held fixed."""
        ...

    def log_probability(self, mean: Array, var: Array) -> Array:
        """Of the label +1 for a latent N(mean, var)."""
        ...

    def score(self, mean: Array, var: Array) -> Array:
        """A number that grows with that probability."""
        ...

    def conditional_entropy(self, mean: Array, var: Array) -> Array:
        """Entropy in nats of the label once the latent is known, on average over N(mean, var)."""
        ...

    def disagreement(self, y: Array, mean: Array, var: Array) -> Array:
        """Probability under the tilted distribution that the latent has not the sign of the label."""
        ...

    def __eq__(self, other: Any) -> bool: ...
