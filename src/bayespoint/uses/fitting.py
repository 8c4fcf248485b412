"""Classifiers by the names that people give them."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..estimators import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from ..exceptions import InvalidProblemError
from .tables import Frame

__all__ = ["ESTIMATORS", "estimator_named", "inputs_of"]

ESTIMATORS = {"bayes-point": BayesPointClassifier, "svc": BayesianSVC, "margin": GaussianMarginClassifier}


def estimator_named(name: str, *, kernel: str | None = None, noise: str | None = None, seed: int | None = None) -> Any:
    """An unfitted classifier with the settings that were given; those that take numbers alone after a scaler."""
    settings: dict[str, Any] = {"random_state": seed}
    if kernel is not None:
        settings["kernel"] = kernel
    if noise is not None:
        if name != "bayes-point":
            raise InvalidProblemError("Only bayes-point has a noise level: leave --noise out.")
        settings["noise"] = noise if noise == "evidence" else _share(noise)
    if name == "bayes-point":
        return BayesPointClassifier(**settings)
    settings |= {"optimizer": "evidence"} if name == "svc" else {"tune": "bound"}
    return make_pipeline(StandardScaler(), ESTIMATORS[name](**settings))


def inputs_of(name: str, frame: Frame) -> Any:
    """A table as that classifier takes it."""
    return frame if name == "bayes-point" else frame.numbers()


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidProblemError(f"noise is a share below 0.5, or 'evidence', got {text!r}.") from None
