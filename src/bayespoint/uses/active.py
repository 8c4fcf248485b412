"""Active learning: which label to ask for next, on the posterior at hand."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, logsumexp, ndtri
from scipy.stats import qmc
from sklearn.base import clone

from .. import readouts
from .._core.objects import Objects, are_objects
from .._core.pipelines import last_step, steps_of
from .._core.random import as_generator
from .._core.scikit import num_samples, safe_indexing
from .._core.typing import Array
from ..estimators._base import KernelClassifier, draw_functions, parts_of, read, recipe_of
from ..estimators.updating import mark_as_chosen, updated
from ..exceptions import InvalidProblemError
from ..grams import NewPoints
from ..grams.rows import stacked
from ..posteriors import ClassesAt, SampledPosterior
from ..posteriors.latent import spread_out

__all__ = ["ActiveLearner", "Asked", "query", "utilities"]

_STRATEGIES = ("entropy", "bald", "batch-bald", "vote")
_FEW = 50  # labels up to which every one of them may change the kernel
_DRAWS = 128  # of long chains, to look at a large pool with
_CLASS_DRAWS = 64  # of several latents at each point, spread evenly
_CANDIDATES = 400  # points that a batch is chosen from
_FUNCTIONS = 400  # drawn jointly at these
_LABELLINGS = 256  # of a batch that are told apart; beyond that, a sample of them


def utilities(model: Any, X_pool: Any, strategy: str = "bald") -> Array:
    """How many bits the label of each point would be worth.

    Parameters
    ----------
    model : BayesPointClassifier or BayesianSVC, or Pipeline that ends in one
        Fitted; nothing is fitted here.
    X_pool : array-like or sparse matrix of shape (n_points, n_features)
        Unlabelled inputs.
    strategy : {"bald", "entropy", "vote"}, default="bald"
        "entropy" of the predicted label; "bald", what of it is not noise (mutual information of label and function);
        "vote", how divided the posterior's classifiers are (query by committee). Where several kernels decide together
        the function is one of their mixture: that they disagree is worth a question.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.uses.active import utilities
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = BayesPointClassifier("rbf").fit(X[:20], y[:20])
    >>> bool((utilities(model, X, "bald") <= utilities(model, X, "entropy") + 1e-9).all())
    True
    """
    classifier, rows = _at_the_end(model, X_pool)
    if strategy == "entropy":
        return _bits(classifier.predict_proba(rows))
    if strategy not in ("bald", "vote"):
        raise InvalidProblemError(
            f"strategy must be 'bald', 'entropy' or 'vote' (or 'batch-bald' in query), got {strategy!r}."
        )
    told = np.sum([weight * _told(one, rows, strategy) for one, weight in parts_of(classifier)], axis=0)
    return np.maximum(_bits(told[:, :-1]) - told[:, -1], 0.0)


def query(model: Any, X_pool: Any, n: int = 1, strategy: str = "bald", *, random_state: Any = None) -> Any:
    """The points of a pool whose labels to ask for.

    Parameters
    ----------
    model, X_pool
        As for `utilities`; the pool may be as large as you like.
    n : int, default=1
        How many points.
    strategy : {"bald", "entropy", "vote", "batch-bald"}, default="bald"
        See `utilities`. "batch-bald" chooses points whose labels are worth most together, so that they do not all ask
        the same (two classes).
    random_state : int, Generator, RandomState or None, default=None
        For "batch-bald": the functions that the points are judged by.

    Returns
    -------
    ndarray of int, of shape (n,)
        Rows of `X_pool`, the most useful first.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesPointClassifier, query
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> model = BayesPointClassifier("rbf").fit(X[:20], y[:20])
    >>> query(model, X, n=3).shape
    (3,)
    """
    size = num_samples(X_pool)
    if not isinstance(n, int | np.integer) or not 1 <= n <= size:
        raise InvalidProblemError(f"n must be a whole number from 1 to the {size} points of the pool, got {n!r}.")
    if strategy not in _STRATEGIES:
        raise InvalidProblemError(f"strategy must be one of {', '.join(map(repr, _STRATEGIES))}, got {strategy!r}.")
    gains = utilities(model, X_pool, _alone(strategy))
    if strategy != "batch-bald" or n == 1:
        return _largest(gains, n)
    classifier, _ = _at_the_end(model, safe_indexing(X_pool, [0]))
    if len(classifier.classes_) > 2:
        raise InvalidProblemError("strategy='batch-bald' is for two classes: use 'bald'.")
    candidates = _largest(gains, min(size, max(_CANDIDATES, 4 * n)))
    _, rows = _at_the_end(model, safe_indexing(X_pool, candidates))
    rng = as_generator(random_state)
    drawn = draw_functions(classifier, rows, _FUNCTIONS, rng)
    up, down = (
        np.exp(np.concatenate([readouts.label_log_probability(likelihood, sign * f) for likelihood, f in drawn]))
        for sign in (1, -1)
    )
    return candidates[_best_batch(up, down, n, rng)]


class Asked(NamedTuple):
    """One round of questions.

    Attributes
    ----------
    labels : int
        Labels that were known when it was asked.
    rows : ndarray of int
        Points of the pool asked for.
    gain : float
        Bits that the first of them was expected to be worth.

    Examples
    --------
    >>> from bayespoint.uses.active import Asked
    >>> Asked(labels=10, rows=[3], gain=0.7).gain
    0.7
    """

    labels: int
    rows: Any
    gain: float


@dataclass
class ActiveLearner:
    """A classifier that asks for labels: `ask` which points to label, `tell` what they are.

    The kernel is chosen again with every label up to 50 of them, for a kernel that suits ten labels asks the wrong
    questions; from then on the posterior is updated with each label, and the kernel chosen again whenever the number of
    labels has grown by half.

    Parameters
    ----------
    estimator : BayesPointClassifier or BayesianSVC
        Unfitted; clones of it are fitted.
    X : array-like of shape (n_labelled, n_features)
        First inputs.
    y : array-like of shape (n_labelled,)
        Their labels, of at least two classes.
    strategy : {"bald", "entropy", "vote", "batch-bald"}, default="bald"
        See `query`.
    min_gain : float, default=0.0
        Bits below which no label is worth asking for.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Attributes
    ----------
    model : estimator
        Fitted to all labels so far.
    history : list of Asked
        What was asked, and what it was expected to be worth.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import ActiveLearner, BayesPointClassifier
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> learner = ActiveLearner(BayesPointClassifier("rbf"), X[:10], y[:10], min_gain=0.05)
    >>> while len(learner.history) < 15 and len(rows := learner.ask(X)):
    ...     learner.tell(X[rows], y[rows])
    >>> bool(learner.model.score(X, y) > 0.9)
    True
    """

    estimator: Any
    X: Any
    y: Any
    strategy: str = "bald"
    min_gain: float = 0.0
    random_state: Any = None
    history: list[Asked] = field(default_factory=list, init=False)
    model: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._rng = as_generator(self.random_state)
        self._learned(_kept(self.X, self.estimator), np.asarray(self.y))

    def ask(self, X_pool: Any, n: int = 1) -> Any:
        """Rows of the pool whose labels to ask for, as `query` does; none if no label is worth `min_gain` bits."""
        rows = query(self.model, X_pool, n, self.strategy, random_state=self._rng)
        best = utilities(self.model, safe_indexing(X_pool, rows[:1]), _alone(self.strategy))
        self.history.append(Asked(len(self.y), rows, float(best[0])))
        return rows if best[0] >= self.min_gain else rows[:0]

    def tell(self, X: Any, y: Any) -> None:
        """Learn the labels `y` of inputs `X`, one for each row."""
        X, y = _kept(X, self.estimator), np.asarray(y)
        if len(y) != len(X):
            raise InvalidProblemError(f"There are {len(X)} inputs and {len(y)} labels: there must be one for each.")
        if not len(y):
            return
        X_all, y_all = stacked(self.X, X), np.concatenate([self.y, y])
        known = np.isin(y, self.model.classes_).all()
        model = None
        if known and len(y_all) > _FEW and 2 * len(y_all) < 3 * self._tuned_at:
            with suppress(InvalidProblemError):  # a surprise, or an engine that cannot: fit again
                model = updated(self.model, X, y, random_state=self._rng)
        self._learned(X_all, y_all, model)
        mark_as_chosen(last_step(self.model)[0])

    def _learned(self, X: Any, y: Any, model: Any = None) -> None:
        """Take over all labels with a model of them, fitted if there is none yet."""
        if model is None:
            model = clone(self.estimator).fit(X, y)
            self._tuned_at = len(y)
        self.X, self.y, self.model = X, y, model


def _kept(X: Any, estimator: Any) -> Any:
    """Rows in a form to which others can be added: an array, or what a kernel takes that needs no vectors."""
    if are_objects(X):
        before, _, last = steps_of(estimator)
        if before or (isinstance(last, KernelClassifier) and recipe_of(last).takes_objects):
            return Objects(X)
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidProblemError(
            "An active learner keeps its rows as an array of numbers: encode text, for example with OneHotEncoder, or "
            "use query on classifiers that you fit yourself."
        ) from None


# -- what a label is worth -------------------------------------------------------------------------------------------


def _at_the_end(model: Any, X: Any) -> tuple[KernelClassifier, Any]:
    """The classifier at the end of a pipeline, and the inputs as they get there."""
    model, X = last_step(model, X)
    if not isinstance(model, KernelClassifier):
        raise InvalidProblemError(f"Queries need a classifier of this library, got {model!r}.")
    return model, X


def _told(model: KernelClassifier, rows: Any, strategy: str) -> Array:
    """Of a single kernel: probabilities of the labels, a column each, and the bits of their entropy that are noise.

    To a committee that votes, the labels are its votes, and free of noise.
    """
    joint = model.fitted_.posteriors[0]
    if joint.problem.n_classes is not None:
        return read(model, rows, lambda new: _of_classes(joint.at(new), strategy))
    posteriors = [_thinned(posterior) for posterior in model.fitted_.posteriors]
    if len(posteriors) > 1:
        return read(model, rows, lambda new: _several_classes(posteriors, new, strategy))
    if strategy == "vote":
        told = _by_vote
    else:
        told = _of_draws if posteriors[0].engine.is_exact else _of_moments
    return read(model, rows, lambda new: told(posteriors[0], new))


def _thinned(posterior: Any) -> Any:
    """Fewer draws of long chains."""
    if not posterior.engine.is_exact:
        return posterior
    flat = posterior.coordinates.reshape(-1, posterior.white.rank)
    return replace(posterior, coordinates=flat[spread_out(len(flat), min(_DRAWS, len(flat)))][None])


def _alone(strategy: str) -> str:
    """The strategy by which single points are judged."""
    return "bald" if strategy == "batch-bald" else strategy


def _bits(p: Array) -> Array:
    """Entropy of rows of probabilities."""
    return entr(p).sum(axis=1) / np.log(2)


def _largest(gains: Array, n: int) -> Any:
    """Where the n largest are, in order; the first of equals first."""
    top = np.argpartition(-gains, n - 1)[:n] if n < len(gains) else np.arange(len(gains))
    edge = gains[top].min()
    top = np.union1d(np.flatnonzero(gains > edge), np.flatnonzero(gains == edge))
    return top[np.argsort(-gains[top], kind="stable")][:n]


def _by_vote(posterior: Any, new: NewPoints) -> Array:
    share = readouts.vote(posterior, new)
    return np.stack([share, 1 - share, np.zeros(len(share))], axis=1)


def _of_moments(posterior: Any, new: NewPoints) -> Array:
    p = readouts.class_probability(posterior, new)
    noise = posterior.at(new).expectation(posterior.problem.likelihood.conditional_entropy)
    return np.stack([p, 1 - p, noise / np.log(2)], axis=1)


def _of_draws(posterior: SampledPosterior, new: NewPoints) -> Array:
    """The mean of the draws' probabilities, and of their entropies."""
    at = posterior.at(new)
    (means,), own = at.outputs, at.orthogonal  # thinned: one chain
    z = ndtri((0.5 + np.random.default_rng(0).permutation(len(means))) / len(means))
    total, noise = np.zeros(len(own)), np.zeros(len(own))
    for mean, one in zip(means, z, strict=True):
        p = np.exp(readouts.label_log_probability(posterior.problem.likelihood, mean + np.sqrt(own) * one))
        total += p
        noise += entr(p) + entr(1 - p)
    p = total / len(means)
    return np.stack([p, 1 - p, noise / (len(means) * np.log(2))], axis=1)


def _of_classes(at: ClassesAt, strategy: str) -> Array:
    """Of several classes as one model."""
    if strategy == "vote":
        return np.column_stack([at.votes, np.zeros(len(at.votes))])
    return np.column_stack([at.probabilities, at.conditional_entropy / np.log(2)])


def _several_classes(posteriors: Sequence[Any], new: NewPoints, strategy: str) -> Array:
    """Probabilities and noise, or the division of votes, by draws of all classes' latents."""
    z = ndtri(qmc.Sobol(len(posteriors), rng=0).random(_CLASS_DRAWS))
    moments = [readouts.latent(posterior, new) for posterior in posteriors]
    mean, sd = np.stack([m for m, _ in moments], axis=1), np.sqrt(np.stack([v for _, v in moments], axis=1))
    likelihood = posteriors[0].problem.likelihood
    total, noise = np.zeros(mean.shape), np.zeros(len(mean))
    for one in z:
        latent = mean + sd * one
        if strategy == "vote":
            total += latent == latent.max(axis=1, keepdims=True)
            continue
        logs = readouts.label_log_probability(likelihood, latent)
        p = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        total += p
        noise += _bits(p)
    return np.column_stack([total, noise]) / len(z)


def _best_batch(up: Array, down: Array, n: int, rng: np.random.Generator) -> list[int]:
    """Greedy choice of points whose labels tell most together (Kirsch, van Amersfoort & Gal 2019).

    `up` and `down` are probabilities of either label given each function, of shape (function, point). The joint entropy
    of a batch and one more point is a matrix product over functions, for all points at once.
    """
    functions = len(up)
    noise = (entr(up) + entr(down)).mean(axis=0)
    chosen: list[int] = []
    joint = np.ones((1, functions))  # probability of each labelling of the batch, given each function
    scale = np.ones(1)  # how many labellings each one stands for
    spent = 0.0
    for _ in range(n):
        both = [joint @ p / functions for p in (up, down)]  # of shape (labelling, point)
        entropy = sum((scale[:, None] * entr(p)).sum(axis=0) for p in both)
        gain = entropy - noise - spent
        gain[chosen] = -np.inf
        best = int(np.argmax(gain))
        chosen.append(best)
        spent += float(noise[best])
        joint = np.concatenate([joint * up[:, best], joint * down[:, best]])
        scale = np.concatenate([scale, scale])
        if len(joint) > _LABELLINGS:  # keep a sample of them, each for as many as its probability says
            share = scale * joint.mean(axis=1)
            kept = rng.choice(len(joint), size=_LABELLINGS, p=share / share.sum())
            scale = share.sum() / (_LABELLINGS * joint[kept].mean(axis=1))
            joint = joint[kept]
    return chosen
