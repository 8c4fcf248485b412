"""Predictions of the toy's support vector machine with the true hyper-parameters, for figures 9 and 10."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from bayespoint import Hinge, readouts
from bayespoint.engines import EP, EllipticalSlice, Laplace
from bayespoint.grams import DensePoints
from bayespoint.posteriors import SampledPosterior
from sollich2002 import toy

HINGE = Hinge(toy.C)
DIAG = np.full(len(toy.GRID), toy.AMPLITUDE)


def probability(theta: np.ndarray) -> np.ndarray:
    """P(y = 1 | theta) (10)."""
    return expit(HINGE.log_odds(theta))


def draws_for(data: toy.Data, seed: int, draws: int) -> SampledPosterior:
    """Four chains of exact draws from the posterior at the training rows."""
    return EllipticalSlice(draws=draws).infer(toy.problem(data), seed)


def machine(data: toy.Data) -> np.ndarray:
    """The support vector machine on the grid: the maximum of the posterior."""
    return readouts.latent(Laplace().infer(toy.problem(data)), DensePoints(toy.kernel(toy.GRID, data.x), DIAG)).mean


def class_probabilities(data: toy.Data, seed: int, draws: int) -> dict[str, np.ndarray]:
    """P(y = 1) on the grid by each method."""
    posterior, cross = draws_for(data, seed, draws), toy.kernel(toy.GRID, data.x)
    rng = np.random.default_rng([2002, seed])

    def at_a_draw(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:  # quicker than its average over the variance
        return probability(mean + np.sqrt(variance) * rng.standard_normal(mean.shape))

    return {
        "(33) draws": posterior.at(DensePoints(cross, DIAG)).expectation(at_a_draw),
        "(33) EP": readouts.class_probability(EP().infer(toy.problem(data)), DensePoints(cross, DIAG)),
        "(36) mean": probability(readouts.latent(posterior, DensePoints(cross, DIAG)).mean),
        "(37) SVM": probability(machine(data)),
    }
