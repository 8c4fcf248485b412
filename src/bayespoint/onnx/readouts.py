"""Class probabilities from moments of the latents, as nodes of a graph."""

from __future__ import annotations

import numpy as np

from ..likelihoods import Hinge, Step
from .graph import Graph

__all__ = ["write_averaged", "write_largest", "write_log_odds", "write_power", "write_step"]

_NODES = 64  # over the largest of several Gaussians
_PIECE = 16  # of each piece between two kinks of a hinge
_SMALL = 1e-6  # deviation of a latent that is as good as known


def write_step(g: Graph, likelihood: Step, mean: str, variance: str) -> str:
    """Of two classes, or of each class against the rest, normalised."""
    spread = g("Sqrt", g.at_least(g("Add", variance, np.float64(likelihood.softness)), 1e-300))
    p, log_p = g.normal(g("Div", mean, spread))
    return g("Softmax", _with_noise(g, likelihood, p, log_p), axis=1)


def _with_noise(g: Graph, likelihood: Step, p: str, log_p: str) -> str:
    if not likelihood.noise:
        return log_p
    return g.log(g("Add", g("Mul", p, np.float64(1 - 2 * likelihood.noise)), np.float64(likelihood.noise)))


def write_largest(g: Graph, likelihood: Step, mean: str, variance: str) -> str:
    """The probability of each class that its latent is the largest: as `bayespoint.readouts.largest_probabilities`."""
    sd = g("Sqrt", g.at_least(g("Add", variance, np.float64(likelihood.softness)), 1e-300))
    reach = g("Mul", sd, np.float64(7.0))
    low, high = g.largest(g("Sub", mean, reach)), g.largest(g("Add", mean, reach))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    width = g("Mul", g("Sub", high, low), np.float64(0.5))
    middle = g("Mul", g("Add", high, low), np.float64(0.5))
    h = g.with_axis(g("Add", middle, g("Mul", width, nodes[None, :])), 2)  # (points, nodes, 1)
    mean, sd = g.with_axis(mean, 1), g.with_axis(sd, 1)
    z = g("Div", g("Sub", h, mean), sd)
    _, logs = g.normal(z)
    others = g("Sub", g.total(logs, 2), logs)
    density = g("Div", g("Exp", g("Sub", others, g("Mul", g.square(z), np.float64(0.5)))), sd)
    wins = g("ReduceSum", g("Mul", density, weights[None, :, None]), np.array([1]), keepdims=0)
    wins = g("Mul", wins, g("Mul", width, np.float64(1 / np.sqrt(2 * np.pi))))
    wins = g.shares(g.at_least(wins, 1e-12))
    return g.shares(g("Add", g("Mul", wins, np.float64(1 - 2 * likelihood.noise)), np.float64(likelihood.noise)))


def write_averaged(g: Graph, likelihood: Hinge, mean: str, variance: str) -> str:
    """Logarithm of the probability under a hinge, averaged over the latent: quadrature between kinks, in one go."""
    sd = g("Max", g("Sqrt", variance), g("Mul", g("Add", g("Abs", mean), np.float64(1.0)), np.float64(_SMALL)))
    reach = g("Mul", sd, np.float64(8.0))
    low, high = g("Sub", mean, reach), g("Add", mean, reach)
    near = g("Mul", sd, np.float64(3.0))
    ends = [low, g("Sub", mean, near), mean, g("Add", mean, near), high]
    ends += [g("Min", g("Max", low, np.float64(cut)), high) for cut in likelihood.cuts]
    stacked = g("Concat", *(g.with_axis(end, 2) for end in ends), axis=2)  # (points, classes, ends)
    ordered = g.ascending(stacked, len(ends))
    left = g("Gather", ordered, np.arange(len(ends) - 1), axis=2)
    right = g("Gather", ordered, np.arange(1, len(ends)), axis=2)
    half = g.with_axis(g("Mul", g("Sub", right, left), np.float64(0.5)), 3)
    middle = g.with_axis(g("Mul", g("Add", right, left), np.float64(0.5)), 3)
    nodes, weights = np.polynomial.legendre.leggauss(_PIECE)
    f = g("Add", middle, g("Mul", half, nodes[None, None, None, :]))  # (points, classes, pieces, nodes)
    mean, sd = (g.with_axis(g.with_axis(one, 2), 3) for one in (mean, sd))
    z = g("Div", g("Sub", f, mean), sd)
    density = g("Div", g("Exp", g("Mul", g.square(z), np.float64(-0.5))), sd)
    weighted = g("Mul", g("Mul", density, half), weights[None, None, None, :] / np.sqrt(2 * np.pi))
    terms = g("Mul", weighted, g("Sigmoid", write_log_odds(g, likelihood, f)))
    return g.log(g("ReduceSum", terms, np.array([2, 3]), keepdims=0))


def write_log_odds(g: Graph, likelihood: Hinge, f: str) -> str:
    """``C (f + f clipped to [-1, 1])``."""
    clipped = g("Min", g.at_least(f, -1.0), np.float64(1.0))
    return g("Mul", g("Add", f, clipped), np.float64(likelihood.C))


def write_power(g: Graph, proba: str, power: float) -> str:
    """Probabilities to a power, normalised."""
    return proba if power == 1.0 else g("Softmax", g("Mul", g.log(proba), np.float64(power)), axis=1)
