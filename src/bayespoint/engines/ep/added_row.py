"""Expectation propagation after one more row, by two sweeps of O(n^3) where a fit takes a dozen.

With the posterior covariance S of the latents at hand, sites that change by (d_tau, d_nu) move means and variances in
O(n^2): the few that change much by the rank-k formula

    S' = S - S_A (1 / d_tau_A + S_AA)^-1 S_A',

all others to first order, ``v' = v - (S * S) d_tau``. Sites settle under these moments; an exact evaluation there puts
right what first order leaves out, they settle once more around it, and another one tells that they have. S itself only
guides these steps, so it is carried on to the next row by the rank-k formula alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ..._core.threads import blas_threads_for
from ..._core.typing import Array
from ...exceptions import InvalidProblemError
from ...posteriors.gaussian import GaussianPosterior
from .engine import EP, _Anderson, _evaluate, _matched, _posterior, _Rows, _Sites, _State

__all__ = ["GrownPosterior", "add_row"]

_LARGE = 1e-2  # change of a site, in units of its marginal, that is not small
_NEAR = 1e-4  # how far sites settle before they are looked at exactly
_SWEEPS = 30


@dataclass(frozen=True, eq=False)
class GrownPosterior(GaussianPosterior):
    """A Gaussian posterior that rows were added to one by one.

    Attributes
    ----------
    near_covariance : ndarray of shape (n, n)
        Covariance of the latents at the training points, nearly: good enough to guide the next row.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import EP
    >>> from bayespoint.engines.ep import add_row
    >>> one = EP().infer(Problem(np.eye(1), [1], Step(softness=1.0)))
    >>> add_row(one, np.array([0.5]), 1.0, -1.0).near_covariance.shape
    (2, 2)
    """

    near_covariance: Array = field(default_factory=lambda: np.empty((0, 0)))


def add_row(
    posterior: GaussianPosterior, column: Array, diag: float, y: float, *, tolerance: float = 1e-6
) -> GrownPosterior:
    """The posterior with one more row, of weight one, as if it had been there from the beginning.

    Parameters
    ----------
    posterior : GaussianPosterior
        By expectation propagation on a dense Gram matrix.
    column : ndarray of shape (n,)
        Kernel values of the new row with the others.
    diag : float
        Kernel value of the new row with itself.
    y : float
        Its label, -1 or +1.
    tolerance : float, default=1e-6
        Change of the sites at which the sweeps stop.

    Returns
    -------
    GrownPosterior

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import EP
    >>> from bayespoint.engines.ep import add_row
    >>> gram, y = np.full((3, 3), 0.5) + 0.5 * np.eye(3), np.array([1.0, -1.0, 1.0])
    >>> two = EP().infer(Problem(gram[:2, :2], y[:2], Step(softness=1.0)))
    >>> three = EP().infer(Problem(gram, y, Step(softness=1.0)))
    >>> bool(np.allclose(add_row(two, gram[2, :2], 1.0, 1.0).mean, three.mean, atol=1e-6))
    True
    """
    if posterior.problem.root is not None:
        raise InvalidProblemError("Rows are added one by one to a dense problem only: start EP from the old sites.")
    n = posterior.problem.size
    with blas_threads_for(n):
        problem = posterior.problem.and_row(posterior.problem.bordered(column, diag), y)
        rows = _Rows.of(problem)
        guide = _Guide.of(posterior, column, diag)
        sites = _Sites(np.r_[posterior.tau / rows.copies[:n], 0.0], np.r_[posterior.nu / rows.copies[:n], 0.0])
        state = _settle(rows, guide, sites, _NEAR)
        guide = guide.moved_to(rows, state.sites)
        for looks in range(1, 5):
            exact = _evaluate(rows, state.sites)
            if exact is None:
                break
            if exact.error <= tolerance:
                info = {"sweeps": looks, "updates": "one row", "error": exact.error}
                return _grown(_posterior(problem, rows, exact, info), guide)
            state = _settle(rows, guide.around(rows, exact), state.sites, 0.1 * tolerance)
        start: Any = _Sites(rows.copies * state.sites.tau, rows.copies * state.sites.nu)
        return _grown(EP(tolerance=tolerance).infer(problem, start=start), guide)


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
    def of(cls, posterior: GaussianPosterior, column: Array, diag: float) -> _Guide:
        near = isinstance(posterior, GrownPosterior)
        old = posterior.near_covariance if near else posterior.covariance  # type: ignore[attr-defined]
        n = len(old)
        explained = posterior.factor.apply(column)  # type: ignore[union-attr]
        covariance = np.empty((n + 1, n + 1))
        covariance[:n, :n] = old
        covariance[n, :n] = covariance[:n, n] = column - posterior.problem.dense @ explained
        covariance[n, n] = diag - column @ explained
        mean = np.r_[posterior.mean, column @ posterior.alpha]
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

    def moved_to(self, rows: _Rows, sites: _Sites) -> _Guide:
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

    def around(self, rows: _Rows, exact: _State) -> _Guide:
        """The same around moments that are exact."""
        tau, nu = rows.copies * exact.sites.tau, rows.copies * exact.sites.nu
        return _Guide(tau, nu, exact.mean, exact.var, self.covariance, self.squares)


def _settle(rows: _Rows, guide: _Guide, sites: _Sites, tolerance: float) -> _State:
    """Sweeps until sites stand still; those of `EP`, with moments from the guide."""
    mixing = _Anderson(3, rows.copies)
    state = best = _guided(rows, guide, sites, guide.mean)
    for sweep in range(_SWEEPS):
        if best.error <= tolerance or not np.isfinite(state.error):
            break
        proposal = mixing.propose(state) if sweep else state.target
        if rows.log_concave:
            proposal = proposal.where(proposal.tau >= 0, state.target)
        state = _guided(rows, guide, proposal, state.mean)
        best = state if state.error < best.error else best
    return best


def _guided(rows: _Rows, guide: _Guide, sites: _Sites, last: Array) -> _State:
    """As `_evaluate` of `EP`, with moments from the guide; of infinite error where they are not proper."""
    tau, nu = rows.copies * sites.tau, rows.copies * sites.nu
    moments = guide.moments(tau, nu, last)
    nothing: Any = None
    state = None
    if moments is not None:
        mean, var = moments
        state = _matched(rows, sites, nothing, nu - tau * mean, mean, var)
    return state or _State(sites, nothing, nothing, last, guide.variance, nothing, nothing, nothing, sites, np.inf)
