"""Hyper-parameters by evidence."""

from .averaging import Weighted, plausible_candidates
from .climb import Candidate, Model, infer_candidate, maximise_evidence

__all__ = ["Candidate", "Model", "Weighted", "infer_candidate", "maximise_evidence", "plausible_candidates"]
