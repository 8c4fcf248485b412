"""Classifiers that abstain by confidence."""

from ._classifier import RejectingClassifier
from .thresholds import Acceptance, rows_needed, threshold_for_rate, threshold_for_risk

__all__ = ["Acceptance", "RejectingClassifier", "rows_needed", "threshold_for_rate", "threshold_for_risk"]
