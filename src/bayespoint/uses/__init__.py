"""What to do with a posterior: ask for labels, find wrong ones, abstain, decide by cost, watch, prove, measure."""

from .active import ActiveLearner, Asked, query, utilities
from .batches import array_batches, parquet_batches
from .decisions import CostSensitiveClassifier
from .evidence_surface import EvidenceSurface, evidence_surface
from .label_errors import LabelErrors, find_label_errors
from .metrics import (
    RejectionCurve,
    ReliabilityCurve,
    area_under_rejection_curve,
    expected_calibration_error,
    information_gain,
    rejection_curve,
    reliability_curve,
)
from .monitor import ErrorInterval, ErrorMonitor
from .rejection import Acceptance, RejectingClassifier, rows_needed, threshold_for_rate, threshold_for_risk
from .selection import BoundSearch, certify
from .transduction import ClosestClassifier, JointLabels, closest_classifier, joint_label_probabilities
from .version_space import VersionSpace, sampled_version_space

__all__ = [
    "Acceptance",
    "ActiveLearner",
    "Asked",
    "BoundSearch",
    "ClosestClassifier",
    "CostSensitiveClassifier",
    "ErrorInterval",
    "ErrorMonitor",
    "EvidenceSurface",
    "JointLabels",
    "LabelErrors",
    "RejectingClassifier",
    "RejectionCurve",
    "ReliabilityCurve",
    "VersionSpace",
    "area_under_rejection_curve",
    "array_batches",
    "certify",
    "closest_classifier",
    "evidence_surface",
    "expected_calibration_error",
    "find_label_errors",
    "information_gain",
    "joint_label_probabilities",
    "parquet_batches",
    "query",
    "rejection_curve",
    "reliability_curve",
    "rows_needed",
    "sampled_version_space",
    "threshold_for_rate",
    "threshold_for_risk",
    "utilities",
]
