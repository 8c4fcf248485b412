"""Read-outs of likelihoods that are given by the log-odds of a label, by quadrature over the latent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log

import numpy as np
from scipy.special import entr, expit, log_expit

from .._core.typing import Array

__all__ = ["ByLogOdds", "quadrature"]

_LOG_SQRT_2PI = 0.5 * log(2 * np.pi)


class ByLogOdds:
    """What follows from ``log_odds(f)``, an odd function of the latent that is smooth between the `cuts`."""

    @property
    def cuts(self) -> tuple[float, ...]:
        """Where pieces of the quadrature meet."""
        raise NotImplementedError

    def log_odds(self, f: Array) -> Array:
        """Log-odds of the label +1 given the latent."""
        raise NotImplementedError

    def score(self, mean: Array, var: Array) -> Array:
        """Log-odds of the label +1 for a latent N(mean, var)."""
        return self.log_probability(mean, var) - self.log_probability(-mean, var)

    def log_probability(self, mean: Array, var: Array) -> Array:
        """Log-probability of the label +1, averaged over a latent N(mean, var)."""
        total = np.full(np.shape(mean), -np.inf)
        for f, log_weight in quadrature(self.cuts, mean, var):
            total = np.logaddexp(total, log_weight + log_expit(self.log_odds(f)))
        return np.minimum(total, 0.0)

    def conditional_entropy(self, mean: Array, var: Array) -> Array:
        """Entropy in nats of the label once the latent N(mean, var) is known."""
        total = np.zeros(np.shape(mean))
        for f, log_weight in quadrature(self.cuts, mean, var):
            p = expit(self.log_odds(f))
            total += np.exp(log_weight) * (entr(p) + entr(1 - p))
        return total


def quadrature(cuts: Sequence[Array | float], mean: Array, var: Array) -> Iterator[tuple[Array, Array]]:
    """Nodes and log-weights for N(mean, var), out to 8 deviations: Gauss-Legendre between cuts, some of its own.

    A latent that is known leaves pieces of no width; its whole weight is then on the last node.
    """
    mean, var = np.asarray(mean, dtype=np.float64), np.asarray(var, dtype=np.float64)
    sd = np.sqrt(np.maximum(var, np.finfo(float).tiny))
    low, high = mean - 8 * sd, mean + 8 * sd
    known = high - low <= 1e-12 * (1 + np.abs(mean))
    nodes, weights = np.polynomial.legendre.leggauss(16)
    own = [mean + k * sd for k in (-3.0, 0.0, 3.0)]
    ends = np.sort([low, *own, *(np.clip(cut, low, high) for cut in cuts), high], axis=0)
    with np.errstate(divide="ignore"):
        for left, right in pairwise(ends):
            half, middle = 0.5 * (right - left), 0.5 * (right + left)
            log_scale = np.where(known, -np.inf, np.log(half) - np.log(sd) - _LOG_SQRT_2PI)
            for node, weight in zip(nodes, weights, strict=True):
                f = middle + half * node
                yield f, log(weight) + log_scale - 0.5 * np.square((f - mean) / sd)
    if known.any():
        yield mean, np.where(known, 0.0, -np.inf)
