"""What partitions and their coordinator tell each other in a round, and where the coordinator goes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .._core.typing import Array
from ..engines.ep.sites import PATIENCE, SETTLED, mixing_shares
from ..exceptions import InvalidProblemError
from ..grams import NaturalGaussian

__all__ = ["Message", "Report", "Run", "total"]


class Message(NamedTuple):
    """From the coordinator: where the sites shall be, as a mixture of earlier rounds, and the Gaussian that makes."""

    number: int
    mixture: Mapping[int, float]
    step: float  # from the sites of those rounds towards their targets
    keep: tuple[int, ...]  # rounds to remember
    natural: NaturalGaussian
    has_strayed: bool  # then sweeps of one's own lead further astray


class Report(NamedTuple):
    """From a partition, or a sum of them: how far sites are from their targets, and the Gaussian of the targets."""

    squared_error: float
    log_evidence: float  # the rows' part of it
    mistakes: int  # rows on the wrong side of the mean at a hard boundary
    target: NaturalGaussian | None  # None if the sites make no proper Gaussian
    normal: Array  # inner products of differences of residuals, newest round against those kept, and with the newest
    right: Array

    @classmethod
    def improper(cls) -> Report:
        """That of sites that make no Gaussian."""
        return cls(np.inf, np.nan, 0, None, np.empty((0, 0)), np.empty(0))

    def plus(self, other: Report) -> Report:
        """That of both together."""
        if self.target is None or other.target is None:
            return Report.improper()
        return Report(
            self.squared_error + other.squared_error,
            self.log_evidence + other.log_evidence,
            self.mistakes + other.mistakes,
            self.target + other.target,
            self.normal + other.normal,
            self.right + other.right,
        )


def total(reports: Sequence[Sequence[Report | None]]) -> list[Report | None]:
    """Reports of several partitions as one, for each vector of labels."""
    first, *others = reports
    together = list(first)
    for other in others:
        together = [a if a is None or b is None else a.plus(b) for a, b in zip(together, other, strict=True)]
    return together


class _Best(NamedTuple):
    """The round whose sites moved least."""

    error: float
    number: int
    natural: NaturalGaussian
    report: Report


@dataclass
class Run:
    """One vector of labels: rounds so far as Gaussians of sites and of targets, and where to go next."""

    tolerance: float
    memory: int
    prior: NaturalGaussian
    rounds: dict[int, tuple[NaturalGaussian, NaturalGaussian]] = field(default_factory=dict)
    best: _Best | None = None
    sent: Message | None = None
    mixture: dict[int, float] = field(default_factory=dict)
    step: float = 1.0  # below one: small steps without mixing
    caution: float = 0.3  # length of small steps
    wanted_calm: int = 6  # small steps in the right direction after which mixing is tried again
    anchor: tuple[int, float] | None = None  # where small steps ended, and its error
    halvings: int = 0
    idle: int = 0
    calm: int = 0
    lowest: float = np.inf  # error since the last change of mind
    last: float = np.inf
    has_strayed: bool = False
    count: int = 0
    is_done: bool = False

    def message(self, number: int) -> Message:
        """The next place for the sites: the mixture, or less of a step if that makes no proper Gaussian."""
        natural = self._mixed()
        if len(self.mixture) > 1 and not _is_proper(natural):
            self.mixture = {max(self.mixture): 1.0}
            natural = self._mixed()
        while not _is_proper(natural):
            self.halvings += 1
            natural = self._mixed()
        plain = NaturalGaussian(natural.precision, natural.shift)  # without what has been worked out from it
        self.sent = Message(number, self.mixture, self._stride, tuple(self.rounds), plain, self.has_strayed)
        return self.sent

    @property
    def _stride(self) -> float:
        """From sites towards their targets."""
        return self.step * 0.5**self.halvings

    def _mixed(self) -> NaturalGaussian:
        precision, shift = self.prior.precision.copy(), self.prior.shift.copy()
        for number, share in self.mixture.items():
            sites, target = self.rounds[number]
            precision += share * (sites.precision + self._stride * (target.precision - sites.precision))
            shift += share * (sites.shift + self._stride * (target.shift - sites.shift))
        return NaturalGaussian(precision, shift)

    def take(self, report: Report | None) -> None:
        """Take note of a round, and choose the next mixture."""
        if report is None:
            return
        assert self.sent is not None
        self.count += 1
        if report.target is None:
            self._back_off()
            return
        sent, error = self.sent, float(np.sqrt(report.squared_error))
        self.rounds[sent.number] = sent.natural - self.prior, report.target
        self.halvings = 0
        self.idle = 0 if error < (1 - 0.1 * self.step) * self.lowest else self.idle + 1
        self.calm = self.calm + 1 if error < self.last else 0
        self.lowest, self.last = min(error, self.lowest), error
        if self.best is None or error < self.best.error:
            self.best = _Best(error, sent.number, sent.natural, report)
        self.is_done = error <= self.tolerance or (self.best.error <= SETTLED and self.idle > PATIENCE)
        self._choose(sent.number, error)
        self.mixture = self.mixture or self._anderson(sent, report)
        self._forget()

    def _choose(self, number: int, error: float) -> None:
        """Whether to mix or to take small steps, and from where."""
        assert self.best is not None
        self.mixture = {}
        if self.best.error <= SETTLED:
            return
        if self.step == 1.0 and self.anchor is None and self.idle > 8:  # sites that move together overshoot
            self._take_small_steps(self.best.number)
        elif self.step == 1.0 and self.anchor is not None and error > 2 * self.anchor[1]:
            self.wanted_calm = min(2 * self.wanted_calm, 24)
            self._take_small_steps(self.anchor[0])
        elif self.step < 1.0 and self.calm >= self.wanted_calm:
            self.step, self.anchor, self.idle = 1.0, (number, error), 0
        elif self.step < 1.0 and self.idle > 20:
            self.caution *= 0.3
            self._take_small_steps(number)

    def _take_small_steps(self, origin: int) -> None:
        self.step, self.mixture, self.has_strayed = self.caution, {origin: 1.0}, True
        self.idle, self.calm, self.lowest, self.last = 0, 0, np.inf, np.inf

    def _back_off(self) -> None:
        """Half the way, from the last round alone."""
        if not self.rounds:
            raise InvalidProblemError(
                "Expectation propagation broke down: rescale the features, or raise softness or noise."
            )
        self.halvings += 0 if len(self.mixture) > 1 else 1
        self.mixture = {max(self.rounds): 1.0}
        self.is_done = self.halvings > 12

    def _anderson(self, sent: Message, report: Report) -> dict[int, float]:
        """Shares of the last rounds that make the residual smallest; the first one began too far away to tell."""
        numbers = np.array(sent.keep, dtype=int)
        recent = np.flatnonzero((numbers > 1) & (numbers >= sent.number - self.memory))
        if not recent.size or self.step < 1.0:
            return {sent.number: 1.0}
        shares = -mixing_shares(report.normal[np.ix_(recent, recent)], report.right[recent])
        mixture = dict(zip(numbers[recent].tolist(), shares.tolist(), strict=True))
        return {**mixture, sent.number: 1.0 - float(shares.sum())}

    def _forget(self) -> None:
        """Keep the rounds that the next one may look back on."""
        assert self.best is not None
        recent = sorted(self.rounds)[-max(self.memory, 1) :]
        keep = {*recent, *self.mixture, self.best.number, *(self.anchor or ())[:1]}
        self.rounds = {number: self.rounds[number] for number in sorted(keep)}

    @property
    def looks_empty(self) -> bool:
        """Whether a hard boundary may leave nothing: sites do not settle, or the mean is on the wrong side of a row."""
        assert self.best is not None
        return not self.best.error <= SETTLED or self.best.report.mistakes > 0

    @property
    def mean(self) -> Array:
        """Mean of the coordinates at the best round."""
        assert self.best is not None
        return self.best.natural.mean

    @property
    def log_evidence(self) -> float:
        """Log-evidence at the best round."""
        assert self.best is not None
        return self.best.natural.log_normaliser - self.prior.log_normaliser + self.best.report.log_evidence


def _is_proper(natural: NaturalGaussian) -> bool:
    try:
        return bool(np.isfinite(natural.log_det))
    except InvalidProblemError:
        return False
