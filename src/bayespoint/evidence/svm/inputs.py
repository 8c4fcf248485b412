"""The inputs' probabilities that make the data likeliest (Sollich 2002, footnote 6): Q(x) is a hyper-parameter, too."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from ..._core.random import as_generator
from ..._core.threads import blas_threads_for
from ..._core.typing import Array
from ...exceptions import InvalidProblemError
from ...problem import Problem
from .._stepping import explore
from ._survival import Survival, SurvivalPath, loss_of

__all__ = ["InputWeights", "input_weights"]

_BURN_IN = 100


class InputWeights(NamedTuple):
    """Probabilities of the training inputs, and what they add to the joint log-evidence of equal ones.

    Examples
    --------
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.evidence.svm import input_weights
    >>> input_weights(Problem([[1.0, 0.0], [0.0, 1.0]], [1, -1], Hinge(C=2.0)), rng=0).weights.round(1)
    array([0.5, 0.5])
    """

    weights: Array
    gain: float


def input_weights(problem: Problem, rng: Any = None, *, draws: int = 400, rounds: int = 3) -> InputWeights:
    """Weights w of ``Q(x) = sum_i w_i delta(x, x_i)`` at which the joint evidence P(X, Y) is largest (footnote 6).

    N-hat (29) and the proxy of the joint evidence (30) take them as equal; `log_normaliser` takes others as its
    `probabilities`. At the maximum ``n w_i <v(theta_i) / sum_j w_j v(theta_j)> = 1``, an average over the prior (8),
    which has the weights in it. In their logarithms the evidence is concave, so there is one maximum; it is found on
    draws from that prior, which are drawn anew at what was found.

    Parameters
    ----------
    problem : Problem
        With a `Hinge` or `SquaredHinge` likelihood. Labels do not matter.
    rng : int, Generator, RandomState or None
        Source of randomness.
    draws : int, default=400
        Of each of sixteen chains in a round.
    rounds : int, default=3
        How often functions are drawn.

    Returns
    -------
    InputWeights

    Examples
    --------
    Inputs at which functions are seldom large get a label more rarely, and have to be met more often.

    >>> import numpy as np
    >>> from bayespoint import Hinge, Problem
    >>> from bayespoint.evidence.svm import input_weights
    >>> found = input_weights(Problem(np.diag([0.05, 4.0]), [1, -1], Hinge(C=4.0)), rng=0)
    >>> bool(found.weights[0] > found.weights[1])
    True
    """
    loss_of(problem)
    if draws < 1 or rounds < 1:
        raise InvalidProblemError(f"draws and rounds must be at least 1, got {draws!r} and {rounds!r}.")
    rng, n = as_generator(rng), problem.size
    logs, gain = np.full(n, -np.log(n)), 0.0
    with blas_threads_for(n):
        for _ in range(rounds):
            base = Survival(problem, np.exp(logs))
            path = SurvivalPath(base)
            stones = explore(path, rng)
            assert stones is not None  # levels end at one
            kept = path.advance(1.0, stones[-1].states, _BURN_IN + draws, rng).states[:, _BURN_IN:]
            better = _likeliest(base.log_v(base.latents(kept)).reshape(-1, n), logs)
            gain += better[1]
            logs = better[0]
    return InputWeights(np.exp(logs), gain)


def _likeliest(log_v: Array, start: Array) -> tuple[Array, float]:
    """Logarithms of the best weights, given functions drawn with those of `start`, and the gain over these."""
    n = len(start)
    before = n * logsumexp(log_v + start, axis=1)

    def loss(free: Array) -> tuple[float, Array]:
        logs = free - logsumexp(free)
        mean = logsumexp(log_v + logs, axis=1)
        ratios = n * mean - before  # of N(theta)^n
        value = float((logs - start).sum() - logsumexp(ratios) + np.log(len(ratios)))
        slope = 1 - n * softmax(ratios) @ np.exp(log_v + logs - mean[:, None])
        return -value, -slope  # it adds up to zero: the scale of the weights does not matter

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-13, "gtol": 1e-8})
    return found.x - logsumexp(found.x), float(-found.fun)
