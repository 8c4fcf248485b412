"""What every bound returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Bound"]


@dataclass(frozen=True)
class Bound:
    """A guarantee and what it is made of.

    Attributes
    ----------
    value : float
        The bound as its theorem states it; above one it says nothing.
    terms : mapping of str to float
        The quantities that enter, by name, each as it enters (divided by the sample size where the theorem does so), so
        that the largest one is the one to work on.

    Examples
    --------
    >>> from bayespoint.bounds import Bound
    >>> bound = Bound(0.25, {"training error": 0.1, "divergence": 0.15})
    >>> print(bound)
    0.25
      training error  0.1
      divergence      0.15
    >>> float(bound), bound.is_trivial
    (0.25, False)
    """

    value: float
    terms: Mapping[str, float]

    @property
    def is_trivial(self) -> bool:
        """Whether every classifier fulfils the bound."""
        return self.value >= 1

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        width = max(map(len, self.terms), default=0)
        head = f"{self.value:.6g}" + (" (trivial)" if self.is_trivial else "")
        return "\n".join([head, *(f"  {name:<{width}}  {term:.6g}" for name, term in self.terms.items())])
