"""What a fitted classifier is, in a few figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.pipelines import last_step
from ..estimators._base import parts_of
from ..exceptions import InvalidProblemError
from .evaluation import Evaluation, evaluate

__all__ = ["left_out", "overview"]


def overview(model: Any, *, exact: bool = False) -> dict[str, Any]:
    """Kernels with their weights and evidences, likelihood, approximation, and what left-out labels say.

    With `exact` also the evidence of the heaviest kernel by sampling, with its standard error.
    """
    classifier, _ = last_step(model)
    parts = parts_of(classifier)
    names = list(getattr(classifier, "weights_", {})) or [""] * len(parts)
    kernels = [
        {"name": name, "kernel": str(one.kernel_), "weight": float(weight), "log_evidence": one.fitted_.log_evidence}
        for (one, weight), name in zip(parts, names, strict=False)
    ]
    power, rank = classifier.fitted_.power, getattr(classifier, "approximation_", None)
    found: dict[str, Any] = {
        "kernels": kernels,
        "bias": float(classifier.bias_),
        "likelihood": str(classifier.likelihood_),
        "log_evidence": classifier.fitted_.log_evidence,
        "calibration_power": None if power == 1 else float(power),
        "approximation": None if rank is None else str(rank),
        "training_rows": classifier.fitted_.n_rows,
    }
    unseen = left_out(model)
    if unseen is not None:
        found |= {"leave_one_out_log_loss": unseen.log_loss.value, "leave_one_out_error": unseen.error.value}
    if exact:
        if not hasattr(classifier, "log_evidence"):
            raise InvalidProblemError(f"{type(classifier).__name__} has no evidence by sampling: leave --exact out.")
        estimate = classifier.log_evidence("sampled")
        found |= {"sampled_log_evidence": estimate.value, "standard_error": estimate.se}
    return found


def left_out(model: Any) -> Evaluation | None:
    """How the training labels would have been predicted, each by the others; None where that is not known."""
    classifier, _ = last_step(model)
    rows = classifier.fitted_.rows
    proba = getattr(classifier, "loo_proba_", None)
    if proba is None or rows is None or not np.isfinite(proba).all():
        return None
    return evaluate(
        rows.labels, proba[-len(rows.labels) :] if len(proba) != len(rows.labels) else proba, classifier.classes_
    )
