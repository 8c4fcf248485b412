"""Posteriors as draws of classifiers: many, in whitened coordinates, or few, as expansions in the training points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._core.extras import needed
from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from ..grams import NewPoints
from ..grams.gram import above_rounding
from ..grams.whitening import Whitened
from ..problem import Problem
from .latent import ByMoments, Latent, correlated, spread_out

__all__ = ["ExpandedPosterior", "SampledPosterior"]


class _Draws:
    """What draws of the latents at the training points tell, in whatever form they are held."""

    problem: Problem
    latents: Any

    @cached_property
    def variance(self) -> Array:
        """Variance of the latents at the training points."""
        variance: Array = self.latents.var(axis=(0, 1))
        return variance

    def disagreement(self) -> Array:
        """Probability at each training point that the latent, with its residual, has not the sign of the label.

        Given the coordinates, a residual knows of its own label alone.
        """
        problem = self.problem
        latents = self.latents.reshape(-1, problem.size)
        wrong = (latents * problem.y < 0).astype(np.float64)
        if problem.residual is not None:
            rows = np.flatnonzero(problem.residual)
            some = latents[:, rows]
            y, own = (np.broadcast_to(part[rows], some.shape).ravel() for part in (problem.y, problem.residual))
            wrong[:, rows] = problem.likelihood.disagreement(y, some.ravel(), own).reshape(some.shape)
        share: Array = wrong.mean(axis=0)
        return share

    @cached_property
    def leave_one_out(self) -> Latent:
        """Latent at each training point given all the others, by dividing its likelihood out of the draws' weights.

        Only likelihoods that are positive everywhere allow it; a hard wall leaves no draw on its far side.
        """
        return self.leaving_out(1.0)

    def leaving_out(self, share: Any) -> Latent:
        """Latent at each training point with a share of its own label taken away, such as one of several copies."""
        problem = self.problem
        if problem.hard.any():
            raise InvalidProblemError(
                "Draws inside hard walls do not tell what a row's absence would change: use the EP engine, or softness."
            )
        latents = self.latents.reshape(-1, problem.size)
        log_weight = -share * problem.log_likelihood(latents)
        weight = np.exp(log_weight - log_weight.max(axis=0))
        weight /= weight.sum(axis=0)
        mean = (weight * latents).sum(axis=0)
        own = 0.0 if problem.residual is None else problem.residual
        return Latent(mean, (weight * np.square(latents - mean)).sum(axis=0) + own)

    def to_arviz(self) -> Any:
        """The draws as an arviz data tree: latents with dimensions chain, draw, row (needs ``bayespoint[report]``)."""
        return draws_to_arviz(self.latents, ["row"])


def draws_to_arviz(latents: Array, dims: list[str]) -> Any:
    """Draws of shape (chain, draw, ...) as an arviz data tree, with names of the further dimensions."""
    arviz = needed("arviz_base", "report", "to_arviz needs arviz-base")
    return arviz.from_dict({"posterior": {"latent": latents}}, dims={"latent": dims})


@told_briefly()
@dataclass(frozen=True, eq=False)
class DrawnAt(ByMoments):
    """Draws at new points: a latent given each draw, and the variance of what the training points do not determine."""

    coordinates: Array
    features: Array
    centre: Array
    orthogonal: Array  # variance common to all draws
    new: NewPoints

    @property
    def outputs(self) -> Array:
        """Mean of the latent given each draw, of shape (chain, draw, n_points)."""
        return np.matmul(self.coordinates, self.features.T)

    @cached_property
    def latent(self) -> Latent:
        spread = np.empty(len(self.features))
        for start in range(0, len(spread), 256):
            rows = slice(start, start + 256)
            spread[rows] = (self._flat @ self.features[rows].T).var(axis=0)
        return Latent(self.features @ self.centre, spread + self.orthogonal)

    def expectation(self, function: Callable[[Array, Array], Array]) -> Array:
        values = np.empty(len(self.features))
        block = max(1, 2_000_000 // len(self._flat))  # bounds the working memory
        for start in range(0, len(values), block):
            rows = slice(start, start + block)
            means = self._flat @ self.features[rows].T
            values[rows] = function(means, np.broadcast_to(self.orthogonal[rows], means.shape)).mean(axis=0)
        return values

    def functions(self, size: int, rng: np.random.Generator) -> Array:
        means = self._flat[spread_out(len(self._flat), size)] @ self.features.T
        return means + correlated(self.new.among - self.features @ self.features.T, size, rng)

    @property
    def _flat(self) -> Array:
        return self.coordinates.reshape(-1, self.features.shape[1])


class InCoordinates:
    """Draws of one function, or of one for each class, as whitened coordinates of shape (chain, draw, ..., rank)."""

    white: Whitened
    coordinates: Array
    own_centre: Any = None

    @property
    def draws(self) -> int:
        """Number of draws of each chain."""
        return self.coordinates.shape[1]

    @cached_property
    def centre(self) -> Array:
        """Coordinates of the posterior mean, of shape (..., rank)."""
        centre: Array = self.coordinates.mean(axis=(0, 1)) if self.own_centre is None else self.own_centre
        return centre

    def features_at(self, new: NewPoints) -> tuple[Array, Array]:
        """Coordinates of new points, and the prior variance that these do not have."""
        features = self.white.features(new)
        return features, above_rounding(new.diag - np.square(features).sum(axis=1), new.diag)


@told_briefly("problem", "draws", "engine")
@dataclass(frozen=True, eq=False)
class SampledPosterior(InCoordinates, _Draws):
    """Draws from the posterior, in whitened coordinates of the training points.

    Attributes
    ----------
    problem : Problem
        What was sampled.
    white : Whitened
        From coordinates to latents: ``f = M w``.
    coordinates : ndarray of shape (chain, draw, rank)
        The draws w.
    info : dict
        What only a person needs.
    own_centre : ndarray of shape (rank,) or None
        Coordinates of the posterior mean, where the engine has an estimate other than the mean of the draws.
    log_evidence : None
        Draws alone do not tell.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import Billiard
    >>> posterior = Billiard(draws=100, chains=2).infer(Problem(np.eye(3), [1, -1, 1], Step(noise=0.1)), rng=0)
    >>> posterior.alpha.shape
    (2, 100, 3)
    """

    problem: Problem
    white: Whitened
    coordinates: Array
    info: Mapping[str, Any] = field(default_factory=dict)
    own_centre: Array | None = None
    engine: Any = None
    log_evidence: None = None

    @property
    def latents(self) -> Array:
        """Latent function at the training points, of shape (chain, draw, n); where these have residuals, without."""
        return np.matmul(self.coordinates, self.white.factor.T)

    @property
    def alpha(self) -> Array:
        """Weights of each draw in ``f(x) = sum_i alpha_i k(x, x_i)``, of shape (chain, draw, n)."""
        return self.white.expansion(self.coordinates)

    @cached_property
    def mean(self) -> Array:
        """Mean of the latents at the training points."""
        return self.white.factor @ self.centre

    def at(self, new: NewPoints) -> DrawnAt:
        """The latent function at new points."""
        features, orthogonal = self.features_at(new)
        return DrawnAt(self.coordinates, features, self.centre, orthogonal, new)

    @property
    def mean_weights(self) -> Array:
        """Weights of the posterior mean as one function: for a low-rank problem its coordinates."""
        return self.white.weights(self.centre)

    def without(self, draws: slice) -> SampledPosterior:
        """The posterior without some draws of each chain."""
        kept = np.delete(self.coordinates, draws, axis=1)
        return SampledPosterior(self.problem, self.white, kept, self.info, engine=self.engine)


@told_briefly()
@dataclass(frozen=True, eq=False)
class ExpandedAt(ByMoments):
    """Few classifiers at new points, and a variance next to nothing beside them."""

    outputs: Array  # of shape (1, draw, n_points)
    orthogonal: Array
    reach: Array  # the largest output that a draw can have at each point: its length times that of the point

    @property
    def confidence(self) -> Array:
        """``<x, w> / (|w| |x|)``, the mean over the classifiers w (BPM 4.3): between -1 and 1."""
        mean: Array = self.outputs.mean(axis=(0, 1))
        return np.divide(mean, self.reach, out=np.zeros_like(mean), where=self.reach > 0)

    @cached_property
    def latent(self) -> Latent:
        return Latent(self.outputs.mean(axis=(0, 1)), self.outputs.var(axis=(0, 1)) + self.orthogonal)

    def expectation(self, function: Callable[[Array, Array], Array]) -> Array:
        means = self.outputs[0]
        values: Array = function(means, np.broadcast_to(self.orthogonal, means.shape)).mean(axis=0)
        return values

    def functions(self, size: int, rng: np.random.Generator) -> Array:
        """The classifiers themselves: nothing is added to them."""
        drawn: Array = self.outputs[0][spread_out(self.outputs.shape[1], size)]
        return drawn


@told_briefly("problem", "draws", "engine")
@dataclass(frozen=True, eq=False)
class ExpandedPosterior(_Draws):
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
    engine: Any = None
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

    @property
    def mean_weights(self) -> Array:
        """Weights of the posterior mean as one function: for a low-rank problem its coordinates."""
        return self.problem.gram.weights(self.support, self.centre)

    def at(self, new: NewPoints) -> ExpandedAt:
        """The latent function at new points."""
        outputs = self.problem.gram.expansion(new, self.support, self.weights.T).T
        reach = np.sqrt(self.problem.size * new.diag)
        return ExpandedAt(outputs[None], above_rounding(np.zeros(len(new)), new.diag), reach)

    def without(self, draws: slice) -> ExpandedPosterior:
        """The posterior without some draws."""
        weights, latents = np.delete(self.weights, draws, axis=0), np.delete(self.latents, draws, axis=1)
        return ExpandedPosterior(self.problem, self.support, weights, latents, self.info, self.engine)
