"""The error of one classifier that is drawn from a posterior and kept: disintegrated PAC-Bayes bounds.

An ordinary PAC-Bayes bound is on the mean error of draws, and the classifier that predicts, their vote, may err twice
as often. Here the bound is on a single draw, with probability ``1 - delta`` over the sample and the draw (Rivasplata,
Kuzborskij, Szepesvari and Shawe-Taylor 2020; Viallard, Germain, Habrard and Morvant 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, solve_triangular
from scipy.special import betainccinv

from .._core.typing import Array
from ..grams import NaturalGaussian
from ._bound import Bound
from ._checks import check, check_count, check_sample

__all__ = ["Draw", "disintegrated_bound", "draw_by_bound"]

_POWER = 0.1  # of the p-value whose inverse has mean one; any value fixed beforehand is valid
_WIDTHS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.001)  # covariance of the prior, times that of what it was learned by
_SHARES = (0.0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)  # of what the rows of the bound say
_LEAST = -0.2  # gain of a posterior over its prior: four times of it leave a proper Gaussian
_TRIALS = 16  # draws that a posterior is judged by before the one that counts


def disintegrated_bound(errors: float, n: int, log_ratio: float, delta: float, choices: int = 1) -> Bound:
    """Error of one classifier drawn from a posterior, from its own errors and its density there beside the prior's.

    Parameters
    ----------
    errors : float
        Number of rows that the drawn classifier gets wrong.
    n : int
        Number of rows.
    log_ratio : float
        Logarithm of the posterior's density over the prior's at the draw, in nats; its mean is the divergence.
    delta : float
        Probability, over rows and draw, that the bound fails.
    choices : int, default=1
        Size of the grid of priors that this one was chosen from with the help of the rows.

    Returns
    -------
    Bound
        Of terms ``training error``, and in nats a row ``log ratio``, ``confidence`` and ``grid``, which the binomial
        tail pays for.

    Notes
    -----
    For a classifier fixed beforehand, the binomial tail of its errors at its true error is a p-value U, and
    ``k U^(k-1)`` has a mean of at most one for any k in (0, 1); here k = 0.1. So has its mean over the prior, and with
    it ``k U^(k-1) / ratio`` over rows and posterior; by Markov ``U >= (k delta / ratio)^(1 / (1-k))`` with probability
    ``1 - delta``, which `binomial_bound` turns into an error. The papers have ``exp(n kl)`` for ``k U^(k-1)`` and pay
    ``log(2 sqrt(n))`` for its mean and Chernoff's bound for the tail. This is sharper where some rows are wrong and the
    ratio is a few nats (a tenth of 500 rows: up to 26), and at most a tenth looser elsewhere, from 100 rows on.

    Examples
    --------
    >>> from bayespoint.bounds import disintegrated_bound
    >>> print(disintegrated_bound(errors=50, n=1000, log_ratio=10.0, delta=0.05))
    0.0965113
      training error  0.05
      log ratio       0.01
      confidence      0.00529832
      grid            0
    """
    check_sample(n, delta)
    check_count("choices", choices, 1)
    check(0 <= errors <= n, f"errors must lie between 0 and {n}, got {errors!r}.")
    check(log_ratio == log_ratio, "log_ratio must be a number.")
    parts = {"log ratio": log_ratio, "confidence": -log(_POWER * delta), "grid": log(choices)}
    tail = exp(-max(sum(parts.values()), 0.0) / (1 - _POWER))
    value = float(betainccinv(errors + 1, n - errors, tail)) if errors < n and tail > 0 else 1.0
    return Bound(value, {"training error": errors / n, **{name: part / n for name, part in parts.items()}})


class Draw(NamedTuple):
    """A function drawn for each class from posteriors over coordinates, and the bound on its error."""

    weights: Array  # of shape (functions, rank)
    bound: Bound
    width: float  # covariance of prior and posterior, times that of those given
    share: float  # of what the rows of the bound say that the posterior took


def draw_by_bound(
    priors: Sequence[NaturalGaussian],
    posteriors: Sequence[NaturalGaussian],
    features: Array,
    wrong: Callable[[Array], Array],
    delta: float,
    rng: np.random.Generator,
    *,
    is_learned: bool,
) -> Draw:
    """One function a class, drawn from posteriors between `priors` and `posteriors`, and the bound on their error.

    `features` are those of the rows of the bound, `wrong` tells from latents of shape (n, functions) which rows are
    wrong, one draw of all functions at a time.

    The posterior takes a share of what the rows of the bound say, which may be chosen by them at no cost, for a bound
    holds whatever the posterior is; of priors that were learned on other rows it takes the best of six widths, which
    is paid for. Draws that only served the choice are not those that count.
    """
    n = len(features)
    widths = _WIDTHS if is_learned else _WIDTHS[:1]
    paths = [_Path.between(*pair) for pair in zip(priors, posteriors, strict=True)]
    shown = [path.features(features) for path in paths]
    trial, final = rng.spawn(2)
    noise = [trial.standard_normal((path.rank, _TRIALS)) for path in paths]

    def promise(width: float, share: float) -> float:
        moved = [path.at(width, share, g) for path, g in zip(paths, noise, strict=True)]
        latents = np.stack([on.at(z) for on, z in zip(shown, moved, strict=True)], axis=1)
        errors = np.mean([wrong(latents[:, :, t]).sum() for t in range(_TRIALS)])
        nats = sum(path.divergence(width, share) for path in paths)
        return disintegrated_bound(errors, n, nats, delta, len(widths)).value

    width, share = min(((w, s) for w in widths for s in _SHARES), key=lambda at: promise(*at))
    drawn = [path.at(width, share, final.standard_normal((path.rank, 1))) for path in paths]
    latents = np.column_stack([on.at(z) for on, z in zip(shown, drawn, strict=True)])
    nats = sum(path.log_ratio(width, share, z[:, 0]) for path, z in zip(paths, drawn, strict=True))
    bound = disintegrated_bound(int(wrong(latents).sum()), n, nats, delta, len(widths))
    weights = np.stack([path.weights(z[:, 0]) for path, z in zip(paths, drawn, strict=True)])
    return Draw(weights, bound, width, share)


@dataclass(frozen=True)
class _Path:
    """Gaussians from a prior to a posterior, in coordinates z in which the prior is N(0, I) and all are independent.

    At a share s of what lies between the two, and a width c of both: prior N(0, c), posterior precision
    ``(1 + s gain) / c`` and mean ``s push / (1 + s gain)``.
    """

    centre: Array  # of the prior, in the coordinates w
    turn: Array  # w = centre + turn z
    gain: Array
    push: Array

    @classmethod
    def between(cls, prior: NaturalGaussian, posterior: NaturalGaussian) -> _Path:
        lower = np.linalg.cholesky(prior.precision)
        inner = solve_triangular(lower, posterior.precision - prior.precision, lower=True)
        inner = solve_triangular(lower, inner.T, lower=True)
        gain, vectors = eigh(0.5 * (inner + inner.T))
        turn = solve_triangular(lower, vectors, lower=True, trans=1)
        push = turn.T @ (posterior.shift - posterior.precision @ prior.mean)
        return cls(prior.mean, turn, np.maximum(gain, _LEAST), push)

    @property
    def rank(self) -> int:
        return len(self.gain)

    def _moments(self, width: float, share: float) -> tuple[Array, Array]:
        scale = 1 + share * self.gain
        return share * self.push / scale, width / scale

    def at(self, width: float, share: float, noise: Array) -> Array:
        """Draws z from standard normal noise, one a column."""
        mean, variance = self._moments(width, share)
        return mean[:, None] + np.sqrt(variance)[:, None] * noise

    def divergence(self, width: float, share: float) -> float:
        mean, variance = self._moments(width, share)
        beside = variance / width
        return float(0.5 * (beside - 1 - np.log(beside) + mean * mean / width).sum())

    def log_ratio(self, width: float, share: float, z: Array) -> float:
        mean, variance = self._moments(width, share)
        return float(0.5 * (z * z / width - np.square(z - mean) / variance - np.log(variance / width)).sum())

    def weights(self, z: Array) -> Array:
        weights: Array = self.centre + self.turn @ z
        return weights

    def features(self, features: Array) -> _Shown:
        return _Shown(features @ self.centre, features @ self.turn)


class _Shown(NamedTuple):
    """Rows in the coordinates of a path."""

    centre: Array
    features: Array

    def at(self, z: Array) -> Array:
        """Latents of functions z, one a column."""
        latents: Array = self.centre[:, None] + self.features @ z
        return latents
