"""Weights of classifiers that are linear in the features: means, covariances, and how sure each one is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._core.typing import Array
from ..grams import NewPoints
from ..grams.rows import stacked
from ..kernels import Features, kernel_values, linear_features, spectral_leaf
from ..kernels.tables import without_features
from ..posteriors import GaussianClassesPosterior, GaussianPosterior
from ._fitted import Fitted

__all__ = ["FeatureConfidence", "LinearWeights", "ShowsWeights"]

_STEPS = 256  # features looked at together


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
    """The posterior over functions of a linear kernel as one over weights of the features and an offset.

    Functions are looked at where they start and a step of one unit along each feature from there.
    """

    fitted: Fitted
    start: Array
    unit: Array
    decides: Callable[[NewPoints], Array] | None = None  # the functions at points, a column each; means by default

    @classmethod
    def of(cls, fitted: Fitted, decides: Callable[[NewPoints], Array] | None = None) -> LinearWeights:
        """Of a linear kernel, on features as they come or shifted and scaled; nothing else has weights."""
        kernel, features = without_features(fitted.kernel)
        n_features = fitted.points.as_given.shape[1] if hasattr(fitted.points.as_given, "shape") else 0
        is_plain = n_features > 0 and spectral_leaf(kernel) is None
        if is_plain and linear_features(kernel, np.ones((1, n_features))) is not None:
            if fitted.alternatives:
                raise AttributeError("Several kernels decide together: ask one of members_ for its weights.")
            if features is None:
                return cls(fitted, np.zeros(n_features), np.ones(n_features), decides)
            if isinstance(features, Features) and (units := features.units) is not None:
                return cls(fitted, *units, decides)
        raise AttributeError("Weights are there for a linear kernel of numbers only.")

    @property
    def mean(self) -> Array:
        """Mean of the weights; a row for each function."""
        return self._moments()[0]

    @property
    def intercept(self) -> Array:
        """Mean of the offset; one for each function."""
        return self._moments()[1]

    def _moments(self) -> tuple[Array, Array]:
        first = self._values(self.start[None, :])[:, 0]
        parts = [self._values(self._steps(some)) for some in self._some()]
        weights = (np.concatenate(parts, axis=1) - first[:, None]) / self.unit
        return weights, first - weights @ self.start

    def _values(self, X: Any) -> Array:
        new = self.fitted.at(self.fitted.points.transform(X))
        if self.decides is not None:
            return self.decides(new).T
        means = [posterior.at(new).mean for posterior in self.fitted.posteriors]
        return means[0].T if self._is_joint else np.stack(means)

    @property
    def _is_joint(self) -> bool:
        """Whether one posterior has the functions of all classes."""
        return self.fitted.posteriors[0].problem.n_classes is not None

    @property
    def _count(self) -> int:
        """Functions that have weights."""
        return len(self.fitted.classes) if self._is_joint else len(self.fitted.posteriors)

    @property
    def deviations(self) -> tuple[Array, Array]:
        """Standard deviations of the weights, a row for each function, and of the offsets."""
        weights, offsets = [], []
        for k in range(self._count):
            parts = [self._covariance(some, k) for some in self._some()]
            weights.append(np.concatenate([np.diagonal(part)[1:] for part in parts]))
            offsets.append(parts[0][0, 0] if not self.start.any() else self._offset_variance(k))
        return np.sqrt(np.maximum(weights, 0.0)), np.sqrt(np.maximum(offsets, 0.0))

    @property
    def covariance(self) -> Array:
        """Covariance of the weights, for each function."""
        every = np.arange(len(self.start))
        return np.stack([self._covariance(every, k)[1:, 1:] for k in range(self._count)])

    def _covariance(self, some: Any, k: int) -> Array:
        """Of the function where it starts, and of some weights."""
        X = stacked(self.start[None, :], self._steps(some))
        points, posterior = self.fitted.points, self.fitted.posteriors[0 if self._is_joint else k]
        if not isinstance(posterior, GaussianPosterior | GaussianClassesPosterior):
            raise AttributeError("Draws do not tell how weights go together: fit with engine='ep'.")
        prior = kernel_values(self.fitted.kernel, points.among_themselves(X))
        new = self.fitted.at(points.transform(X)).together(prior)  # type: ignore[attr-defined]
        change = np.diag(np.r_[1.0, 1 / self.unit[some]])
        change[1:, 0] = -1 / self.unit[some]
        mean, covariance = posterior.gaussian.jointly_at(new)
        if self._is_joint:
            covariance = covariance.reshape(*mean.shape, *mean.shape)[:, k, :, k]
        found: Array = change @ covariance @ change.T
        return found

    def _offset_variance(self, k: int) -> float:
        away = np.r_[1.0, -self.start]
        return float(away @ self._covariance(np.arange(len(self.start)), k) @ away)

    @property
    def _is_sparse(self) -> bool:
        return sparse.issparse(self.fitted.points.as_given)

    def _some(self) -> list[Any]:
        every = np.arange(len(self.start))
        return [every[first : first + _STEPS] for first in range(0, len(every), _STEPS)]

    def _steps(self, some: Any) -> Any:
        """Points one unit along some of the features."""
        if self._is_sparse:  # which starts at zero
            ones = np.ones(len(some))
            return sparse.csr_array((ones, (np.arange(len(some)), some)), shape=(len(some), len(self.start)))
        steps = np.tile(self.start, (len(some), 1))
        steps[np.arange(len(some)), some] += self.unit[some]
        return steps


class ShowsWeights:
    """What classifiers of linear kernels show of their weights, in the units of the features.

    These are the weights of the posterior mean, as one function; deviations are those of the posterior.
    """

    fitted_: Fitted

    @property
    def coef_(self) -> Array:
        """Mean of the weights, of shape (1, n_features) or (n_classes, n_features); linear kernels only."""
        return _read_only(self._linear_weights.mean)

    @property
    def intercept_(self) -> Array:
        """Mean of the offset, of shape (1,) or (n_classes,); linear kernels only."""
        return _read_only(self._linear_weights.intercept)

    @property
    def coef_std_(self) -> Array:
        """Posterior standard deviations of the weights, in the shape of `coef_`."""
        return _read_only(self._linear_weights.deviations[0])

    @property
    def intercept_std_(self) -> Array:
        """Posterior standard deviations of the offset, in the shape of `intercept_`."""
        return _read_only(self._linear_weights.deviations[1])

    @property
    def _linear_weights(self) -> LinearWeights:
        check_is_fitted(self)
        return LinearWeights.of(self.fitted_)


def _read_only(values: Array) -> Array:
    """A change to what is shown would not change what is predicted."""
    values.flags.writeable = False
    return values
