"""Handwritten digits as in section 4.3: one class against the rest, ten perceptrons a class, images of unit length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayespoint import Problem, Step
from bayespoint.engines import Perceptrons
from bayespoint.grams import KernelRows
from bayespoint.posteriors import ExpandedPosterior
from datasets import Split, load_arrays

CLASSES = 10


def grey_images(name: str) -> Split:
    """Images of mnist or usps, background zero and ink one; labels 0 to 9."""
    arrays = load_arrays(name)
    parts = []
    for part in ("train", "test"):
        X = arrays[f"X_{part}"].astype(float)
        parts += [(X + 1) / 2 if name == "usps" else X / 255, arrays[f"y_{part}"]]
    return Split(*parts)


def unit_images(name: str) -> Split:
    """The same, scaled to unit length."""
    split = grey_images(name)
    return split._replace(
        **{
            part: X / np.linalg.norm(X, axis=1, keepdims=True)
            for part, X in (("X_train", split.X_train), ("X_test", split.X_test))
        }
    )


def classifiers(
    rows: KernelRows, labels: np.ndarray, engine: Perceptrons, seed: int, softness: float = 0.0
) -> list[ExpandedPosterior]:
    """Perceptrons of each class against the rest."""
    problems = [Problem(rows, np.where(labels == c, 1.0, -1.0), Step(softness=softness)) for c in range(CLASSES)]
    return engine.infer_all(problems, seed)


def outputs(posteriors: Sequence[ExpandedPosterior], Z: np.ndarray) -> np.ndarray:
    """Confidence of each Bayes point at new images, ``<x, w> / (|w| |x|)``, of shape (class, image)."""
    new = posteriors[0].problem.gram.new(Z)
    return np.array([posterior.at(new).confidence for posterior in posteriors])


def errors_by_rejection(values: np.ndarray, labels: np.ndarray, rates: Sequence[float]) -> list[float]:
    """Error in percent of the images kept, when a share of those with the smallest largest output is rejected."""
    wrong = values.argmax(axis=0) != labels
    by_confidence = wrong[np.argsort(-values.max(axis=0), kind="stable")]
    return [100 * float(by_confidence[: round((1 - rate) * len(labels))].mean()) for rate in rates]


def totals(posteriors: Sequence[ExpandedPosterior]) -> dict[str, Any]:
    """Of all perceptrons of all classes."""
    info = [posterior.info for posterior in posteriors]
    return {
        "rows used": len(posteriors[0].support),
        "rows computed": info[0]["rows_computed"],
        "mistakes": int(sum(one["mistakes"].sum() for one in info)),
        "epochs, mean": float(np.mean([one["epochs"] for one in info])),
        "epochs, most": int(np.max([one["epochs"] for one in info])),
        "separated": f"{sum(one['separated'].sum() for one in info)} of {sum(one['separated'].size for one in info)}",
    }
