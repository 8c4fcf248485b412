"""Classifiers through the origin of R^3, points on the unit sphere, and labels that are flipped now and then."""

from __future__ import annotations

import numpy as np

from bayespoint.posteriors import SampledPosterior


def on_sphere(longitude: np.ndarray, latitude: np.ndarray) -> np.ndarray:
    """As Figure 1 has it: the longitude in [0, pi] counts from pole to pole, the latitude in [0, 2 pi] around."""
    ring = np.sin(longitude)
    return np.stack([ring * np.cos(latitude), ring * np.sin(latitude), np.cos(longitude) + 0 * latitude], axis=-1)


TRUTH = on_sphere(np.pi / 2, np.pi)  # the classifier that labels the data


def in_chart(n: int, rng: np.random.Generator) -> np.ndarray:
    """Points of section 5: longitude pi Beta(5, 5), latitude 2 pi Beta(0.1, 0.1)."""
    return on_sphere(np.pi * rng.beta(5, 5, n), 2 * np.pi * rng.beta(0.1, 0.1, n))


def uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    """Points uniform on the sphere."""
    X = rng.normal(size=(n, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def noisy_labels(X: np.ndarray, flips: float, rng: np.random.Generator) -> np.ndarray:
    """Sides of the true classifier, flipped with probability `flips`."""
    y = np.where(X @ TRUTH > 0, 1.0, -1.0)
    return np.where(rng.random(len(y)) < flips, -y, y)


def directions(posterior: SampledPosterior, X: np.ndarray) -> np.ndarray:
    """Draws of a linear machine as weight vectors of unit length, of shape (chain, draw, 3)."""
    weights = posterior.alpha @ X
    return weights / np.linalg.norm(weights, axis=-1, keepdims=True)
