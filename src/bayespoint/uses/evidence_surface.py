"""The log-evidence as a landscape of two hyper-parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .._core.pipelines import last_step
from .._core.telling import heard_by, nobody
from .._core.typing import Array
from ..engines import EP
from ..estimators._base import KernelClassifier, recipe_of
from ..estimators._validation import check_inputs, check_training_set
from ..exceptions import InvalidProblemError
from ..kernels import with_bias
from ..tuning.climb import Candidate, Model, infer_candidate
from ..tuning.limits import parameter_names, shown_power

__all__ = ["EvidenceSurface", "evidence_surface"]


class EvidenceSurface(NamedTuple):
    """Log-evidence of a model over two of its hyper-parameters, all others as fitted.

    Attributes
    ----------
    first, second : ndarray of shape (n_points,)
        Values of the two parameters.
    log_evidence : ndarray of shape (n_points, n_points)
        One row for each value of the second parameter.
    fitted : tuple of float
        The two parameters of the estimator.
    names : tuple of str
        Names of the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.uses import EvidenceSurface
    >>> EvidenceSurface(np.ones(1), np.ones(1), np.zeros((1, 1)), (1.0, 1.0), ("amplitude", "bias")).names
    ('amplitude', 'bias')
    """

    first: Array
    second: Array
    log_evidence: Array
    fitted: tuple[float, float]
    names: tuple[str, str]


def evidence_surface(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    parameters: Sequence[int | str] = (0, 1),
    n_points: int = 15,
    span: float = 10.0,
    sample_weight: Any = None,
) -> EvidenceSurface:
    """Evidence of a fitted classifier on a grid around two of its hyper-parameters.

    Parameters
    ----------
    estimator : BayesPointClassifier, BayesianSVC, or Pipeline that ends in one
        Fitted; of `BayesianSVC` it is the naive evidence, of several kernels that decide together that of the heaviest.
    X : array-like of shape (n_samples, n_features)
        Rows to compute the evidence on, those of the fit for example; some hundred, for each point of the grid is a
        run of expectation propagation on the whole Gram matrix.
    y : array-like of shape (n_samples,)
        Their labels.
    parameters : pair of int or str, default=(0, 1)
        Which two, by position or name: those of the kernel come first, then the bias, then what is free in the
        likelihood. A wrong name is answered with the right ones.
    n_points : int, default=15
        Points of the grid in each direction.
    span : float, default=10.0
        How many times smaller and larger than the fitted values the grid goes.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    EvidenceSurface

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.uses import evidence_surface
    >>> X, y = make_moons(30, noise=0.2, random_state=0)
    >>> surface = evidence_surface(BayesPointClassifier(None).fit(X, y), X, y, n_points=3)
    >>> surface.names, surface.log_evidence.shape
    (('amplitude', 'length scale'), (3, 3))
    """
    if n_points < 2 or not span > 1:
        raise InvalidProblemError(f"n_points must be at least 2 and span above 1, got {n_points!r} and {span!r}.")
    classifier, rows = last_step(estimator, X)
    if not isinstance(classifier, KernelClassifier):
        raise InvalidProblemError(f"{type(classifier).__name__} has no posterior: use a classifier of bayespoint.")
    if classifier.log_evidence_ is None:
        raise InvalidProblemError(f"{type(classifier).__name__} has no evidence here: use BayesPointClassifier.")
    fitted, recipe = classifier.fitted_, recipe_of(classifier)
    rows = check_inputs(classifier, rows)  # in the numbers that nominal values had in the training rows
    data = check_training_set(clone(classifier), rows, y, sample_weight, recipe)
    kernel = with_bias(classifier.kernel_, classifier.bias_, tuned=True)
    model = Model(kernel, fitted.model.likelihood, recipe.model(data).free)
    names = parameter_names(model)
    chosen = [_position(which, names) for which in parameters]
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise InvalidProblemError(f"parameters must be two different ones of {names}, got {tuple(parameters)!r}.")
    powers = np.array([shown_power(names[k]) for k in chosen])
    steps = np.linspace(-np.log(span), np.log(span), n_points)
    training = fitted.points.transform(data.X), data.targets, data.own_weights, EP()
    surface = np.empty((n_points, n_points))
    for j, up in enumerate(steps):
        start: Candidate | None = None
        for i, right in enumerate(steps):
            theta = model.theta.copy()
            theta[chosen] += powers * (right, up)
            with heard_by(nobody):  # rough patches on the way
                start = infer_candidate(model.at(theta), *training, start=start)
            surface[j, i] = start.log_evidence
    middle = np.exp(model.theta[chosen] / powers)
    axes = middle[:, None] * np.exp(steps)
    pair = names[chosen[0]], names[chosen[1]]
    return EvidenceSurface(axes[0], axes[1], surface, (float(middle[0]), float(middle[1])), pair)


def _position(which: int | str, names: list[str]) -> int:
    if isinstance(which, str) and which in names:
        return names.index(which)
    if not isinstance(which, str) and 0 <= which < len(names):
        return which
    raise InvalidProblemError(f"There is no free parameter {which!r}: the model has {names}.")
