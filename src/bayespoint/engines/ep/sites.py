"""Sites of expectation propagation: what one sweep works out, and the iteration that lets them settle.

Numbers are lines of Algorithm 3.5 of Rasmussen & Williams (2006), with all sites at once where the book has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..._core.typing import Array
from ...grams import Gram
from ...problem import Weights

__all__ = ["ALARMING", "PATIENCE", "SETTLED", "SiteRows", "Sites", "State", "as_it_is", "evaluate", "settle"]

SETTLED = 1e-3  # an error that rounding can leave on an ill-conditioned Gram matrix, and that no figure shows
ALARMING = 5e-2  # an error, over all sites together, that may show in probabilities
PATIENCE = 15  # sweeps without progress after which a settled result is taken
_IDLE = 8  # sweeps without progress after which smaller steps are taken
_HALVINGS = 12  # of a step towards sites that make no proper Gaussian


class SiteRows(NamedTuple):
    """The problem as the loops see it."""

    gram: Gram
    y: Array
    likelihood: Any
    copies: Array
    power: Array
    residual: Array  # zero where the Gram matrix has all of a row's variance

    @classmethod
    def of(cls, gram: Gram, y: Array, likelihood: Any, weights: Weights | None) -> SiteRows:
        """From the parts of a problem."""
        copies, power = np.ones((2, len(y))) if weights is None else weights
        return cls(gram, y, likelihood, copies, power, np.zeros(len(y)) if gram.residual is None else gram.residual)

    def some(self, which: Any) -> SiteRows:
        """Some of the rows, without their Gram matrix."""
        nothing: Any = None
        arrays = (self.y[which], self.copies[which], self.power[which], self.residual[which])
        return SiteRows(nothing, arrays[0], self.likelihood, *arrays[1:])


class Sites(NamedTuple):
    """Natural parameters of one copy of each site."""

    tau: Array
    nu: Array

    def towards(self, other: Sites, step: float) -> Sites:
        """A part of the way to other sites."""
        return Sites(self.tau + step * (other.tau - self.tau), self.nu + step * (other.nu - self.nu))


class State(NamedTuple):
    """Sites, the Gaussian they make, the sites that moment matching asks for, and how far these are."""

    sites: Sites
    gaussian: Any
    mean: Array
    var: Array
    cavity_mean: Array
    cavity_var: Array
    log_z: Array
    target: Sites
    error: float

    @classmethod
    def improper(cls, sites: Sites, mean: Array, var: Array) -> State:
        """Of sites that make no proper Gaussian."""
        nothing: Any = None
        return cls(sites, nothing, mean, var, nothing, nothing, nothing, sites, np.inf)


def evaluate(
    rows: SiteRows, sites: Sites, last: State | None = None, moments: tuple[Array, Array] | None = None
) -> State | None:
    """One sweep's worth of work: marginals, cavities, matched sites. None if the Gaussian is not proper.

    Whoever only comes near the marginals may look at the `last` state, and gives their `moments`; else these are worked
    out. The likelihood sees the latent with its residual; a site of precision tau there is one of precision
    ``1 / (1 / tau + residual)`` and the same mean on the part that the Gram matrix has.
    """
    gaussian = None
    if moments is None:
        gaussian = rows.gram.conditioned(rows.copies * sites.tau, rows.copies * sites.nu)  # lines 10 to 12
        if gaussian is None:
            return None
        moments = gaussian.mean, gaussian.variance
    mean, var = moments
    with np.errstate(divide="ignore", invalid="ignore"):
        cavity_precision = 1 / var - sites.tau  # line 4
        cavity_mean = (mean / var - sites.nu) / cavity_precision  # line 5
    if not (np.all(var > 0) and np.all(cavity_precision > 0) and np.isfinite(cavity_mean).all()):
        return None
    cavity_var = 1 / cavity_precision
    seen_var = cavity_var + rows.residual
    log_z, tau, nu = rows.likelihood.site(rows.y, cavity_mean, seen_var, rows.power)  # lines 6 to 8
    shrink = 1 / (1 + tau * rows.residual)
    target = Sites(shrink * (np.maximum(tau, 0.0) if rows.likelihood.is_log_concave else tau), shrink * nu)
    if not (np.isfinite(target.tau).all() and np.isfinite(target.nu).all()):
        return None
    change = np.square((target.tau - sites.tau) * var) + np.square(target.nu - sites.nu) * var
    error = float(np.sqrt((rows.copies * change).sum()))
    return State(sites, gaussian, mean, var, cavity_mean, cavity_var, log_z, target, error)


Look = Callable[[SiteRows, Sites, State], State | None]  # `evaluate`, or something near it


def as_it_is(rows: SiteRows, state: State) -> State:
    """Nothing is cheaper than a sweep."""
    return state


def settle(
    rows: SiteRows,
    state: State,
    tolerance: float,
    max_sweeps: int,
    memory: int = 3,
    look: Look = evaluate,
    ahead: Callable[[SiteRows, State], State] = as_it_is,
) -> tuple[State, int]:
    """Sweeps until sites stand still, or stop getting better: the best state, and how many sweeps it took.

    Anderson mixing of the last sweeps takes the place of damping. Where that leads nowhere (many copies overshoot
    together) the sites go on from the best point in smaller steps, without mixing. Before each sweep `ahead` may find
    better targets by other means, until a sweep from them is no better than the last.
    """
    mixing = Anderson(memory, rows.copies)
    best, idle, damping = state, 0, 1.0
    for sweep in range(1, max_sweeps + 1):
        if state.error <= tolerance or (best.error <= SETTLED and idle > PATIENCE):
            return best, sweep - 1
        if idle > _IDLE and best.error > SETTLED:
            state, idle, damping = best, 0, 0.3 * damping
            mixing = Anderson(memory, rows.copies)
        state = ahead(rows, state)
        proposal = mixing.propose(state) if sweep > 1 and damping == 1.0 else state.target
        if rows.likelihood.is_log_concave:  # extrapolation must not leave the cone of proper sites
            proposal = Sites(*np.where(proposal.tau >= 0, proposal, state.target))
        if damping < 1.0:
            proposal = state.sites.towards(proposal, damping)
        new = look(rows, proposal, state) or back_off(rows, state, proposal, look)
        if new is None:
            return best, sweep
        if ahead is not as_it_is and not new.error < 0.7 * state.error:
            ahead, mixing = as_it_is, Anderson(memory, rows.copies)
            new = new if new.error < best.error else best
        state = new
        idle = 0 if state.error < 0.9 * best.error else idle + 1
        best = state if state.error < best.error else best
    return best, max_sweeps


def back_off(rows: SiteRows, old: State, new: Sites, look: Look = evaluate) -> State | None:
    """The state on the way to sites that make no proper Gaussian, the step to them halved until it is."""
    for halvings in range(1, _HALVINGS):
        state = look(rows, old.sites.towards(new, 0.5**halvings), old)
        if state is not None:
            return state
    return None


@dataclass
class Anderson:
    """Anderson mixing: the next sites from the residuals of the last sweeps, rows weighted by their copies."""

    memory: int
    copies: Array
    targets: list[Array] = field(default_factory=list)
    residuals: list[Array] = field(default_factory=list)

    def propose(self, state: State) -> Sites:
        """From the state of this sweep, which is remembered."""
        target = np.r_[state.target.tau, state.target.nu]
        residual = target - np.r_[state.sites.tau, state.sites.nu]
        keep = slice(-self.memory - 1, None)
        self.targets = [*self.targets, target][keep]
        self.residuals = [*self.residuals, residual][keep]
        if self.memory == 0 or len(self.targets) < 2:
            return state.target
        scale = np.sqrt(np.r_[self.copies, self.copies]) * np.r_[state.var, np.sqrt(state.var)]
        d_residual = np.diff(self.residuals, axis=0) * scale
        normal = np.einsum("ik,jk->ij", d_residual, d_residual)
        shares = mixing_shares(normal, np.einsum("ik,k->i", d_residual, residual * scale))
        mixed = target - np.einsum("i,ik->k", shares, np.diff(self.targets, axis=0))
        return Sites(*np.split(mixed, 2))


def mixing_shares(normal: Array, right: Array) -> Array:
    """Shares that make a residual smallest, from inner products of its changes with each other and with itself."""
    regular = normal.copy()
    regular.flat[:: len(normal) + 1] += 1e-10 * np.trace(normal) + np.finfo(float).tiny
    return np.asarray(np.linalg.solve(regular, right), dtype=np.float64)


def rows_evidence(rows: SiteRows, state: State) -> float:
    """What the rows add to the log-evidence: ``sum_i copies_i log[Z_i exp(F(cavity_i) - F(marginal_i))]``."""
    exchange = 0.5 * (
        np.log(state.cavity_var / state.var) + state.cavity_mean**2 / state.cavity_var - state.mean**2 / state.var
    )
    return float((rows.copies * (state.log_z + exchange)).sum())
