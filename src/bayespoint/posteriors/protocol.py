"""What every posterior has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from .._core.typing import Array
from ..grams import NewPoints
from ..problem import Problem
from .latent import Latent

__all__ = ["At", "ClassesAt", "ClassesPosterior", "Posterior"]


class At(Protocol):
    """A posterior at new points."""

    @property
    def mean(self) -> Array:
        """Mean of the latent at each point."""
        ...

    @property
    def variance(self) -> Array:
        """Variance of the latent at each point."""
        ...

    @property
    def latent(self) -> Latent:
        """Both moments."""
        ...

    def expectation(self, function: Callable[[Array, Array], Array]) -> Array:
        """Posterior expectation of a function given as its mean under a latent N(mean, variance)."""
        ...

    def functions(self, size: int, rng: np.random.Generator) -> Array:
        """Functions drawn from the posterior, at all points jointly: of shape (size, n_points)."""
        ...


class Inferred(Protocol):
    """What is known of every problem that was solved; of several classes arrays have a last axis of classes."""

    @property
    def problem(self) -> Problem:
        """What was solved."""
        ...

    @property
    def mean(self) -> Array:
        """Mean of the latents at the training points."""
        ...

    @property
    def variance(self) -> Array:
        """Variance of the latents at the training points."""
        ...

    @property
    def mean_weights(self) -> Array:
        """Weights of the posterior mean as one function."""
        ...

    @property
    def log_evidence(self) -> float | None:
        """Log marginal likelihood of the labels, if the engine knows it."""
        ...


class Posterior(Inferred, Protocol):
    """What an engine returns."""

    @property
    def leave_one_out(self) -> Latent:
        """Latent at each training point given all the others."""
        ...

    def leaving_out(self, share: Any) -> Latent:
        """Latent at each training point with a share of its own label taken away, such as one of several copies."""
        ...

    @property
    def info(self) -> Mapping[str, Any]:
        """What only a person needs."""
        ...

    @property
    def engine(self) -> Any:
        """What made it, with what it can do."""
        ...

    def at(self, new: NewPoints) -> At:
        """The latent function at new points."""
        ...

    def disagreement(self) -> Array:
        """Probability at each training point that the latent has not the sign of the label."""
        ...


class ClassesAt(Protocol):
    """A posterior over the latents of C classes (`bayespoint.Choice`) at new points."""

    @property
    def mean(self) -> Array:
        """Mean of the latents, of shape (n_points, C)."""
        ...

    @property
    def variance(self) -> Array:
        """Their variances, of shape (n_points, C)."""
        ...

    @property
    def covariance(self) -> Array:
        """Covariance of the latents of the classes at each point, of shape (n_points, C, C)."""
        ...

    @property
    def probabilities(self) -> Array:
        """Probability of each label, averaged over the posterior; rows sum to one."""
        ...

    @property
    def votes(self) -> Array:
        """Probability of each class to have the largest latent: label noise and softness left out."""
        ...

    @property
    def conditional_entropy(self) -> Array:
        """Entropy in nats of the label once the latents are known: what no amount of data removes."""
        ...

    def functions(self, size: int, rng: np.random.Generator) -> Array:
        """Functions drawn from the posterior, at all points jointly: of shape (size, n_points, C)."""
        ...


class ClassesPosterior(Inferred, Protocol):
    """What an engine returns for a problem with class numbers: C latents a row, arrays with a last axis of classes.

    Draws have `latents` of shape (chain, draw, n, C) beside this.
    """

    @property
    def leave_one_out_probabilities(self) -> Array:
        """Probability of each label at each training point given all the others, of shape (n, C)."""
        ...

    @property
    def true_probabilities(self) -> Array:
        """Probability of each class to have the largest latent at each training point, its label known: (n, C)."""
        ...

    @property
    def info(self) -> Mapping[str, Any]:
        """What only a person needs."""
        ...

    @property
    def engine(self) -> Any:
        """What made it, with what it can do."""
        ...

    def at(self, new: NewPoints) -> ClassesAt:
        """The latent functions at new points."""
        ...

    def disagreement(self) -> Array:
        """Probability at each training point that another latent than that of the label is the largest."""
        ...
