"""What a fit found: one frozen value, whatever the kind of fit, that predictions, certificates and uses read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._core.objects import Objects
from .._core.random import as_generator
from .._core.threads import blas_threads_for, workers
from .._core.typing import Array
from .._core.words import told_briefly
from ..grams import NewPoints, View
from ..grams.gram import remember
from ..kernels import CallableKernel, OnFeatures, kernel_values
from ..posteriors import Latent
from ..tuning.climb import Candidate, Model
from ._inputs import Points
from ._tables import Table

__all__ = ["Fitted", "TrainingRows", "leaving_one_out", "mixed_latent", "stacked_latents"]

_VALUES = 2**18  # kernel values of new points held at a time by each thread, so that they stay in its cache
_ROWS = 256  # new points at the least that are taken at a time


@told_briefly()
class TrainingRows(NamedTuple):
    """The rows behind a posterior, as the user had them.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = make_moons(20, random_state=0)
    >>> BayesPointClassifier(optimizer=None).fit(X, y).fitted_.rows.n_rows
    20
    """

    labels: Any
    sample_weight: Array | None
    kept: Any  # which of the user's rows these are: those of positive weight
    n_rows: int  # how many the user handed in
    were_added: bool = False  # whether some came after the fit, perhaps chosen by what it said

    @property
    def dropped(self) -> int:
        """Rows of weight zero."""
        return self.n_rows - len(self.kept)

    def and_more(self, labels: Any) -> TrainingRows:
        """With further rows, of weight one."""
        own = None if self.sample_weight is None else np.r_[self.sample_weight, np.ones(len(labels))]
        kept = np.r_[self.kept, self.n_rows + np.arange(len(labels))]
        return TrainingRows(np.r_[self.labels, labels], own, kept, self.n_rows + len(labels), were_added=True)


@told_briefly("model", "view", "classes", "n_rows", "log_evidence")
@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, the view of its training points, and a posterior for each class (one for two classes).

    Attributes
    ----------
    model : Model
        Kernel with bias, and likelihood.
    points : Points
        Training points, and the way of new inputs into their form.
    view : View
        The form that their Gram matrix has.
    posteriors : tuple of Posterior
        One for two classes, else one for each class against the rest.
    classes : ndarray
        Class labels.
    log_evidence : float or None
        Sum of the posteriors' log-evidences.
    alternatives : sequence of (Candidate, float)
        Other plausible hyper-parameters, with their weights.
    rows : TrainingRows or None
        The training rows; None where these are not at hand any more.
    class_count : ndarray or None
        How many rows each class had, where they came in batches or live in partitions.
    prior_saw : str or None
        What of the prior was learned from the training rows.
    is_tuned : bool
        Whether hyper-parameters were chosen by the training rows.
    table : Table or None
        What nominal columns held, where training rows came as a table.
    power : float
        To which class probabilities are raised.
    apart : bool
        Whether several classes decide each against the rest, whatever the classifier does else: what a certificate of
        margin machines speaks of.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = BayesPointClassifier(optimizer=None).fit(X, y).fitted_
    >>> len(fitted.posteriors), fitted.n_rows
    (3, 150)
    """

    model: Model
    points: Points
    view: View
    posteriors: tuple[Any, ...]
    classes: Any
    log_evidence: float | None
    alternatives: Sequence[tuple[Candidate, float]] = ()
    rows: TrainingRows | None = None
    class_count: Any = None
    prior_saw: str | None = None
    is_tuned: bool = False
    table: Table | None = None
    power: float = 1.0
    apart: bool = False
    _new: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, found: Candidate, points: Points, classes: Any, **known: Any) -> Fitted:
        """From a candidate."""
        posteriors, alternatives = tuple(found.posteriors), found.alternatives
        if known.get("rows") is not None:  # else some of the Gram matrix's rows are not in the view
            for posterior in posteriors:
                remember(posterior.problem.gram, found.view, found.model.kernel)
        return cls(found.model, points, found.view, posteriors, classes, found.log_evidence, alternatives, **known)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_new": {}}  # what can be worked out again is not kept in files

    @property
    def kernel(self) -> Kernel:
        """Bias included."""
        return self.model.kernel

    @property
    def log_posterior(self) -> float | None:
        """What hyper-parameters are chosen by: the log-evidence plus the log-density of the hyper-prior, if any.

        The latter is beside that of its maximum.
        """
        prior = self.model.prior
        if self.log_evidence is None or prior is None:
            return self.log_evidence
        return self.log_evidence + prior.log_density(self.model.theta)

    @property
    def takes_gaps(self) -> bool:
        """Whether inputs may have missing values."""
        shape = self.model.kernel.k1
        return isinstance(shape, OnFeatures) and bool(shape.features.takes_gaps)

    @property
    def takes_objects(self) -> bool:
        """Whether inputs are anything but vectors."""
        return isinstance(self.points.X, Objects)

    @property
    def n_rows(self) -> int:
        """Rows that went into the posteriors."""
        return int(np.sum(self.class_count)) if self.rows is None else len(self.rows.labels)

    def at(self, rows: Any) -> NewPoints:
        """New points, given in the form of the training points."""
        if "map" not in self._new:
            self._new["map"] = self.view.new(self.model.kernel)
        new: NewPoints = self._new["map"](rows)
        return new

    def read(self, X: Any, function: Callable[[NewPoints], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Arrays from new inputs, some of them at a time, in as many threads as there are for linear algebra."""
        rows, width = self.points.transform(X), len(self.posteriors[0].mean_weights)
        n = rows.shape[0]
        parts = -(-n // max(_VALUES // max(width, 1), _ROWS))
        with blas_threads_for(width):
            if parts <= 1:
                return function(self.at(rows))
            self.at(rows[:1])  # what all parts need is worked out once
        ends = np.linspace(0, n, parts + 1).astype(int)

        def part(start: int, stop: int) -> tuple[Array, ...]:
            return function(self.at(rows[start:stop]).among_many(n))

        parts_of_kernel = self.model.kernel.get_params().values()
        is_users = any(isinstance(one, CallableKernel) for one in parts_of_kernel)  # which may not bear threads
        with workers(1 if is_users else None) as run:
            found = list(run(part, ends[:-1], ends[1:]))
        return tuple(np.concatenate(arrays) for arrays in zip(*found, strict=True))

    def latent(self, X: Any) -> Latent:
        """Moments of the latents at new inputs; with several classes a column each."""
        return Latent(*self.read(X, lambda new: stacked_latents([p.at(new).latent for p in self.posteriors])))

    def functions(self, X: Any, size: int, random_state: Any) -> Array:
        """Functions drawn from the posteriors, at new inputs jointly."""
        rng = as_generator(random_state)
        prior = kernel_values(self.kernel, self.points.among_themselves(X))
        new = self.at(self.points.transform(X)).together(prior)  # type: ignore[attr-defined]
        drawn = [posterior.at(new).functions(size, rng) for posterior in self.posteriors]
        return drawn[0] if len(drawn) == 1 else np.stack(drawn, axis=2)

    def member(self, candidate: Candidate) -> Fitted:
        """One of several models by itself."""
        known = {"rows": self.rows, "prior_saw": self.prior_saw, "is_tuned": self.is_tuned, "table": self.table}
        return Fitted.of(replace(candidate, alternatives=()), self.points, self.classes, **known)

    def with_posteriors(self, posteriors: Sequence[Any]) -> Fitted:
        """The same with other posteriors."""
        return replace(self, posteriors=tuple(posteriors))


def mixed_latent(parts: Sequence[tuple[Latent, float]]) -> Latent:
    """Moments of a mixture of latents."""
    mean = np.sum([weight * latent.mean for latent, weight in parts], axis=0)
    spread = [weight * (latent.variance + np.square(latent.mean - mean)) for latent, weight in parts]
    return Latent(mean, np.sum(spread, axis=0))


def leaving_one_out(
    posteriors: Sequence[Any], weights: Array | None, by: Callable[[Any, Any], Latent] | None = None
) -> Latent:
    """Moments of the latent at each training point given all the others; with several classes a column each.

    A row of weight two stands for two: one of them is left out. `by` takes a share of each label away where that is not
    what the posterior itself makes of it.
    """
    share = 1.0 if weights is None else 1 / np.maximum(weights, 1.0)
    return stacked_latents([by(one, share) if by else one.leaving_out(share) for one in posteriors])


def stacked_latents(latents: Sequence[Latent]) -> Latent:
    """Moments of several latents, a column each."""
    if len(latents) == 1:
        return latents[0]
    return Latent(*(np.stack(moment, axis=1) for moment in zip(*latents, strict=True)))
