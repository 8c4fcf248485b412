"""The support vector machine as the maximum of the posterior.

Without an equality constraint (a bias is part of the kernel) the dual of the support vector machine is

    minimise  a'K a / 2 - sum_i |a_i|   over signed weights a_i = y_i alpha_i,  0 <= alpha_i <= C_i.

Coordinate descent on a few hundred rows at a time finds out which are easy (alpha = 0), marginal (in between) and hard
(alpha = C); a linear solve on the marginal ones then gives the weights to rounding. Where a finite C leaves no row
hard, the machine is that of C = infinity: the one with the largest margin (BPM 14, 15).
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from .._core.compiling import compiled
from .._core.telling import heard_by, nobody, tell
from .._core.threads import blas_threads_for
from .._core.typing import Array
from ..exceptions import InvalidProblemError
from ..grams import Gram
from ..likelihoods import Hinge, SquaredHinge
from ..problem import Problem

__all__ = ["SupportVectors", "geometric_margin", "hard_margin", "shared_residual", "support_vectors"]

_STIFF = 20.0  # C k(x, x) from which coordinate descent alone is slow
_LOOSE = 0.01  # violation at which to go on to a larger C
_NEWCOMERS = 256  # rows that join the marginal ones in a round, at least
_SHARE = 64  # of many rows, one in so many joins
_SWEEPS = 100  # of coordinate descent before the marginal rows are solved for
_ROUNDING = 10 * np.finfo(float).eps
_DEAR, _PRICES = (
    1e4,
    6,
)  # C k(x, x) of the first machine that may have no hard row; how often it is raised a hundredfold


class SupportVectors(NamedTuple):
    """The solution of the dual: weights ``alpha >= 0``, latents, and what is left of the optimality conditions."""

    alpha: Array
    latents: Array
    cap: Array  # C_i, the largest weight of each row
    violation: float
    rounds: int

    @property
    def easy(self) -> Any:
        """Rows beyond the margin, which the solution does not depend on."""
        return np.flatnonzero(self.alpha == 0)

    @property
    def marginal(self) -> Any:
        """Rows on the margin."""
        return np.flatnonzero((self.alpha > 0) & (self.alpha < self.cap))

    @property
    def hard(self) -> Any:
        """Rows that violate the margin."""
        return np.flatnonzero(self.alpha == self.cap)


def support_vectors(
    problem: Problem, tolerance: float = 1e-10, max_rounds: int = 200, start: Array | None = None
) -> SupportVectors:
    """Solve the dual to rounding, from the weights `start` if given; weights of the problem multiply C.

    A squared hinge makes it the machine of largest margin on ``K + I / C``, whose `latents` have the slack in them.

    The tolerance is for violations of the optimality conditions, in units of the margin or of the largest latent beyond
    it; after `max_rounds` of descent and solve a warning tells what is left.
    """
    if isinstance(problem.likelihood, SquaredHinge):
        own = shared_residual(problem) + 1 / (problem.likelihood.C * problem.exponents)  # Cortes & Vapnik 1995
        return _largest_margin(problem, own, tolerance, max_rounds)
    if not isinstance(problem.likelihood, Hinge):
        raise InvalidProblemError(f"A support vector machine has a hinge, not {problem.likelihood}: use Hinge(C).")
    return _machine(problem, shared_residual(problem), problem.likelihood.C, tolerance, max_rounds, start)


def hard_margin(problem: Problem, tolerance: float = 1e-10, max_rounds: int = 200) -> SupportVectors:
    """The machine with the largest margin (BPM 14): that of C = infinity, on the walls of a step likelihood.

    With a softness the walls see ``K + softness I``, and the machine is the one with quadratic slack.

    Parameters
    ----------
    problem : Problem
        With a `Step` likelihood without label noise. Weights of a hard wall change nothing.
    tolerance, max_rounds
        As for `support_vectors`.

    Returns
    -------
    SupportVectors
        Scaled to ``min_i y_i h_i = 1`` (BPM 15) by what the walls see, ``h = (K + softness I) (y alpha)``.

    Raises
    ------
    EmptyVersionSpaceError
        If no function of the kernel separates the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines.svm import hard_margin
    >>> hard_margin(Problem(np.diag([1.0, 4.0]), [1, -1], Step())).alpha
    array([1.  , 0.25])
    """
    if problem.likelihood.kind not in ("hard", "soft"):
        raise InvalidProblemError(
            f"The largest margin belongs to version space, not to {problem.likelihood}: use Step without noise."
        )
    return _largest_margin(problem, _shared(problem, problem.own), tolerance, max_rounds)


def _largest_margin(problem: Problem, own: Array, tolerance: float, max_rounds: int) -> SupportVectors:
    """Of the Gram matrix with `own` on its diagonal, by prices that rise until no row pays."""
    price = _DEAR / float(np.mean(problem.diag + own))
    for attempt in range(_PRICES):
        is_last = attempt == _PRICES - 1
        with nullcontext() if is_last else heard_by(nobody):  # a price at which it stops short is no price
            found = _machine(problem, own, price, tolerance, max_rounds)
        if not len(found.hard):
            return found._replace(cap=np.full(problem.size, np.inf))
        if attempt == 0:
            problem.raise_if_empty()
        price *= 100  # some row still pays rather than keep the margin
    raise InvalidProblemError("The margin is too thin to be found within rounding: raise softness above 0.")


def geometric_margin(problem: Problem, weights: Array) -> float:
    """The margin ``min_i y_i <x_i, w> / |w|`` (BPM 13) of the vector ``w = sum_i weights_i x_i`` in feature space.

    With a softness it is that of the walls, on ``K + softness I``. On rows of unit length it is the sine of the angle
    to the nearest wall of version space, and negative outside of it.

    Parameters
    ----------
    problem : Problem
        Its likelihood is asked for its softness alone.
    weights : ndarray of shape (n,)
        Signed weights of the rows, such as `readouts.bayes_point`.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines.svm import geometric_margin
    >>> problem = Problem(np.eye(2), [1, -1], Step())
    >>> round(geometric_margin(problem, np.array([3.0, -4.0])), 12)
    0.6
    """
    seen = problem.gram.times(weights) + _shared(problem, problem.own) * weights
    return float(np.min(problem.y * seen) / np.sqrt(weights @ seen))


def _machine(
    problem: Problem, own: Array, C: float, tolerance: float, max_rounds: int, start: Array | None = None
) -> SupportVectors:
    """Solve the dual of the Gram matrix with `own` on its diagonal; warn if it stops short."""
    y = problem.y
    gram, diag = _Signed(problem.gram, y, own), problem.diag + own
    cap = C * problem.exponents
    rungs = _rungs(cap * diag) if start is None else 0
    alpha = np.zeros(problem.size) if start is None else np.clip(start, 0.0, cap)
    void = diag <= 0  # a latent that is always zero violates the margin
    alpha[void] = cap[void] / 4.0**rungs
    with blas_threads_for(0):  # many small solves: threads would only wait for each other
        for rung in range(rungs, 0, -1):  # climb to a large C by way of smaller ones
            _solve_dual(gram, cap / 4.0**rung, alpha, _LOOSE, max_rounds)
            alpha *= 4.0  # without rounding: what was hard is hard
        pull, violation, rounds, solved = _solve_dual(gram, cap, alpha, tolerance, max_rounds)
    if not solved:
        tell(
            f"The support vector machine stopped after {max_rounds} rounds with margins off by {violation:.1g}: "
            "lower C or the amplitude of the kernel.",
            stacklevel=3,
        )
    return SupportVectors(alpha, y * (1.0 - pull), cap, violation, rounds)


def _rungs(stiffness: Array) -> int:
    """How often to divide C by four until coordinate descent is fast."""
    largest = float(stiffness.max(initial=_STIFF))
    return math.ceil(math.log(largest / _STIFF, 4))


@dataclass(frozen=True)
class _Signed:
    """The matrix ``y_i K_ij y_j`` of the dual, residuals on its diagonal."""

    gram: Gram
    y: Array
    residual: Array

    @cached_property
    def _held(self) -> Array | None:
        """The matrix, if it is in memory: compiled loops then take what they need of it without a copy."""
        return self.gram.by_rows().held

    @cached_property
    def lengths(self) -> Array:
        return np.sqrt(np.maximum(self.gram.diag, 0.0) + self.residual)

    def margins(self, alpha: Array) -> Array:
        """``y_i f_i`` of the function with these weights."""
        if self._held is None:
            return self.y * self.gram.times(self.y * alpha) + self.residual * alpha
        latents = np.zeros(len(self.y))
        _add_rows(self._held, self.y * alpha, latents)
        return self.y * latents + self.residual * alpha

    def block(self, rows: Any) -> Array:
        if self._held is None:
            block: Array = self.gram.part(rows).dense * np.multiply.outer(self.y[rows], self.y[rows])
        else:
            block = _signed_block(self._held, self.y, rows)
        block.flat[:: len(rows) + 1] += self.residual[rows]
        return block

    def reach(self, alpha: Array) -> float:
        """No margin is made of terms that add up to more, by Cauchy and Schwarz."""
        return float(self.lengths.max(initial=0.0) * (self.lengths @ alpha))


def _solve_dual(
    gram: _Signed, cap: Array, alpha: Array, tolerance: float, max_rounds: int
) -> tuple[Array, float, int, bool]:
    """Rounds of improvement, in place: the pulls at the end, their violation, how many rounds, and whether solved."""
    pull = 1.0 - gram.margins(alpha)  # what the dual gains by a row's weight, to first order
    violation = np.inf
    for rounds in range(1, max_rounds + 1):
        _improve(gram, cap, alpha, pull, 0.5 * tolerance)
        violation = _violation(pull, alpha, cap)
        if violation <= tolerance + _ROUNDING * gram.reach(alpha):
            pull = 1.0 - gram.margins(alpha)  # free of what has piled up
            violation = _violation(pull, alpha, cap)
            if violation <= tolerance or violation <= _ROUNDING * gram.reach(alpha):
                return pull, violation, rounds, True
    return pull, violation, max_rounds, False


def _violations(pull: Array, alpha: Array, cap: Array) -> Array:
    """How far each row is from its optimality condition."""
    return np.maximum(np.where(alpha < cap, pull, 0.0), np.where(alpha > 0, -pull, 0.0))


def _violation(pull: Array, alpha: Array, cap: Array) -> float:
    """How far the worst row is from its optimality condition, beside the largest margin."""
    largest = max(1.0, float(np.abs(1.0 - pull).max(initial=0.0)))
    return float(_violations(pull, alpha, cap).max(initial=0.0)) / largest


def _improve(gram: _Signed, cap: Array, alpha: Array, pull: Array, tolerance: float) -> None:
    """Solve the dual, nearly, for some of the rows while the others keep their weights. In place.

    The rows are the marginal ones, some that violate their conditions, and some that would if the worst violation were
    cured: where rows of both labels share a place, only weights that grow on both sides get anywhere. They are taken
    evenly from all of them: the worst ones are often neighbours, of which one step cures all.
    """
    marginal = (alpha > 0) & (alpha < cap)
    violations = _violations(pull, alpha, cap)
    short = ~marginal & (violations > tolerance)
    next_ones = ~marginal & ~short & (np.abs(pull) <= violations.max(initial=0.0))
    most = max(_NEWCOMERS, len(alpha) // _SHARE)
    others = np.concatenate([_evenly(np.flatnonzero(some), most) for some in (short, next_ones)])
    rows = np.union1d(np.flatnonzero(marginal), others)
    block = gram.block(rows)
    new = alpha[rows]
    _descend(block, cap[rows], new, pull[rows], tolerance, _SWEEPS)
    _solve_marginal(block, cap[rows], new, pull[rows] - block @ (new - alpha[rows]))
    before = alpha.copy()
    alpha[rows] = new
    pull -= gram.margins(alpha - before)


def _evenly(rows: Any, most: int) -> Any:
    """At most so many of the rows, from beginning to end."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]


def _solve_marginal(block: Array, cap: Array, alpha: Array, pull: Array) -> None:
    """Put all marginal rows on the margin at once, or go towards it as far as it helps within the box. In place.

    Where there are more of them than the kernel has dimensions, the dual is flat in some directions: along these it
    falls until some row meets its bound and is marginal no longer.
    """
    start, bends = alpha.copy(), 1
    while bends:  # a bend costs a row its place among the marginal ones
        free = np.flatnonzero((alpha > 0) & (alpha < cap))
        if not free.size:
            return
        gap = pull[free] - block[free] @ (alpha - start)
        part = block[np.ix_(free, free)]
        _, step, singular = lapack.dposv(part, gap, lower=1)
        if singular:
            step = _step_of_low_rank(part, gap)
        new = alpha[free]
        bends = _walk(part, gap, step, cap[free], new)
        alpha[free] = new


def _step_of_low_rank(block: Array, gap: Array) -> Array:
    """A step onto the margin by a largest set of independent rows, and far out where the dual is flat and falls.

    With ``L`` the pivoted factor of the independent rows and ``B`` that of the others, which depend on them, the dual
    is flat where independent rows make up for the others' weights: ``L' step = L^-1 gap - B' (step of others)``.
    """
    rounding = _ROUNDING * len(block) * float(np.diagonal(block).max())
    factor, pivots, rank, _ = lapack.dpstrf(block, tol=rounding, lower=1)
    independent, others = np.split(pivots - 1, [rank])
    solved = solve_triangular(factor[:rank, :rank], gap[independent], lower=True)
    left = gap[others] - factor[rank:, :rank] @ solved
    step = np.zeros(len(gap))
    if float(np.linalg.norm(left)) > 1e-9 * max(float(np.linalg.norm(gap)), 1e-9):
        step[others] = left / rounding
        solved -= factor[rank:, :rank].T @ step[others]
    step[independent] = solve_triangular(factor[:rank, :rank], solved, lower=True, trans=1)
    return step


def shared_residual(problem: Problem) -> Array:
    """Residuals of the rows. Copies of a row have one each and share its weight, so that each tells less of the sum."""
    return np.zeros(problem.size) if problem.residual is None else _shared(problem, problem.residual)


def _shared(problem: Problem, own: Array) -> Array:
    return own if problem.weights is None else own / problem.weights.copies


@compiled(nogil=True)
def _add_rows(gram, weights, total):  # type: ignore[no-untyped-def]
    """Add a weighted sum of rows to `total`: the time goes with the number of weights that are not zero."""
    for i in range(len(weights)):
        if weights[i] != 0.0:
            weight, row = weights[i], gram[i]
            for j in range(len(total)):
                total[j] += weight * row[j]


@compiled(nogil=True)
def _signed_block(gram, y, rows):  # type: ignore[no-untyped-def]
    """``y_i K_ij y_j`` of some rows."""
    block = np.empty((len(rows), len(rows)))
    for a, i in enumerate(rows):
        row = gram[i]
        for b, j in enumerate(rows):
            block[a, b] = y[i] * y[j] * row[j]
    return block


@compiled(nogil=True)
def _descend(block, cap, alpha, pull, tolerance, max_sweeps):  # type: ignore[no-untyped-def]
    """Cyclic coordinate descent on the dual: each row in turn gets the weight that suits the others'. In place."""
    for _ in range(max_sweeps):
        worst = 0.0
        for i in range(len(cap)):
            row = block[i]
            if row[i] == 0.0:  # a latent that is always zero keeps its weight
                continue
            new = min(max(alpha[i] + pull[i] / row[i], 0.0), cap[i])
            move = new - alpha[i]
            if move != 0.0:
                worst = max(worst, abs(move) * row[i])
                alpha[i] = new
                for j in range(len(cap)):
                    pull[j] -= move * row[j]
        if worst <= tolerance:
            return


@compiled(nogil=True)
def _walk(block, gap, step, cap, alpha):  # type: ignore[no-untyped-def]
    """Follow `step`, bent where weights meet their bounds, while the dual falls. In place; the number of bends."""
    ends = np.full(len(step), np.inf)
    for i in range(len(step)):
        if step[i] != 0.0:
            ends[i] = ((cap[i] if step[i] > 0.0 else 0.0) - alpha[i]) / step[i]
    curve = np.zeros(len(step))
    _add_rows(block, step, curve)
    far, bends = 0.0, 0
    while bends < len(step):
        slope, curvature, first = 0.0, 0.0, 0
        for i in range(len(step)):
            slope += gap[i] * step[i]
            curvature += step[i] * curve[i]
            first = i if ends[i] < ends[first] else first
        length = ends[first] - far
        if slope <= 0.0 or length == np.inf:
            break
        if slope < curvature * length:
            far += slope / curvature
            break
        for i in range(len(step)):
            gap[i] -= length * curve[i]
            curve[i] -= step[first] * block[first, i]
        alpha[first] = cap[first] if step[first] > 0.0 else 0.0
        far, step[first], ends[first] = ends[first], 0.0, np.inf
        bends += 1
    for i in range(len(step)):
        alpha[i] = min(max(alpha[i] + far * step[i], 0.0), cap[i])
    return bends
