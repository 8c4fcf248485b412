"""Sollich's three evidences of the support vector machine, their gradients, and data from its own model."""

from .evidences import log_normaliser, svm_log_evidence
from .generative import SVMData, sample_svm_data, sample_svm_prior
from .gradients import DrawnGradient, SvmGradient, normaliser_gradient, normaliser_slope, svm_evidence_gradient
from .inputs import InputWeights, input_weights

__all__ = [
    "DrawnGradient",
    "InputWeights",
    "SVMData",
    "SvmGradient",
    "input_weights",
    "log_normaliser",
    "normaliser_gradient",
    "normaliser_slope",
    "sample_svm_data",
    "sample_svm_prior",
    "svm_evidence_gradient",
    "svm_log_evidence",
]
