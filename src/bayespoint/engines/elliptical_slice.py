"""Elliptical slice sampling around expectation propagation: exact for any likelihood.

The Gaussian of the ellipses is EP's posterior N(m, S), prior times sites; the target is what is left of the
likelihood, ``prod_i likelihood_i(f_i) / site_i(f_i)``. Where EP is good (hinge, probit) this is nearly constant
and draws are nearly independent (Murray, Adams & MacKay 2010; the Gaussian need not be the prior).

Label noise leaves the posterior tails as wide as the prior's, far outside that Gaussian: its ellipses alone would get
there once in thousands of steps. So every other ellipse is the prior's there, which reaches them at any step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lapack, solve_triangular

from .._core.random import as_generator
from .._core.settings import check_at_least
from .._core.threads import blas_threads_for
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..grams.whitening import Whitened
from ..posteriors import SampledPosterior
from ..problem import Problem
from ._start import starting_position
from .base import Engine, draws_of_share
from .ep.engine import EP

__all__ = ["EllipticalSlice"]

_BATCH = 64


@dataclass(frozen=True)
class EllipticalSlice(Engine):
    """Elliptical slice sampler around the posterior of expectation propagation.

    Parameters
    ----------
    draws : int, default=1000
        Draws kept of each chain.
    chains : int, default=4
        Chains; they advance together.
    warmup : int, default=50
        Steps before the first draw is kept.
    ep : EP, default=EP()
        Engine of the Gaussian.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.engines import EllipticalSlice
    >>> posterior = EllipticalSlice(draws=100).infer(Problem(np.eye(2), [1, -1], Hinge(C=2.0)), rng=0)
    >>> posterior.latents.shape
    (4, 100, 2)
    """

    draws: int = 1000
    chains: int = 4
    warmup: int = 50
    ep: EP = field(default_factory=EP)

    is_exact: ClassVar[bool] = True
    can_grow: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_at_least(self, draws=1, chains=1, warmup=0)

    def for_share(self, share: float) -> EllipticalSlice:
        """See `Engine.for_share`."""
        return replace(self, draws=draws_of_share(self.draws, share))

    def infer(self, problem: Problem, rng: Any = None, *, start: None = None) -> SampledPosterior:
        """Draws from the posterior of `problem`; see `Billiard.infer`."""
        self.check(problem)
        with blas_threads_for(problem.size):
            return self._infer(problem, rng)

    def _infer(self, problem: Problem, rng: Any) -> SampledPosterior:
        white = problem.whitened()
        gaussian = self.ep.infer(problem)
        base = Ellipse(problem, white, gaussian.tau, gaussian.nu)
        ellipses = [base] if problem.likelihood.is_log_concave else [base, Ellipse.of_prior(problem, white)]
        # a chain has two streams, for it takes uniform numbers as often as it needs them
        streams = [stream.spawn(2) for stream in as_generator(rng).spawn(self.chains)]

        def uniform(some: Any) -> Array:
            return np.array([streams[chain][1].random() for chain in some])

        w = np.tile(base.start(), (self.chains, 1))
        kept = np.empty((self.chains, self.draws, white.rank))
        total, proposals = self.warmup + self.draws, 0
        target = base.log_target(w @ white.factor.T)
        for first in range(0, total, _BATCH):
            size = min(_BATCH, total - first)
            fresh = np.stack([normal.standard_normal((size, white.rank)) for normal, _ in streams], axis=1)
            latents = w @ white.factor.T  # also takes out the drift of the last batch
            for part, ellipse in enumerate(ellipses):
                mine = slice((part - first) % len(ellipses), None, len(ellipses))
                fresh[mine] = ellipse.across(fresh[mine])
            across = fresh @ white.factor.T
            for k in range(size):
                ellipse = ellipses[(first + k) % len(ellipses)]
                cos, sin, latents, target, used = ellipse.step(latents, across[k], target, uniform)
                w = ellipse.centre + cos[:, None] * (w - ellipse.centre) + sin[:, None] * fresh[k]
                proposals += used
                if first + k >= self.warmup:
                    kept[:, first + k - self.warmup] = w
        info = {"proposals_per_step": proposals / total, "settings": self, "ep": gaussian.info}
        return SampledPosterior(problem, white, kept, info=info, engine=self)


class Ellipse:
    """A Gaussian, prior times sites, as ``f = m + root z``, and the log-ratio of likelihood and sites."""

    def __init__(self, problem: Problem, white: Whitened, tau: Array, nu: Array) -> None:
        self.problem, self.white = problem, white
        factor = white.factor
        # precision of whitened coordinates: I + M' T M = R R'
        precision = (factor.T * tau) @ factor
        precision.flat[:: white.rank + 1] += 1.0
        lower, failed = lapack.dpotrf(precision, lower=1, overwrite_a=1)
        if failed:
            raise InvalidProblemError("Expectation propagation gave no proper Gaussian to sample around: use Billiard.")
        self.lower = lower
        self.centre = lapack.dpotrs(lower, factor.T @ nu, lower=1)[0]
        self.mean = factor @ self.centre
        # logarithm of the mean of the sites under the prior
        self.log_normaliser = float(0.5 * (factor.T @ nu) @ self.centre - np.log(np.diagonal(lower)).sum())
        self.root = np.ascontiguousarray(solve_triangular(lower, factor.T, lower=True).T)
        self.tau, self.nu = tau, nu
        self.weights = problem.exponents

    @classmethod
    def of_prior(cls, problem: Problem, white: Whitened) -> Ellipse:
        """Without sites: what is left is the likelihood."""
        return cls(problem, white, *np.zeros((2, problem.size)))

    def latents(self, z: Array) -> Array:
        return self.mean + z @ self.root.T

    def across(self, z: Array) -> Array:
        """Standard normal vectors as differences of whitened coordinates from the centre."""
        flat = solve_triangular(self.lower, z.reshape(-1, z.shape[-1]).T, lower=True, trans=1)
        return np.asarray(flat.T.reshape(z.shape))

    def start(self) -> Array:
        """Whitened coordinates of the centre of the Gaussian, unless a hard wall cuts it off."""
        hard = self.problem.hard
        if np.all(self.problem.y[hard] * self.mean[hard] > 0):
            return self.centre
        return starting_position(self.problem, self.white)[: self.white.rank]

    def log_ratio(self, f: Array) -> Array:
        return self.log_target(f) - self.log_sites(f)

    def log_sites(self, f: Array) -> Array:
        """Logarithm of the sites of all rows."""
        total: Array = (f * (self.nu - 0.5 * self.tau * f)).sum(axis=-1)
        return total

    def log_target(self, f: Array) -> Array:
        """Log-likelihood of all rows."""
        total: Array = self.problem.log_likelihood(f).sum(axis=-1)
        return total

    def step(
        self,
        latents: Array,
        across: Array,
        target: Array,
        uniform: Callable[[Any], Array],
        log_target: Callable[[Array], Array] | None = None,
    ) -> tuple[Array, Array, Array, Array, int]:
        """One slice for every chain: shrink each bracket until its proposal is on it.

        `target` is the value at `latents` of `log_target`, by default of the likelihood; `uniform` gives a number
        between 0 and 1 for each of some chains.
        """
        log_target = self.log_target if log_target is None else log_target
        todo = np.arange(len(latents))
        level = target - self.log_sites(latents) + np.log1p(-uniform(todo))
        angle = 2 * np.pi * uniform(todo)
        low, high = angle - 2 * np.pi, angle.copy()
        along = latents - self.mean
        new_latents, new_target = latents.copy(), target.copy()
        proposals = 0
        while todo.size:
            cos, sin = np.cos(angle[todo]), np.sin(angle[todo])
            proposed = self.mean + cos[:, None] * along[todo] + sin[:, None] * across[todo]
            value = log_target(proposed)
            proposals += todo.size
            good = value - self.log_sites(proposed) > level[todo]
            done, todo_next = todo[good], todo[~good]
            new_latents[done], new_target[done] = proposed[good], value[good]
            behind = angle[todo_next] < 0
            low[todo_next[behind]] = angle[todo_next[behind]]
            high[todo_next[~behind]] = angle[todo_next[~behind]]
            angle[todo_next] = low[todo_next] + (high - low)[todo_next] * uniform(todo_next)
            closed = high[todo_next] - low[todo_next] < np.finfo(float).eps  # on a slice but for rounding: stay there
            angle[todo_next[closed]] = 0.0
            todo = todo_next[~closed]
        return np.cos(angle), np.sin(angle), new_latents, new_target, proposals
