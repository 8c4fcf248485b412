"""Bayesian transduction: labels of given test points together, and the one classifier closest to them all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from .. import readouts
from .._core.random import as_generator
from .._core.typing import Array
from .._core.words import told_briefly
from ..estimators._base import KernelClassifier, draw_functions, read
from ..exceptions import InvalidProblemError
from ..likelihoods import Choice
from ..posteriors import SampledPosterior

__all__ = ["ClosestClassifier", "JointLabels", "closest_classifier", "joint_label_probabilities"]

_LABELLINGS = 4096
_BLOCKS = 20  # of draws, for standard errors
_STARTS = 3  # draws from which to go downhill
_STEEPER = (1.0, 3.0, 10.0, 30.0)  # steps rounded off over the typical latent, or over less of it


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
    >>> model = BayesPointClassifier("rbf").fit(X, y)
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
    if isinstance(likelihood, Choice):
        with np.errstate(divide="ignore"):
            return np.log(likelihood.probabilities(latents, np.zeros(1)))
    logs = readouts.label_log_probability(likelihood, latents)
    return np.asarray(logs - logsumexp(logs, axis=2, keepdims=True))


@told_briefly()
@dataclass(frozen=True, eq=False)
class ClosestClassifier:
    """One classifier, and how often it disagrees with a classifier drawn from the posterior.

    Attributes
    ----------
    weights : ndarray
        Of its latent function, in the whitened coordinates of the posterior.
    disagreement : float
        Mean over the inputs of the probability that a classifier drawn from the posterior decides otherwise.
    disagreement_of_the_mean : float
        The same for the posterior mean.
    disagreement_of_the_vote : float
        The same for the vote, which is in general no single classifier: none can have less.

    Examples
    --------
    >>> from bayespoint.uses import ClosestClassifier
    >>> ClosestClassifier(None, None, [1.0], 0.011, 0.012, 0.01).disagreement
    0.011
    """

    model: Any
    posterior: SampledPosterior
    weights: Any
    disagreement: float
    disagreement_of_the_mean: float
    disagreement_of_the_vote: float

    def decision_function(self, X: Any) -> Array:
        """Its latent function at new inputs."""
        return read(self.model, X, lambda new: self.posterior.white.features(new) @ self.weights)

    def predict(self, X: Any) -> Any:
        """Its labels of new inputs."""
        return self.model.classes_[(self.decision_function(X) > 0).astype(int)]


def closest_classifier(model: KernelClassifier, X: Any) -> ClosestClassifier:
    """The Bayes point proper: the classifier that disagrees least with those of the posterior (BPM Definition 9).

    The vote of all classifiers decides each point for itself and is in general no classifier of the model. The Bayes
    point is the single one that disagrees least with a draw from the posterior under the distribution of inputs, of
    which `X` is a sample; the posterior mean is an approximation that needs no such sample. The search takes the best
    of the draws and their mean, and goes on from them downhill; where several kernels decide together, it is over
    functions of the heaviest, whose vote it is compared with.

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
    >>> found.disagreement_of_the_vote <= found.disagreement <= found.disagreement_of_the_mean
    True
    """
    check_is_fitted(model)
    posterior = model.fitted_.posteriors[0]
    if len(model.classes_) != 2 or not isinstance(posterior, SampledPosterior):
        raise InvalidProblemError("The closest classifier is found from draws of two classes: use engine='sample'.")
    flat = posterior.coordinates.reshape(-1, posterior.white.rank)
    features = read(model, X, lambda new: posterior.white.features(new))
    lead = 2 * read(model, X, lambda new: readouts.vote(posterior, new)) - 1  # of the votes for +1 over those for -1

    def disagreement(weights: Array) -> Array:
        agrees = np.where(features @ weights.T > 0, lead[:, None], -lead[:, None])
        return np.asarray(0.5 - 0.5 * agrees.mean(axis=0))

    candidates = np.vstack([posterior.centre, flat])
    found = disagreement(candidates)
    best = np.r_[0, 1 + np.argsort(found[1:], kind="stable")[:_STARTS]]
    candidates = np.vstack([candidates[best], *(_downhill(features, lead, candidates[k]) for k in best)])
    refined = disagreement(candidates)
    least = int(np.argmin(refined))
    vote = min(0.5 - 0.5 * np.abs(lead).mean(), refined[least])  # sums in another order may differ in the last digit
    return ClosestClassifier(model, posterior, candidates[least], float(refined[least]), float(refined[0]), float(vote))


def _downhill(features: Array, lead: Array, weights: Array) -> Array:
    """Classifiers on the way from `weights` to less disagreement, its steps rounded off less and less."""
    scale = float(np.median(np.abs(features @ weights)))
    found, weights = [], weights / scale if scale > 0 else weights
    for steepness in _STEEPER:

        def loss(w: Array, k: float = steepness) -> tuple[float, Array]:
            t = np.tanh(0.5 * k * (features @ w))
            slope = 0.5 * k * lead * (1 - t * t)
            return -float(lead @ t), -(features.T @ slope)

        weights = minimize(loss, weights, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
        found.append(weights)
    return np.array(found)
