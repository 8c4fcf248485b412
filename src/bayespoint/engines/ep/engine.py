"""Expectation propagation: the deterministic engine of the house.

Each row keeps a site ``exp(nu f - tau f^2 / 2)``. A sweep removes every site from its marginal (the cavity), matches
the moments of cavity times likelihood, and puts the new site back (Rasmussen & Williams, Algorithm 3.5). All sites
move at once, so a sweep is a Cholesky decomposition and a triangular inverse; Anderson mixing of the last sweeps takes
the place of damping. Where that fails the sites move one at a time with rank-one updates.

A row of weight w is as many identical rows: w >= 1 copies share one site of which the cavity removes a single copy; a
weight below one is a likelihood raised to that power.

All linear algebra in the loop goes through scipy's BLAS: mixing it with numpy's own makes two thread pools fight for
the cores (seen: three times slower).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar

import numpy as np

from ..._core.telling import tell
from ..._core.threads import blas_threads_for
from ..._core.typing import Array
from ...exceptions import InvalidProblemError
from ...posteriors import EvidenceGradient, GaussianPosterior
from ...problem import Problem
from ..base import Engine
from .classes import ClassRows, class_posterior, evaluate_classes, means_ahead
from .sites import ALARMING, SETTLED, SiteRows, Sites, State, as_it_is, back_off, evaluate, rows_evidence, settle

__all__ = ["EP", "posterior_of_state"]

_TURNS = 20  # of the copies of a row, one after the other; more of them move in groups


@dataclass(frozen=True)
class EP(Engine):
    """Expectation propagation for a factorised likelihood.

    Parameters
    ----------
    tolerance : float, default=1e-6
        Change of the sites in units of their marginals (root of the sum of squares) at which the sweeps stop. On an
        ill-conditioned Gram matrix rounding may not let it get that small; then they stop when it no longer falls.
    max_sweeps : int, default=100
        Parallel sweeps before sites are updated one at a time, for a quarter as many sweeps at the most.
    memory : int, default=3
        Sweeps that Anderson mixing looks back on; 0 turns it off.
    fallback : bool, default=True
        Whether sites are updated one at a time, which takes long, where they do not settle all at once.

    Examples
    --------
    Two independent points on a hard boundary have a quarter of the prior's volume.

    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import EP
    >>> posterior = EP().infer(Problem(np.eye(2), [1, -1], Step()))
    >>> round(float(posterior.log_evidence / np.log(0.25)), 9)
    1.0
    """

    tolerance: float = 1e-6
    max_sweeps: int = 100
    memory: int = 3
    fallback: bool = True

    takes_classes: ClassVar[bool] = True
    gives_evidence: ClassVar[bool] = True
    can_grow: ClassVar[bool] = True

    def infer(self, problem: Problem, rng: Any = None, *, start: GaussianPosterior | None = None) -> GaussianPosterior:
        """Posterior of `problem`; from the sites of `start`, that of the same rows with a similar kernel or likelihood.

        It is deterministic: `rng` is there because every engine has it.
        """
        self.check(problem)
        if problem.n_classes is not None:
            return self._infer_classes(problem, start)
        hard = problem.hard
        if hard.any() and not problem.gram.diag[hard].all():
            problem.raise_if_empty()
        rows = SiteRows.of(problem.gram, problem.y, problem.likelihood, problem.weights)
        sites = nothing = Sites(*np.zeros((2, problem.size)))
        if start is not None:
            sites = Sites(start.tau / rows.copies, start.nu / rows.copies)
        with blas_threads_for(problem.size, problem.gram.rank):
            state = evaluate(rows, sites) or evaluate(rows, nothing)  # from a bad start back to the prior
            assert state is not None
            state, sweeps = settle(rows, state, self.tolerance, self.max_sweeps, self.memory)
            how = "parallel"
            if hard.any() and not (state.error <= SETTLED and np.all(problem.y[hard] * state.mean[hard] > 0)):
                problem.raise_if_empty()
            if self.fallback and not state.error <= max(SETTLED, self.tolerance):
                state, more = self._sequential(rows, state)
                sweeps, how = sweeps + more, "sequential"
            if not state.error <= ALARMING:
                self._warn_of_motion(problem, state, sweeps)
            info = {"sweeps": sweeps, "updates": how, "error": state.error}
            return posterior_of_state(problem, rows, state, info, self)

    def _infer_classes(self, problem: Problem, start: Any) -> Any:
        """The same with a latent for each class."""
        hard = problem.hard
        if hard.any() and not problem.diag[hard].all():
            problem.raise_if_empty()
        rows: Any = ClassRows.of(problem)
        sites = rows.first() if start is None else Sites(start.tau.ravel(), start.nu.ravel())
        with blas_threads_for(problem.size, problem.gram.rank):
            state = evaluate_classes(rows, sites) or evaluate_classes(rows, Sites(*np.zeros((2, len(rows.copies)))))
            assert state is not None
            ahead = as_it_is if rows.in_pairs else means_ahead
            state, sweeps = settle(
                *(rows, state, self.tolerance, self.max_sweeps, self.memory), evaluate_classes, ahead
            )
            right = state.mean.argmax(axis=1) == problem.y
            if hard.any() and not (state.error <= SETTLED and np.all(right[hard])):
                problem.raise_if_empty()
            if not state.error <= ALARMING:
                self._warn_of_motion(problem, state, sweeps)
            info = {"sweeps": sweeps, "updates": "parallel", "error": state.error}
            return class_posterior(problem, rows, state, info, self)

    def _warn_of_motion(self, problem: Problem, state: State, sweeps: int) -> None:
        tell(
            f"Expectation propagation stopped after {sweeps} sweeps with sites still moving by "
            f"{state.error:.1g} (tolerance {self.tolerance:.1g}): probabilities and evidence may be off; "
            f"{problem.likelihood.remedy}, or sample with another engine.",
            stacklevel=3,
        )

    def _sequential(self, rows: SiteRows, state: State) -> tuple[State, int]:
        """Sweeps that update one site at a time, each followed by a rank-one update of the covariance."""
        best = state
        for sweep in range(1, self.max_sweeps // 4 + 1):
            proposal = _one_by_one(rows, state)
            new = evaluate(rows, proposal) or back_off(rows, state, proposal)
            if new is None:
                return best, sweep
            state = new
            best = state if state.error < best.error else best
            if best.error <= max(self.tolerance, 0.1 * SETTLED):
                return best, sweep
        return best, self.max_sweeps // 4


def _one_by_one(rows: SiteRows, state: State) -> Sites:
    """One pass over the sites in order, the Gaussian kept up to date by rank-one changes."""
    running = state.gaussian.one_by_one()
    tau, nu = state.sites.tau.copy(), state.sites.nu.copy()
    for i in range(len(rows.y)):
        mean, var, column = running.marginal(i)
        if not (var > 0 and 1 / var > tau[i]):
            continue
        t, v = _copies_in_turn(rows, i, mean, var, tau[i], nu[i])
        d_tau, d_nu = rows.copies[i] * (t - tau[i]), rows.copies[i] * (v - nu[i])
        if not (np.isfinite(d_tau + d_nu) and 1 + d_tau * var > 1e-8):
            continue
        running.change(d_tau, d_nu, (mean, var, column))
        tau[i], nu[i] = t, v
    return Sites(tau, nu)


def _copies_in_turn(rows: SiteRows, i: int, mean: float, var: float, tau: float, nu: float) -> tuple[float, float]:
    """The site of a row's copies after each of them had its turn, as rows of their own have.

    A copy moves the marginal before the next one looks at it; all of them at once overshoot by their number. What the
    shared site is after a turn is the mean of the copies' sites. Many copies take their turn in equal groups.
    """
    copies, row = float(rows.copies[i]), rows.some(slice(i, i + 1))
    turns = min(ceil(copies), _TURNS)
    for _ in range(turns):
        state = evaluate(row, Sites(*np.array([[tau], [nu]])), moments=(np.array([mean]), np.array([var])))
        if state is None:
            break
        d_tau, d_nu = copies / turns * (state.target.tau[0] - tau), copies / turns * (state.target.nu[0] - nu)
        grown = 1 + d_tau * var
        if not grown > 1e-8:
            break
        tau, nu = tau + d_tau / copies, nu + d_nu / copies
        mean, var = (mean + var * d_nu) / grown, var / grown
    return tau, nu


def posterior_of_state(
    problem: Problem, rows: SiteRows, state: State, info: dict[str, Any], engine: EP
) -> GaussianPosterior:
    """The result, with the evidence ``Z(q)/Z(prior) prod_i [Z_i exp(F(cavity_i) - F(marginal_i))]^copies_i``.

    F(N(m, v)) = log v / 2 + m^2 / (2 v) is the log-normaliser in natural parameters. The evidence is stationary in the
    sites, so its gradient holds them fixed.
    """
    gaussian = state.gaussian
    tau, nu = rows.copies * state.sites.tau, rows.copies * state.sites.nu
    log_evidence = gaussian.log_ratio + rows_evidence(rows, state)
    if not np.isfinite(log_evidence):
        raise InvalidProblemError(
            f"Expectation propagation broke down: rescale the kernel, or {rows.likelihood.remedy}."
        )
    seen_var = state.cavity_var + rows.residual
    by_parameter = rows.likelihood.log_normaliser_gradient(rows.y, state.cavity_mean, seen_var, rows.power)
    gradient = EvidenceGradient(
        gaussian.alpha,
        gaussian,
        {name: float((rows.copies * d).sum()) for name, d in by_parameter.items()},
        None if rows.gram.residual is None else _by_residual(rows, state),
    )
    return GaussianPosterior(
        *(problem, gaussian.alpha, state.mean, state.var, tau, nu, gaussian, log_evidence, gradient, info),
        engine=engine,
        error=state.error,
    )


def _by_residual(rows: SiteRows, state: State) -> Array:
    """Derivative of the log-evidence in each row's residual: ``d log Z / dv = (d2 + d1^2) / 2`` at its cavity."""
    tau, nu = state.sites
    spread = 1 + tau * state.cavity_var
    first, second = (nu - tau * state.cavity_mean) / spread, -tau / spread
    slope: Array = 0.5 * rows.copies * (second + first**2)
    return slope
