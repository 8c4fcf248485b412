"""The support vector machine of the papers: no bias, hard margin, on a Gram matrix that may carry a softness."""

from __future__ import annotations

import numpy as np

from bayespoint import Hinge, Problem
from bayespoint.engines.svm import support_vectors


def hard_margin(gram: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Signed weights of the rows; with ``gram + lambda I`` those of the machine with quadratic slack."""
    y, price = y.astype(float), 1e4 / np.mean(np.diag(gram))
    for _ in range(6):
        found = support_vectors(Problem(gram, y, Hinge(price), check=False))
        if not len(found.hard):
            return y * found.alpha
        price *= 100  # some row still pays rather than keep the margin
    raise ValueError("The labels cannot be separated on this Gram matrix.")


def margin(gram: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Geometrical margin in feature space of the function with these weights, on rows of unit length there."""
    latents = gram @ weights
    return float(np.min(y * latents / np.sqrt(np.diag(gram))) / np.sqrt(weights @ latents))
