"""Hyper-parameters by evidence."""

from .averaging import Weighted, plausible_candidates
from .calibration import power_of, to_the_power
from .climb import Candidate, Model, infer_candidate, maximise_evidence
from .priors import HyperPrior, weak_hyper_prior
from .stacking import stacking_weights

__all__ = [
    "Candidate",
    "HyperPrior",
    "Model",
    "Weighted",
    "infer_candidate",
    "maximise_evidence",
    "plausible_candidates",
    "power_of",
    "stacking_weights",
    "to_the_power",
    "weak_hyper_prior",
]
