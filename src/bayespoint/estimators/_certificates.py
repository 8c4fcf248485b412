"""Certificates of a fitted classifier: what voids the bound, and what can be had instead."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import DotProduct

from .._core.random import as_generator
from .._core.scikit import num_samples
from .._core.typing import Array
from ..bounds import Certificate, binomial_bound, certify, certify_classes, certify_draws
from ..bounds._checks import check_sample
from ..bounds.disintegrated import draw_by_bound
from ..exceptions import InvalidProblemError
from ..grams import Exact, Landmarks, NaturalGaussian, View
from ..grams.views import SHARE, linear_view, may_take_landmarks
from ..posteriors import GaussianClassesPosterior, GaussianPosterior
from ..problem import Problem
from ._draw import CertifiedDraw
from ._fit import Prepared, Recipe, choose, infer_posteriors, prepare, seen_by_prior
from ._fitted import Fitted
from ._inputs import Points
from ._provenance import copied, learned_from
from ._validation import TrainingSet, check_training_set, weights_of

__all__ = [
    "certificate",
    "certified_draw",
    "check_held_out",
    "fitted_for",
    "has_fixed_coordinates",
    "part_size",
    "random_part",
    "refuse_early",
    "refuse_if_copied",
    "refuse_if_learned",
    "with_held_out",
]

_NOT_GAUSSIAN = "A prior learned on a part of the rows needs Gaussian posteriors: use engine='ep'."
_NO_COORDINATES = (
    "No certified draw: a precomputed kernel has no coordinates that new points share; use a kernel of inputs."
)
_LANDMARKS = 1000  # at the most, for functions that are drawn
_DELTA = 0.05  # confidence at which settings are compared
_ANY = 0.1  # noise or softness of a fit whose posterior nobody will look at
_OFFER = (
    "pass prior_fraction=0.5 to learn it on half of them, or fix it beforehand (optimizer=None and a kernel object; "
    "bayespoint.uses.selection.BoundSearch chooses from a finite grid and pays for it)"
)


def certificate(
    estimator: Any, delta: float, *, prior_rows: Any = None, trust_inputs: bool = False, choices: int = 1
) -> Certificate:
    """Certificate of a fitted classifier, whose prior is learned on `prior_rows` if these are given.

    `choices` is the size of the grid that it was chosen from by the bound.
    """
    recipe = estimator._recipe()
    _refuse_void(estimator, recipe, prior_rows is not None, trust_inputs)
    if _is_one_model(estimator.fitted_):
        recipe = recipe.of_one_problem(estimator.fitted_.n_rows, len(estimator.fitted_.classes))
    if prior_rows is None:
        return _with_fixed_prior(estimator, delta, choices)
    return _with_learned_prior(estimator, recipe, delta, prior_rows, choices)


def _refuse_void(estimator: Any, recipe: Recipe, has_prior: bool, trust_inputs: bool) -> None:
    """Raise where no bound would hold, whatever its kind."""
    fitted = estimator.fitted_
    _refuse_unless_mean(estimator)
    if fitted.alternatives and not has_prior:
        raise InvalidProblemError(
            "No certificate: several kernels decide together; pass prior_fraction=0.5 for a classifier with one, or "
            "fit with one to begin with."
        )
    rows = fitted.rows
    if rows.were_added:
        raise InvalidProblemError(
            "No certificate: rows were added after fitting, perhaps chosen by what the classifier said of them, and a "
            "bound needs rows that chance alone has drawn: fit on all of them if it has, or use a test set."
        )
    if rows.dropped:
        raise InvalidProblemError(
            f"No certificate: {rows.dropped} rows had weight zero, and a bound needs all rows that were drawn: fit "
            "without them."
        )
    refuse_if_copied(fitted.points.as_given, rows.labels)
    if not (trust_inputs or recipe.pairwise):
        refuse_if_learned(fitted.points.X)


def certified_draw(
    estimator: Any, rng: np.random.Generator, delta: float, *, prior_rows: Any = None, trust_inputs: bool = False
) -> CertifiedDraw:
    """One function of the posterior, drawn and kept, with the bound on its error from rows that are not the prior's."""
    recipe = estimator._recipe()
    check_sample(1, delta)
    _refuse_void(estimator, recipe, prior_rows is not None, trust_inputs)
    if _is_one_model(estimator.fitted_):
        raise InvalidProblemError(
            "No certified draw: of several classes that are one model there is certificate(prior_fraction=0.5); for a "
            "draw take one class against the rest."
        )
    if not all(isinstance(posterior, GaussianPosterior) for posterior in estimator.fitted_.posteriors):
        raise InvalidProblemError("A certified draw needs Gaussian posteriors: use engine='ep'.")
    if recipe.pairwise:
        raise InvalidProblemError(_NO_COORDINATES)
    if prior_rows is None:
        model = _by_linear_features(estimator, recipe)
        rows, basis = np.arange(model.fitted_.n_rows), "a prior fixed before the data"
        rank = len(model.fitted_.posteriors[0].mean_weights)
        priors = [NaturalGaussian.standard(rank)] * len(model.fitted_.posteriors)
    else:
        n, engine = estimator.fitted_.n_rows, estimator._gaussian_engine
        part = _training_set(estimator, prior_rows)
        on_part, whole = _refit(estimator, recipe, part, prior_rows, engine, by_coordinates=True)
        model = _with(estimator, whole)
        rows = np.delete(np.arange(n), prior_rows)
        basis = f"a prior learned on {len(prior_rows)} of {n} rows, the bound is on the others"
        priors = [posterior.gaussian.coordinates for posterior in on_part]
    return _drawn(model, priors, rows, delta, rng, basis, is_learned=prior_rows is not None)


def _drawn(
    model: Any, priors: list[Any], rows: Any, delta: float, rng: np.random.Generator, basis: str, *, is_learned: bool
) -> CertifiedDraw:
    fitted = model.fitted_
    codes = np.searchsorted(fitted.classes, fitted.rows.labels[rows])
    signs = fitted.posteriors[0].problem.y[rows]

    def wrong(latents: Array) -> Array:
        return latents[:, 0] * signs <= 0 if latents.shape[1] == 1 else latents.argmax(axis=1) != codes

    features = fitted.posteriors[0].problem.gram.part(rows).root()
    coordinates = [posterior.gaussian.coordinates for posterior in fitted.posteriors]
    draw = draw_by_bound(priors, coordinates, features, wrong, delta, rng, is_learned=is_learned)
    taken = f"the posterior takes {100 * draw.share:.0f} % of what the rows of the bound say"
    constant = 1 - float(np.bincount(codes).max()) / len(codes)
    result = Certificate(
        draw.bound, None, len(rows), delta, f"{basis}; {taken}", constant_error=constant, kind="disintegrated"
    )
    return CertifiedDraw(model, draw.weights, result)


def _by_linear_features(estimator: Any, recipe: Recipe) -> Any:
    """The classifier in coordinates that were fixed before the rows: features of a linear kernel."""
    fitted, engine = estimator.fitted_, estimator._gaussian_engine
    _refuse_if_seen(fitted.prior_saw)
    if fitted.view.has_coordinates:
        return estimator
    view = _fixed_coordinates(fitted.kernel, fitted.points)
    if view is None:
        raise InvalidProblemError(
            "No certified draw: functions of this prior have no finite coordinates that were fixed before the rows; "
            "pass prior_fraction=0.5, whose rows give landmarks, or use a linear kernel on fewer features than rows."
        )
    whole = _training_set(estimator, np.arange(fitted.n_rows))._replace(weights=fitted.posteriors[0].problem.weights)
    found = infer_posteriors(recipe, Prepared(whole, fitted.model, fitted.points, engine), fitted.model, view=view)
    known = {"rows": fitted.rows, "is_tuned": fitted.is_tuned, "table": fitted.table}
    return _with(estimator, Fitted.of(found, fitted.points, fitted.classes, **known))


def _fixed_coordinates(kernel: Any, points: Points) -> View | None:
    """Features that no row had a say in: those of a linear kernel, but not of the span of the rows."""
    view = None if points.isometry is not None else linear_view(kernel, points.X)
    return None if view is None or view.saw_rows else view


def has_fixed_coordinates(classifier: Any, X: Any) -> bool:
    """Whether functions of a classifier's prior have finite coordinates without a look at the rows."""
    by_name = isinstance(classifier.kernel, str) and classifier.kernel == "linear"
    return (by_name or isinstance(classifier.kernel, DotProduct)) and not sparse.issparse(X)


def _with(estimator: Any, fitted: Fitted) -> Any:
    """A clone that has found something else."""
    classifier = clone(estimator)
    known = {name: value for name, value in vars(estimator).items() if name.endswith("_") and name != "loo_proba_"}
    vars(classifier).update(known)
    return classifier._become(fitted)


def fitted_for(classifier: Any, X: Any, y: Any, prior_rows: Any) -> Any:
    """A fitted clone; what will be tuned on a part of the rows is not tuned on all of them before."""
    now: dict[str, Any] = {}
    if prior_rows is not None and classifier.optimizer is not None:
        now["optimizer"] = None
        now |= {name: _ANY for name in ("noise", "softness") if getattr(classifier, name, None) == "evidence"}
        now |= {"average": False} if getattr(classifier, "average", False) else {}
    if prior_rows is not None and classifier._chooses_by_bound:
        now["tune"] = None
    quick = clone(classifier).set_params(**now).fit(X, y)
    quick.set_params(**{name: getattr(classifier, name) for name in now})
    if "optimizer" in now:
        quick.fitted_ = replace(quick.fitted_, is_tuned=True)
    return quick


def _refuse_unless_mean(estimator: Any) -> None:
    if (reason := estimator._not_the_mean()) is not None:
        raise InvalidProblemError(f"No certificate: {reason}.")


def refuse_if_copied(X: Any, labels: Any) -> None:
    """Raise if rows of some class are copies of fewer."""
    if (reason := copied(X, labels)) is not None:
        raise InvalidProblemError(
            f"No certificate: {reason}, and a bound needs independent rows: fit on each of them once."
        )


def refuse_if_learned(X: Any) -> None:
    """Raise if rows bear the trace of preprocessing that was fitted to them."""
    if (reason := learned_from(X)) is not None:
        raise InvalidProblemError(
            f"No certificate: {reason}, so preprocessing was learned from these very rows; use "
            "bayespoint.uses.selection.certify on the whole pipeline, or trust_inputs=True if it was learned elsewhere."
        )


def random_part(n: int, fraction: Any, rng: Any) -> Any:
    """A share of n rows, chosen without a look at them."""
    return np.sort(as_generator(rng).permutation(n)[: part_size(n, fraction)])


def part_size(n: int, fraction: Any) -> int:
    """So many rows are a share of n that leaves rows on both sides."""
    size = round(float(fraction) * n) if isinstance(fraction, Real) and 0 < float(fraction) < 1 else 0
    if not 1 <= size < n:
        raise InvalidProblemError(
            "prior_fraction must be a share between 0 and 1 that leaves rows on both sides, such as 0.5, "
            f"got {fraction!r}."
        )
    return size


def refuse_early(classifier: Any, X: Any, y: Any, *, has_prior: bool, draws: bool) -> None:
    """Raise, before anything is fitted, for settings that no such certificate can be had of."""
    recipe = classifier._recipe()
    data = check_training_set(clone(classifier), X, y, None, recipe)
    model = recipe.model(data)
    engine = recipe.engine
    if (has_prior or draws) and (engine is None or engine.is_exact or engine.wants_rows):
        raise InvalidProblemError(_NOT_GAUSSIAN)
    if draws and recipe.pairwise:
        raise InvalidProblemError(_NO_COORDINATES)
    if not has_prior:
        limited = not recipe.pairwise and may_take_landmarks(len(data.y), recipe.max_rank)
        view = Landmarks if limited and linear_view(model.kernel, data.X) is None else Exact
        _refuse_if_seen(seen_by_prior(recipe, model, view))


def check_held_out(X_test: Any, y_test: Any) -> None:
    """Both or none, of one length."""
    if (X_test is None) != (y_test is None):
        raise InvalidProblemError("A held-out set needs both X_test and y_test.")
    if X_test is not None and np.shape(y_test) != (rows := num_samples(X_test),):
        raise InvalidProblemError(f"y_test must hold {rows} labels, one for each row of X_test.")


def with_held_out(result: Certificate, X_test: Any, y_test: Any) -> Certificate:
    """The same with the bound of a test set, if there is one."""
    check_held_out(X_test, y_test)
    if X_test is None:
        return result
    predicted, y = result.classifier.predict(X_test), np.asarray(y_test)
    return replace(result, held_out=binomial_bound(int(np.sum(predicted != y)), len(y), result.delta))


def _refuse_if_seen(reason: str | None) -> None:
    if reason is not None:
        raise InvalidProblemError(f"No certificate: {reason} on the rows that the bound would rest on; {_OFFER}.")


def _with_fixed_prior(estimator: Any, delta: float, choices: int) -> Certificate:
    fitted = estimator.fitted_
    _refuse_if_seen(fitted.prior_saw)
    posteriors = fitted.posteriors
    basis = "a prior fixed before the data"
    if choices > 1:
        basis = f"the best of {choices} priors, all fixed before the data"
    if isinstance(posteriors[0], GaussianClassesPosterior):
        result = certify_classes(posteriors[0], delta, choices=choices, basis=basis)
    elif all(isinstance(posterior, GaussianPosterior) for posterior in posteriors):
        result = certify(posteriors, delta, choices=choices, basis=basis)
    else:
        if not estimator._decides_by_vote:
            raise InvalidProblemError(
                "No certificate: the bound for draws is on their vote, not on their mean; use engine='ep', whose mean "
                "and vote are the same, or decision='vote' where there is that choice."
            )
        if not all(posterior.engine.is_exact for posterior in posteriors):
            raise InvalidProblemError(
                "No certificate: the points of this engine are no draws from the posterior; use engine='sample' or "
                "engine='ep'."
            )
        from ..evidence import log_evidence  # compiles; only needed here

        rng = as_generator(estimator.random_state)
        evidences = [log_evidence(posterior.problem, rng, se=0.1) for posterior in posteriors]
        result = certify_draws(posteriors, evidences, delta, choices=choices, basis=basis)
    return replace(result, classifier=estimator._as_certified())


def _with_learned_prior(estimator: Any, recipe: Recipe, delta: float, rows: Any, choices: int) -> Certificate:
    """Kernel and centre from some rows, posterior from all of them, bound on the others."""
    fitted = estimator.fitted_
    if not all(isinstance(one, GaussianPosterior | GaussianClassesPosterior) for one in fitted.posteriors):
        raise InvalidProblemError(_NOT_GAUSSIAN)
    n = fitted.n_rows
    basis = f"a prior learned on {len(rows)} of {n} rows, the bound is on the others"
    if choices > 1:
        basis = f"the best of {choices} priors, each {basis[2:]}"
    engine, classifier = estimator._gaussian_engine, estimator
    part = _training_set(estimator, rows)
    if fitted.prior_saw or fitted.is_tuned or estimator._chooses_by_bound:
        priors, whole = _refit(estimator, recipe, part, rows, engine)
        classifier = _with(estimator, whole)
        _refuse_unless_mean(classifier)
    else:
        problems = [
            Problem(p.gram.part(rows), p.y[rows], p.likelihood, part.weights, check=False, n_classes=p.n_classes)
            for p in (posterior.problem for posterior in fitted.posteriors)
        ]
        priors, whole = engine.infer_all(problems), fitted
    if isinstance(whole.posteriors[0], GaussianClassesPosterior):
        known: dict[str, Any] = {"choices": choices, "basis": basis, "prior": priors[0], "prior_rows": rows}
        result = certify_classes(whole.posteriors[0], delta, **known)
    else:
        result = certify(whole.posteriors, delta, priors=priors, prior_rows=rows, choices=choices, basis=basis)
    return replace(result, classifier=classifier._as_certified())


def _refit(
    estimator: Any, recipe: Recipe, part: TrainingSet, rows: Any, engine: Any, *, by_coordinates: bool = False
) -> tuple[list[Any], Fitted]:
    """Posteriors on `rows` with a kernel tuned there, and what a classifier on all rows with that kernel has.

    `by_coordinates` asks for few that both share, of landmarks among `rows` if need be.
    """
    fitted = estimator.fitted_
    ready = prepare(recipe, part, fitted.points.take(rows), engine)
    model = ready.model
    if recipe.tunes:
        model = choose(recipe, ready, as_generator(recipe.random_state)).model
    view = recipe.view(model.kernel, ready.points.X, engine)
    if by_coordinates and not (view.has_coordinates and (view.saw_rows or fitted.points.isometry is None)):
        is_plain = fitted.points.isometry is None  # else coordinates of linear kernels are those of all rows
        view = (linear_view(model.kernel, ready.points.X) if is_plain else None) or Landmarks.among(
            ready.points.X, model.kernel, max_rank=_LANDMARKS, tolerance=SHARE, rng=as_generator(0)
        )
    priors = estimator._inferred(recipe, ready, model, view)

    def bound(posteriors: Any) -> float:  # on all rows settings are chosen beside this prior, not beside N(0, K)
        return certify(posteriors, _DELTA, priors=priors.posteriors, prior_rows=rows).bayes_point.value

    whole = _training_set(estimator, np.arange(fitted.n_rows))._replace(weights=fitted.posteriors[0].problem.weights)
    on_all = ready._replace(data=whole, points=fitted.points)
    found = estimator._inferred(recipe, on_all, model, view.over(fitted.points.X), bound)
    saw = seen_by_prior(recipe, model, found.view)
    known = {"rows": fitted.rows, "prior_saw": saw, "is_tuned": fitted.is_tuned, "table": fitted.table}
    return list(priors.posteriors), Fitted.of(found, fitted.points, fitted.classes, **known)


def _training_set(estimator: Any, rows: Any) -> TrainingSet:
    """Some of the rows as `fit` would see them, if they were all there is; classes are those of all rows.

    Weights of classes are counted on these rows alone, for the others are not to be seen.
    """
    fitted = estimator.fitted_
    labels, own = fitted.rows.labels[rows], fitted.rows.sample_weight
    own = None if own is None else own[rows]
    weights, codes = weights_of(estimator.class_weight, labels, own), np.searchsorted(fitted.classes, labels)
    X, kept = fitted.points.take(rows).X, np.arange(len(rows))
    jointly = _is_one_model(fitted)
    return TrainingSet(X, codes, fitted.classes, weights, kept, len(rows), own, fitted.table, jointly)


def _is_one_model(fitted: Fitted) -> bool:
    """Whether several classes are one problem."""
    return fitted.posteriors[0].problem.n_classes is not None
