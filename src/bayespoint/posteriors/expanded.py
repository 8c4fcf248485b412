"""Posteriors as expansions in few of the training points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._core.typing import Array
from ..grams.rows import CrossRows
from ..problem import Problem
from .latent import Latent, above_rounding, disagreement_of_draws, draws_to_arviz, leave_one_out_of_draws, spread_out

__all__ = ["ExpandedPosterior"]


@dataclass(frozen=True, eq=False)
class ExpandedPosterior:
    """Classifiers of version space as expansions in few training points: what perceptrons find.

    Each draw is a unit vector in the feature space of the walls (that of the kernel, and one more dimension a row
    where the boundary is soft) times the root of n, the mean radius of a Gaussian draw there. Other posteriors add at a
    new point the variance of what the training points leave open; a perceptron is a single classifier, so nothing is
    added here.

    Attributes
    ----------
    problem : Problem
        What was solved.
    support : ndarray of shape (n_support,)
        Training points with a weight; one array for all classes that were solved together.
    weights : ndarray of shape (draw, n_support)
        Expansion of each draw in them.
    latents : ndarray of shape (1, draw, n)
        Latent function at the training points.
    info : dict
        What only a person needs: epochs and mistakes of each perceptron, and whether it separated the labels.
    log_evidence : None
        Perceptrons do not tell.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import Perceptrons
    >>> posterior = Perceptrons(permutations=5).infer(Problem(np.eye(3), [1, -1, 1], Step()), rng=0)
    >>> posterior.latents.round(6)[0, 0]
    array([ 1., -1.,  1.])
    """

    problem: Problem
    support: Any
    weights: Array
    latents: Array
    info: Mapping[str, Any] = field(default_factory=dict)
    log_evidence: None = None

    @property
    def draws(self) -> int:
        """Number of draws."""
        return self.weights.shape[0]

    @cached_property
    def centre(self) -> Array:
        """Expansion of the posterior mean in the `support`."""
        centre: Array = self.weights.mean(axis=0)
        return centre

    @property
    def alpha(self) -> Array:
        """Weights of each draw in ``f(x) = sum_i alpha_i k(x, x_i)``, of shape (1, draw, n)."""
        alpha = np.zeros((1, self.draws, self.problem.size))
        alpha[..., self.support] = self.weights
        return alpha

    @cached_property
    def mean(self) -> Array:
        """Mean of the latents at the training points."""
        mean: Array = self.latents.mean(axis=(0, 1))
        return mean

    @cached_property
    def variance(self) -> Array:
        """Variance of the latents at the training points."""
        variance: Array = self.latents.var(axis=(0, 1))
        return variance

    @property
    def mean_weights(self) -> Array:
        """Weights of the posterior mean as one function; for a low-rank problem its coordinates."""
        if self.problem.root is not None:
            return self.problem.root[self.support].T @ self.centre
        weights = np.zeros(self.problem.size)
        weights[self.support] = self.centre
        return weights

    def outputs(self, cross: Array | CrossRows, diag: Array) -> tuple[Array, Array]:
        """Latent at new points given each draw: means of shape (1, draw, n_points), and a variance next to nothing.

        Parameters
        ----------
        cross : ndarray of shape (n_points, n) or CrossRows
            Kernel values between the new and the training points, or what computes them for the `support` alone; for a
            low-rank problem coordinates of the new points.
        diag : ndarray of shape (n_points,)
            Kernel value of each new point with itself.
        """
        weights = self.weights
        if isinstance(cross, CrossRows):
            values: Any = cross.columns(self.support)
            weights = weights.astype(values.dtype)  # a copy of the values in double precision may be too large
        elif self.problem.root is not None:
            values, weights = cross, weights @ self.problem.root[self.support]
        else:
            values = cross[:, self.support]
        means = np.matmul(weights, values.T).astype(np.float64)
        return means[None], above_rounding(np.zeros(len(diag)), diag)

    def latent(self, cross: Array | CrossRows, diag: Array) -> Latent:
        """Mean and variance at new points; `cross` and `diag` as for `outputs`."""
        means, nothing = self.outputs(cross, diag)
        return Latent(means.mean(axis=(0, 1)), means.var(axis=(0, 1)) + nothing)

    def functions(self, cross: Array | CrossRows, prior: Array, size: int, rng: np.random.Generator) -> Array:
        """Draws at new points; see `SampledPosterior.functions`. Nothing is added to them."""
        (means,), _ = self.outputs(cross, np.diagonal(prior))
        drawn: Array = means[spread_out(self.draws, size)]
        return drawn

    def expectation(self, function: Callable[[Array, Array], Array], cross: Array | CrossRows, diag: Array) -> Array:
        """Posterior expectation at new points of a function given as its mean under a latent N(mean, variance)."""
        (means,), nothing = self.outputs(cross, diag)
        values: Array = function(means, np.broadcast_to(nothing, means.shape)).mean(axis=0)
        return values

    def disagreement(self) -> Array:
        """Probability at each training point that the latent has not the sign of the label."""
        return disagreement_of_draws(self.problem, self.latents)

    @cached_property
    def leave_one_out(self) -> Latent:
        """Latent at each training point given all the others; see `SampledPosterior.leave_one_out`."""
        return leave_one_out_of_draws(self.problem, self.latents)

    def to_arviz(self) -> Any:
        """The draws as an arviz data tree; see `SampledPosterior.to_arviz`."""
        return draws_to_arviz(self.latents)

    def without(self, draws: slice) -> ExpandedPosterior:
        """The posterior without some draws."""
        weights, latents = np.delete(self.weights, draws, axis=0), np.delete(self.latents, draws, axis=1)
        return ExpandedPosterior(self.problem, self.support, weights, latents, self.info)
