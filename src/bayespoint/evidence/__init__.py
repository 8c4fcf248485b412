"""Evidence of any problem with a standard error: for a hard boundary the volume of version space.

Expectation propagation has an evidence of its own, fast and with an unknown error (`GaussianPosterior.log_evidence`);
what is here is exact up to the standard error it reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtri

from .._core.random import as_generator
from .._core.telling import heard_by, raiser, tell
from .._core.threads import blas_threads_for
from .._core.words import as_html_text
from ..exceptions import EmptyVersionSpaceError, InferenceWarning, InvalidProblemError
from ..likelihoods import Choice, Hinge, Step
from ..problem import Problem
from ._cumulants import cumulant_correction
from ._paths import PriorPath, TiltedPath, gaussian_path, orthant_of
from ._stepping import Stones, Walk, explore
from ._tilting import sobol_log_weights

__all__ = ["Estimate", "Stones", "cumulant_correction", "log_evidence"]

_SCRAMBLES = 16
_FAIR = 0.2  # of the draws, what a start may need for others not to be tried
_MANY_WALLS = 1000  # between several classes, from which tilting them all is no cheap start


@dataclass(frozen=True)
class Estimate:
    """A log-evidence, its standard error, and how it came about.

    Attributes
    ----------
    value : float
        The log-evidence in nats.
    se : float or None
        Monte Carlo standard error; None for an approximation that has none.
    method : str
        How it was computed.
    path : Stones or None
        Levels of the path and what was drawn at each, if there is a path.

    Examples
    --------
    >>> from bayespoint.evidence import Estimate
    >>> print(Estimate(-12.3456, 0.021, "tilted"))
    -12.346 +- 0.021 (tilted)
    >>> round(Estimate(-12.3456, 0.021, "tilted").lower(0.05), 3)
    -12.38
    """

    value: float
    se: float | None
    method: str
    path: Stones | None = None

    def lower(self, level: float = 0.05) -> float:
        """Value that the log-evidence exceeds with confidence ``1 - level``, as far as Monte Carlo error goes."""
        return self.value if self.se is None else self.value + float(ndtri(level)) * self.se

    def per_row(self, rows: int) -> Estimate:
        """The same divided by a number of rows, as Sollich's E(Y|X), E(X, Y) and E_nv(Y|X) are."""
        return replace(self, value=self.value / rows, se=None if self.se is None else self.se / rows)

    @classmethod
    def total(cls, parts: Sequence[Estimate]) -> Estimate:
        """Sum of independent estimates, such as those of each class against the rest."""
        if len(parts) == 1:
            return parts[0]
        errors = [part.se for part in parts if part.se is not None]
        error = float(np.linalg.norm(errors)) if errors else None
        return cls(sum(part.value for part in parts), error, f"{parts[0].method}, {len(parts)} classes")

    def _repr_html_(self) -> str:
        return as_html_text(str(self))

    def __str__(self) -> str:
        error = "" if self.se is None else f" +- {self.se:.2g}"
        return f"{self.value:.3f}{error} ({self.method})"


def log_evidence(
    problem: Problem,
    rng: Any = None,
    method: str = "auto",
    *,
    se: float = 0.1,
    max_draws: int = 100_000,
    n_jobs: int | None = None,
) -> Estimate:
    """Log-evidence of a problem: of `Step()` the log-volume of version space.

    Parameters
    ----------
    problem : Problem
        Any likelihood, any rank, any number of classes.
    rng : int, Generator, RandomState or None
        Source of randomness.
    method : {"auto", "tilted", "billiard", "bridge"}, default="auto"
        "tilted" is minimax tilting with quasi-random draws, for steps without label noise on a Gram matrix of full
        rank; its error may be far larger than it looks when version space is elongated. "billiard" raises the walls
        (or hinges) from nothing in adaptive steps, each sampled by the billiard; it goes everywhere. "bridge" starts
        from an approximation, tilted proposals where these apply and the Gaussian of expectation propagation
        elsewhere, and corrects it with exact draws. "auto" takes the one that promises the smallest error for its
        effort.
    se : float, default=0.1
        Standard error to reach, in nats.
    max_draws : int, default=100_000
        Draws after which to stop, with an `InferenceWarning` if the error is still above `se`.
    n_jobs : int or None, default=None
        Levels sampled at the same time; the estimate does not depend on it.

    Returns
    -------
    Estimate

    Notes
    -----
    Draws of all levels are combined by the optimal bridge for many distributions (Shirts & Chodera 2008); levels are
    chosen by a pilot whose draws are not used again. Tilting is that of Botev (2017).

    Examples
    --------
    Independent points: each label halves the volume.

    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.evidence import log_evidence
    >>> estimate = log_evidence(Problem(np.eye(4), [1, -1, 1, 1], Step()), rng=0)
    >>> bool(abs(estimate.value - 4 * np.log(0.5)) < 5 * estimate.se + 1e-9)
    True
    """
    if method not in _METHODS:
        names = ", ".join(map(repr, _METHODS))
        raise InvalidProblemError(f"method must be one of {names}, got {method!r}.")
    check_effort(se, max_draws)
    if not (problem.diag.any() or problem.residual is not None):
        return _of_zero_latents(problem)
    with blas_threads_for(problem.size):
        estimate = _METHODS[method](problem, as_generator(rng), se, max_draws, n_jobs)
    warn_if_short(estimate, se)
    return estimate


def check_effort(se: float, max_draws: int) -> None:
    """Refuse what cannot be reached."""
    if not se > 0:
        raise InvalidProblemError(f"se must be a number above 0, the standard error to reach, got {se!r}.")
    if max_draws < 1:
        raise InvalidProblemError(f"max_draws must be at least 1, got {max_draws!r}.")


def warn_if_short(estimate: Estimate, se: float) -> None:
    """Tell if the standard error asked for was not reached."""
    if estimate.se is None or estimate.se <= se:
        return
    what = f"The log-evidence has a standard error of {estimate.se:.2g}, not {se:.2g}: raise max_draws."
    if estimate.se == np.inf:
        what = "The log-evidence is not to be trusted: no draw came near the bulk of it; raise noise or softness."
    tell(what, stacklevel=3)


def _of_zero_latents(problem: Problem) -> Estimate:
    """A kernel that is zero everywhere: all latents are zero, and nothing is left to integrate but their noise."""
    problem.raise_if_empty()
    f = np.zeros(problem.size if problem.n_classes is None else (problem.size, problem.n_classes))
    return Estimate(float(problem.log_likelihood(f).sum()), 0.0, "exact")


def _tilted(problem: Problem, rng: np.random.Generator, se: float, max_draws: int, n_jobs: int | None) -> Estimate:
    """Means of independently scrambled sequences tell the error; longer sequences until it is small enough."""
    orthant = orthant_of(problem)
    count = 128
    while True:
        means = np.array([logsumexp(sobol_log_weights(orthant, count, rng)) for _ in range(_SCRAMBLES)]) - np.log(count)
        value = float(logsumexp(means) - np.log(_SCRAMBLES))
        error = float(np.exp(means - value).std(ddof=1) / np.sqrt(_SCRAMBLES))
        if error <= se or 2 * count * _SCRAMBLES > max_draws:
            return Estimate(value, error, "tilted")
        count *= 2


def _path_estimate(
    name: str, start: Callable[..., Walk], problem: Problem, rng: Any, se: float, max_draws: int, n_jobs: int | None
) -> Estimate:
    return refined(start(problem, rng, n_jobs), name, se, max_draws)


def refined(walk: Walk, method: str, se: float, max_draws: int) -> Estimate:
    """The end of a walk, once its error is as asked for."""
    walk.refine(se, max_draws)
    return Estimate(walk.value, walk.se, method, walk.steps)


def walk_along(make: Callable[[Problem], Any], problem: Problem, rng: np.random.Generator, n_jobs: int | None) -> Walk:
    """First draws at all levels of the path that `make` gives a problem."""
    path = make(problem)
    stones = explore(path, rng)
    if stones is None:
        raise InvalidProblemError("Version space is too small for its volume to be found: raise softness or noise.")
    return Walk(path, stones, n_jobs)


def _from_prior(problem: Problem, rng: np.random.Generator, n_jobs: int | None) -> Walk:
    """Walls of growing energy, or slopes where version space is too thin to be met by chance."""
    try:
        return walk_along(PriorPath, problem, rng, n_jobs)
    except InvalidProblemError as error:
        has_slopes = isinstance(problem.likelihood, Step | Choice) and problem.likelihood.noise == 0
        if not has_slopes or isinstance(error, EmptyVersionSpaceError):
            raise
        problem.raise_if_empty()
        return walk_along(partial(PriorPath, slopes=True), problem, rng, n_jobs)


def _auto(problem: Problem, rng: np.random.Generator, se: float, max_draws: int, n_jobs: int | None) -> Estimate:
    """The first start that gets there with a fair share of the draws, or the one with the least to do."""
    walks: list[tuple[float, str, Walk]] = []
    failure: Exception | None = None
    for name, start in _starts(problem):
        try:
            with heard_by(raiser):  # a Gaussian that EP itself distrusts is no start
                if walks and start is _from_prior:  # slopes are for when there is nothing else
                    start = partial(walk_along, PriorPath)
                walk = start(problem, rng, n_jobs)
        except (InvalidProblemError, InferenceWarning) as error:
            failure = error
            continue
        walks.append((walk.cost if walk.se < np.inf else np.inf, name, walk))
        fair = 1.0 if name == "billiard" else _FAIR  # where it comes first nothing after it is better
        if walk.se**2 * walk.draws.sum() <= fair * max_draws * se**2:
            break
    if not walks:
        return _last_resort(problem, failure, rng, se, max_draws, n_jobs)
    _, name, walk = min(walks, key=lambda entry: entry[0])
    return refined(walk, name, se, max_draws)


def _last_resort(problem: Problem, failure: Exception | None, *args: Any) -> Estimate:
    """No path can be walked: tilting alone where it applies, or a start in spite of its warning."""
    if failure is None:  # nothing was tried: walls between several classes, and rows that they cannot weight
        problem.refuse_weights_of_noise()
    assert failure is not None
    if isinstance(failure, InferenceWarning):
        return _bridge(problem, *args)
    try:
        return _tilted(problem, *args)
    except InvalidProblemError:
        raise failure from None


def _starts(problem: Problem) -> Iterator[tuple[str, Callable[..., Walk]]]:
    likelihood: Any = problem.likelihood
    weighted_soft = problem.weighs_noise  # out of reach of walls
    walls = problem.size * ((problem.n_classes or 2) - 1)
    has_orthant = isinstance(likelihood, Step) or (isinstance(likelihood, Choice) and walls <= _MANY_WALLS)
    if has_orthant and likelihood.noise == 0 and not weighted_soft:
        yield "bridge", partial(walk_along, TiltedPath)
    by_walls = isinstance(likelihood, Step | Choice | Hinge) and not weighted_soft
    lets_through = likelihood.kind == "noise" and not problem.own.any()  # walls with no Gaussian near them
    if by_walls and lets_through:
        yield "billiard", _from_prior
    if not problem.hard.any() and problem.n_classes is None:
        yield "bridge", partial(walk_along, gaussian_path)
    if by_walls and not lets_through:
        yield "billiard", _from_prior


def _bridge(problem: Problem, *args: Any) -> Estimate:
    starts = (start for name, start in _starts(problem) if name == "bridge")
    start = next(starts, partial(walk_along, gaussian_path))  # which says why there is none
    return _path_estimate("bridge", start, problem, *args)


_METHODS: dict[str, Callable[..., Estimate]] = {
    "auto": _auto,
    "tilted": _tilted,
    "billiard": partial(_path_estimate, "billiard", _from_prior),
    "bridge": _bridge,
}
