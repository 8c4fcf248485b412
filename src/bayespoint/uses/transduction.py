"""Bayesian transduction: labels of given test points together, and the one classifier closest to the vote."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from .. import readouts
from .._core.random import as_generator
from .._core.typing import Array
from .._core.words import told_briefly
from ..estimators._base import KernelClassifier, draw_functions, read
from ..exceptions import InvalidProblemError
from ..grams import NewPoints
from ..posteriors import SampledPosterior

__all__ = ["ClosestClassifier", "JointLabels", "closest_classifier", "joint_label_probabilities"]

_LABELLINGS = 4096
_BLOCKS = 20  # of draws, for standard errors


@told_briefly()
@dataclass(frozen=True, eq=False)
class JointLabels:
    """Probabilities of all labellings of a small set of points, the most probable first.

    Attributes
    ----------
    labels : ndarray of shape (n_labellings, n_points)
        Labels of the points.
    probability : ndarray of shape (n_labellings,)
        They sum to one.
    se : ndarray of shape (n_labellings,)
        Standard errors that come from there being only so many draws.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.uses import JointLabels
    >>> JointLabels(np.array([["a"], ["b"]]), np.array([0.8, 0.2]), np.array([0.01, 0.01])).labels[0]
    array(['a'], dtype='<U1')
    """

    labels: Any
    probability: Array
    se: Array


def joint_label_probabilities(
    model: KernelClassifier, X: Any, *, n_draws: int = 4000, random_state: Any = None
) -> JointLabels:
    """Probabilities of the labels of several points together: near points go together, which marginals do not tell.

    Parameters
    ----------
    model : BayesPointClassifier, BayesianSVC or GaussianMarginClassifier
        Fitted.
    X : array-like of shape (n_points, n_features)
        A few inputs: at most 12 for two classes.
    n_draws : int, default=4000
        Functions that probabilities are averaged over.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    JointLabels

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.uses import joint_label_probabilities
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> model = BayesPointClassifier().fit(X, y)
    >>> found = joint_label_probabilities(model, [[0.5, 0.25], [0.51, 0.25]], random_state=0)
    >>> bool(found.probability.sum().round(9) == 1 and found.labels.shape == (4, 2))
    True
    """
    check_is_fitted(model)
    rng = as_generator(random_state)
    drawn = draw_functions(model, X, n_draws, rng)
    n_points, n_classes = drawn[0][1].shape[1], len(model.classes_)
    if n_classes**n_points > _LABELLINGS:
        raise InvalidProblemError(
            f"{n_points} points have {n_classes}^{n_points} labellings, more than {_LABELLINGS}: ask for fewer points."
        )
    logs = np.concatenate([_label_logs(likelihood, latents) for likelihood, latents in drawn])
    if len(drawn) > 1:  # blocks of draws are to differ by chance alone
        logs = rng.permutation(logs)
    joint = np.ones((n_draws, 1))
    for point in range(n_points):
        joint = (joint[:, :, None] * np.exp(logs[:, point])[:, None, :]).reshape(n_draws, -1)
    joint /= joint.sum(axis=1, keepdims=True)
    blocks = np.array([part.mean(axis=0) for part in np.array_split(joint, min(_BLOCKS, n_draws))])
    se = blocks.std(axis=0, ddof=1) / np.sqrt(len(blocks)) if len(blocks) > 1 else np.full(joint.shape[1], np.nan)
    labels = model.classes_[np.array(list(product(range(n_classes), repeat=n_points)))]
    probability = joint.mean(axis=0)
    order = np.argsort(-probability, kind="stable")
    return JointLabels(labels[order], probability[order], se[order])


def _label_logs(likelihood: Any, latents: Array) -> Array:
    """Log-probabilities of the classes given functions, of shape (function, point, class)."""
    if latents.ndim == 2:
        return np.stack([readouts.label_log_probability(likelihood, sign * latents) for sign in (-1, 1)], axis=2)
    logs = readouts.label_log_probability(likelihood, latents)
    return np.asarray(logs - logsumexp(logs, axis=2, keepdims=True))


@told_briefly()
@dataclass(frozen=True, eq=False)
class ClosestClassifier:
    """One classifier of the posterior, and how often it disagrees with the vote.

    Attributes
    ----------
    weights : ndarray
        Of its latent function, in the whitened coordinates of the posterior.
    disagreement : float
        Share of the inputs on which it does not decide as the vote does.
    disagreement_of_the_mean : float
        The same for the posterior mean.

    Examples
    --------
    >>> from bayespoint.uses import ClosestClassifier
    >>> ClosestClassifier(None, None, [1.0], 0.01, 0.02).disagreement
    0.01
    """

    model: Any
    posterior: SampledPosterior
    weights: Any
    disagreement: float
    disagreement_of_the_mean: float

    def decision_function(self, X: Any) -> Array:
        """Its latent function at new inputs."""
        return read(self.model, X, lambda new: self.posterior.white.features(new) @ self.weights)

    def predict(self, X: Any) -> Any:
        """Its labels of new inputs."""
        return self.model.classes_[(self.decision_function(X) > 0).astype(int)]


def closest_classifier(model: KernelClassifier, X: Any) -> ClosestClassifier:
    """The Bayes point proper: the classifier that agrees most with the vote on given inputs (BPM Definition 9).

    The vote of all classifiers decides each point for itself and is in general no classifier of the model. The Bayes
    point is the single one closest to it under the distribution of inputs, of which `X` is a sample; the posterior mean
    is an approximation that needs no such sample. The search is over all draws and their mean; where several kernels
    decide together, over those of the heaviest, whose vote it is compared with.

    Parameters
    ----------
    model : BayesPointClassifier or BayesianSVC
        Fitted with a sampler, two classes.
    X : array-like of shape (n_points, n_features)
        Inputs from the distribution on which to agree, labelled or not.

    Returns
    -------
    ClosestClassifier

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.uses import closest_classifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = BayesPointClassifier(engine="sample", random_state=0).fit(X[:40], y[:40])
    >>> found = closest_classifier(model, X)
    >>> found.disagreement <= found.disagreement_of_the_mean
    True
    """
    check_is_fitted(model)
    posterior = model.fitted_.posteriors[0]
    if len(model.classes_) != 2 or not isinstance(posterior, SampledPosterior):
        raise InvalidProblemError("The closest classifier is one of the draws of two classes: use engine='sample'.")
    flat = posterior.coordinates.reshape(-1, posterior.white.rank)
    candidates = np.vstack([flat, posterior.centre])

    def compare(new: NewPoints) -> Array:
        vote = readouts.vote(posterior, new) > 0.5
        signs = posterior.white.features(new) @ candidates.T > 0
        return (signs != vote[:, None]).astype(np.float32)

    disagreement = read(model, X, compare).mean(axis=0)
    best = len(candidates) - 1 if disagreement[-1] <= disagreement.min() else int(np.argmin(disagreement))
    return ClosestClassifier(model, posterior, candidates[best], float(disagreement[best]), float(disagreement[-1]))
