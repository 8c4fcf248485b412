"""Read-outs: short functions of a posterior.

New points enter as `bayespoint.grams.NewPoints`: `DensePoints` of kernel values with the training points,
`FeaturePoints` of a low-rank problem, or whatever a view makes of them. Every read-out works for every posterior;
`monte_carlo_error` gives its standard error on draws.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, ndtr

from ._core.losses import checked_loss
from ._core.typing import Array
from .exceptions import InvalidProblemError
from .grams import NewPoints
from .likelihoods.largest import largest_probabilities
from .posteriors import Latent, Posterior

__all__ = [
    "Decisions",
    "bayes_decision",
    "bayes_point",
    "class_probability",
    "dont_know",
    "entropy",
    "flip_probability",
    "joint_class_probability",
    "label_log_probability",
    "largest_probabilities",
    "latent",
    "leave_one_out_probability",
    "monte_carlo_error",
    "mutual_information",
    "vote",
    "vote_entropy",
]


class Decisions(NamedTuple):
    """What to do at new points, and what it costs in the mean.

    Attributes
    ----------
    action : ndarray of int of shape (n_points,)
        Column of the loss matrix that costs least.
    expected_loss : ndarray of shape (n_points, n_actions)
        Mean loss of every action under the posterior.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.readouts import Decisions
    >>> Decisions(np.array([1]), np.array([[0.5, 0.2]])).action
    array([1])
    """

    action: Any
    expected_loss: Array


def bayes_decision(posterior: Posterior, new: NewPoints, loss: Any = None) -> Decisions:
    """The decision with the smallest loss in the mean over the posterior and the label (BPM equation (7)).

    Parameters
    ----------
    posterior, new
        As for `latent`.
    loss : array-like of shape (2, 2) or (2, 3), optional
        ``loss[i, j]``: what it costs to decide for label j if the truth is label i, of the labels -1 and +1. A third
        column is the price of deciding nothing. One for every error by default.

    Returns
    -------
    Decisions
        Action 0 is the label -1, action 1 the label +1, action 2 to decide nothing.

    Examples
    --------
    To miss a positive costs five times as much as a false alarm, to ask somebody costs a half.

    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> from bayespoint.grams import DensePoints
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step(noise=0.1)))
    >>> points = DensePoints([[0.0, 0.9], [0.0, 0.3], [0.9, 0.0]], [1.0, 1.0, 1.0])
    >>> readouts.class_probability(posterior, points).round(2)
    array([0.29, 0.44, 0.71])
    >>> found = readouts.bayes_decision(posterior, points, [[0, 1, 0.5], [5, 0, 0.5]])
    >>> found.action, found.expected_loss[0].round(2)
    (array([2, 2, 1]), array([1.47, 0.71, 0.5 ]))
    """
    p = class_probability(posterior, new)
    each = np.stack([1 - p, p], axis=1) if p.ndim == 1 else p
    expected = each @ checked_loss(loss, each.shape[1])
    return Decisions(expected.argmin(axis=1), expected)


def bayes_point(posterior: Posterior) -> Array:
    """Weights of the Bayes point: the posterior mean as one classifier of unit length in feature space (KGS 5).

    Parameters
    ----------
    posterior : GaussianPosterior or SampledPosterior
        Result of an engine.

    Returns
    -------
    ndarray of shape (n,)
        ``alpha`` in ``f(x) = sum_i alpha_i k(x, x_i)`` with ``alpha' K alpha = 1``; for a low-rank problem the
        coordinates of that function, of length one. Of several classes one function each, in columns, of length one
        together.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> readouts.bayes_point(EP().infer(Problem(np.eye(2), [1, -1], Step()))).round(4)
    array([ 0.7071, -0.7071])
    """
    weights, gram = posterior.mean_weights, posterior.problem.gram
    return weights / np.linalg.norm([gram.length(column) for column in weights.reshape(len(weights), -1).T])


def latent(posterior: Posterior, new: NewPoints) -> Latent:
    """Posterior mean and variance of the latent function at new points.

    Parameters
    ----------
    posterior : GaussianPosterior or SampledPosterior
        Result of an engine.
    new : NewPoints
        New points, in the form that belongs to the Gram matrix of the training points.

    Returns
    -------
    Latent
        Named tuple ``(mean, variance)``.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> from bayespoint.grams import DensePoints
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step()))
    >>> readouts.latent(posterior, DensePoints([[0.0, 0.0]], [1.0]))
    Latent(mean=array([0.]), variance=array([1.]))
    """
    at = posterior.at(new)
    return at.latent if posterior.problem.n_classes is None else Latent(at.mean, at.variance)


def class_probability(posterior: Posterior, new: NewPoints) -> Array:
    """Probability that the label of a new point is +1, averaged over the posterior.

    Parameters
    ----------
    posterior, new
        As for `latent`.

    Returns
    -------
    ndarray of shape (n_points,)
        Of several classes the probabilities of all, of shape (n_points, n_classes).

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> from bayespoint.grams import DensePoints
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step(noise=0.1)))
    >>> readouts.class_probability(posterior, DensePoints([[0.0, 0.0], [0.5, 0.0]], [1.0, 1.0])).round(3)
    array([0.5  , 0.605])
    """
    at: Any = posterior.at(new)
    likelihood = posterior.problem.likelihood
    if posterior.problem.n_classes is not None:
        probabilities: Array = at.probabilities
        return probabilities
    positive: Array = at.expectation(lambda mean, var: np.exp(likelihood.log_probability(mean, var)))
    return positive


def joint_class_probability(posterior: Posterior, new: NewPoints) -> Array:
    """Probability of the label +1 at a new point that came about as the training rows did: ``<Q(+1)> / <v>``.

    A hinge does not add up to one over the labels; its normalised model has fewer inputs where the latent is near zero
    (Sollich 12), so that a new input tells something of the function. `class_probability` (33) is for inputs that do
    not. For normalised likelihoods both are the same.

    Parameters
    ----------
    posterior, new
        As for `latent`.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Hinge, Problem, readouts
    >>> from bayespoint.engines import EP
    >>> from bayespoint.grams import DensePoints
    >>> posterior = EP().infer(Problem(4 * np.eye(2), [1, -1], Hinge(C=2.0)))
    >>> new = DensePoints([[2.0, 0.0]], [4.0])
    >>> readouts.joint_class_probability(posterior, new) > readouts.class_probability(posterior, new)
    array([ True])
    """
    up, down = (_mean_likelihood(posterior, new, y) for y in (1.0, -1.0))
    return up / (up + down)


def dont_know(posterior: Posterior, new: NewPoints) -> Array:
    """Probability ``1 - <v>`` that a new point gets no label at all: what both labels of a hinge leave of one.

    It is the "don't know" class of Sollich, section 2; zero for normalised likelihoods.

    Parameters
    ----------
    posterior, new
        As for `latent`.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Hinge, Problem, readouts
    >>> from bayespoint.engines import EP
    >>> from bayespoint.grams import DensePoints
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Hinge(C=2.0)))
    >>> readouts.dont_know(posterior, DensePoints([[0.0, 0.0], [1.0, 0.0]], [1.0, 1.0])).round(2)
    array([0.38, 0.25])
    """
    total = _mean_likelihood(posterior, new, 1.0) + _mean_likelihood(posterior, new, -1.0)
    return np.clip(1 - total, 0.0, 1.0)


def _mean_likelihood(posterior: Posterior, new: NewPoints, y: float) -> Array:
    """``<Q(y)>``, the likelihood of a label averaged over the posterior."""
    likelihood = posterior.problem.likelihood
    if posterior.problem.n_classes is not None:
        raise InvalidProblemError("Probabilities of several classes add up to one: use class_probability.")

    def mean_over_latent(mean: Array, var: Array) -> Array:
        var = np.maximum(var, np.finfo(float).tiny) * np.ones_like(mean)
        mass: Array = np.exp(likelihood.site(np.full_like(mean, y), mean, var, np.ones_like(mean))[0])
        return mass

    return posterior.at(new).expectation(mean_over_latent)


def vote(posterior: Posterior, new: NewPoints) -> Array:
    """Share of the posterior's classifiers that put a new point on the positive side: Bayesian transduction (KGS 4).

    Parameters
    ----------
    posterior, new
        As for `latent`.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> from bayespoint.grams import DensePoints
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step()))
    >>> readouts.vote(posterior, DensePoints([[0.0, 0.0]], [1.0]))
    array([0.5])
    """
    at: Any = posterior.at(new)
    if posterior.problem.n_classes is not None:
        votes: Array = at.votes
        return votes
    share: Array = at.expectation(lambda mean, var: ndtr(mean / np.sqrt(var)))
    return share


def entropy(posterior: Posterior, new: NewPoints) -> Array:
    """Entropy of the label of a new point in bits: 1 where the classifier knows nothing.

    Noise of labels is part of it; `vote_entropy` is without.

    Parameters
    ----------
    posterior, new
        As for `latent`.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> from bayespoint.grams import DensePoints
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step()))
    >>> readouts.entropy(posterior, DensePoints([[0.0, 0.0]], [1.0]))
    array([1.])
    """
    return _bits(class_probability(posterior, new))


def vote_entropy(posterior: Posterior, new: NewPoints) -> Array:
    """Entropy in bits of the votes on a new point, ``S(x, z)`` of KGS section 4: how divided the classifiers are.

    Parameters
    ----------
    posterior, new
        As for `latent`.

    Returns
    -------
    ndarray of shape (n_points,)

    See Also
    --------
    entropy : that of the label, noise included; the same for a hard boundary.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> from bayespoint.grams import DensePoints
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step(noise=0.1)))
    >>> new = DensePoints([[1.0, 0.0]], [1.0])
    >>> bool(readouts.vote_entropy(posterior, new) < readouts.entropy(posterior, new))
    True
    """
    return _bits(vote(posterior, new))


def _bits(p: Array) -> Array:
    """Entropy of the probability of one of two classes, or of a row of probabilities for several."""
    nats: Array = entr(p) + entr(1 - p) if p.ndim == 1 else entr(p).sum(axis=1)
    return nats / np.log(2)


def mutual_information(posterior: Posterior, new: NewPoints) -> Array:
    """Bits that the label of a new point would tell about the function: the entropy that is not noise (BALD).

    Parameters
    ----------
    posterior, new
        As for `latent`.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    A hard boundary has no noise: all entropy is worth asking for. A flipped label in ten takes half a bit of it away.

    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> from bayespoint.grams import DensePoints
    >>> point = DensePoints([[0.0, 0.0]], [1.0])
    >>> readouts.mutual_information(EP().infer(Problem(np.eye(2), [1, -1], Step())), point)
    array([1.])
    >>> readouts.mutual_information(EP().infer(Problem(np.eye(2), [1, -1], Step(noise=0.1))), point).round(3)
    array([0.531])
    """
    at: Any = posterior.at(new)
    if posterior.problem.n_classes is not None:
        noise = at.conditional_entropy
    else:
        noise = at.expectation(posterior.problem.likelihood.conditional_entropy)
    return np.maximum(entropy(posterior, new) - noise / np.log(2), 0.0)


def flip_probability(posterior: Posterior) -> Array:
    """Posterior probability that a training label lies on the wrong side of the latent function.

    Under ``Step(noise=q)`` this is the probability that the label was flipped; under a soft boundary, that the latent
    noise and not the function decided it. Zero by definition for a hard boundary without noise.

    Parameters
    ----------
    posterior : GaussianPosterior or SampledPosterior
        Result of an engine.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> gram = np.full((4, 4), 0.8) + 0.2 * np.eye(4)
    >>> posterior = EP().infer(Problem(gram, [1, 1, 1, -1], Step(noise=0.1)))
    >>> readouts.flip_probability(posterior).round(2)
    array([0.06, 0.06, 0.06, 0.48])
    """
    return posterior.disagreement()


def leave_one_out_probability(posterior: Any) -> Array:
    """Probability of the label +1 at each training point given all the other points.

    Parameters
    ----------
    posterior : GaussianPosterior or SampledPosterior
        Result of an engine.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step()))
    >>> readouts.leave_one_out_probability(posterior).round(6)
    array([0.5, 0.5])
    """
    if posterior.problem.n_classes is not None:
        probabilities: Array = posterior.leave_one_out_probabilities
        return probabilities
    return np.exp(posterior.problem.likelihood.log_probability(*posterior.leave_one_out))


def label_log_probability(likelihood: Any, latents: Array) -> Array:
    """Log-probability of the label +1 where the latent function is known.

    Parameters
    ----------
    likelihood : Step, Hinge or Logistic
        How labels follow from latents.
    latents : ndarray
        Values of the latent function.

    Returns
    -------
    ndarray
        Of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Step, readouts
    >>> np.exp(readouts.label_log_probability(Step(noise=0.1), np.array([-1.0, 2.0]))).round(3)
    array([0.1, 0.9])
    """
    nothing = np.full_like(latents, 1e-12)  # variance, next to that of any latent
    values: Array = likelihood.log_probability(latents, nothing)
    return values


def monte_carlo_error(readout: Callable[..., Array], posterior: Any, *args: Any, blocks: int = 20) -> Array:
    """Standard error of a read-out that comes from there being only so many draws.

    Parameters
    ----------
    readout : callable
        A function of this module, or any smooth function of a posterior.
    posterior : SampledPosterior
        Draws.
    *args
        Further arguments of the read-out.
    blocks : int, default=20
        Blocks of consecutive draws that are left out in turn (jackknife).

    Returns
    -------
    ndarray
        Of the shape of the read-out.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import Billiard
    >>> from bayespoint.grams import DensePoints
    >>> posterior = Billiard(draws=2000).infer(Problem(np.eye(2), [1, -1], Step()), rng=0)
    >>> point = DensePoints([[0.5, 0.5]], [1.0])
    >>> p, se = readouts.vote(posterior, point), readouts.monte_carlo_error(readouts.vote, posterior, point)
    >>> bool(abs(p[0] - 0.5) < 4 * se[0] < 0.05)
    True
    """
    if not hasattr(posterior, "without"):
        raise InvalidProblemError("Only draws have a Monte Carlo error; this posterior is in closed form.")
    draws = posterior.draws
    if draws < 2 * blocks:
        raise InvalidProblemError(f"Too short to say: {draws} draws a chain do not make {blocks} blocks of two.")
    edges = np.linspace(0, draws, blocks + 1).round().astype(int)
    partial = np.array([readout(posterior.without(slice(a, b)), *args) for a, b in pairwise(edges)])
    return np.sqrt((blocks - 1) * partial.var(axis=0))
