"""Hyper-parameters by evidence."""

from .averaging import Weighted, plausible_candidates
from .climb import Candidate, Model, infer, maximise_evidence

__all__ = ["Candidate", "Model", "Weighted", "infer", "maximise_evidence", "plausible_candidates"]
