"""Derivatives of the log-evidence in the Gram matrix, or in its factor, from the Gaussian that sites make of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._core.typing import Array
from .._core.words import told_briefly

__all__ = ["ClassesEvidenceGradient", "EvidenceGradient"]


@told_briefly()
class EvidenceGradient(NamedTuple):
    """Derivative of the log-evidence: ``0.5 (alpha alpha' - W)`` in the Gram matrix, and in log-parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import EP
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step(softness=1.0)))
    >>> sorted(posterior.evidence_gradient.likelihood)
    ['noise', 'softness']
    """

    alpha: Array
    gaussian: Any
    likelihood: Mapping[str, float]
    by_residual: Array | None = None  # derivative in each row's residual
    implicit: Array | None = None  # z of a further term (z alpha' + alpha z') / 4, where sites move with the kernel

    def by_gram(self) -> Array:
        """The symmetric matrix G with ``d log_evidence = sum_ij G_ij dK_ij``."""
        g: Array = self.gaussian.precision_change()
        g *= -0.5
        half = 0.5 * self.alpha if self.implicit is None else 0.5 * (self.alpha + 0.5 * self.implicit)
        g += np.multiply.outer(half, self.alpha)
        if self.implicit is not None:
            g += np.multiply.outer(0.25 * self.alpha, self.implicit)
        return g

    @property
    def features(self) -> Array:
        """The factor M of a Gram matrix ``M M'``."""
        return self.gaussian.gram.factor

    def by_factor(self) -> Array:
        """``2 G M`` for a Gram matrix ``M M'``: the derivative in its factor, in O(n r^2)."""
        m = self.gaussian.gram.factor
        g: Array = np.multiply.outer(self.alpha, m.T @ self.alpha) - self.gaussian.shrunk()
        if self.by_residual is not None:  # a residual is what is left of a row's variance: it shrinks as M grows
            g -= 2 * self.by_residual[:, None] * m
        if self.implicit is not None:
            g += 0.5 * np.multiply.outer(self.implicit, m.T @ self.alpha)
            g += 0.5 * np.multiply.outer(self.alpha, m.T @ self.implicit)
        return g


class ClassesEvidenceGradient(NamedTuple):
    """Derivative of the log-evidence: ``0.5 sum_c (alpha_c alpha_c' - W_c)`` in the Gram matrix, and in log-parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Choice, Problem
    >>> from bayespoint.engines import EP
    >>> EP().infer(Problem(np.eye(3), [0, 1, 2], Choice(0.1))).evidence_gradient.by_gram().shape
    (3, 3)
    """

    alpha: Array
    gaussian: Any
    likelihood: Mapping[str, float]
    by_residual: Array | None = None

    def by_gram(self) -> Array:
        """The symmetric matrix G with ``d log_evidence = sum_ij G_ij dK_ij``."""
        g: Array = 0.5 * (self.alpha @ self.alpha.T - self.gaussian.precision_change())
        return g

    @property
    def features(self) -> Array:
        """The factor M of a Gram matrix ``M M'``."""
        return self.gaussian.factor

    def by_factor(self) -> Array:
        """``2 G M`` for a Gram matrix ``M M'``: the derivative in its factor."""
        m = self.features
        g: Array = self.alpha @ (self.alpha.T @ m) - self.gaussian.shrunk()
        return g if self.by_residual is None else g - 2 * self.by_residual[:, None] * m
