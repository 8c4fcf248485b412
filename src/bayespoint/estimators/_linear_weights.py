"""Weights of classifiers that are linear in the features: means, covariances, and how sure each one is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.typing import Array
from ..kernels import kernel_values, linear_features
from ._fitted import Fitted

__all__ = ["FeatureConfidence", "LinearWeights"]


class FeatureConfidence(NamedTuple):
    """What a linear machine knows of one feature's weight.

    Examples
    --------
    >>> from bayespoint.estimators import FeatureConfidence
    >>> FeatureConfidence("age", mean=0.4, sd=0.1).z
    4.0
    """

    name: str
    mean: float
    sd: float

    @property
    def z(self) -> float:
        """The mean in standard deviations."""
        return self.mean / self.sd


class LinearWeights(NamedTuple):
    """The Gaussian over functions of a linear kernel as one over weights of the features and an offset."""

    fitted: Fitted

    @classmethod
    def of(cls, fitted: Fitted) -> LinearWeights:
        """Of a linear kernel on dense features; nothing else has weights."""
        if linear_features(fitted.kernel, np.ones((1, 1))) is None or fitted.points.isometry is not None:
            raise AttributeError("Weights are there for a linear kernel on dense features only.")
        return cls(fitted)

    @property
    def mean(self) -> Array:
        """Mean of the weights; a row each for several classes."""
        latents = self._latents()
        return self._squeezed([latent.mean[1:] - latent.mean[0] for latent in latents])

    @property
    def intercept(self) -> Any:
        """Mean of the offset."""
        return self._squeezed([float(latent.mean[0]) for latent in self._latents()])

    @property
    def covariance(self) -> Array:
        """Covariance of the weights."""
        new = self._units()
        return self._squeezed([_without_offset(p.gaussian.jointly_at(new)[1]) for p in self.fitted.posteriors])

    def _units(self) -> Any:
        """The origin, then a step along each feature."""
        units = np.eye(self.fitted.view.X.shape[1] + 1)[:, 1:]
        return self.fitted.at(units).together(kernel_values(self.fitted.kernel, units))  # type: ignore[attr-defined]

    def _latents(self) -> list[Any]:
        new = self._units()
        return [posterior.at(new).latent for posterior in self.fitted.posteriors]

    def _squeezed(self, values: list[Any]) -> Any:
        return values[0] if len(self.fitted.classes) == 2 else np.stack(values)


def _without_offset(covariance: Array) -> Array:
    """Covariance of the differences from the first value."""
    rest = covariance[1:] - covariance[:1]
    differences: Array = rest[:, 1:] - rest[:, :1]
    return differences
