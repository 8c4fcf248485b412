"""Which training labels are probably wrong: the posterior of label noise, row by row.

A label of ``Step(noise=q)`` agrees with the side of the boundary that its row is on with probability ``1 - q``. If all
the other rows put it on that side with probability p, then (Bayes)

    P(flipped | data) = q (1 - p) / (q (1 - p) + (1 - q) p).

Expectation propagation has p from its cavities; draws from the posterior average the indicator itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_ndtr, logsumexp
from sklearn.utils.validation import check_is_fitted

from .. import readouts
from .._core.pipelines import steps_of
from .._core.typing import Array
from .._core.words import as_html_table, told_briefly
from ..estimators import BayesianSVC, BayesPointClassifier
from ..estimators._base import parts_of
from ..exceptions import InvalidProblemError
from ..likelihoods import Choice, Step
from ..posteriors import ExpandedPosterior, GaussianPosterior, Posterior, SampledPosterior

__all__ = ["LabelErrors", "find_label_errors"]

_BLOCKS = 20  # of draws, left out in turn for standard errors


@told_briefly()
@dataclass(frozen=True, eq=False)
class LabelErrors:
    """Training rows, those with the most doubtful labels first. `print` shows a report.

    Attributes
    ----------
    rows : ndarray of int
        Indices of the training rows as they were handed to `fit`, the most doubtful label first.
    probability : ndarray of float
        Probability that the label of each of these rows is wrong.
    se : ndarray of float or None
        Its Monte Carlo standard error; None where the posterior is in closed form (or the draws are too few to say).
    given : ndarray
        Labels of these rows.
    suggested : ndarray
        The most probable other label of each.
    expected_errors : float
        How many of all labels are expected to be wrong: the sum of the probabilities, listed or not.
    n_rows : int
        How many rows the model was fitted to.
    noise : float or None
        Probability of a flipped label that this rests on; None if the model has no such noise.
    origin : str
        Where the noise level comes from.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.uses.label_errors import LabelErrors
    >>> errors = LabelErrors(
    ...     rows=np.array([7, 2]), probability=np.array([0.9, 0.1]), se=None, given=np.array(["a", "b"]),
    ...     suggested=np.array(["b", "a"]), expected_errors=1.2, n_rows=50, noise=0.03, origin="chosen by evidence"
    ... )
    >>> errors.rows[errors.probability > 0.5]
    array([7])
    >>> print(errors)
    1.2 of 50 labels (2.4 %) are expected to be wrong; noise level 0.03, chosen by evidence.
       row  given  suggested  P(wrong)
         7      a          b     0.900
         2      b          a     0.100
    Look at the 1 row with a probability of 0.5 or more first: correct or drop what is wrong, and fit again.
    """

    rows: Any
    probability: Array
    se: Array | None
    given: Any
    suggested: Any
    expected_errors: float
    n_rows: int
    noise: float | None
    origin: str

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        worst = zip(self.rows[:10], self.given, self.suggested, self.probability, strict=False)
        head = ("row", "given", "suggested", "P(wrong)")
        said = self.report(0).splitlines()
        return as_html_table(head, [(*row, f"{p:.3f}") for *row, p in worst], f"{said[0]} {said[-1]}")

    def mask(self, threshold: float = 0.5) -> Any:
        """Which of the user's rows are listed with a probability of at least `threshold`.

        Parameters
        ----------
        threshold : float, default=0.5
            Smallest probability that counts. At 0.5 a label is as likely wrong as right.

        Returns
        -------
        ndarray of bool of shape (n_rows,)
        """
        found = np.zeros(self.n_rows, dtype=bool)
        found[self.rows[self.probability >= _checked_threshold(threshold)]] = True
        return found

    def report(self, top: int = 10) -> str:
        """What to clean: how many labels are expected to be wrong, the worst of them, and what to do.

        Parameters
        ----------
        top : int, default=10
            How many rows to show.

        Returns
        -------
        str
        """
        share = 100 * self.expected_errors / self.n_rows
        level = self.origin if self.noise is None else f"noise level {self.noise:.2g}, {self.origin}"
        lines = [
            f"{self.expected_errors:.1f} of {self.n_rows} labels ({share:.1f} %) are expected to be wrong; {level}."
        ]
        given, suggested = ([str(label) for label in labels[:top]] for labels in (self.given, self.suggested))
        wide = [max(map(len, [title, *column])) for title, column in (("given", given), ("suggested", suggested))]
        if given:
            error = "" if self.se is None else f"{'se':>8s}"
            lines.append(f"{'row':>6s}  {'given':>{wide[0]}s}  {'suggested':>{wide[1]}s}  P(wrong){error}")
        for k, (old, new) in enumerate(zip(given, suggested, strict=True)):
            error = "" if self.se is None else f"{self.se[k]:8.3f}"
            lines.append(f"{self.rows[k]:6d}  {old:>{wide[0]}s}  {new:>{wide[1]}s}{self.probability[k]:10.3f}{error}")
        if len(self) > top:
            lines.append(f"and {len(self) - top} more.")
        count = int(np.count_nonzero(self.probability >= 0.5))
        rows = "row" if count == 1 else "rows"
        lines.append(
            f"Look at the {count} {rows} with a probability of 0.5 or more first: correct or drop what is wrong, and "
            "fit again."
            if count
            else "No label is more likely wrong than right: nothing to correct without a look at the rows themselves."
        )
        return "\n".join(lines)


def find_label_errors(model: Any, *, threshold: float | None = None, method: str = "posterior") -> LabelErrors:
    """Rank the training rows of a fitted classifier by the probability that their label is wrong.

    Parameters
    ----------
    model : BayesPointClassifier, BayesianSVC, or Pipeline that ends in one
        Fitted. With ``noise > 0`` or ``noise="evidence"`` a wrong label is one that was flipped; without (a soft
        boundary, a support vector machine) one on the wrong side of the latent function.
    threshold : float, optional
        Leave out rows of a smaller probability; None ranks all rows.
    method : {"posterior", "leave-one-out"}, default="posterior"
        "posterior" averages over the posterior; "leave-one-out" takes what the other rows say of each. The two are the
        same for a Gaussian posterior. For draws the first is exact up to the standard error; the second reweights them
        and puts a Gaussian in between, which is rough for small softness. Several classes always go by the second.

    Returns
    -------
    LabelErrors

    Raises
    ------
    InvalidProblemError
        If the model knows no wrong labels (a hard boundary without noise), or has its rows no longer.

    Notes
    -----
    Where several kernels decide together, probabilities (and the noise level) are averaged over them by their weights.

    Softness and noise both explain a label on the wrong side, and a few hundred rows hardly tell them apart: the
    ranking depends little on it, but the noise level does. Where that matters leave next to no softness, such as
    ``BayesPointClassifier(RBF(scale), noise="evidence", softness=0.01)`` with unit amplitude and a `scale` to start
    from that is short (a quarter of the typical distance between rows).

    With K classes one against the rest, a label that is wrong with probability r, and then any of the others, flips
    ``q = 2 r / K`` of the binary labels on average. With class probabilities p given all the other rows,
    ``P(wrong) = w (1 - p_y) / (w (1 - p_y) + (1 - r) p_y)``, ``w = r / (K - 1)``; two classes have r = q.

    References
    ----------
    T. Graepel, R. Herbrich (2001). The Kernel Gibbs Sampler. Advances in Neural Information Processing Systems 13.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import BayesPointClassifier, find_label_errors
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> wrong = np.argsort(np.abs(np.abs(X[:, 0]) - 1))[:3]  # well inside their class
    >>> y[wrong] = np.where(y[wrong] == "left", "right", "left")
    >>> errors = find_label_errors(BayesPointClassifier(None, noise="evidence", softness=0).fit(X, y))
    >>> set(errors.rows[:3]) == set(wrong)
    True
    """
    if threshold is not None:
        threshold = _checked_threshold(threshold)
    if method not in ("posterior", "leave-one-out"):
        raise InvalidProblemError(f"method must be 'posterior' or 'leave-one-out', got {method!r}.")
    model = _checked_model(model)
    known, parts = model.fitted_.rows, parts_of(model)
    codes, mixed = np.searchsorted(model.classes_, known.labels), [(list(m.fitted_.posteriors), w) for m, w in parts]
    if isinstance(model.likelihood_, Choice):
        score: _Score = _score_of_classes
    else:
        score = _score_of_two(method) if len(model.classes_) == 2 else _score_of_several(codes)
    probability = np.sum([weight * score(posteriors) for posteriors, weight in mixed], axis=0)
    errors = _standard_errors(score, mixed)
    other = 1 - codes if len(model.classes_) == 2 else _runner_up(mixed, codes)

    order = np.argsort(-probability, kind="stable")
    order = order if threshold is None else order[probability[order] >= threshold]
    noise, origin = _noise_of(model)
    return LabelErrors(
        rows=known.kept[order],
        probability=probability[order],
        se=None if errors is None else errors[order],
        given=known.labels[order],
        suggested=model.classes_[other][order],
        expected_errors=float(probability.sum()),
        n_rows=known.n_rows,
        noise=noise,
        origin=origin,
    )


# -- what a user hands in ------------------------------------------------------------------------------------------


def _checked_threshold(threshold: float) -> float:
    if not 0 <= threshold <= 1:
        raise InvalidProblemError(f"threshold is a probability between 0 and 1, got {threshold!r}.")
    return float(threshold)


def _checked_model(model: Any) -> Any:
    """The fitted classifier itself, if its posterior tells of wrong labels."""
    model = steps_of(model)[2]
    if not isinstance(model, BayesPointClassifier | BayesianSVC):
        raise InvalidProblemError(
            "find_label_errors reads the posterior of a BayesPointClassifier or BayesianSVC, alone or at the end of a "
            f"pipeline, got {type(model).__name__}."
        )
    check_is_fitted(model)
    if model.fitted_.rows is None:
        raise InvalidProblemError(
            "This model was fitted in batches and its rows are gone: use fit on an array to find wrong labels."
        )
    if isinstance(model.likelihood_, Step | Choice) and model.likelihood_.is_hard:
        raise InvalidProblemError(
            "A hard boundary without noise takes every label for right: use BayesPointClassifier(noise='evidence')."
        )
    return model


def _noise_of(model: Any) -> tuple[float | None, str]:
    rate = float(np.sum([weight * _flip_rate(one.likelihood_) for one, weight in parts_of(model)]))
    if rate == 0:
        return None, "wrong is a label on the other side of the latent function, as the model has no label noise"
    chosen = model.noise == "evidence" and model.optimizer is not None
    return rate, "chosen by evidence" if chosen else "as given"


def _flip_rate(likelihood: Any) -> float:
    """Probability of a flipped label; 0 where the likelihood has no such noise."""
    return likelihood.noise if isinstance(likelihood, Step | Choice) else 0.0


# -- probabilities -------------------------------------------------------------------------------------------------

_Score = Callable[[list[Posterior]], Array]
_Mixed = list[tuple[list[Posterior], float]]  # posteriors of kernels that decide together, and their weights


def _score_of_two(method: str) -> _Score:
    """P(wrong) at each row from the one posterior of two classes."""

    def score(posteriors: list[Any]) -> Array:
        (posterior,) = posteriors
        likelihood, y, power = posterior.problem.likelihood, posterior.problem.y, posterior.problem.exponents
        noise = _flip_rate(likelihood)
        if method == "leave-one-out" or isinstance(posterior, GaussianPosterior):
            if noise > 0:
                return _flipped(noise, y * likelihood.score(*posterior.leave_one_out), power)
            return likelihood.disagreement(y, *posterior.leave_one_out)
        if noise == 0 or likelihood.softness == 0:
            return readouts.flip_probability(posterior)
        margins = y * posterior.latents.reshape(-1, len(y)) / np.sqrt(likelihood.softness)
        return _flipped(noise, margins, power).mean(axis=0)

    return score


def _flipped(noise: float, z: Array, power: Array) -> Array:
    """P(flipped) for a label whose side has probability Phi(z); a row of weight `power` counts as so many copies."""
    return expit(power * np.log(noise / (1 - noise)) + log_ndtr(-z) - log_ndtr(z))


def _score_of_several(codes: Any) -> _Score:
    """P(wrong) at each row from posteriors of each class against the rest."""

    def score(posteriors: list[Any]) -> Array:
        likelihood, rows = posteriors[0].problem.likelihood, np.arange(len(codes))
        if _flip_rate(likelihood) == 0:
            wrong = [likelihood.disagreement(p.problem.y, *p.leave_one_out) for p in posteriors]
            return np.stack(wrong, axis=1)[rows, codes]
        log_p = _log_class_probabilities(posteriors)
        own = log_p[rows, codes].copy()
        log_p[rows, codes] = -np.inf
        classes = len(posteriors)
        rate = min(likelihood.noise * classes / 2, 1 - 1 / classes)  # beyond that a label says nothing
        return expit(np.log(rate / (classes - 1) / (1 - rate)) + logsumexp(log_p, axis=1) - own)

    return score


def _score_of_classes(posteriors: list[Any]) -> Array:
    """P(wrong) at each row from one model of several classes: that noise, or a latent not the label's, decided it."""
    (posterior,) = posteriors
    problem = posterior.problem
    if _flip_rate(problem.likelihood) == 0:
        wrong: Array = posterior.disagreement()
        return wrong
    high, low = problem.likelihood.levels(problem.n_classes)
    told = posterior.leave_one_out_probabilities[np.arange(problem.size), problem.y]
    return low * (high - told) / ((high - low) * told)


def _log_class_probabilities(posteriors: list[Any]) -> Array:
    """Of the label before noise, given all the other rows; one column a class."""
    if (n_classes := posteriors[0].problem.n_classes) is not None:
        high, low = posteriors[0].problem.likelihood.levels(n_classes)
        told = (posteriors[0].leave_one_out_probabilities - low) / (high - low)
        return np.log(np.maximum(told, np.finfo(float).tiny))
    cavities = [posterior.leave_one_out for posterior in posteriors]
    likelihood = posteriors[0].problem.likelihood
    if isinstance(likelihood, Step):
        columns = [log_ndtr(likelihood.score(*cavity)) for cavity in cavities]
    else:
        columns = [likelihood.log_probability(*cavity) for cavity in cavities]
    logs = np.stack(columns, axis=1)
    return logs - logsumexp(logs, axis=1, keepdims=True)


def _runner_up(mixed: _Mixed, codes: Any) -> Any:
    """The most probable class other than the given one."""
    logs = np.stack([np.log(weight) + _log_class_probabilities(posteriors) for posteriors, weight in mixed])
    log_p = logsumexp(logs, axis=0)
    log_p[np.arange(len(codes)), codes] = -np.inf
    return log_p.argmax(axis=1)


def _standard_errors(score: _Score, mixed: _Mixed) -> Array | None:
    """By leaving out draws, one posterior at a time: their chains are independent. None in closed form."""
    every = [posterior for posteriors, _ in mixed for posterior in posteriors]
    draws = [p.draws for p in every if isinstance(p, SampledPosterior | ExpandedPosterior)]
    if not draws or min(draws) < 4:
        return None
    blocks, squares = min(_BLOCKS, min(draws) // 2), []
    for posteriors, weight in mixed:
        for k, posterior in enumerate(posteriors):

            def without(part: Posterior, k: int = k, posteriors: list[Posterior] = posteriors) -> Array:
                return score([*posteriors[:k], part, *posteriors[k + 1 :]])

            squares.append(np.square(weight * readouts.monte_carlo_error(without, posterior, blocks=blocks)))
    return np.sqrt(np.sum(squares, axis=0))
