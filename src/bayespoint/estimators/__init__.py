"""Thin scikit-learn classes around the core."""

from ._bayes_point import BayesPointClassifier

__all__ = ["BayesPointClassifier"]
