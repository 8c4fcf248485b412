"""Expectation propagation after one more row, by two sweeps of O(n^3) where a fit takes a dozen.

With the posterior covariance S of the latents at hand, sites that change by (d_tau, d_nu) move means and variances in
O(n^2): the few that change much by the rank-k formula

    S' = S - S_A (1 / d_tau_A + S_AA)^-1 S_A',

all others to first order, ``v' = v - (S * S) d_tau``. Sites settle under these moments; an exact evaluation there puts
right what first order leaves out, they settle once more around it, and another one tells that they have. S itself only
guides these steps, so it is carried on to the next row by the rank-k formula alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ..._core.threads import blas_threads_for
from ..._core.typing import Array
from ..._core.words import told_briefly
from ...grams import NewPoints
from ...posteriors import GaussianPosterior
from .engine import EP, posterior_of_state
from .sites import SiteRows, Sites, State, evaluate, settle

__all__ = ["GrownPosterior", "add_row"]

_LARGE = 1e-2  # change of a site, in units of its marginal, that is not small
_NEAR = 1e-4  # how far sites settle before they are looked at exactly
_SWEEPS = 30


@told_briefly("problem", "log_evidence", "engine")
@dataclass(frozen=True, eq=False)
class GrownPosterior(GaussianPosterior):
    """A Gaussian posterior that rows were added to one by one.

    `near_covariance` is that of the latents at the training points, nearly: good enough to guide the next row.
    """

    near_covariance: Array = field(default_factory=lambda: np.empty((0, 0)))


def add_row(posterior: GaussianPosterior, new: NewPoints, y: float, *, tolerance: float = 1e-6) -> GaussianPosterior:
    """The posterior with one more row, of weight one, as if it had been there from the beginning.

    Where latents have few coordinates a fit from the old sites is as fast as this, and done instead.
    """
    n = posterior.problem.size
    problem = posterior.problem.and_row(new, y)
    if problem.gram.rank < problem.size:
        start: Any = replace(posterior, tau=np.r_[posterior.tau, 0.0], nu=np.r_[posterior.nu, 0.0])
        return EP(tolerance=tolerance).infer(problem, start=start)
    with blas_threads_for(n):
        rows = SiteRows.of(problem.gram, problem.y, problem.likelihood, problem.weights)
        guide = _Guide.of(posterior, new)
        sites = Sites(np.r_[posterior.tau / rows.copies[:n], 0.0], np.r_[posterior.nu / rows.copies[:n], 0.0])
        state = _settle(rows, guide, sites, _NEAR)
        guide = guide.moved_to(rows, state.sites)
        for looks in range(1, 5):
            exact = evaluate(rows, state.sites)
            if exact is None:
                break
            if exact.error <= tolerance:
                info = {"sweeps": looks, "updates": "one row", "error": exact.error}
                return _grown(posterior_of_state(problem, rows, exact, info, EP(tolerance=tolerance)), guide)
            state = _settle(rows, guide.around(rows, exact), state.sites, 0.1 * tolerance)
        settled: Any = Sites(rows.copies * state.sites.tau, rows.copies * state.sites.nu)
        return _grown(EP(tolerance=tolerance).infer(problem, start=settled), guide)


def _grown(posterior: GaussianPosterior, guide: _Guide) -> GrownPosterior:
    return GrownPosterior(**vars(posterior), near_covariance=guide.covariance)


@dataclass(frozen=True)
class _Guide:
    """Moments of the latents at some sites, and how they move with the sites."""

    tau: Array
    nu: Array
    mean: Array
    variance: Array
    covariance: Array
    squares: Array

    @classmethod
    def of(cls, posterior: GaussianPosterior, new: NewPoints) -> _Guide:
        old = posterior.near_covariance if isinstance(posterior, GrownPosterior) else posterior.covariance
        n = len(old)
        own_mean, own_variance = posterior.gaussian.at(new)
        covariance = np.empty((n + 1, n + 1))
        covariance[:n, :n] = old
        covariance[n, :n] = covariance[:n, n] = posterior.gaussian.with_training(new)[0]
        covariance[n, n] = own_variance[0]
        mean = np.r_[posterior.mean, own_mean]
        variance = np.r_[posterior.variance, covariance[n, n]]
        tau, nu = np.r_[posterior.tau, 0.0], np.r_[posterior.nu, 0.0]
        return cls(tau, nu, mean, variance, covariance, np.square(covariance))

    def moments(self, tau: Array, nu: Array, last: Array) -> tuple[Array, Array] | None:
        """Means and variances with other sites; `last` is about where the means are."""
        d_tau = tau - self.tau
        large = np.flatnonzero(np.abs(d_tau) * self.variance > _LARGE)
        small = d_tau.copy()
        small[large] = 0.0
        mean = self.mean + self.covariance @ (nu - self.nu - small * last)
        variance = self.variance - self.squares @ small
        if large.size:
            columns, solved = self._correction(d_tau, large)
            if solved is None:
                return None
            mean = mean - solved @ mean[large]
            variance = variance - np.einsum("ij,ij->i", columns, solved)
        return mean, variance

    def _correction(self, d_tau: Array, some: Any) -> tuple[Array, Array | None]:
        """Columns ``S_A``, and ``S_A (1 / d_tau_A + S_AA)^-1``."""
        columns = self.covariance[:, some]
        _, _, solved, failed = lapack.dgesv(columns[some] + np.diag(1 / d_tau[some]), columns.T)
        return columns, None if failed else solved.T

    def moved_to(self, rows: SiteRows, sites: Sites) -> _Guide:
        """With the covariance at other sites, nearly; moments are those of here."""
        d_tau = rows.copies * sites.tau - self.tau
        moved = np.flatnonzero(np.abs(d_tau) * self.variance > 0.1 * _LARGE)
        if not moved.size:
            return self
        columns, solved = self._correction(d_tau, moved)
        if solved is None:
            return self
        covariance = self.covariance - solved @ columns.T
        return _Guide(self.tau, self.nu, self.mean, self.variance, covariance, np.square(covariance))

    def around(self, rows: SiteRows, exact: State) -> _Guide:
        """The same around moments that are exact."""
        tau, nu = rows.copies * exact.sites.tau, rows.copies * exact.sites.nu
        return _Guide(tau, nu, exact.mean, exact.var, self.covariance, self.squares)


def _settle(rows: SiteRows, guide: _Guide, sites: Sites, tolerance: float) -> State:
    """Sweeps until sites stand still, with moments from the guide."""

    def guided(rows: SiteRows, sites: Sites, last: State) -> State:
        tau, nu = rows.copies * sites.tau, rows.copies * sites.nu
        moments = guide.moments(tau, nu, last.mean)
        state = None if moments is None else evaluate(rows, sites, moments=moments)
        return state or State.improper(sites, last.mean, guide.variance)

    start = guided(rows, sites, State.improper(sites, guide.mean, guide.variance))
    return settle(rows, start, tolerance, _SWEEPS, look=guided)[0]
