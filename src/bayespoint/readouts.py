"""Read-outs: short functions of a posterior.

New points enter as `cross` (kernel values with the training points, one row a point) and `diag` (kernel value of each
point with itself); every read-out works for every posterior.
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from ._typing import Array
from .posteriors import GaussianPosterior, Latent

__all__ = [
    "bayes_point",
    "class_probability",
    "entropy",
    "flip_probability",
    "latent",
    "leave_one_out_probability",
]


def bayes_point(posterior: GaussianPosterior) -> Array:
    """Weights of the Bayes point: the posterior mean as one classifier of unit length in feature space.

    Parameters
    ----------
    posterior : GaussianPosterior
        Result of an engine.

    Returns
    -------
    ndarray of shape (n,)
        ``alpha`` in ``f(x) = sum_i alpha_i k(x, x_i)`` with ``alpha' K alpha = 1``.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> readouts.bayes_point(EP().infer(Problem(np.eye(2), [1, -1], Step()))).round(4)
    array([ 0.7071, -0.7071])
    """
    return posterior.alpha / np.sqrt(posterior.alpha @ posterior.problem.gram @ posterior.alpha)


def latent(posterior: GaussianPosterior, cross: Array, diag: Array) -> Latent:
    """Posterior mean and variance of the latent function at new points.

    Parameters
    ----------
    posterior : GaussianPosterior
        Result of an engine.
    cross : ndarray of shape (n_points, n)
        Kernel values with the training points.
    diag : ndarray of shape (n_points,)
        Kernel value of each point with itself.

    Returns
    -------
    Latent
        Named tuple ``(mean, variance)``.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step()))
    >>> readouts.latent(posterior, np.array([[0.0, 0.0]]), np.array([1.0]))
    Latent(mean=array([0.]), variance=array([1.]))
    """
    return posterior.latent(cross, diag)


def class_probability(posterior: GaussianPosterior, cross: Array, diag: Array) -> Array:
    """Probability that the label of a new point is +1.

    Parameters
    ----------
    posterior, cross, diag
        As for `latent`.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step(noise=0.1)))
    >>> readouts.class_probability(posterior, np.array([[0.0, 0.0], [0.5, 0.0]]), np.ones(2)).round(3)
    array([0.5  , 0.602])
    """
    return np.exp(posterior.problem.likelihood.log_probability(*posterior.latent(cross, diag)))


def entropy(posterior: GaussianPosterior, cross: Array, diag: Array) -> Array:
    """Entropy of the label of a new point in bits: 1 where the classifier knows nothing (KGS section 4).

    Parameters
    ----------
    posterior, cross, diag
        As for `latent`.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step()))
    >>> readouts.entropy(posterior, np.array([[0.0, 0.0]]), np.ones(1))
    array([1.])
    """
    p = class_probability(posterior, cross, diag)
    return (entr(p) + entr(1 - p)) / np.log(2)


def flip_probability(posterior: GaussianPosterior) -> Array:
    """Posterior probability that a training label lies on the wrong side of the latent function.

    Under ``Step(noise=q)`` this is the probability that the label was flipped; under a soft boundary, that the latent
    noise and not the function decided it. Zero by definition for a hard boundary without noise.

    Parameters
    ----------
    posterior : GaussianPosterior
        Result of an engine.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step, readouts
    >>> from bayespoint.engines import EP
    >>> gram = np.full((4, 4), 0.99) + 0.01 * np.eye(4)
    >>> posterior = EP().infer(Problem(gram, [1, 1, 1, -1], Step(noise=0.1)))
    >>> readouts.flip_probability(posterior).round(2)
    array([0.02, 0.02, 0.02, 0.93])
    """
    problem = posterior.problem
    return problem.likelihood.disagreement(problem.y, *posterior.leave_one_out)


def leave_one_out_probability(posterior: GaussianPosterior) -> Array:
    """Probability of the label +1 at each training point given all the other points.

    Parameters
    ----------
    posterior : GaussianPosterior
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
    return np.exp(posterior.problem.likelihood.log_probability(*posterior.leave_one_out))
