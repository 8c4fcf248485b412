"""What the arguments of a Bayesian support vector machine stand for: scikit-learn's kernels, and an infinite C."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Exponentiation

from .._core.settings import is_named
from ..exceptions import EmptyVersionSpaceError, InvalidProblemError
from ..kernels import amplitude, make_kernel
from ..likelihoods import Step
from ..problem import Problem, Weights
from ..tuning.climb import Candidate
from ._callbacks import Watch
from ._fit import Prepared, Recipe
from ._search import search

__all__ = ["refuse_settings", "search_hard", "svc_kernel"]


def refuse_settings(estimator: Any) -> None:
    """Raise with one sentence if a setting that only this machine has cannot be."""
    if not isinstance(estimator.C, Real) or not float(estimator.C) > 0:
        raise InvalidProblemError(f"C must be a number above 0, got {estimator.C!r}.")
    if float(estimator.C) == np.inf and estimator.optimizer is not None:
        raise InvalidProblemError("An optimizer chooses C, and cannot start at infinity: give a finite C.")
    if estimator.probability not in ("average", "mean", "map"):
        raise InvalidProblemError(f"probability must be 'average', 'mean' or 'map', got {estimator.probability!r}.")
    if estimator.evidence not in ("conditional", "joint", "naive"):
        raise InvalidProblemError(f"evidence must be 'conditional', 'joint' or 'naive', got {estimator.evidence!r}.")
    if not isinstance(estimator.degree, Integral) or estimator.degree < 1:
        raise InvalidProblemError(f"degree must be a whole number of at least 1, got {estimator.degree!r}.")
    if not isinstance(estimator.coef0, Real) or not 0 <= float(estimator.coef0) < np.inf:
        raise InvalidProblemError(f"coef0 must be at least 0 and finite, got {estimator.coef0!r}.")
    if estimator.average and estimator.optimizer is None:
        raise InvalidProblemError("average=True needs hyper-parameters to average over: set optimizer='evidence'.")


def svc_kernel(estimator: Any, X: Any, weights: Weights | None) -> Any:
    """The kernel of scikit-learn's machine, with an amplitude of one in front that an optimizer may change."""
    if not isinstance(estimator.kernel, str) or estimator.kernel in ("precomputed", "linear"):
        return make_kernel(estimator.kernel, X)
    gamma = _gamma(estimator.gamma, X, weights)
    if estimator.kernel == "rbf":
        scale = 1 / np.sqrt(2 * gamma)
        return amplitude() * RBF(scale, (scale / 100, scale * 100))
    if estimator.kernel == "poly":  # (gamma <x, z> + coef0)^degree
        if abs(estimator.degree * np.log10(gamma)) > 150:
            raise InvalidProblemError(
                f"gamma={gamma:.1g} to the power of {estimator.degree} is beyond rounding: rescale the features (for "
                "example with StandardScaler), or set another gamma."
            )
        root = DotProduct(np.sqrt(estimator.coef0 / gamma), "fixed")
        return ConstantKernel(gamma**estimator.degree, (1e-6, 1e8)) * Exponentiation(root, estimator.degree)
    raise InvalidProblemError(
        f"kernel must be 'rbf', 'linear', 'poly', 'precomputed', a function of two matrices, or a kernel of "
        f"sklearn.gaussian_process.kernels (a sigmoid is no valid kernel), got {estimator.kernel!r}."
    )


def _gamma(gamma: Any, X: Any, weights: Weights | None) -> float:
    if is_named(gamma, "scale", "auto"):
        if gamma == "auto":
            return 1.0 / X.shape[1]
        share = np.ones(X.shape[0]) if weights is None else weights.total
        share = share / (share.sum() * X.shape[1])
        mean = float(np.sum(share @ X))
        if sparse.issparse(X):
            variance = float(np.sum(share @ X.multiply(X))) - mean * mean
        else:  # a mean far from zero would swallow the difference of squares
            variance = float(np.sum(share @ np.square(X - mean)))
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    if isinstance(gamma, Real) and 0 < float(gamma) < np.inf:
        return float(gamma)
    raise InvalidProblemError(f"gamma must be 'scale', 'auto' or a number above 0, got {gamma!r}.")


def search_hard(recipe: Recipe, ready: Prepared, watch: Watch | None) -> Candidate:
    """As for any other, once it is clear that the labels can be separated (BPM 14)."""
    gram = recipe.view(ready.model.kernel, ready.points.X, ready.engine).gram(ready.model.kernel)
    for y in ready.data.targets:
        try:
            Problem(gram, y, Step(), check=False).raise_if_empty()
        except EmptyVersionSpaceError:
            raise EmptyVersionSpaceError(
                "C=inf asks for a function with all training labels as its signs, and this kernel has none: give a "
                "finite C, or another kernel."
            ) from None
    return search(recipe, ready, watch)
