"""The toy of section 4.1: ten points in the cube [-1, 1]^3 labelled by a random plane through the origin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayespoint import Problem, Step, readouts
from bayespoint.engines import Billiard
from bayespoint.engines.svm import hard_margin

TRAIN, TEST = 10, 10_000


class Toy(NamedTuple):
    """Training and test rows of one plane."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def error(self, weights: np.ndarray) -> float:
        """Test error in percent of a plane."""
        return 100 * float(np.mean(np.sign(self.X_test @ weights) != self.y_test))


def draw(seed: int) -> Toy:
    """A plane and its points, of both classes."""
    rng = np.random.default_rng([2001, seed])
    normal, X_test = rng.normal(size=3), rng.uniform(-1, 1, (TEST, 3))
    while True:
        X = rng.uniform(-1, 1, (TRAIN, 3))
        y = np.sign(X @ normal)
        if np.abs(y.sum()) < TRAIN:
            return Toy(X, y, X_test, np.sign(X_test @ normal))


def posterior(toy: Toy, softness: float = 0.0, draws: int = 1000):
    return Billiard(draws=draws, chains=1).infer(Problem(toy.X @ toy.X.T, toy.y, Step(softness=softness)), 0)


def bayes_point(toy: Toy, softness: float = 0.0) -> np.ndarray:
    """Mean of weight vectors."""
    return readouts.bayes_point(posterior(toy, softness)) @ toy.X


def support_vector_machine(X: np.ndarray, y: np.ndarray, softness: float = 0.0) -> np.ndarray:
    """The plane of largest margin; on rows of unit length it is the centre of the largest ball inside version space."""
    return (y * hard_margin(Problem(X @ X.T, y, Step(softness=softness), check=False)).alpha) @ X


def elongation(toy: Toy) -> float:
    """How many times longer than wide version space is: of its draws on the plane that touches their mean."""
    weights = posterior(toy).alpha[0] @ toy.X
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    middle = weights.mean(axis=0) / np.linalg.norm(weights.mean(axis=0))
    spread = np.linalg.svd(weights - np.outer(weights @ middle, middle), compute_uv=False)
    return float(spread[0] / spread[1])
