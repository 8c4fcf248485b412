"""A fitted classifier with more labels, without starting over: its kernel stays, its posterior moves."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._core.random import as_generator
from .._core.settings import is_named
from .._core.typing import Array
from ..engines.ep import add_row
from ..exceptions import InvalidProblemError
from ..grams import NewPoints
from ..grams.rows import stacked
from ..grams.whitening import Whitened
from ..kernels import Isometry
from ..posteriors import SampledPosterior
from ..problem import Problem
from ..tuning.climb import Candidate
from ._base import KernelClassifier
from ._fitted import Fitted
from ._inputs import Points
from ._validation import TrainingSet, check_batch

__all__ = ["mark_as_chosen", "updated"]

Classifier = TypeVar("Classifier", bound=KernelClassifier)

_ENOUGH = 0.1  # share of the draws that must be left for their weights to be trusted


def updated(model: Classifier, X: Any, y: Any, *, random_state: Any = None) -> Classifier:
    """A classifier that has seen more rows, as if they had been there from the beginning; the old one stays as it is.

    The kernel is not tuned again. Expectation propagation goes on from the sites at hand, one row at a time; draws are
    weighted by how well they predicted the new labels, and drawn anew among themselves. Where several kernels decide
    together, each of them learns the new labels, and their weights stay.

    Parameters
    ----------
    model : BayesPointClassifier or BayesianSVC
        Fitted on an array, by expectation propagation or an exact sampler.
    X : array-like of shape (n_rows, n_features)
        New inputs.
    y : array-like of shape (n_rows,)
        Their labels, of classes that the model knows.
    random_state : int, Generator, RandomState or None, default=None
        For draws: which of them are kept.

    Returns
    -------
    estimator
        Of the same kind, fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.estimators import updated
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> some = BayesPointClassifier(optimizer=None).fit(X[:59], y[:59])
    >>> more = updated(some, X[59:], y[59:])
    >>> posterior = more.posterior_
    >>> posterior.problem.size
    60
    """
    check_is_fitted(model)
    if not isinstance(model, KernelClassifier) or is_named(model.kernel, "precomputed") or model.fitted_.rows is None:
        raise InvalidProblemError("Only classifiers fitted on an array of inputs can be updated; see also partial_fit.")
    if model._recipe().is_weighted:
        raise InvalidProblemError("Classes have weights, which count all labels: fit again.")
    if any(posterior.problem.n_classes is not None for posterior in model.fitted_.posteriors):
        raise InvalidProblemError("Several classes as one model take no more rows: fit again, or one against the rest.")
    before, known_rows = model.fitted_, model.fitted_.rows
    data, rng = check_batch(model, X, y, None, None, before.classes, before), as_generator(random_state)
    first, form = _grown(model, data, rng)
    mixed = [
        (first if one.fitted_.model is before.model else _grown(one, data, rng)[0], weight)
        for one, weight in model._parts()
    ]
    found = replace(first, alternatives=mixed if before.alternatives else ())
    rows = known_rows.and_more(before.classes[data.y])
    known: dict[str, Any] = {"rows": rows, "prior_saw": before.prior_saw, "is_tuned": before.is_tuned}
    known |= {"table": before.table, "power": before.power}  # the power until labels left out have their say
    other = copy(model)._become(Fitted.of(found, form, before.classes, **known))
    if not rows.dropped and (left_out := other._leave_one_out(None)) is not None:
        other.loo_proba_ = other._calibrated(left_out)
    return other


def _grown(model: KernelClassifier, data: TrainingSet, rng: np.random.Generator) -> tuple[Candidate, Points]:
    """The posteriors of one kernel with more rows, and all rows in the form that the kernel takes."""
    fitted = model.fitted_
    form = fitted.points
    points, new, posteriors = form.X, form.transform(data.X), list(fitted.posteriors)
    if form.isometry is not None:  # its coordinates are right among rows that it knows
        if not fitted.view.is_exact:
            raise InvalidProblemError("Sparse rows with landmarks cannot be updated: fit again, or with max_rank=None.")
        every = sparse.vstack([form.isometry.X, data.X], format="csr")
        isometry = Isometry(every)
        form = replace(form, isometry=isometry)
        points, new = np.split(isometry.transform(every), [len(points)])
    for i in range(new.shape[0]):
        row = new[i : i + 1]
        at = fitted.view.over(points).new(fitted.kernel)(row)
        posteriors = [
            _with_row(posterior, at, float(targets[i]), model._gaussian_engine.tolerance, rng)
            for posterior, targets in zip(posteriors, data.targets, strict=True)
        ]
        points = stacked(points, row)
    return Candidate.of(fitted.model, posteriors, fitted.view.over(points)), replace(form, X=points)


def _with_row(posterior: Any, new: NewPoints, y: float, tolerance: float, rng: np.random.Generator) -> Any:
    """One more row, of weight one."""
    if not posterior.engine.can_grow:
        raise InvalidProblemError("Updates need expectation propagation or exact draws: use engine='ep' or 'sample'.")
    if posterior.engine.is_exact:
        return _weighted(posterior, new, y, rng)
    return add_row(posterior, new, y, tolerance=tolerance)


def _weighted(posterior: SampledPosterior, new: NewPoints, y: float, rng: np.random.Generator) -> Any:
    """Draws with one more coordinate, kept in proportion to the likelihood of the new label."""
    problem, white = posterior.problem, posterior.white
    features = white.features(new)[0]
    chains, draws, _ = posterior.coordinates.shape
    flat = posterior.coordinates.reshape(chains * draws, -1)
    latent = flat @ features
    own = max(float(new.diag[0]) - float(features @ features), 0.0)
    extra = rng.standard_normal(len(flat))
    root = white.root.with_row(features, own)
    grows = root.factor.shape[1] > white.rank
    if grows:
        latent = latent + np.sqrt(own) * extra
    longer = problem.and_row(new, y)
    row = Problem(longer.gram.part([problem.size]), np.array([y]), problem.likelihood, check=False)
    log_weight = row.log_likelihood(latent[:, None])[:, 0]
    weight = np.exp(log_weight - log_weight.max())
    effective = weight.sum() ** 2 / np.square(weight).sum()
    if not effective >= _ENOUGH * len(flat):
        raise InvalidProblemError(
            f"The new label is a surprise: only {effective:.0f} of {len(flat)} draws agree with it; fit again."
        )
    kept = _systematic(weight / weight.sum(), rng).reshape(chains, draws)
    coordinates = flat[kept]
    if grows:
        coordinates = np.concatenate([coordinates, extra[kept][..., None]], axis=2)
    info = dict(posterior.info) | {"effective": effective}
    return SampledPosterior(longer, Whitened(root, longer.own), coordinates, info=info, engine=posterior.engine)


def _systematic(share: Array, rng: np.random.Generator) -> Any:
    """Indices drawn with given shares, as evenly as can be, in random order."""
    marks = (rng.uniform() + np.arange(len(share))) / len(share)
    drawn = np.minimum(np.searchsorted(np.cumsum(share), marks), len(share) - 1)
    return rng.permutation(drawn)


def mark_as_chosen(model: KernelClassifier) -> None:
    """Let a fitted classifier know that what was said of its rows may have decided that they are there."""
    fitted = model.fitted_
    if fitted.rows is not None:
        model.fitted_ = replace(fitted, rows=fitted.rows._replace(were_added=True))
