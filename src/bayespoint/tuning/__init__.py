"""Hyper-parameters by evidence."""

from .averaging import Weighted, plausible_candidates
from .climb import Candidate, Model, infer_candidate, maximise_evidence
from .priors import HyperPrior, weak_hyper_prior
from .stacking import stacking_weights, warm_start

__all__ = [
    "Candidate",
    "HyperPrior",
    "Model",
    "Weighted",
    "infer_candidate",
    "maximise_evidence",
    "plausible_candidates",
    "stacking_weights",
    "warm_start",
    "weak_hyper_prior",
]
