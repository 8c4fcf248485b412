"""The Gaussian margin machine as an engine (Crammer, Mohri and Pereira 2009); `solver` solves its convex problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from ..._core.settings import check_at_least
from ..._core.threads import blas_threads_for
from ...exceptions import InvalidProblemError
from ...grams.gram import above_rounding, conditioned_on
from ...posteriors import EvidenceGradient, GaussianPosterior
from ...problem import Problem
from ..base import Engine
from .geometry import margin_geometry
from .solver import MarginSolution, bound_minimising, gaussian_margin

__all__ = ["Margin"]

_SWEEPS = 100  # of the paper's solver, for one iteration of the other
_ROUNDS = 3  # of slack in deviations: as many times the iterations in all


@dataclass(frozen=True)
class Margin(Engine):
    """The Gaussian margin machine as an engine: the Gaussian closest to the prior that is sure of the labels.

    It is no posterior by Bayes' rule and has no evidence; what it has is a small divergence from the prior and a small
    training error at the same time, which is what a PAC-Bayes bound asks for.

    Parameters
    ----------
    eta : float, default=0.9
        Probability with which each row is to be right, below 1; from 0.5 (a support vector machine) with a `margin`,
        above 0.5 without.
    C : float, default=1.0
        Price of a unit of slack; infinite allows none. Weights of the problem multiply it.
    margin : float, default=0.0
        Target of each margin beyond its deviations: 0 for the Gaussian margin machine (13), 1 for the robust support
        vector machine (29).
    slack : {"unit", "norm", "deviation"}, default="unit"
        D_i: one, the length of the row (which makes C free of the scale of the features), or the row's own deviation.
        The last is what the bound asks for and not convex; a local optimum is found by convex problems in turn.
    solver : {"newton", "hildreth"}, default="newton"
        Interior point method, or the sweep of the paper.
    tolerance : float, default=1e-9
        Relative gap between the primal and the dual to stop at.
    max_iterations : int, default=100
        Iterations after which a warning tells the gap; sweeps count a hundred times less, and the rounds of
        ``slack="deviation"`` share three times as many.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import Margin
    >>> posterior = Margin(eta=0.84134, C=np.inf).infer(Problem(np.diag([1.0, 4.0]), [1, -1], Step()))
    >>> (posterior.mean / np.sqrt(posterior.variance)).round(4)
    array([ 1., -1.])
    """

    eta: float = 0.9
    C: float = 1.0
    margin: float = 0.0
    slack: str = "unit"
    solver: str = "newton"
    tolerance: float = 1e-9
    max_iterations: int = 100

    takes: ClassVar[frozenset[str]] = frozenset({"hard"})
    refusal: ClassVar[str] = "A Gaussian margin machine asks for signs alone: use Step(), not {}."

    def __post_init__(self) -> None:
        check_at_least(self, max_iterations=1)
        if not 0.5 <= self.eta < 1:
            raise InvalidProblemError(f"eta must be at least 0.5 and below 1, got {self.eta!r}.")
        if not self.C > 0:
            raise InvalidProblemError(f"C must be above 0, got {self.C!r}.")
        if not 0 <= self.margin < np.inf:
            raise InvalidProblemError(f"margin must be a finite number of at least 0, got {self.margin!r}.")
        if self.eta == 0.5 and self.margin == 0:
            raise InvalidProblemError(
                "eta=0.5 with margin=0 asks for nothing that the prior does not have: raise eta, or set margin=1 for a "
                "support vector machine."
            )
        if self.slack not in ("unit", "norm", "deviation"):
            raise InvalidProblemError(f"slack must be 'unit', 'norm' or 'deviation', got {self.slack!r}.")
        if self.solver not in ("newton", "hildreth"):
            raise InvalidProblemError(f"solver must be 'newton' or 'hildreth', got {self.solver!r}.")
        if self.slack == "deviation" and (self.solver != "newton" or np.isinf(self.C)):
            raise InvalidProblemError("slack='deviation' needs solver='newton' and a finite C.")

    @property
    def phi(self) -> float:
        """Deviations by which the mean of each margin is to exceed its target."""
        return float(ndtri(self.eta))

    def infer(self, problem: Problem, rng: Any = None, *, start: GaussianPosterior | None = None) -> GaussianPosterior:
        """The Gaussian of the machine.

        Parameters
        ----------
        problem : Problem
            With the likelihood `Step()`; a factor as Gram matrix is solved as one, and margins are those of its
            coordinates: a residual is no part of the machine, and stays with each row as it is in the prior.
        rng : ignored
            Deterministic; every engine takes a source of randomness.
        start : GaussianPosterior, optional
            Solution of a similar problem on the same rows.

        Returns
        -------
        GaussianPosterior
            Without an evidence. ``info["solution"]`` is the `MarginSolution`.
        """
        self.check(problem)
        return _posterior(problem, self._solve(problem, start), self)

    def _solve(self, problem: Problem, start: GaussianPosterior | None) -> MarginSolution:
        price = self.C * problem.exponents
        if self.slack == "norm":
            price = price / np.sqrt(np.maximum(problem.diag, np.finfo(float).tiny))
        if self.solver == "hildreth":
            from .hildreth import hildreth  # compiles

            sweeps = _SWEEPS * self.max_iterations
            return hildreth(
                problem.dense, problem.y, self.phi, price, self.margin, tolerance=self.tolerance, max_sweeps=sweeps
            )
        geometry = margin_geometry(problem.gram)
        if self.slack == "deviation":
            most = _ROUNDS * self.max_iterations
            return bound_minimising(
                geometry, problem.y, self.phi, price, self.margin, tolerance=self.tolerance, max_iterations=most
            )
        return gaussian_margin(
            geometry,
            problem.y,
            self.phi,
            price,
            self.margin,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            start=None if start is None else np.maximum(problem.y * start.alpha, 0.0),
        )


def _posterior(problem: Problem, found: MarginSolution, settings: Margin) -> GaussianPosterior:
    """Prior times sites: precisions beta, and natural means such that the mean has the weights ``y alpha``."""
    signed = problem.y * found.alpha
    nu = signed + found.beta * found.latents
    with blas_threads_for(problem.size):
        gaussian = conditioned_on(problem.gram, found.beta, nu)
    info = {"solution": found, "settings": settings, "error": found.gap}
    return GaussianPosterior(
        problem,
        signed,
        found.latents,
        above_rounding(gaussian.variance, problem.diag),
        found.beta,
        nu,
        gaussian,
        None,
        EvidenceGradient(signed, gaussian, {}),
        info,
        engine=settings,
        found=found,
        error=found.gap,
    )
