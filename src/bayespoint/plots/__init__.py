"""Displays in the style of scikit-learn: they draw what the layers below return, and compute nothing of their own.

Matplotlib is imported when something is drawn (``bayespoint[plot]``).
"""

from ._boundaries import DecisionBoundariesDisplay
from ._confusion import ConfusionDisplay
from ._evidence import EvidenceSurfaceDisplay
from ._features import FeatureConfidenceDisplay, FeatureRelevanceDisplay
from ._learning_curve import LearningCurveDisplay
from ._probability import ProbabilitySurfaceDisplay
from ._regions import ClassRegionsDisplay
from ._rejection import RejectionCurveDisplay
from ._reliability import ReliabilityDisplay
from ._traces import TraceDisplay
from ._version_space import VersionSpaceDisplay

__all__ = [
    "ClassRegionsDisplay",
    "ConfusionDisplay",
    "DecisionBoundariesDisplay",
    "EvidenceSurfaceDisplay",
    "FeatureConfidenceDisplay",
    "FeatureRelevanceDisplay",
    "LearningCurveDisplay",
    "ProbabilitySurfaceDisplay",
    "RejectionCurveDisplay",
    "ReliabilityDisplay",
    "TraceDisplay",
    "VersionSpaceDisplay",
]
