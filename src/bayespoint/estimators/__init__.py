"""Thin scikit-learn classes around the core."""

from ._bayes_point import BayesPointClassifier
from ._margin import FeatureConfidence, GaussianMarginClassifier
from ._svc import BayesianSVC

__all__ = ["BayesPointClassifier", "BayesianSVC", "FeatureConfidence", "GaussianMarginClassifier"]
