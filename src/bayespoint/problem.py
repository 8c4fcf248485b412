"""The problem an engine solves: a Gram matrix, labels in {-1, +1} or class numbers, a likelihood, and weights."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any, NamedTuple

import numpy as np

from ._core.typing import Array
from ._core.words import told_briefly
from .exceptions import EmptyVersionSpaceError, InvalidProblemError
from .grams import Dense, Gram, NewPoints
from .grams.checks import mended_gram
from .grams.separation import separating_class_latents, separating_latents
from .grams.whitening import Whitened
from .likelihoods import Choice, Likelihood

__all__ = ["Problem", "Weights"]

_ROUNDING = 1e-12  # share of a prior variance that is nothing


@told_briefly()
class Weights(NamedTuple):
    """Row i counts as `copies[i]` rows with the likelihood to the `power[i]`: one copy or more, a power of at most one.

    Only the product matters to the model; the split says which product of factors expectation propagation works on, so
    that repeating a row and weighting it come to the same.

    Examples
    --------
    >>> from bayespoint.problem import Weights
    >>> Weights.of([2.0, 0.5])
    Weights(copies=array([2., 1.]), power=array([1. , 0.5]))
    """

    copies: Array
    power: Array

    @classmethod
    def of(cls, weights: Any, power: Any = 1.0) -> Weights:
        """From plain weights, of rows that may come with a power already."""
        total = np.asarray(weights, dtype=np.float64) * power
        copies = np.maximum(total / np.minimum(power, 1.0), 1.0)  # a power above one is copies
        with np.errstate(invalid="ignore"):
            return cls(copies, total / copies)

    def effective(self) -> Weights:
        """The same in proportion, as many rows in all as weights so unequal are worth: (sum w)^2 / sum w^2 (Kish)."""
        total = self.total
        return Weights.of(total * total.sum() / np.square(total).sum())

    def and_one(self) -> Weights:
        """With one more row of weight one."""
        return Weights(np.r_[self.copies, 1.0], np.r_[self.power, 1.0])

    @property
    def total(self) -> Array:
        """The weight as one number a row."""
        return self.copies * self.power

    @property
    def are_positive(self) -> bool:
        """Whether all weights are finite and above zero."""
        return bool(np.all((self.total > 0) & np.isfinite(self.total)))


@told_briefly()
@dataclass(frozen=True, eq=False)
class Problem:
    """Latents ``f ~ N(0, gram)`` and labels with ``prod_i likelihood(y_i f_i)**weight_i``.

    With the likelihood `Choice` labels are numbers of classes, and there is such a latent function for each class.

    Parameters
    ----------
    gram : array-like of shape (n, n), or Gram
        Symmetric positive semi-definite Gram matrix of the training points, bias included; or its factor
        (`bayespoint.grams.LowRank`), or a kernel and its inputs (`bayespoint.grams.KernelRows`).
    y : array-like of shape (n,)
        Labels -1 and +1; with `Choice` class numbers from 0.
    likelihood : Step, Hinge, Logistic or Choice
        How labels follow from latents.
    weights : array-like of shape (n,) or Weights, optional
        Positive weights; a whole number means as many copies of the row. One each by default.
    check : bool, default=True
        Whether to test that an array is symmetric and positive semi-definite, at the price of a Cholesky
        decomposition. One that is off by up to 1e-8 of its largest entry (its lowest eigenvalue by n times that) is
        mended, with a warning that says by how much; any other is refused.
    n_classes : int, optional
        Number of classes, with `Choice`; by default one more than the largest class number. None for labels -1, +1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> problem = Problem(np.eye(2), [1, -1], Step())
    >>> problem.size
    2
    """

    gram: Gram
    y: Array
    likelihood: Likelihood
    weights: Weights | None = None
    check: InitVar[bool] = True
    n_classes: int | None = None

    def __post_init__(self, check: bool) -> None:
        given: Any = self.gram
        gram = given if hasattr(given, "conditioned") else Dense(given)
        y, n_classes = self._labels(gram.size)
        weights = (
            self.weights if self.weights is None or isinstance(self.weights, Weights) else Weights.of(self.weights)
        )
        if weights is not None and not (weights.copies.shape == y.shape and weights.are_positive):
            raise InvalidProblemError(f"weights must be {gram.size} finite positive numbers; drop rows of weight zero.")
        if n_classes and weights is not None and self.likelihood.softness > 0 and np.any(weights.power < 1):
            raise InvalidProblemError(
                "Of several classes a soft boundary takes weights of at least one: multiply all of them, set "
                "softness=0, or take one class against the rest."
            )
        if check and gram is not given:
            gram = Dense(mended_gram(gram.dense))
        for name, value in (("gram", gram), ("y", y), ("weights", weights), ("n_classes", n_classes)):
            object.__setattr__(self, name, value)

    def _labels(self, size: int) -> tuple[Array, int | None]:
        """Signs, or class numbers and how many classes there are."""
        y = np.asarray(self.y, dtype=np.float64)
        if not isinstance(self.likelihood, Choice):
            if y.shape != (size,) or not np.all(np.abs(y) == 1):
                raise InvalidProblemError(f"y must hold {size} labels -1 or +1, one for each row of the Gram matrix.")
            return y, None
        n_classes = max(2, int(y.max(initial=0)) + 1) if self.n_classes is None else int(self.n_classes)
        if y.shape != (size,) or not np.all((y >= 0) & (y < n_classes) & (y == np.floor(y))) or n_classes < 2:
            raise InvalidProblemError(
                f"y must hold {size} class numbers from 0 to {n_classes - 1}, one for each row of the Gram matrix."
            )
        return y.astype(np.intp), n_classes

    @property
    def size(self) -> int:
        """Number of training points."""
        return len(self.y)

    @property
    def dense(self) -> Array:
        """The Gram matrix as an array, whatever it was given as; residuals are left out."""
        return self.gram.dense

    @property
    def diag(self) -> Array:
        """Prior variances of the latents, residuals left out."""
        return self.gram.diag

    def whitened(self) -> Whitened:
        """Coordinates in which latents, and what the walls of a step see of them, are standard normal a priori."""
        return Whitened(self.gram.whitened(), self.own)

    def and_row(self, new: NewPoints, y: float) -> Problem:
        """The same with one more row, of weight one, at the end."""
        weights = None if self.weights is None else self.weights.and_one()
        return Problem(self.gram.appended(new), np.r_[self.y, y], self.likelihood, weights, False, self.n_classes)

    @property
    def residual(self) -> Array | None:
        """Prior variance of each row that the Gram matrix does not have, None if nothing is said of it."""
        return self.gram.residual

    @property
    def own(self) -> Array:
        """Variance that each row has of its own before its label is read off: latent noise and residual."""
        softness = np.full(self.size, float(self.likelihood.softness))
        return softness if self.residual is None else softness + self.residual

    @property
    def hard(self) -> Any:
        """Rows on whose wrong side the likelihood is zero: those without a residual, up to rounding."""
        if not self.likelihood.is_hard:
            return np.zeros(self.size, dtype=bool)
        return self.own <= _ROUNDING * self.diag

    @property
    def exponents(self) -> Array:
        """Power of each row's likelihood: its weight."""
        return np.ones(self.size) if self.weights is None else self.weights.total

    def log_likelihood(self, latents: Array) -> Array:
        """Logarithm of each row's likelihood to its weight, given latents of shape (..., n) without their residuals.

        Residuals are integrated out, for each copy of a row on its own. Of class numbers latents are (..., n, C).
        """
        if isinstance(self.likelihood, Choice):
            copies, power = np.ones((2, self.size)) if self.weights is None else self.weights
            own = np.zeros(self.size) if self.residual is None else self.residual
            return copies * self.likelihood.log_average(self.y, latents, own, power)
        values: Array = self.exponents * self.likelihood.log_likelihood(self.y, latents)
        if self.residual is None:
            return values
        rows = np.flatnonzero(self.residual)
        copies, power = np.ones((2, self.size)) if self.weights is None else self.weights
        some = latents[..., rows]
        y, own, power = (np.broadcast_to(part[rows], some.shape).ravel() for part in (self.y, self.residual, power))
        log_z = self.likelihood.site(y, some.ravel(), own, power)[0]
        values[..., rows] = copies[rows] * log_z.reshape(some.shape)
        return values

    @property
    def weighs_noise(self) -> bool:
        """Whether some weight is not that of a step or hinge at one draw of what the row has of its own."""
        if self.weights is None:
            return False
        beyond = self.weights.copies > 1 if self.likelihood.softness == 0 else self.weights.total != 1
        return bool(np.any(beyond & (self.own > 0)))

    def refuse_weights_of_noise(self) -> None:
        """Raise if walls, which act on one draw of what a row has of its own, cannot weight it."""
        if self.weighs_noise:
            raise InvalidProblemError(
                "Walls cannot weight rows under a soft boundary, nor count rows with a residual more than once: "
                "repeat rows, set softness=0, or use EP or EllipticalSlice."
            )

    def walls(self) -> Problem:
        """The problem of the hard rows alone; the others can always be put right by what they have of their own."""
        if self.hard.all():
            return self
        rows = np.flatnonzero(self.hard)
        return Problem(self.gram.part(rows), self.y[rows], self.likelihood, None, False, self.n_classes)

    def separating(self) -> Array | None:
        """Latents that have every label right, one a row or one a row and class; None if there are none."""
        if self.n_classes is None:
            return separating_latents(self.gram, self.y)
        return separating_class_latents(self.gram, self.y, self.n_classes)

    def raise_if_empty(self) -> None:
        """Raise `EmptyVersionSpaceError` if a hard boundary leaves no function at all."""
        walls = self.walls()
        if walls.size and walls.separating() is None:
            reason = _why_empty(walls, np.flatnonzero(self.hard))
            raise EmptyVersionSpaceError(
                f"Version space is empty: {reason}; raise softness (or noise) above 0, or use a kernel of higher rank."
            )


def _why_empty(walls: Problem, numbers: Any) -> str:
    """The plainest reason: a point of norm zero, or two identical points with different labels; rows by `numbers`."""
    rows, diag, y = walls.gram.signature, walls.diag, walls.y
    if not diag.all():
        return f"row {numbers[np.argmin(diag)]} has kernel value zero with itself"
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    for i, g in enumerate(np.ravel(group)):
        j = int(first[g])
        if y[i] != y[j]:
            return f"rows {numbers[min(i, j)]} and {numbers[max(i, j)]} are the same point with different labels"
    return "no function of this kernel separates the training labels"
