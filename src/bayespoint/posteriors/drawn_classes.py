"""Draws of the latent functions of several classes (`bayespoint.Choice`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import entr

from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from ..grams import NewPoints
from ..grams.whitening import Whitened
from ..likelihoods import Choice
from ..problem import Problem
from ._leaders import leading_probabilities
from .classes import LatentClasses
from .drawn import InCoordinates, draws_to_arviz
from .latent import correlated, spread_out

__all__ = ["SampledClasses"]

_BLOCK = 4_000_000  # numbers held at a time


@dataclass(frozen=True, eq=False)
class DrawnClassesAt:
    """Draws at new points: latents given each draw, and a variance that all classes and draws have in common."""

    coordinates: Array  # (chain, draw, C, rank)
    features: Array
    orthogonal: Array
    likelihood: Choice
    new: NewPoints

    @property
    def outputs(self) -> Array:
        """Mean of the latents given each draw, of shape (chain, draw, n_points, C)."""
        return np.swapaxes(np.matmul(self.coordinates, self.features.T), -1, -2)

    @cached_property
    def mean(self) -> Array:
        mean: Array = self.features @ self.coordinates.mean(axis=(0, 1)).T
        return mean

    @property
    def variance(self) -> Array:
        return np.diagonal(self.covariance, axis1=1, axis2=2)

    @cached_property
    def covariance(self) -> Array:
        classes = self.coordinates.shape[2]
        found = np.empty((len(self.features), classes, classes))
        for rows, latents in self._blocks():
            off = latents - latents.mean(axis=0)
            found[rows] = np.einsum("dpc,dpe->pce", off, off, optimize=True) / len(off)
        return found + self.orthogonal[:, None, None] * np.eye(classes)

    @cached_property
    def probabilities(self) -> Array:
        return self.likelihood.of_leaders(self._leading(self.likelihood.softness))

    @cached_property
    def votes(self) -> Array:
        return self._leading(0.0)

    @cached_property
    def conditional_entropy(self) -> Array:
        """By one value of what each draw leaves open, always the same ones: the draws are many."""
        likelihood, classes = self.likelihood, self.coordinates.shape[2]
        high, low = likelihood.levels(classes)
        if likelihood.softness == 0:
            return np.full(len(self.features), entr(high) + (classes - 1) * entr(low))
        rng = np.random.default_rng(0)
        found = np.empty(len(self.features))
        for rows, latents in self._blocks():
            f = latents + np.sqrt(self.orthogonal[rows])[:, None] * rng.standard_normal(latents.shape)
            p = likelihood.of_leaders(leading_probabilities(f, np.full(f.shape[1], likelihood.softness)))
            found[rows] = entr(p).sum(axis=-1).mean(axis=0)
        return found

    def functions(self, size: int, rng: np.random.Generator) -> Array:
        flat = self.coordinates.reshape(-1, *self.coordinates.shape[2:])
        means = flat[spread_out(len(flat), size)] @ self.features.T
        among = self.new.among - self.features @ self.features.T
        own = [correlated(among, size, rng) for _ in range(means.shape[1])]
        return np.swapaxes(means + np.stack(own, axis=1), 1, 2)

    def _leading(self, softness: float) -> Array:
        """Probability of each class to have the largest latent, averaged over draws."""
        found = np.empty((len(self.features), self.coordinates.shape[2]))
        for rows, latents in self._blocks():
            found[rows] = leading_probabilities(latents, self.orthogonal[rows] + softness).mean(axis=0)
        return found

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        return in_blocks(self.coordinates, self.features)


def in_blocks(coordinates: Array, features: Array) -> Iterator[tuple[slice, Array]]:
    """Latents of all draws, of shape (draws, points, C), some points at a time."""
    flat = coordinates.reshape(-1, *coordinates.shape[2:])
    size = max(1, _BLOCK // (flat.shape[0] * flat.shape[1]))
    for start in range(0, len(features), size):
        rows = slice(start, min(start + size, len(features)))
        yield rows, np.ascontiguousarray(np.swapaxes(flat @ features[rows].T, 1, 2))


@told_briefly("problem", "draws", "engine")
@dataclass(frozen=True, eq=False)
class SampledClasses(InCoordinates):
    """Draws from the posterior of a problem with class numbers, in whitened coordinates of the training points.

    Attributes
    ----------
    problem : Problem
        What was sampled.
    white : Whitened
        From the coordinates of one function to its latents: ``f = M w``.
    coordinates : ndarray of shape (chain, draw, C, rank)
        The draws w, one function a class.
    info : dict
        What only a person needs.
    log_evidence : None
        Draws alone do not tell.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Choice, Problem
    >>> from bayespoint.engines import Billiard
    >>> posterior = Billiard(draws=100, chains=2).infer(Problem(np.eye(3), [0, 1, 2], Choice()), rng=0)
    >>> posterior.latents.shape
    (2, 100, 3, 3)
    >>> bool(np.all(posterior.latents.argmax(axis=-1) == [0, 1, 2]))
    True
    """

    problem: Problem
    white: Whitened
    coordinates: Array
    info: Mapping[str, Any] = field(default_factory=dict)
    engine: Any = None
    log_evidence: None = None

    @property
    def latents(self) -> Array:
        """Latents at the training points, of shape (chain, draw, n, C); where these have residuals, without."""
        return np.swapaxes(np.matmul(self.coordinates, self.white.factor.T), -1, -2)

    @property
    def alpha(self) -> Array:
        """Weights of each draw in ``f_c(x) = sum_i alpha_ic k(x, x_i)``, of shape (chain, draw, n, C)."""
        return np.swapaxes(self.white.expansion(self.coordinates), -1, -2)

    @cached_property
    def mean(self) -> Array:
        """Mean of the latents at the training points, of shape (n, C)."""
        return self.white.factor @ self.centre.T

    @cached_property
    def variance(self) -> Array:
        """Their variances."""
        variance: Array = self.latents.var(axis=(0, 1))
        return variance

    @property
    def mean_weights(self) -> Array:
        """Weights of the posterior mean, one function a class: for a low-rank problem its coordinates."""
        return self.white.weights(self.centre).T

    def at(self, new: NewPoints) -> DrawnClassesAt:
        """The latent functions at new points."""
        features, orthogonal = self.features_at(new)
        return DrawnClassesAt(self.coordinates, features, orthogonal, self._likelihood, new)

    @cached_property
    def leave_one_out(self) -> LatentClasses:
        """Latents at each training point given all the others, by dividing its likelihood out of the draws' weights."""
        return self.leaving_out(1.0)

    def leaving_out(self, share: Any) -> LatentClasses:
        """Latents at each training point with a share of its own label taken away, such as one of several copies."""
        shares = np.broadcast_to(share, self.problem.size)
        n, classes = self.mean.shape
        mean, covariance = np.empty((n, classes)), np.empty((n, classes, classes))
        for rows, latents, weight in self._reweighted(shares):
            mean[rows] = np.einsum("dp,dpc->pc", weight, latents)
            off = latents - mean[rows]
            covariance[rows] = np.einsum("dp,dpc,dpe->pce", weight, off, off, optimize=True)
        if self.problem.residual is not None:
            covariance += self.problem.residual[:, None, None] * np.eye(classes)
        return LatentClasses(mean, covariance)

    @cached_property
    def leave_one_out_probabilities(self) -> Array:
        """Probability of each label at each training point given all the others, by reweighting the draws.

        Weights are the steeper the less softness or noise there is; with little of both the estimate is rough.
        """
        found = np.empty(self.mean.shape)
        for rows, latents, weight in self._reweighted(np.ones(self.problem.size)):
            found[rows] = np.einsum("dp,dpc->pc", weight, leading_probabilities(latents, self.problem.own[rows]))
        return self._likelihood.of_leaders(found)

    def _reweighted(self, shares: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Latents of some rows, and weights of the draws without a share of the row's label.

        Only likelihoods that are positive everywhere allow it; a hard wall leaves no draw on its far side.
        """
        if self.problem.hard.any():
            raise InvalidProblemError(
                "Draws inside hard walls do not tell what a row's absence would change: use the EP engine, or softness."
            )
        for rows, latents in self._blocks():
            leading = leading_probabilities(latents, self.problem.own[rows])
            weight = self._label_probability(leading, rows) ** -shares[rows]
            yield rows, latents, weight / weight.sum(axis=0)

    @cached_property
    def true_probabilities(self) -> Array:
        """Probability of each class to have the largest latent at each training point, its label known: (n, C).

        Where rows have residuals of their own, given the coordinates these know of their own label alone.
        """
        problem, found, rng = self.problem, np.empty(self.mean.shape), np.random.default_rng(0)
        residual = np.zeros(problem.size) if problem.residual is None else problem.residual
        for rows, latents in self._blocks():
            if self._likelihood.softness == 0:
                share = leading_probabilities(latents, residual[rows])
                other = np.arange(share.shape[2]) != problem.y[rows, None]
                high, low = self._levels(rows)
                share *= np.where(other, low[:, None], high[:, None])
                share /= share.sum(axis=2, keepdims=True)
            else:  # a residual drawn from the prior counts by what it makes of the label
                before = self._label_probability(leading_probabilities(latents, problem.own[rows]), rows)
                f = latents + np.sqrt(residual[rows])[:, None] * rng.standard_normal(latents.shape)
                softness = np.full(f.shape[1], self._likelihood.softness)
                after = self._label_probability(leading_probabilities(f, softness), rows)
                share = (after / before)[..., None] * leading_probabilities(f, 0 * softness)
            found[rows] = share.mean(axis=0)
        return found / found.sum(axis=1, keepdims=True)

    def disagreement(self) -> Array:
        """Probability at each training point that another latent than that of the label is the largest."""
        return 1 - self.true_probabilities[np.arange(self.problem.size), self.problem.y]

    def _label_probability(self, leading: Array, rows: slice) -> Array:
        """Of each row's label to its weight, given who leads with which probability, of shape (draws, rows, C)."""
        chosen: Any = np.broadcast_to(self.problem.y[rows, None], (*leading.shape[:-1], 1))
        high, low = self._levels(rows)
        share: Array = np.take_along_axis(leading, chosen, axis=-1)[..., 0]
        return low + (high - low) * share

    def _levels(self, rows: slice) -> tuple[Array, Array]:
        """Likelihood to each row's weight, where its class leads and where another one does."""
        power = self.problem.exponents[rows]
        high, low = self._likelihood.levels(self.coordinates.shape[2])
        return np.power(high, power), np.power(low, power)

    @property
    def _likelihood(self) -> Choice:
        assert isinstance(self.problem.likelihood, Choice)
        return self.problem.likelihood

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        return in_blocks(self.coordinates, self.white.factor)

    def without(self, draws: slice) -> SampledClasses:
        """The posterior without some draws of each chain."""
        kept = np.delete(self.coordinates, draws, axis=1)
        return SampledClasses(self.problem, self.white, kept, self.info, self.engine)

    def to_arviz(self) -> Any:
        """The draws as an arviz data tree: dimensions chain, draw, row, label (needs ``bayespoint[report]``)."""
        return draws_to_arviz(self.latents, ["row", "label"])
