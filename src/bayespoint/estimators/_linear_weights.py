"""Weights of classifiers that are linear in the features: means, covariances, and how sure each one is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..kernels import kernel_values, linear_features, with_bias

__all__ = ["FeatureConfidence", "LinearWeightsMixin"]


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


class LinearWeightsMixin:
    """The Gaussian over functions of a linear kernel as one over weights of the features and an offset."""

    classes_: Any
    kernel_: Any
    bias_: float
    _points_: Any
    _basis_: Any
    _posteriors: Any

    @property
    def mean_(self) -> Array:
        """Mean of the weights."""
        return self._squeezed([mean for mean, _ in map(self._weights, self._posteriors)])

    @property
    def intercept_(self) -> Any:
        """Mean of the offset."""
        return self._squeezed([offset for _, offset in map(self._weights, self._posteriors)])

    @property
    def covariance_(self) -> Array:
        """Covariance of the weights."""
        self._prior_variances()
        units = np.eye(self._points_.X.shape[1] + 1)[:, 1:]  # the origin, then a step along each feature
        kernel = with_bias(self.kernel_, self.bias_)
        new = self._basis_.new(kernel)(units).together(kernel_values(kernel, units))
        found = [_without_offset(posterior.gaussian.jointly_at(new)[1]) for posterior in self._posteriors]
        return self._squeezed(found)

    def feature_confidences(self, feature_names: Any = None) -> list[FeatureConfidence]:
        """Features of a linear machine of two classes by how sure their weights are, the surest first.

        Parameters
        ----------
        feature_names : sequence of str, optional
            `feature_names_in_`, or ``x0, x1, ...``, by default.

        Returns
        -------
        list of FeatureConfidence

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import GaussianMarginClassifier
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> model = GaussianMarginClassifier().fit(X, X[:, 1] > 0)
        >>> model.feature_confidences(["noise", "signal", "more noise"])[0].name
        'signal'
        """
        self._prior_variances()
        if len(self.classes_) > 2:
            raise InvalidProblemError("Feature confidences are for two classes: fit one class against the rest.")
        mean, sd = self.mean_, np.sqrt(np.diagonal(self.covariance_))
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(len(mean))])
        if len(feature_names) != len(mean):
            raise InvalidProblemError(f"feature_names must hold {len(mean)} names, got {len(feature_names)}.")
        rows = map(FeatureConfidence, map(str, feature_names), mean.tolist(), sd.tolist())
        return sorted(rows, key=lambda row: -abs(row.z))

    def _prior_variances(self) -> tuple[float, float]:
        """Of a weight and of the offset."""
        check_is_fitted(self)
        features = linear_features(with_bias(self.kernel_, self.bias_), np.ones((1, 1)))
        if features is None or self._points_.isometry is not None:
            raise AttributeError("Weights are there for a linear kernel on dense features only.")
        return float(features[0, 0] ** 2), float(np.square(features[0, 1:]).sum())

    def _weights(self, posterior: Any) -> tuple[Array, float]:
        """Mean of the weights and of the offset."""
        slope, offset = self._prior_variances()
        return slope * (np.asarray(self._points_.X).T @ posterior.alpha), offset * float(posterior.alpha.sum())

    def _squeezed(self, values: list[Any]) -> Any:
        return values[0] if len(self.classes_) == 2 else np.stack(values)


def _without_offset(covariance: Array) -> Array:
    """Covariance of the differences from the first value."""
    rest = covariance[1:] - covariance[:1]
    differences: Array = rest[:, 1:] - rest[:, :1]
    return differences
