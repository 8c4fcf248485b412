"""Expectation propagation for several classes: nested, after Riihimaki, Jylanki & Vehtari (2013).

A row has a site on the differences between the latent of its class and those of all others. Given the rest of the
posterior (the cavity), the moments that such a site must match come from another expectation propagation, over the
comparisons of the row alone (`bayespoint.likelihoods.comparisons`); it starts from where it ended in the last sweep.
Sweeps, mixing and their end are those of two classes (`settle`). The covariance is what a sweep costs, O(C n^3), and it
moves little: between two sweeps the means settle with the precisions of all sites held (`means_ahead`), O(C n^2) a
step, which halves the number of sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._core.typing import Array
from ...grams import Gram
from ...grams.classes import site_precision
from ...grams.gradient import ClassesEvidenceGradient
from ...likelihoods.choice import ChoiceSite
from ...likelihoods.comparisons import SETTLED, others_of
from ...posteriors.classes import GaussianClassesPosterior, LatentSites, without_sites
from ...problem import Problem
from .sites import Sites, State

__all__ = ["ClassRows", "class_posterior", "evaluate_classes", "means_ahead"]

_STEPS = 2  # of the means, between two sweeps
_INNER = 1e-3  # of the error of a sweep, that its comparisons may have
_LEAST = 1e-12  # of the prior's variance that a row has of its own: a hard boundary is a very steep one


@dataclass(frozen=True, eq=False)
class ClassRows:
    """The problem as the loops see it; sites are strung together row by row.

    Without label noise a row's site has one number for each other class. With it one for each pair of them: the
    precision, and the shift on the diagonal.
    """

    gram: Gram
    y: Any
    likelihood: Any
    n_classes: int
    weight: Array
    power: Array
    own: Array

    @classmethod
    def of(cls, problem: Problem) -> ClassRows:
        """From a problem with class numbers."""
        assert problem.n_classes is not None
        weight, power = np.ones((2, problem.size)) if problem.weights is None else problem.weights
        scale = float(np.mean(problem.diag)) or 1.0
        own = np.maximum(problem.own, _LEAST * scale)
        return cls(problem.gram, problem.y, problem.likelihood, problem.n_classes, weight, power, own)

    @cached_property
    def in_pairs(self) -> bool:
        """Whether sites have a number for each pair of other classes."""
        return not self.likelihood.is_log_concave

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of the sites."""
        return (len(self.y), *(self.n_classes - 1,) * (2 if self.in_pairs else 1))

    @cached_property
    def copies(self) -> Array:
        """Copies of each site."""
        return self.weight.repeat(int(np.prod(self.shape[1:])))

    @cached_property
    def others(self) -> Any:
        """The other classes of each row."""
        return others_of(self.y, self.n_classes)

    def first(self) -> Sites:
        """Sites of each row on its own: the cavity is the prior."""
        mean = np.zeros((len(self.y), self.n_classes))
        cov = np.maximum(self.gram.diag, np.finfo(float).tiny)[:, None, None] * np.eye(self.n_classes)
        return self.strung(self.likelihood.site(self.y, mean, cov, self.own, self.power))

    def matched(self, mean: Array, cov: Array, start: tuple[Array, Array] | None, error: float) -> ChoiceSite | None:
        """Sites that match moments at cavities; None if rounding left no numbers, far outside walls without width.

        Comparisons begin from `start`, and settle to a small part of the `error` of all sites together.
        """
        settled = max(_INNER * min(error, 1.0) / np.sqrt(len(self.copies)), SETTLED)
        with np.errstate(all="ignore"):
            site: ChoiceSite = self.likelihood.site(self.y, mean, cov, self.own, self.power, start, settled)
        return site if all(np.isfinite(part).all() for part in (site.log_z, site.tau, site.nu)) else None

    def walls(self, sites: Sites) -> tuple[Array, Array] | None:
        """The comparisons that sites were made from, where each has one: what `own` had shrunk."""
        if self.in_pairs:
            return None
        tau, nu = (part.reshape(self.shape) for part in sites)
        shrunk = 1 - self.own[:, None] * tau
        grown = np.where(shrunk > 0, 1 / np.where(shrunk > 0, shrunk, 1.0), 0.0)
        return tau * grown, nu * grown

    def strung(self, site: ChoiceSite) -> Sites:
        """Sites as the loops have them."""
        nu = site.nu[:, :, None] * np.eye(self.n_classes - 1) if self.in_pairs else site.nu
        return Sites(site.tau.ravel(), nu.ravel())

    def natural(self, sites: Sites) -> tuple[Array, Array, Array]:
        """Of one copy of each row's site: its form for the Gram matrix, its precision (n, C, C) and shift (n, C)."""
        tau, push = sites.tau.reshape(self.shape), sites.nu.reshape(self.shape)
        if self.in_pairs:
            back = np.zeros((len(self.y), self.n_classes - 1, self.n_classes))  # from latents to their differences
            np.put_along_axis(back, self.others[:, :, None], -1.0, axis=2)
            np.put_along_axis(back, np.broadcast_to(self.y[:, None, None], (*back.shape[:2], 1)), 1.0, axis=2)
            precision = np.swapaxes(back, 1, 2) @ tau @ back
            return precision, precision, np.einsum("ikc,ikk->ic", back, push)
        pi = np.empty((len(self.y), self.n_classes))
        np.put_along_axis(pi, self.others, tau, axis=1)
        np.put_along_axis(pi, self.y[:, None], 1 / self.own[:, None], axis=1)
        nu = pi * (push.sum(axis=1) / pi.sum(axis=1))[:, None]  # the level v is pushed by all, and integrated out
        np.put_along_axis(nu, self.others, np.take_along_axis(nu, self.others, axis=1) - push, axis=1)
        return pi, site_precision(pi), nu


@dataclass(frozen=True, eq=False)
class _Look:
    """All that one sweep works out beside the sites."""

    gaussian: Any
    sites: LatentSites
    site: ChoiceSite
    log_rows: Array  # what each copy of a row adds to the log-evidence


def evaluate_classes(rows: Any, sites: Sites, last: State | None = None) -> State | None:
    """One sweep's worth of work: marginals, cavities, matched sites. None if the Gaussian is not proper."""
    form, precision, nu = rows.natural(sites)
    weight = rows.weight[:, None]
    gaussian = rows.gram.conditioned_classes((weight[:, None] if rows.in_pairs else weight) * form, weight * nu)
    if gaussian is None:
        return None
    mean, cov = gaussian.mean, gaussian.covariance
    cavity, log_det, proper = without_sites(mean, cov, precision, nu)
    if not proper.all():
        return None
    if last is None or last.gaussian is None:
        site = rows.matched(*cavity, rows.walls(sites), np.inf)
    else:
        walls = last.gaussian.site.walls
        site = rows.matched(*cavity, (walls.tau, walls.nu), last.error)
    if site is None:
        return None
    target = rows.strung(site)
    push = nu - np.einsum("icd,id->ic", precision, cavity.mean)
    log_site = 0.5 * log_det + (cavity.mean * (nu + push)).sum(axis=1) / 2
    log_site += 0.5 * np.einsum("ic,icd,id->i", push, cov, push)
    sites_of_rows = LatentSites(weight[:, None] * precision, weight * nu)
    look = _Look(gaussian, sites_of_rows, site, site.log_z - log_site)
    var = _spread(rows, cov)
    change = np.square((target.tau - sites.tau) * var) + np.square(target.nu - sites.nu) * var
    error = float(np.sqrt((rows.copies * change).sum()))
    nothing: Any = None
    return State(sites, look, mean, var, nothing, nothing, nothing, target, error)


def means_ahead(rows: Any, state: State) -> State:
    """The state with the sites that moment matching asks for once the means have moved, precisions held.

    With the precisions T of a row's sites on ``v - f_c`` the shift that gives their differences the matched mean m is
    ``push + T m``, where push is the slope of the log-normaliser in the cavity's mean. That is no form for sites on
    pairs.
    """
    look: _Look = state.gaussian
    site, cov, precision = look.site, look.gaussian.covariance, look.sites.precision / rows.weight[:, None, None]
    tau, own = state.sites.tau.reshape(rows.shape), rows.own[:, None]
    removed = np.linalg.inv(np.eye(rows.n_classes) - cov @ precision)
    left = removed @ cov
    left = 0.5 * (left + np.swapaxes(left, 1, 2))
    for _ in range(_STEPS):
        walls = site.walls
        push = (walls.nu - walls.tau * walls.mean) * (1 - own * tau) + tau * walls.mean
        nu = rows.natural(Sites(state.sites.tau, push.ravel()))[2]
        mean = look.gaussian.mean_under(rows.gram, rows.weight[:, None] * nu)
        cavity = np.einsum("icd,id->ic", removed, mean - np.einsum("icd,id->ic", cov, nu))
        new = rows.matched(cavity, left, (walls.tau, walls.nu), state.error)
        if new is None:
            break
        site = new
    return state._replace(target=rows.strung(site))


def _spread(rows: ClassRows, cov: Array) -> Array:
    """Marginal variance of the difference that each site is on; of two, for a pair, their geometric mean."""
    index, others = np.arange(len(rows.y)), rows.others
    own, other = cov[index, rows.y, rows.y][:, None], cov[index[:, None], others, others]
    both = cov[index[:, None], rows.y[:, None], others]
    var = np.maximum(own + other - 2 * both, 0.0) + rows.own[:, None]
    if rows.in_pairs:
        var = np.sqrt(var[:, :, None] * var[:, None, :])
    return np.asarray(var.ravel())


def class_posterior(problem: Problem, rows: ClassRows, state: State, info: dict[str, Any], engine: Any) -> Any:
    """The result; the evidence is stationary in the sites, so its gradient holds them fixed."""
    look: _Look = state.gaussian
    gaussian, site = look.gaussian, look.site
    log_evidence = gaussian.log_ratio + float((rows.weight * look.log_rows).sum())
    by_own = rows.weight * site.own
    by_parameter = {
        "noise": float((rows.weight * site.noise).sum()),
        "softness": float(by_own.sum()) * problem.likelihood.softness,
    }
    gradient = ClassesEvidenceGradient(
        gaussian.alpha, gaussian, by_parameter, None if problem.residual is None else by_own
    )
    tau, nu = (part.reshape(rows.shape) for part in state.sites)
    return GaussianClassesPosterior(
        *(problem, gaussian.alpha, gaussian.mean, gaussian.covariance, tau, nu, look.sites, gaussian, log_evidence),
        gradient,
        info,
        engine=engine,
        error=state.error,
    )
