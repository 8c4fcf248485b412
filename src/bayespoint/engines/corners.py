"""The direct Bayes point of Rychetsky, Shawe-Taylor & Glesner (2000), as described in BPM section 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lapack

from ..exceptions import InvalidProblemError
from ..posteriors import SampledPosterior
from ..problem import Problem
from ._walls import gram_of_walls
from .base import Engine

__all__ = ["Corners"]


@dataclass(frozen=True)
class Corners(Engine):
    """Mean of the m corners of version space; needs a Gram matrix of full rank, or a soft boundary.

    The i-th corner lies on every wall but the i-th: ``alpha_i = y_i G^-1 e_i``, normalised to unit length.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import Corners
    >>> readouts.bayes_point(Corners().infer(Problem(np.eye(2), [1, -1], Step()))).round(4)
    array([ 0.7071, -0.7071])
    """

    takes: ClassVar[frozenset[str]] = frozenset({"hard", "soft"})
    refusal: ClassVar[str] = "Corners belong to version space: use a Step likelihood with noise=0."

    def infer(self, problem: Problem, rng: Any = None, *, start: None = None) -> SampledPosterior:
        """The corners as draws of one chain, whose mean is the Bayes point; none is random. See `Billiard.infer`."""
        self.check(problem)
        problem.refuse_weights_of_noise()
        lower, failed = lapack.dpotrf(gram_of_walls(problem), lower=1)
        if failed:
            raise InvalidProblemError(
                "Version space has m corners only if the Gram matrix has full rank: raise softness above 0, or use "
                "another engine."
            )
        inverse = np.tril(lapack.dpotri(lower, lower=1)[0])
        inverse += np.tril(inverse, -1).T
        # |w_i|^2 = alpha_i' G alpha_i = (G^-1)_ii; a column each, in latents f = K alpha
        alpha = problem.y * inverse / np.sqrt(np.diagonal(inverse))
        white = problem.whitened()
        return SampledPosterior(problem, white, (white.factor.T @ alpha).T[None] * np.sqrt(problem.size), engine=self)
