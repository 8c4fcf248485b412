"""Thin scikit-learn classes around the core."""

from ._bayes_point import BayesPointClassifier
from ._draw import CertifiedDraw
from ._fitted import Fitted, TrainingRows
from ._linear_weights import FeatureConfidence
from ._margin import GaussianMarginClassifier
from ._progress import Progress
from ._relevance import FeatureRelevance
from ._svc import BayesianSVC
from .updating import updated

__all__ = [
    "BayesPointClassifier",
    "BayesianSVC",
    "CertifiedDraw",
    "FeatureConfidence",
    "FeatureRelevance",
    "Fitted",
    "GaussianMarginClassifier",
    "Progress",
    "TrainingRows",
    "updated",
]
