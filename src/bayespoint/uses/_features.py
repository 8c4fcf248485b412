"""What a meta-estimator says of the features it was fitted on: what the classifier inside says."""

from typing import Any

__all__ = ["take_over_features"]


def take_over_features(outer: Any, fitted: Any) -> None:
    """Number and names of the features, and no names that are left of an earlier fit."""
    for name in ("n_features_in_", "feature_names_in_"):
        outer.__dict__.pop(name, None)
        if hasattr(fitted, name):
            setattr(outer, name, getattr(fitted, name))
