"""Hyper-parameters of the support vector machine by its normalised evidence (Sollich 2002, section 7).

The naive evidence and its gradient are those of expectation propagation; the gradient of the normaliser comes from
draws. There are two ways up.

- The machine itself depends on ``C K`` alone. So the naive evidence may choose the shape of the kernel and ``C K``, and
  then C moves at fixed ``C K`` to where the normalised evidence is stationary (`normalise`). Fast, and what is done
  wherever the naive evidence prefers a function to a coin.
- All parameters at once by a gradient that is noisy and without values (`maximise_normalised_evidence`): every
  log-parameter takes steps of its own, longer while its slope keeps its sign and shorter when it turns (resilient
  propagation).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Product, Sum

from .._core.random import as_generator
from .._core.telling import heard_by, nobody
from .._core.typing import Array
from ..evidence.svm.gradients import normaliser_gradient, normaliser_slope
from ..grams.views import as_view
from ..likelihoods import Hinge
from ..posteriors import GaussianPosterior
from ..problem import Problem, Weights
from .climb import Candidate, Model, infer_candidate

__all__ = ["at_fixed_product", "maximise_normalised_evidence", "normalise"]

_FIRST, _LONGEST, _SHORTEST = 0.3, 0.7, 0.03  # steps of log-parameters
_LONGER, _SHORTER = 1.3, 0.5
_LOWEST, _HIGHEST = 0.05, 50.0  # of C


def maximise_normalised_evidence(
    model: Model,
    X: Any,
    targets: Sequence[Array],
    weights: Weights | None,
    engine: Any,
    *,
    kind: str = "conditional",
    rng: Any = None,
    max_steps: int = 40,
    n_jobs: int | None = None,
    on_iteration: Callable[[Candidate], bool] | None = None,
) -> Candidate:
    """Climb the conditional (25) or joint (30) evidence from `model` in all its free log-parameters."""
    slopes = _Slopes(X, targets, weights, engine, kind, as_generator(rng), n_jobs)
    low, high = model.bounds.T
    theta = np.clip(model.theta, low, high)
    step, before = np.full(theta.size, _FIRST), np.zeros(theta.size)
    candidate = slopes.candidate(model, None)
    for _ in range(max_steps if theta.size else 0):
        slope = slopes.at(candidate)
        held = ((theta <= low) & (slope < 0)) | ((theta >= high) & (slope > 0))
        turned = slope * before < 0
        step = np.clip(np.where(turned, _SHORTER * step, _LONGER * step), _SHORTEST, _LONGEST)
        before = np.where(held, 0.0, slope)
        if on_iteration is not None and on_iteration(candidate):
            break
        if np.all(held | (turned & (step <= _SHORTEST))):
            break
        theta = np.clip(theta + np.sign(slope) * step, low, high)
        candidate = slopes.candidate(model.at(theta), candidate)
    return infer_candidate(candidate.model, X, targets, weights, engine, start=candidate, n_jobs=n_jobs)


class _Slopes:
    """Gradients of the normalised evidence, whose chains go on from one model to the next."""

    def __init__(
        self, X: Any, targets: Any, weights: Any, engine: Any, kind: str, rng: np.random.Generator, n_jobs: int | None
    ) -> None:
        self.view, self.data = as_view(X), (targets, weights, engine)
        self.kind, self.rng, self.n_jobs = kind, rng, n_jobs
        self.draws = int(np.clip(20_000 / len(targets[0]), 40, 200))  # many rows average out by themselves
        self.end: Array | None = None

    def candidate(self, model: Model, start: Candidate | None) -> Candidate:
        with heard_by(nobody):  # rough patches on the way
            return infer_candidate(model, self.view, *self.data, start=start, n_jobs=self.n_jobs)

    def at(self, candidate: Candidate) -> Array:
        """Gradient in ``model.theta``: that of every posterior's naive evidence less that of the common normaliser."""
        problem: Problem = candidate.posteriors[0].problem
        norm, self.end = normaliser_gradient(problem, self.rng, self.kind, draws=self.draws, start=self.end)
        by_kernel = self.view.slope(candidate.model.kernel, [norm])
        by_c = [float(norm.by_c.mean()) for _ in candidate.model.free]
        return candidate.evidence_gradient() - len(candidate.posteriors) * np.r_[by_kernel, by_c]


def at_fixed_product(model: Model, C: float) -> Model:
    """The same support vector machine with another C: kernel and bias shrink as C grows."""
    assert isinstance(model.likelihood, Hinge)
    factor = model.likelihood.C / C
    kernel = model.kernel
    scaled = Sum(_scaled(kernel.k1, factor), ConstantKernel(factor * kernel.k2.constant_value, "fixed"))
    return replace(model, kernel=scaled, likelihood=Hinge(C))


def _scaled(kernel: Kernel, factor: float) -> Kernel:
    if isinstance(kernel, Product) and isinstance(kernel.k1, ConstantKernel):
        bounds = kernel.k1.constant_value_bounds  # go with it: one that was reached is reached still
        bounds = bounds if isinstance(bounds, str) else tuple(factor * np.ravel(bounds))
        return Product(ConstantKernel(factor * kernel.k1.constant_value, bounds), kernel.k2)
    return ConstantKernel(factor, "fixed") * kernel


def normalise(
    best: Candidate,
    X: Any,
    targets: Sequence[Array],
    weights: Weights | None,
    engine: Any,
    *,
    kind: str = "conditional",
    rng: np.random.Generator | None = None,
    draws: int = 80,
) -> Candidate:
    """Move C at fixed ``C K`` to where the normalised evidence is stationary, by bisection."""
    rng = np.random.default_rng() if rng is None else rng
    seed = int(rng.integers(2**31))  # the same draws at every C, so that the slope is a smooth function of it
    start: Array | None = None
    assert isinstance(best.model.likelihood, Hinge)
    low, high = np.log([_LOWEST, _HIGHEST])
    centre = float(np.clip(np.log(best.model.likelihood.C), low, high))
    low, high = max(low, centre - 1.0), min(high, centre + 2.5)
    known: dict[float, float] = {}
    for _ in range(6):
        middle = 0.5 * (low + high)
        candidate = infer_candidate(at_fixed_product(best.model, float(np.exp(middle))), X, targets, weights, engine)
        known[middle], start = _slope_at_fixed_product(candidate, kind, seed, draws, start)
        low, high = (middle, high) if known[middle] > 0 else (low, middle)
    root = 0.5 * (low + high)
    if low in known and high in known:  # a straight line through the noise of both ends
        root = low + (high - low) * known[low] / (known[low] - known[high])
    return infer_candidate(at_fixed_product(best.model, float(np.exp(root))), X, targets, weights, engine)


def _slope_at_fixed_product(
    candidate: Candidate, kind: str, seed: int, draws: int, start: Array | None
) -> tuple[float, Array]:
    """Derivative of the normalised log-evidence in log C at fixed ``C K``."""
    naive = 0.0
    for posterior in candidate.posteriors:
        assert isinstance(posterior, GaussianPosterior)
        gradient = posterior.evidence_gradient
        by_amplitude = float(np.sum(gradient.by_gram() * posterior.problem.dense))
        naive += gradient.likelihood["C"] - by_amplitude
    problem: Problem = candidate.posteriors[0].problem
    norm, _, end = normaliser_slope(problem, seed, kind, draws=draws, start=start)
    return naive - len(candidate.posteriors) * norm, end
