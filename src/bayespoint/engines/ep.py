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

import warnings
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas

from .._threads import blas_threads_for
from .._typing import Array
from ..exceptions import InferenceWarning, InvalidProblemError
from ..natural import NaturalGaussian
from ..posteriors import EvidenceGradient, GaussianPosterior, LowRankSiteFactor, SiteFactor
from ..problem import Problem
from ._gaussians import SiteGaussian, dense_gaussian, low_rank_gaussian

__all__ = ["EP"]

_SETTLED = 1e-3  # an error that rounding can leave on an ill-conditioned Gram matrix, and that no figure shows
_ALARMING = 5e-2  # an error, over all sites together, that may show in probabilities
_TURNS = 20  # of the copies of a row, one after the other; more of them move in groups
_PATIENCE = 15  # sweeps without progress after which a settled result is taken


@dataclass(frozen=True)
class EP:
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

    def infer(self, problem: Problem, rng: Any = None, *, start: GaussianPosterior | None = None) -> GaussianPosterior:
        """Posterior of `problem`.

        Parameters
        ----------
        problem : Problem
            What to solve.
        rng : ignored
            Expectation propagation is deterministic; every engine takes a source of randomness.
        start : GaussianPosterior, optional
            Sites to start from: the posterior of a problem with the same rows and a similar kernel or likelihood.

        Returns
        -------
        GaussianPosterior
        """
        with blas_threads_for(problem.size):
            return self._infer(problem, start)

    def _infer(self, problem: Problem, start: GaussianPosterior | None) -> GaussianPosterior:
        hard = problem.hard  # residuals are a softness of each row's own
        if not problem.diag[hard].all():
            problem.raise_if_empty()
        rows = _Rows.of(problem)
        sites = _Sites.zero(problem.size) if start is None else _Sites(start.tau / rows.copies, start.nu / rows.copies)
        state, sweeps = self._parallel(rows, sites)
        how = "parallel"
        if hard.any() and not (state.error <= _SETTLED and np.all(problem.y[hard] * state.mean[hard] > 0)):
            problem.raise_if_empty()
        if not state.error <= _SETTLED:
            state, more = self._sequential(rows, state)
            sweeps, how = sweeps + more, "sequential"
        if not state.error <= _ALARMING:
            warnings.warn(
                f"Expectation propagation stopped after {sweeps} sweeps with sites still moving by {state.error:.1g} "
                f"(tolerance {self.tolerance:.1g}): probabilities and evidence may be off; "
                f"{problem.likelihood.remedy}, or sample with another engine.",
                InferenceWarning,
                stacklevel=3,
            )
        return _posterior(problem, rows, state, {"sweeps": sweeps, "updates": how, "error": state.error})

    def _parallel(self, rows: _Rows, sites: _Sites) -> tuple[_State, int]:
        """Sweeps over all sites at once until they stand still, or stop getting better."""
        state = _evaluate(rows, sites)
        if state is None:  # a bad start: begin at the prior
            sites = _Sites.zero(rows.size)
            state = _evaluate(rows, sites)
            assert state is not None
        return self._sweeps(rows, state)

    def _sweeps(self, rows: _Rows, state: _State) -> tuple[_State, int]:
        """`_parallel` from sites that have been evaluated already."""
        mixing = _Anderson(self.memory, rows.copies)
        best, idle, damping = state, 0, 1.0
        for sweep in range(1, self.max_sweeps + 1):
            if state.error <= self.tolerance or (best.error <= _SETTLED and idle > _PATIENCE):
                return best, sweep - 1
            if (
                idle > 8 and best.error > _SETTLED
            ):  # many copies overshoot together: from the best point, in smaller steps
                state, idle, damping = best, 0, 0.3 * damping
                mixing = _Anderson(self.memory, rows.copies)
            proposal = mixing.propose(state) if sweep > 1 and damping == 1.0 else state.target
            if rows.log_concave:  # extrapolation must not leave the cone of proper sites
                proposal = proposal.where(proposal.tau >= 0, state.target)
            if damping < 1.0:
                proposal = state.sites.towards(proposal, damping)
            new = _evaluate_or_back_off(rows, state.sites, proposal)
            if new is None:
                return best, sweep
            state = new
            idle = 0 if state.error < 0.9 * best.error else idle + 1
            best = state if state.error < best.error else best
        return best, self.max_sweeps

    def _sequential(self, rows: _Rows, state: _State) -> tuple[_State, int]:
        """Sweeps that update one site at a time, each followed by a rank-one update of the covariance."""
        best = state
        for sweep in range(1, self.max_sweeps // 4 + 1):
            sites = _sequential_sweep(rows, state)
            new = _evaluate_or_back_off(rows, state.sites, sites)
            if new is None:
                return best, sweep
            state = new
            best = state if state.error < best.error else best
            if best.error <= max(self.tolerance, 0.1 * _SETTLED):
                return best, sweep
        return best, self.max_sweeps // 4


class _Rows(NamedTuple):
    """The problem as the loops see it."""

    gram: Array | None  # None for a low-rank problem
    root: Array | None
    prior: NaturalGaussian | None
    residual: Array | None
    diag: Array
    y: Array
    likelihood: Any
    copies: Array
    power: Array
    log_concave: bool

    @classmethod
    def of(cls, problem: Problem) -> _Rows:
        ones = np.ones(problem.size)
        copies, power = (ones, ones) if problem.weights is None else problem.weights
        gram, diag = None if problem.root is not None else problem.dense, problem.diag.copy()
        if not diag.all():  # a latent that is always zero: let it move by next to nothing, so that it has a marginal
            diag[diag == 0] = 1e-12 * (diag.max() or 1.0)
            if gram is not None:
                gram = gram.copy()
                np.fill_diagonal(gram, diag)
        likelihood = problem.likelihood
        log_concave = likelihood.is_log_concave
        low_rank = problem.root, problem.prior, problem.residual
        return cls(gram, *low_rank, diag, problem.y, likelihood, copies, power, log_concave)

    @property
    def size(self) -> int:
        return len(self.y)

    def pick(self, coordinates: Array, i: int) -> Array:
        """The i-th latent out of coordinates along the last axis."""
        picked: Array = coordinates[..., i] if self.root is None else coordinates @ self.root[i]
        return picked

    def match(self, cavity_mean: Array, cavity_var: Array, some: Any = slice(None)) -> tuple[Array, Array, Array]:
        """Log-normalisers, and sites on the latents, or on that part of them that the coordinates have.

        The likelihood sees the latent with its residual; a site of precision tau there is one of precision
        ``1 / (1 / tau + residual)`` and the same mean here.
        """
        if self.residual is None:
            return self.likelihood.site(self.y[some], cavity_mean, cavity_var, self.power[some])
        own = self.residual[some]
        log_z, tau, nu = self.likelihood.site(self.y[some], cavity_mean, cavity_var + own, self.power[some])
        shrink = 1 / (1 + tau * own)
        return log_z, tau * shrink, nu * shrink

    def gaussian(self, tau: Array, nu: Array) -> SiteGaussian | None:
        if self.root is not None:
            return low_rank_gaussian(self.root, self.diag, tau, nu, self.prior)
        assert self.gram is not None
        return dense_gaussian(self.gram, self.diag, tau, nu)


class _Sites(NamedTuple):
    """Natural parameters of one copy of each site."""

    tau: Array
    nu: Array

    @classmethod
    def zero(cls, n: int) -> _Sites:
        return cls(np.zeros(n), np.zeros(n))

    def where(self, condition: Any, other: _Sites) -> _Sites:
        return _Sites(np.where(condition, self.tau, other.tau), np.where(condition, self.nu, other.nu))

    def towards(self, other: _Sites, step: float) -> _Sites:
        return _Sites(self.tau + step * (other.tau - self.tau), self.nu + step * (other.nu - self.nu))


class _State(NamedTuple):
    """Sites, the Gaussian they make, the sites that moment matching asks for, and how far these are."""

    sites: _Sites
    factor: SiteFactor | LowRankSiteFactor
    alpha: Array
    mean: Array
    var: Array
    cavity_mean: Array
    cavity_var: Array
    log_z: Array
    target: _Sites
    error: float


def _evaluate(rows: _Rows, sites: _Sites) -> _State | None:
    """One sweep's worth of work: marginals, cavities, matched sites. None if the Gaussian is not proper."""
    tau, nu = rows.copies * sites.tau, rows.copies * sites.nu
    built = rows.gaussian(tau, nu)
    if built is None:
        return None
    factor, alpha, mean, var = built
    return _matched(rows, sites, factor, alpha, mean, var)


def _matched(rows: _Rows, sites: _Sites, factor: Any, alpha: Array, mean: Array, var: Array) -> _State | None:
    """Cavities of given marginals, and the sites that moment matching asks for."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cavity_precision = 1 / var - sites.tau
        cavity_mean = (mean / var - sites.nu) / cavity_precision
    if not (np.all(var > 0) and np.all(cavity_precision > 0) and np.isfinite(cavity_mean).all()):
        return None
    cavity_var = 1 / cavity_precision
    log_z, new_tau, new_nu = rows.match(cavity_mean, cavity_var)
    target = _Sites(np.maximum(new_tau, 0.0) if rows.log_concave else new_tau, new_nu)
    if not (np.isfinite(target.tau).all() and np.isfinite(target.nu).all()):
        return None
    change = np.square((target.tau - sites.tau) * var) + np.square(target.nu - sites.nu) * var
    error = float(np.sqrt((rows.copies * change).sum()))
    return _State(sites, factor, alpha, mean, var, cavity_mean, cavity_var, log_z, target, error)


def _evaluate_or_back_off(rows: _Rows, old: _Sites, new: _Sites) -> _State | None:
    """`_evaluate`, halving the step from `old` to `new` until the Gaussian is proper."""
    for halvings in range(12):
        state = _evaluate(rows, old.towards(new, 0.5**halvings) if halvings else new)
        if state is not None:
            return state
    return None


class _Anderson:
    """Anderson mixing: the next sites from the residuals of the last sweeps, rows weighted by their copies."""

    def __init__(self, memory: int, copies: Array) -> None:
        self.memory, self.weight = memory, np.sqrt(np.r_[copies, copies])
        self.targets: list[Array] = []
        self.residuals: list[Array] = []

    def propose(self, state: _State) -> _Sites:
        target = np.r_[state.target.tau, state.target.nu]
        residual = target - np.r_[state.sites.tau, state.sites.nu]
        keep = slice(-self.memory - 1, None)
        self.targets = [*self.targets, target][keep]
        self.residuals = [*self.residuals, residual][keep]
        if self.memory == 0 or len(self.targets) < 2:
            return state.target
        scale = self.weight * np.r_[state.var, np.sqrt(state.var)]
        d_residual = np.diff(self.residuals, axis=0) * scale
        normal = np.einsum("ik,jk->ij", d_residual, d_residual)
        normal.flat[:: len(normal) + 1] += 1e-10 * np.trace(normal) + np.finfo(float).tiny
        gamma = np.linalg.solve(normal, np.einsum("ik,k->i", d_residual, residual * scale))
        mixed = target - np.einsum("i,ik->k", gamma, np.diff(self.targets, axis=0))
        return _Sites(*np.split(mixed, 2))


def _sequential_sweep(rows: _Rows, state: _State) -> _Sites:
    """One pass over the sites in order, the covariance of the coordinates kept up to date by rank-one changes."""
    cov, coordinates = _coordinates(rows, state)
    tau, nu = state.sites.tau.copy(), state.sites.nu.copy()
    for i in range(rows.size):
        column = np.array(rows.pick(cov, i))
        var, mean = float(rows.pick(column, i)), float(rows.pick(coordinates, i))
        if not (var > 0 and 1 / var > tau[i]):
            continue
        t, v = _copies_in_turn(rows, i, _Marginal(mean, var), tau[i], nu[i])
        d_tau, d_nu = rows.copies[i] * (t - tau[i]), rows.copies[i] * (v - nu[i])
        if not (np.isfinite(d_tau + d_nu) and 1 + d_tau * var > 1e-8):
            continue
        # mean' = mean + cov' e_i (d_nu - d_tau mean_i), cov' = cov - column column' d_tau / (1 + d_tau var)
        coordinates += column * ((d_nu - d_tau * mean) / (1 + d_tau * var))
        cov = blas.dger(-d_tau / (1 + d_tau * var), column, column, a=cov, overwrite_a=1)
        tau[i], nu[i] = t, v
    return _Sites(tau, nu)


class _Marginal(NamedTuple):
    mean: float
    var: float


def _copies_in_turn(rows: _Rows, i: int, marginal: _Marginal, tau: float, nu: float) -> tuple[float, float]:
    """The site of a row's copies after each of them had its turn, as rows of their own have.

    A copy moves the marginal before the next one looks at it; all of them at once overshoot by their number. What the
    shared site is after a turn is the mean of the copies' sites. Many copies take their turn in equal groups.
    """
    copies, one = float(rows.copies[i]), slice(i, i + 1)
    turns = min(ceil(copies), _TURNS)
    for _ in range(turns):
        precision = 1 / marginal.var - tau
        if not precision > 0:
            break
        cavity_mean = np.array([(marginal.mean / marginal.var - nu) / precision])
        _, t, v = rows.match(cavity_mean, np.array([1 / precision]), one)
        d_tau, d_nu = copies / turns * (t[0] - tau), copies / turns * (v[0] - nu)
        grown = 1 + d_tau * marginal.var
        if not (np.isfinite(d_tau + d_nu) and grown > 1e-8):
            break
        tau, nu = tau + d_tau / copies, nu + d_nu / copies
        marginal = _Marginal((marginal.mean + marginal.var * d_nu) / grown, marginal.var / grown)
    return tau, nu


def _coordinates(rows: _Rows, state: _State) -> tuple[Array, Array]:
    """Posterior covariance and mean of the latents, or of the coordinates of a low-rank problem."""
    if rows.root is None:
        gram: Any = rows.gram
        cov = gram - blas.dgemm(1.0, blas.dgemm(1.0, gram.T, state.factor.dense()), gram.T)
        return np.asfortranarray(cov), state.mean.copy()
    assert isinstance(state.factor, LowRankSiteFactor)
    return np.asfortranarray(state.factor.root.T @ state.factor.root), state.factor.centre.copy()


def _posterior(problem: Problem, rows: _Rows, state: _State, info: dict[str, Any]) -> GaussianPosterior:
    """The result, with the evidence ``Z(q)/Z(prior) prod_i [Z_i exp(F(cavity_i) - F(marginal_i))]^copies_i``.

    F(N(m, v)) = log v / 2 + m^2 / (2 v) is the log-normaliser in natural parameters. The evidence is stationary in the
    sites, so its gradient holds them fixed.
    """
    tau, nu = rows.copies * state.sites.tau, rows.copies * state.sites.nu
    log_evidence = -0.5 * state.factor.log_det + 0.5 * float((nu * state.mean).sum()) + _rows_evidence(rows, state)
    if rows.prior is not None:
        assert isinstance(state.factor, LowRankSiteFactor)
        log_evidence += 0.5 * float(rows.prior.shift @ (state.factor.centre - rows.prior.mean))
    if not np.isfinite(log_evidence):
        raise InvalidProblemError(
            f"Expectation propagation broke down: rescale the kernel, or {rows.likelihood.remedy}."
        )
    seen_var = state.cavity_var if rows.residual is None else state.cavity_var + rows.residual
    by_parameter = rows.likelihood.log_normaliser_gradient(rows.y, state.cavity_mean, seen_var, rows.power)
    gradient = EvidenceGradient(
        state.alpha,
        state.factor,
        {name: float((rows.copies * d).sum()) for name, d in by_parameter.items()},
        None if rows.residual is None else _by_residual(rows, state),
    )
    return GaussianPosterior(
        problem, state.alpha, state.mean, state.var, tau, nu, state.factor, log_evidence, gradient, info
    )


def _by_residual(rows: _Rows, state: _State) -> Array:
    """Derivative of the log-evidence in each row's residual: ``d log Z / dv = (d2 + d1^2) / 2`` at its cavity."""
    tau, nu = state.sites
    spread = 1 + tau * state.cavity_var
    first, second = (nu - tau * state.cavity_mean) / spread, -tau / spread
    slope: Array = 0.5 * rows.copies * (second + first**2)
    return slope


def _rows_evidence(rows: _Rows, state: _State) -> float:
    """What the rows add to the log-evidence: ``sum_i copies_i log[Z_i exp(F(cavity_i) - F(marginal_i))]``."""
    exchange = 0.5 * (
        np.log(state.cavity_var / state.var) + state.cavity_mean**2 / state.cavity_var - state.mean**2 / state.var
    )
    return float((rows.copies * (state.log_z + exchange)).sum())
