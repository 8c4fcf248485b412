"""What every engine is: settings, what it can do, and ``infer``."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, ClassVar

from joblib import delayed

from .._core.parallel import in_parallel
from .._core.random import as_generator
from ..exceptions import InvalidProblemError
from ..problem import Problem

__all__ = ["Engine", "draws_of_share"]

_FEWEST = 200  # draws of a chain: enough to tell whether it mixed


class Engine:
    """One algorithm, from a problem to a posterior. Engines are frozen settings; nothing is written on them.

    Subclasses declare what they can do; nobody guesses it. What they cannot, `infer` refuses in one sentence.

    Attributes
    ----------
    takes : frozenset of str or None
        Kinds of likelihoods (`Likelihood.kind`) that it can do; None for any of labels -1 and +1.
    takes_classes : bool
        Whether labels may be class numbers, with a latent for each class (`bayespoint.Choice`).
    takes_weights, takes_residual : bool
        Whether rows may have weights, and variances of their own.
    refusal : str
        The sentence for all other likelihoods; braces stand for the likelihood.
    is_exact : bool
        Whether draws are from the posterior itself.
    gives_evidence : bool
        Whether posteriors come with a log-evidence and its gradient.
    wants_rows : bool
        Whether only some rows of the Gram matrix are asked for, so that it need not be held.
    can_grow : bool
        Whether a row can be added to its posteriors as if it had been there from the beginning.

    Examples
    --------
    >>> from bayespoint.engines import EP, Billiard
    >>> EP.gives_evidence, Billiard.is_exact
    (True, True)
    """

    takes: ClassVar[frozenset[str] | None] = None
    takes_classes: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = True
    takes_residual: ClassVar[bool] = True
    refusal: ClassVar[str] = ""
    is_exact: ClassVar[bool] = False
    gives_evidence: ClassVar[bool] = False
    wants_rows: ClassVar[bool] = False
    can_grow: ClassVar[bool] = False

    def infer(self, problem: Problem, rng: Any = None, *, start: Any = None) -> Any:
        """The posterior of a problem; `start` is what a similar problem ended with."""
        raise NotImplementedError

    def check(self, problem: Problem) -> None:
        """Refuse a problem of a kind that was not declared."""
        name = type(self).__name__
        if problem.n_classes is not None and not self.takes_classes:
            raise InvalidProblemError(
                f"{name} tells two classes apart, labels -1 and +1: use EP for {problem.likelihood}, or one class "
                "against the rest."
            )
        if self.takes is not None and problem.likelihood.kind not in self.takes:
            raise InvalidProblemError(self.refusal.format(problem.likelihood))
        if problem.weights is not None and not self.takes_weights:
            raise InvalidProblemError(f"Rows have no weights with {name}: leave them out, or use another engine.")
        if problem.gram.residual is not None and not self.takes_residual:
            raise InvalidProblemError(f"Rows have no residuals with {name}: leave them out, or use another engine.")

    def infer_all(
        self, problems: Sequence[Problem], rng: Any = None, *, start: Any = None, n_jobs: int | None = None
    ) -> list[Any]:
        """Posteriors of several label vectors on one Gram matrix, such as one class against the rest."""
        streams = as_generator(rng).spawn(len(problems))  # one for each, so that n_jobs changes nothing
        options = [{} if start is None else {"start": one} for one in (start or [None] * len(problems))]
        if len(problems) == 1:
            return [self.infer(problems[0], streams[0], **options[0])]
        work = zip(problems, streams, options, strict=True)
        return in_parallel((delayed(self.infer)(problem, stream, **option) for problem, stream, option in work), n_jobs)

    def for_share(self, share: float) -> Engine:
        """The same for one of several models that are mixed with weights: samplers draw in proportion to its weight."""
        return self

    def announce(self, n: int) -> None:
        """Refuse, or warn of, what a problem of n rows would take, before any work is done."""


def draws_of_share(draws: int, share: float) -> int:
    """Draws for a model of that weight in a mixture that has as many draws in all."""
    return min(draws, max(_FEWEST, ceil(share * draws)))
