"""Expectation propagation over rows that live in different places.

Latents are ``f = M w`` with few coordinates ``w``, the rows of M split into partitions. A partition keeps its rows and
their sites; what travels are Gaussians over w in natural parameters, which add up. In a round every partition

1. puts its sites where the coordinator says, and removes them from the Gaussian of all rows: its prior is what all
   other rows have told;
2. sees how far its sites are from what moment matching asks for, exactly as a sweep over all rows would;
3. runs sweeps of its own under that prior, and reports the Gaussian of the sites it would like to have.

The coordinator adds the reports up. Where sites stand still in step 2 they are the fixed point of `EP` on all rows at
once, whatever the partitions. As in `EP`, Anderson mixing of the last rounds takes the place of damping: sites and
their Gaussians mix with the same coefficients, which follow from inner products that add up over partitions as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._core.settings import check_at_least
from .._core.telling import tell
from .._core.threads import blas_threads_for
from .._core.typing import Array
from ..engines.ep import EP
from ..engines.ep.sites import ALARMING, SiteRows, Sites, State, evaluate, rows_evidence, settle
from ..exceptions import InvalidProblemError
from ..grams import LowRank, NaturalGaussian
from ..likelihoods import Likelihood
from ..posteriors import GaussianPosterior
from ..problem import Problem
from .partitions import Partition
from .places import places_of
from .rounds import Message, Report, Run, total
from .separation import raise_if_empty

__all__ = ["PartitionedEP", "posterior_of"]


def posterior_of(
    natural: NaturalGaussian, likelihood: Likelihood, log_evidence: float | None = None, info: Any = None
) -> GaussianPosterior:
    """A Gaussian over coordinates as the posterior of rows that are not at hand.

    Parameters
    ----------
    natural : NaturalGaussian
        The posterior of the coordinates.
    likelihood : Step or Hinge
        How labels follow from latents.
    log_evidence : float, optional
        Of the rows that are not at hand.
    info : dict, optional
        What only a person needs.

    Returns
    -------
    GaussianPosterior
        Of a problem with no rows, so that nothing of it is as long as the data; it has latents at new points (by
        their coordinates) and a Gaussian over coordinates, but no training points.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Step
    >>> from bayespoint.distributed import posterior_of
    >>> from bayespoint.grams import FeaturePoints, NaturalGaussian
    >>> posterior = posterior_of(NaturalGaussian([[4.0]], [2.0]), Step(softness=1.0))
    >>> latent = posterior.at(FeaturePoints([[2.0]]))
    >>> float(latent.mean[0]), float(latent.variance[0])
    (1.0, 1.0)
    """
    problem = Problem(LowRank(np.empty((0, natural.rank)), natural), np.empty(0), likelihood)
    return replace(EP().infer(problem), log_evidence=log_evidence, info=dict(info or {}))


@dataclass(frozen=True)
class PartitionedEP:
    """Expectation propagation over partitions of the rows of a low-rank problem, each of which stays where it is.

    Parameters
    ----------
    tolerance : float, default=1e-6
        Change of all sites in units of their marginals at which the rounds stop; the same as that of `EP`.
    max_rounds : int, default=100
        Rounds at the most.
    sweeps : int, default=3
        Sweeps of a partition over its own rows in a round, after the first one; 0 makes a round one sweep of `EP`.
    memory : int, default=3
        Rounds that Anderson mixing looks back on; 0 turns it off.
    n_jobs : int or None, default=None
        Threads for partitions in this process; those of dask run where their scheduler says.

    Examples
    --------
    Two partitions know as much as one machine with all rows.

    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import EP
    >>> from bayespoint.distributed import Partition, PartitionedEP
    >>> from bayespoint.grams import LowRank
    >>> M, y = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]]), np.array([1, 1, -1])
    >>> parts = [Partition(M[:2], [y[:2]]), Partition(M[2:], [y[2:]])]
    >>> (posterior,) = PartitionedEP().infer(parts, Step(softness=1.0))
    >>> whole = EP().infer(Problem(LowRank(M), y, Step(softness=1.0)))
    >>> bool(np.allclose(posterior.mean_weights, whole.mean_weights))
    True
    >>> bool(np.isclose(posterior.log_evidence, whole.log_evidence))
    True
    """

    tolerance: float = 1e-6
    max_rounds: int = 100
    sweeps: int = 3
    memory: int = 3
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_at_least(self, tolerance=0, max_rounds=1, sweeps=0, memory=0)

    def infer(
        self, parts: Sequence[Any], likelihood: Likelihood, *, priors: Sequence[NaturalGaussian] | None = None
    ) -> list[GaussianPosterior]:
        """Posteriors of the coordinates given the rows of all partitions, one for each vector of labels.

        Parameters
        ----------
        parts : sequence of Partition or of dask objects that compute to one
            The rows. Those of dask stay with the workers; see `dask_partitions`.
        likelihood : Step or Hinge
            How labels follow from latents.
        priors : sequence of NaturalGaussian, optional
            Prior of the coordinates for each vector of labels if it is not N(0, I).

        Returns
        -------
        list of GaussianPosterior
            See `posterior_of`. Their `info` has rounds, error and rows.
        """
        places = places_of(parts, self.n_jobs)
        rows, rank, n_targets = _common_shape(places.shapes())
        priors = [NaturalGaussian.standard(rank)] * n_targets if priors is None else list(priors)
        if [prior.rank for prior in priors] != [rank] * n_targets:
            raise InvalidProblemError(f"priors must be {n_targets} Gaussians over {rank} coordinates.")
        runs = [Run(self.tolerance, self.memory, prior) for prior in priors]
        for number in range(1, self.max_rounds + 1):
            messages = [None if run.is_done else run.message(number) for run in runs]
            for run, report in zip(runs, places.round(_advance, total, messages, likelihood, self), strict=True):
                run.take(report)
            if all(run.is_done for run in runs):
                break
        for target, run in enumerate(runs):
            if likelihood.is_hard and run.looks_empty:
                raise_if_empty(places, target, run.mean)
        posteriors = []
        for run in runs:
            posteriors.append(self._posterior(run, likelihood, rows))
        return posteriors

    def _posterior(self, run: Run, likelihood: Likelihood, rows: int) -> GaussianPosterior:
        """The best round as a posterior, with a warning if it is not a fixed point."""
        assert run.best is not None
        error = run.best.error
        if not error <= ALARMING:
            tell(
                f"Expectation propagation stopped after {run.count} rounds with sites still moving by {error:.1g} "
                f"(tolerance {self.tolerance:.1g}): probabilities and evidence may be off; {likelihood.remedy}.",
                stacklevel=3,
            )
        info = {"rounds": run.count, "error": error, "rows": rows, "updates": "partitioned"}
        return posterior_of(run.best.natural, likelihood, run.log_evidence, info)


def _common_shape(shapes: Sequence[tuple[int, int, int]]) -> tuple[int, int, int]:
    """Rows of all partitions together, and the numbers of coordinates and label vectors that they share."""
    kinds = {shape[1:] for shape in shapes}
    if len(kinds) != 1:
        raise InvalidProblemError(
            f"Partitions must have the same coordinates and label vectors, got (coordinates, vectors) {sorted(kinds)}."
        )
    return sum(shape[0] for shape in shapes), *kinds.pop()


_BLOCK = 500  # rows whose sites move together


class _Entry(NamedTuple):
    """Sites of a round, and what the partition would rather have: arrays of shape (2, n)."""

    sites: Array
    target: Array


_History = Mapping[int, _Entry]


class _Others(NamedTuple):
    """What all other rows have told. It need not be proper by itself, so nothing is normalised."""

    precision: Array
    shift: Array
    log_det: float = 0.0


def _advance(
    part: Partition,
    histories: Sequence[_History] | None,
    messages: Sequence[Message | None],
    likelihood: Likelihood,
    settings: PartitionedEP,
) -> tuple[list[_History], list[Report | None]]:
    """One round of one partition, for all vectors of labels."""
    if histories is None:
        histories = [{}] * len(messages)
    with blas_threads_for(part.size):
        done = [
            (history, None) if message is None else _round(part, target, history, message, likelihood, settings)
            for target, (history, message) in enumerate(zip(histories, messages, strict=True))
        ]
    return [history for history, _ in done], [report for _, report in done]


def _round(
    part: Partition, target: int, history: _History, message: Message, likelihood: Likelihood, settings: PartitionedEP
) -> tuple[_History, Report]:
    """The three steps at the head of this file."""
    sites = np.zeros((2, part.size))
    for number, share in message.mixture.items():
        entry = history[number]
        sites += share * (entry.sites + message.step * (entry.target - entry.sites))
    rows = part.rows(target, likelihood, message.natural)
    own = _contribution(rows, sites)
    rows = _under(rows, _Others(message.natural.precision - own.precision, message.natural.shift - own.shift))
    state = evaluate(rows, Sites(*sites))
    if state is None:
        return history, Report.improper()
    sweeps = 0 if message.has_strayed else settings.sweeps
    wanted = _own_sweeps(rows, state, sweeps, settings.tolerance)

    newest = wanted - sites
    scale = np.sqrt(rows.copies) * np.array([state.var, np.sqrt(state.var)])
    kept = {number: history[number] for number in message.keep}
    differences = [(entry.target - entry.sites - newest) * scale for entry in kept.values()]
    flat = np.reshape(differences, (len(kept), 2 * part.size))
    report = Report(
        state.error**2,
        rows_evidence(rows, state),
        int(np.sum(rows.y * state.mean <= 0)) if part.is_hard(likelihood) else 0,
        _contribution(rows, wanted),
        flat @ flat.T,
        flat @ (newest * scale).ravel(),
    )
    return {**kept, message.number: _Entry(sites, wanted)}, report


def _own_sweeps(rows: SiteRows, state: State, sweeps: int, tolerance: float) -> Array:
    """Sites after sweeps over the partition's rows while the others stand still, as far as is worth while they do not.

    A block of rows at a time, each under what the blocks before it have told: many sites that move at once overshoot.
    """
    n = len(rows.y)
    if sweeps == 0 or n <= 1:  # one site of its own has no further to go
        return np.array(state.target)
    size = max(_BLOCK, 2 * rows.gram.rank)
    limits = max(0.03 * state.error, 0.1 * tolerance), sweeps
    if n <= size:
        return np.array(settle(rows, state, *limits)[0].target)
    sites: Array = np.array(state.sites)
    own = _contribution(rows, sites)
    prior: Any = rows.gram.prior  # type: ignore[attr-defined]
    precision, shift = prior.precision + own.precision, prior.shift + own.shift
    for first in range(0, n, size):
        some = slice(first, first + size)
        block = rows.some(some)._replace(gram=rows.gram.part(some))
        before = _contribution(block, sites[:, some])
        others = _Others(precision - before.precision, shift - before.shift)
        block = _under(block, others)
        start = evaluate(block, Sites(*sites[:, some]))
        if start is None:
            continue
        sites[:, some] = settle(block, start, *limits)[0].target
        after = _contribution(block, sites[:, some])
        precision, shift = others.precision + after.precision, others.shift + after.shift
    return sites


def _contribution(rows: Any, sites: Array) -> NaturalGaussian:
    return NaturalGaussian.of_sites(rows.gram.factor, *(rows.copies * sites))


def _under(rows: Any, others: Any) -> Any:
    """The same rows under another prior of their coordinates."""
    return rows._replace(gram=replace(rows.gram, prior=others))
