"""The problem an engine solves: a Gram matrix, labels in {-1, +1}, a likelihood, and weights."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh, lapack
from scipy.optimize import linprog

from ._memory import refuse_beyond_memory
from ._typing import Array
from .exceptions import EmptyVersionSpaceError, InvalidProblemError
from .kernel_rows import KernelRows
from .likelihoods import Likelihood
from .natural import NaturalGaussian

__all__ = ["LowRank", "Problem", "Weights"]

_ROUNDING = 1e-12  # share of a prior variance that is nothing


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


@dataclass(frozen=True, eq=False)
class LowRank:
    """A Gram matrix ``M M'`` given by its factor: latents are ``f = M w`` with coordinates ``w ~ N(0, I)``.

    Posteriors of such a problem take the coordinates of new points where others take kernel values with the training
    points: ``cross`` has shape (n_points, rank).

    Parameters
    ----------
    factor : array-like of shape (n, rank)
        The rows M: features of a linear kernel, or a Cholesky factor.
    prior : NaturalGaussian, optional
        Prior of the coordinates w if it is not N(0, I): what other rows have told about them. Only expectation
        propagation takes one.
    residual : array-like of shape (n,), optional
        Prior variance of each row's latent that its coordinates do not have, each row's own and independent of all
        others (fully independent training conditional): the prior is that of the Gram matrix
        ``M M' + diag(residual)``, and a row that counts twice has two of them. Posteriors are over the coordinates:
        latents at the training points come without the residual. All engines take it into account but two:
        `Perceptrons` refuse it, and `Margin` keeps its margins in the coordinates alone.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import EP
    >>> from bayespoint.problem import LowRank
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> posterior = EP().infer(Problem(LowRank(X), [1, 1, 1], Step(softness=1.0)))
    >>> bool(np.all(posterior.latent(np.eye(2), np.ones(2)).mean > 0))
    True
    """

    factor: Array
    prior: NaturalGaussian | None = None
    residual: Array | None = None

    def __post_init__(self) -> None:
        factor = np.ascontiguousarray(self.factor, dtype=np.float64)
        if factor.ndim != 2 or not np.isfinite(factor).all():
            raise InvalidProblemError("The factor of a low-rank Gram matrix must be a finite matrix, one row a point.")
        if self.prior is not None and self.prior.rank != factor.shape[1]:
            raise InvalidProblemError(
                f"The prior is over {self.prior.rank} coordinates, but the rows have {factor.shape[1]}."
            )
        if self.residual is not None:
            residual = np.asarray(self.residual, dtype=np.float64)
            if residual.shape != (len(factor),) or not np.all(residual >= 0):
                raise InvalidProblemError(f"residual must be {len(factor)} variances of at least 0, one for each row.")
            object.__setattr__(self, "residual", residual)
        object.__setattr__(self, "factor", factor)

    def __len__(self) -> int:
        return len(self.factor)


@dataclass(frozen=True, eq=False)
class Problem:
    """Latents ``f ~ N(0, gram)`` and labels with ``prod_i likelihood(y_i f_i)**weight_i``.

    Parameters
    ----------
    gram : array-like of shape (n, n), LowRank or KernelRows
        Symmetric positive semi-definite Gram matrix of the training points, bias included; or its factor; or a kernel
        and its inputs, for engines that want rows.
    y : array-like of shape (n,)
        Labels -1 and +1.
    likelihood : Step or Hinge
        How labels follow from latents.
    weights : array-like of shape (n,) or Weights, optional
        Positive weights; a whole number means as many copies of the row. One each by default.
    check : bool, default=True
        Whether to test that `gram` is positive semi-definite, at the price of a Cholesky decomposition.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> problem = Problem(np.eye(2), [1, -1], Step())
    >>> problem.size
    2
    """

    gram: Array | LowRank | KernelRows
    y: Array
    likelihood: Likelihood
    weights: Weights | None = None
    check: InitVar[bool] = True

    def __post_init__(self, check: bool) -> None:
        gram = self.gram
        if not isinstance(gram, LowRank | KernelRows):
            gram = np.ascontiguousarray(gram, dtype=np.float64)  # engines read it by rows
            if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
                raise InvalidProblemError(f"The Gram matrix must be square, got shape {gram.shape}.")
        y = np.asarray(self.y, dtype=np.float64)
        weights = (
            self.weights if self.weights is None or isinstance(self.weights, Weights) else Weights.of(self.weights)
        )
        if y.shape != (len(gram),) or not np.all(np.abs(y) == 1):
            raise InvalidProblemError(f"y must hold {len(gram)} labels -1 or +1, one for each row of the Gram matrix.")
        if weights is not None and not (weights.copies.shape == y.shape and weights.are_positive):
            raise InvalidProblemError(f"weights must be {len(gram)} finite positive numbers; drop rows of weight zero.")
        if check and isinstance(gram, np.ndarray):
            check_gram(gram)
        for name, value in (("gram", gram), ("y", y), ("weights", weights)):
            object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """Number of training points."""
        return len(self.y)

    @property
    def root(self) -> Array | None:
        """The factor M of a low-rank Gram matrix, None if it is a dense one."""
        return self.gram.factor if isinstance(self.gram, LowRank) else None

    @property
    def prior(self) -> NaturalGaussian | None:
        """Prior of the coordinates of a low-rank Gram matrix, None if it is N(0, I)."""
        return self.gram.prior if isinstance(self.gram, LowRank) else None

    @property
    def residual(self) -> Array | None:
        """Prior variance that the coordinates of a low-rank Gram matrix do not have, None if nothing is said of it."""
        return self.gram.residual if isinstance(self.gram, LowRank) else None

    @property
    def own(self) -> Array:
        """Variance that each row has of its own before its label is read off: latent noise and residual."""
        softness = np.full(self.size, float(self.likelihood.softness))
        return softness if self.residual is None else softness + self.residual

    @property
    def hard(self) -> Any:
        """Rows on whose wrong side the likelihood is zero: those without a residual, up to rounding."""
        return (self.own <= _ROUNDING * self.diag) & self.likelihood.is_hard

    def refuse_prior(self) -> None:
        """Raise unless coordinates have the prior N(0, I)."""
        if self.prior is not None:
            raise InvalidProblemError(
                "Only expectation propagation takes a prior of the coordinates that is not N(0, I): use the EP engine."
            )

    @cached_property
    def dense(self) -> Array:
        """The Gram matrix as an array, whatever it was given as; residuals are left out."""
        if not isinstance(self.gram, LowRank):
            return self.gram.dense if isinstance(self.gram, KernelRows) else self.gram
        self.refuse_prior()
        refuse_beyond_memory(self.size, 1, "use an engine that works on the factor, such as EP, or fewer rows")
        return self.gram.factor @ self.gram.factor.T

    @cached_property
    def diag(self) -> Array:
        """Prior variances of the latents, residuals left out."""
        if not isinstance(self.gram, LowRank):
            return self.gram.diag if isinstance(self.gram, KernelRows) else np.diagonal(self.gram)
        m = self.gram.factor
        return np.einsum("ij,ij->i", m if self.prior is None else m @ self.prior.covariance, m)

    def part(self, rows: Any) -> Array | LowRank | KernelRows:
        """The Gram matrix of some of the rows, of the kind that the whole is."""
        if isinstance(self.gram, KernelRows):
            return self.gram.part(rows)
        if self.root is None:
            return self.dense[np.ix_(rows, rows)]
        return LowRank(self.root[rows], self.prior, None if self.residual is None else self.residual[rows])

    def and_row(self, gram: Array | LowRank, y: float) -> Problem:
        """The same with one more row, of weight one, at the end; `gram` is that of all rows."""
        weights = None if self.weights is None else self.weights.and_one()
        return Problem(gram, np.r_[self.y, y], self.likelihood, weights, check=False)

    def bordered(self, column: Array, diag: float) -> Array:
        """The dense Gram matrix with one more row and column."""
        gram = np.pad(self.dense, ((0, 1), (0, 1)))
        gram[-1] = gram[:, -1] = np.r_[column, diag]
        return gram

    @property
    def exponents(self) -> Array:
        """Power of each row's likelihood: its weight."""
        return np.ones(self.size) if self.weights is None else self.weights.total

    def log_likelihood(self, latents: Array) -> Array:
        """Logarithm of each row's likelihood to its weight, given latents of shape (..., n) without their residuals.

        Residuals are integrated out, for each copy of a row on its own.
        """
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

    def refuse_weights_of_noise(self) -> None:
        """Raise if some weight is not that of a step or hinge at one draw of what the row has of its own."""
        if self.weights is None:
            return
        beyond = self.weights.copies > 1 if self.likelihood.softness == 0 else self.weights.total != 1
        if np.any(beyond & (self.own > 0)):
            raise InvalidProblemError(
                "Walls cannot weight rows under a soft boundary, nor count rows with a residual more than once: "
                "repeat rows, set softness=0, or use EP or EllipticalSlice."
            )

    def raise_if_empty(self) -> None:
        """Raise `EmptyVersionSpaceError` if a hard boundary leaves no function at all.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import Problem, Step
        >>> Problem(np.eye(2), [1, -1], Step()).raise_if_empty()
        """
        walls = self.walls()
        if walls.size and separating_latents(walls.gram, walls.y) is None:
            reason = _why_empty(walls, np.flatnonzero(self.hard))
            raise EmptyVersionSpaceError(
                f"Version space is empty: {reason}; raise softness (or noise) above 0, or use a kernel of higher rank."
            )

    def walls(self) -> Problem:
        """The problem of the hard rows alone; the others can always be put right by what they have of their own."""
        if self.hard.all():
            return self
        root = np.empty((0, 0)) if self.root is None else self.root[self.hard]
        return Problem(LowRank(root, self.prior), self.y[self.hard], self.likelihood, check=False)


def check_gram(gram: Array) -> None:
    """Raise with one sentence unless `gram` is finite, symmetric and positive semi-definite up to rounding."""
    if not np.isfinite(gram).all():
        raise InvalidProblemError(
            "The Gram matrix has NaN or infinite entries: check the kernel, or rescale the features "
            "(for example with StandardScaler)."
        )
    scale = float(np.abs(gram).max(initial=0.0))
    if np.abs(gram - gram.T).max(initial=0.0) > 1e-8 * scale:
        raise InvalidProblemError("The Gram matrix is not symmetric; a kernel must satisfy k(x, z) = k(z, x).")
    if scale > 1e150:
        raise InvalidProblemError(f"Kernel values reach {scale:.1g}, too large to square: rescale the features.")
    if 0 < scale < 1e-150:
        raise InvalidProblemError(f"Kernel values reach only {scale:.1g}, too small to square: rescale the features.")
    tolerance = 1e-8 * len(gram) * scale
    shifted = gram + tolerance * np.eye(len(gram))
    if scale > 0 and lapack.dpotrf(shifted.T, lower=1, overwrite_a=1, clean=0)[1] != 0:
        lowest = float(eigh(gram, eigvals_only=True, subset_by_index=[0, 0])[0])
        raise InvalidProblemError(
            f"The kernel is not positive semi-definite (lowest eigenvalue of the Gram matrix {lowest:.3g}): "
            "use a valid kernel, or clip the negative eigenvalues of a precomputed one."
        )


def low_rank_factor(gram: Array) -> Array:
    """``M`` with ``M M' = gram`` and as many columns as the numerical rank, by decreasing variance."""
    values, vectors = eigh(gram)
    keep = values > 100 * len(gram) * np.finfo(float).eps * max(values[-1], 0.0)  # below that it is rounding
    factor: Array = (vectors[:, keep] * np.sqrt(values[keep]))[:, ::-1]
    return factor


def separating_latents(gram: Array | LowRank | KernelRows, y: Array) -> Array | None:
    """Latents in the range of `gram` whose signs are `y`, of largest margin in a unit box, or None if there are none.

    A linear programme in whitened coordinates: maximise t subject to ``y_i (M w)_i >= t |M_i|``, ``|w| <= 1``.
    """
    dense = gram.dense if isinstance(gram, KernelRows) else gram
    factor = dense.factor if isinstance(dense, LowRank) else low_rank_factor(dense)
    norms = np.linalg.norm(factor, axis=1)
    if not factor.size or not norms.all():
        return None
    rows = y[:, None] * factor / norms[:, None]
    n, rank = rows.shape
    answer = linprog(
        np.r_[np.zeros(rank), -1.0],
        A_ub=np.c_[-rows, np.ones(n)],
        b_ub=np.zeros(n),
        bounds=[(-1, 1)] * rank + [(None, 1)],
        method="highs",
    )
    if answer.x is None or answer.x[-1] <= 1e-9:
        return None
    latents: Array = factor @ answer.x[:-1]
    return latents if np.all(latents * y > 0) else None


def _why_empty(walls: Problem, numbers: Any) -> str:
    """The plainest reason: a point of norm zero, or two identical points with different labels; rows by `numbers`."""
    rows, diag, y = walls.dense if walls.root is None else walls.root, walls.diag, walls.y
    if not diag.all():
        return f"row {numbers[np.argmin(diag)]} has kernel value zero with itself"
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    for i, g in enumerate(np.ravel(group)):
        j = int(first[g])
        if y[i] != y[j]:
            return f"rows {numbers[min(i, j)]} and {numbers[max(i, j)]} are the same point with different labels"
    return "no function of this kernel separates the training labels"


def as_generator(rng: Any) -> np.random.Generator:
    """A `numpy.random.Generator` from a seed, a legacy RandomState, a Generator or None."""
    if isinstance(rng, np.random.RandomState):
        return np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(rng)
