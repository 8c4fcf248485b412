"""Hyper-parameters of the support vector machine by its normalised evidence (Sollich 2002, section 7).

The machine itself depends on ``C K`` alone. So first the naive evidence, with its analytic gradient, chooses the shape
of the kernel and ``C K``; then C moves at fixed ``C K`` to where the normalised evidence is stationary: the slope of
the naive one is that of expectation propagation, the normaliser's comes from draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Product, Sum

from ._typing import Array
from .evidence.svm_gradients import normaliser_slope
from .likelihoods import Hinge
from .posteriors import GaussianPosterior
from .problem import Problem, Weights
from .tuning import Candidate, Model, infer

__all__ = ["at_fixed_product", "normalise"]

_LOWEST, _HIGHEST = 0.05, 50.0


def at_fixed_product(model: Model, C: float) -> Model:
    """The same support vector machine with another C: kernel and bias shrink as C grows.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import Hinge
    >>> from bayespoint.kernels import with_bias
    >>> from bayespoint.svm_tuning import at_fixed_product
    >>> from bayespoint.tuning import Model
    >>> at_fixed_product(Model(with_bias(4.0 * RBF(1.0), 2.0), Hinge(1.0)), 4.0).kernel
    1**2 * RBF(length_scale=1) + 1**2
    """
    assert isinstance(model.likelihood, Hinge)
    factor = model.likelihood.C / C
    kernel = model.kernel
    scaled = Sum(_scaled(kernel.k1, factor), ConstantKernel(factor * kernel.k2.constant_value, "fixed"))
    return replace(model, kernel=scaled, likelihood=Hinge(C))


def _scaled(kernel: Kernel, factor: float) -> Kernel:
    if isinstance(kernel, Product) and isinstance(kernel.k1, ConstantKernel):
        amplitude = ConstantKernel(factor * kernel.k1.constant_value, kernel.k1.constant_value_bounds)
        return Product(amplitude, kernel.k2)
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
    draws: int = 200,
) -> Candidate:
    """Move C at fixed ``C K`` to where the normalised evidence is stationary, by bisection.

    Parameters
    ----------
    best : Candidate
        The maximum of the naive evidence.
    X, targets, weights
        Training data, as for `maximise_evidence`.
    engine : EP
        With a log-evidence and its gradient.
    kind : {"conditional", "joint"}, default="conditional"
        Which normaliser.
    rng : numpy.random.Generator, optional
        Source of randomness.
    draws : int, default=200
        Draws of the normaliser's slope at each C.

    Returns
    -------
    Candidate

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import Hinge
    >>> from bayespoint.engines import EP
    >>> from bayespoint.kernels import with_bias
    >>> from bayespoint.svm_tuning import normalise
    >>> from bayespoint.tuning import Model, maximise_evidence
    >>> X = np.linspace(-2, 2, 20)[:, None]
    >>> targets = [np.sign(X[:, 0] + 0.1)]
    >>> naive = maximise_evidence(Model(with_bias(1.0 * RBF(1.0), 1.0), Hinge(1.0), ("C",)), X, targets)
    >>> normalise(naive, X, targets, None, EP(), rng=np.random.default_rng(0)).model.likelihood.C > 0
    True
    """
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
        candidate = infer(at_fixed_product(best.model, float(np.exp(middle))), X, targets, weights, engine)
        known[middle], start = _slope(candidate, kind, seed, draws, start)
        low, high = (middle, high) if known[middle] > 0 else (low, middle)
    root = 0.5 * (low + high)
    if low in known and high in known:  # a straight line through the noise of both ends
        root = low + (high - low) * known[low] / (known[low] - known[high])
    return infer(at_fixed_product(best.model, float(np.exp(root))), X, targets, weights, engine)


def _slope(candidate: Candidate, kind: str, seed: int, draws: int, start: Array | None) -> tuple[float, Array]:
    """Derivative of the normalised log-evidence in log C at fixed ``C K``."""
    naive = 0.0
    for posterior in candidate.posteriors:
        assert isinstance(posterior, GaussianPosterior)
        gradient = posterior.evidence_gradient
        by_amplitude = float(np.sum(gradient.gram() * posterior.problem.dense))
        naive += gradient.likelihood["C"] - by_amplitude
    problem: Problem = candidate.posteriors[0].problem
    norm, _, end = normaliser_slope(problem, seed, kind, draws=draws, start=start)
    return naive - len(candidate.posteriors) * norm, end
