"""An engine from outside the package: draws from the prior that the labels let pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayespoint import Problem
from bayespoint._core.random import as_generator
from bayespoint.engines import Engine
from bayespoint.exceptions import InvalidProblemError
from bayespoint.posteriors import SampledPosterior

# [declared]


@dataclass(frozen=True)
class PriorRejection(Engine):
    """Draws of the prior, each kept with the probability that it gives to the labels: exact, for a few rows.

    Parameters
    ----------
    draws : int, default=2000
        Draws kept.
    max_tries : int, default=2_000_000
        Draws of the prior at the most.
    """

    draws: int = 2000
    max_tries: int = 2_000_000

    is_exact: ClassVar[bool] = True  # draws are from the posterior itself
    # takes stays None: any likelihood, with weights and residuals; all else stays False, as `Engine` has it

    def infer(self, problem: Problem, rng: Any = None, *, start: Any = None) -> SampledPosterior:
        """Draws from the posterior of `problem`; there is nothing that a `start` could shorten."""
        self.check(problem)  # refuses what was not declared
        rng = as_generator(rng)  # a seed, a Generator, a RandomState or None
        white = problem.whitened()  # f = M w with w ~ N(0, I), whatever the Gram matrix is held as
        kept, tries = [], 0
        while sum(map(len, kept)) < self.draws:
            if tries >= self.max_tries:
                raise InvalidProblemError(
                    f"Only {sum(map(len, kept))} of {tries:,} draws of the prior agree with the labels: take fewer "
                    "rows, raise max_tries, or use EllipticalSlice."
                )
            w = rng.standard_normal((10_000, white.rank))
            log_p = problem.log_likelihood(w @ white.factor.T).sum(axis=1)  # weights and residuals are in it
            kept.append(w[np.log(rng.random(len(w))) < log_p])
            tries += len(w)
        found = np.concatenate(kept)
        info = {"acceptance": len(found) / tries, "tries": tries}  # for people; no code reads it
        return SampledPosterior(problem, white, found[None, : self.draws], info=info, engine=self)
