"""The only place that looks at what a user hands in. Inside, shapes are promised."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_X_y, validate_data

from .._core.objects import Objects, are_objects
from .._core.scikit import check_sample_weight, check_y, num_samples
from .._core.settings import is_named
from .._core.typing import Array, Matrix
from ..problem import Weights
from ._tables import Table, is_frame, refuse_text

if TYPE_CHECKING:
    from ._fit import Recipe

__all__ = [
    "TrainingSet",
    "check_batch",
    "check_classes",
    "check_inputs",
    "check_training_set",
    "restore_on_failure",
    "signs_of",
    "weights_of",
]

_LARGEST = 1e100  # kernels square and multiply features
_SMALLEST = 1e-100
_NO_LABELS = "no_validation"  # what scikit-learn is told where there are none
_HEAVIEST = 1e12  # weights beside those of one: beyond it sums of weights lose the others to rounding


class TrainingSet(NamedTuple):
    """Rows with a positive weight, ready for a kernel and for engines."""

    X: Matrix
    y: Any  # index into `classes`
    classes: Any
    weights: Weights | None
    kept: Any  # which of the user's rows these are
    n_rows: int  # how many the user handed in
    sample_weight: Array | None = None  # the user's own part of the weights: how often each row was seen, if not once
    table: Table | None = None  # what nominal columns held, where rows came as a table
    jointly: bool = False  # whether several classes are one problem, not one against the rest each

    @property
    def own_weights(self) -> Weights | None:
        """Weights of the rows without those of their classes: what kernels are chosen by.

        A weight of a row says how often it was seen. A weight of a class says what its errors cost, or how frequent it
        will be: that changes decisions, and is no evidence for a kernel.
        """
        return None if self.sample_weight is None else Weights.of(self.sample_weight)

    @property
    def targets(self) -> list[Array]:
        """Labels -1 and +1: one vector for two classes (the second is +1), else each class against the rest.

        Where several classes are one problem, class numbers.
        """
        if self.jointly:
            return [self.y]
        return list(signs_of(self.y, np.arange(len(self.classes))))


def signs_of(labels: Any, classes: Any) -> Array:
    """Labels -1 and +1: a row for two classes, of which the second is +1, else one for each class against the rest."""
    positive = classes[1:] if len(classes) == 2 else classes
    return np.where(np.asarray(labels)[None, :] == positive[:, None], 1.0, -1.0)


def check_training_set(estimator: Any, X: Any, y: Any, sample_weight: Any, recipe: Recipe) -> TrainingSet:
    """Validate once, at the border: every message says what is wrong and what to do.

    Tables may have nominal columns and gaps where the kernel can take them.
    """
    pairwise = recipe.pairwise
    table = Table.of(X) if recipe.takes_tables and is_frame(X) else None
    if recipe.takes_objects and are_objects(X):
        X, y = _objects(estimator, X, y)
    else:
        X, y = _validated(estimator, X, y, table=table, takes_gaps=recipe.takes_gaps, pairwise=pairwise, reset=True)
    check_classification_targets(y)
    n = X.shape[0]
    if pairwise and X.shape[1] != n:
        raise ValueError(
            f"A precomputed kernel must be a square matrix of shape (n_samples, n_samples), got {X.shape}."
        )
    kept, weights = (np.arange(n), None) if sample_weight is None else _own_weights(sample_weight, X)
    classes, codes = np.unique(y[kept], return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"A classifier needs at least two classes, got {len(classes)} class "
            f"{classes.tolist()} in {len(kept)} of {n} rows with positive weight."
        )
    if len(kept) < n:
        X = X[kept][:, kept] if pairwise else X[kept]
    product = weights_of(estimator.class_weight, classes[codes], weights)
    if not pairwise and not isinstance(X, Objects):
        _check_features(X, in_units=not recipe.takes_gaps)
    jointly = recipe.jointly and len(classes) > 2
    return TrainingSet(X, codes, classes, product, kept, n, weights, table, jointly)


def _validated(
    estimator: Any,
    X: Any,
    y: Any = _NO_LABELS,
    *,
    table: Table | None,
    takes_gaps: bool,
    reset: bool,
    pairwise: bool = False,
) -> tuple[Matrix, Any]:
    """Inputs as numbers that can be squared, with labels if there are any; names of columns are set, or compared."""
    form: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}
    form["ensure_all_finite"] = "allow-nan" if takes_gaps and not sparse.issparse(X) else True
    is_table = is_frame(X)
    if table is not None and table.nominal and not is_table:
        raise ValueError("Training rows were a table with nominal columns: pass a table with the same columns.")
    if table is not None and is_table:
        validate_data(estimator, X, skip_check_array=True, reset=reset)  # names and number of columns
        X = table.numbers(X)
        found = check_array(X, **form) if y is _NO_LABELS else check_X_y(X, y, estimator=estimator, **form)
    else:
        if is_table:
            refuse_text(X)
        found = validate_data(estimator, X, y, reset=reset, **form)
    X, y = (found, None) if y is _NO_LABELS else found
    if pairwise and sparse.issparse(X):
        X = X.toarray()
    values = X.data if sparse.issparse(X) else X
    largest = float(np.fmax.reduce(np.abs(values), axis=None, initial=0.0))  # gaps are looked over
    if largest > _LARGEST:
        raise ValueError(
            f"X has entries as large as {largest:.1g}, and kernels square them: rescale the features, "
            "for example with StandardScaler."
        )
    return X, y


def _objects(estimator: Any, X: Any, y: Any) -> tuple[Objects, Any]:
    """Inputs as they are, with their labels; they have no columns to count."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    X, y = _sequence(estimator, X), check_y(y)
    check_consistent_length(X, y)
    for name in ("n_features_in_", "feature_names_in_"):
        vars(estimator).pop(name, None)
    return X, y


def _sequence(estimator: Any, X: Any) -> Objects:
    if isinstance(X, (str, bytes)):
        raise ValueError(f"Inputs must be a sequence, got the single {type(X).__name__} {X[:20]!r}: put it in a list.")
    if num_samples(X) < 1:
        name = type(estimator).__name__
        raise ValueError(f"Found array with 0 sample(s) while a minimum of 1 is required by {name}.")
    return Objects(X)


def check_classes(classes: Any, known: Any) -> Any:
    """All classes of a stream, sorted; they are declared at its beginning and never change."""
    if classes is None:
        if known is None:
            raise ValueError("The first call to partial_fit needs all classes: pass classes=np.unique(all_labels).")
        return known
    declared = np.unique(np.asarray(classes))
    if known is not None and not np.array_equal(declared, known):
        raise ValueError(f"classes={declared.tolist()} is not what was declared before: {np.asarray(known).tolist()}.")
    if len(declared) < 2:
        raise ValueError(f"A classifier needs at least two classes, got {len(declared)} class {declared.tolist()}.")
    return declared


def check_batch(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    class_weight: Any,
    classes: Any,
    so_far: Any,
    recipe: Recipe | None = None,
) -> TrainingSet:
    """Validate a batch of a stream, which may lack classes; `so_far` is what the batches before it have led to.

    The first batch says what nominal columns hold.
    """
    if recipe is not None and so_far is None:
        table, takes_gaps = Table.of(X) if recipe.takes_tables and is_frame(X) else None, recipe.takes_gaps
    else:
        table, takes_gaps = so_far.table, so_far.takes_gaps
    takes_objects = recipe is not None and recipe.takes_objects if so_far is None else so_far.takes_objects
    if takes_objects and (so_far is not None or are_objects(X)):
        X, y = _objects(estimator, X, y)
    else:
        X, y = _validated(estimator, X, y, table=table, takes_gaps=takes_gaps, reset=so_far is None)
    check_classification_targets(y)
    strange = ~np.isin(y, classes)
    if strange.any():
        raise ValueError(f"y has the label {y[strange][0]!r}, which is not among the declared classes {list(classes)}.")
    n = X.shape[0]
    kept, weights = (np.arange(n), None) if sample_weight is None else _own_weights(sample_weight, X)
    if len(kept) < n:
        X, y = X[kept], y[kept]
    power = {label: weight for label, weight in (class_weight or {}).items() if label in set(y.tolist())} or None
    product = weights_of(power, y, weights) if len(kept) else None
    return TrainingSet(X, np.searchsorted(classes, y), classes, product, kept, n, weights, table)


def _own_weights(sample_weight: Any, X: Matrix) -> tuple[Any, Array | None]:
    """The rows of positive weight, and their weights; None if all of these are one."""
    weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = np.flatnonzero(weights)
    own: Array = weights[kept]
    return kept, None if np.all(own == 1) else own


def weights_of(class_weight: Any, y: Any, sample_weight: Array | None) -> Weights | None:
    """Weights of rows times weights of their classes; None if all are one."""
    if class_weight is None and sample_weight is None:
        return None
    power: Any = np.float64(1.0)
    if class_weight is not None:
        classes, codes = np.unique(y, return_inverse=True)
        if isinstance(class_weight, str) and class_weight == "balanced":  # scikit-learn 1.6 would not see the weights
            counts = np.bincount(codes, weights=sample_weight)
            power = (counts.sum() / (len(classes) * counts))[codes]
        else:
            power = compute_class_weight(class_weight, classes=classes, y=y)[codes]
    product = Weights.of(np.ones(len(y)) if sample_weight is None else sample_weight, power)
    lightest, heaviest = float(product.total.min()), float(product.total.max())
    if not 1 / _HEAVIEST <= lightest <= heaviest <= _HEAVIEST:
        raise ValueError(
            f"Weights (of rows times those of classes) must lie between {1 / _HEAVIEST:g} and {_HEAVIEST:g}, got "
            f"{lightest if lightest < 1 / _HEAVIEST else heaviest:.3g}: rescale them; a row of weight zero is left out."
        )
    return None if np.all(product.total == 1) else product


def check_inputs(estimator: Any, X: Any) -> Matrix:
    """Validate inputs of a fitted estimator."""
    fitted = estimator.fitted_
    if fitted.takes_objects:
        return _sequence(estimator, X)
    pairwise = is_named(estimator.kernel, "precomputed")
    known: dict[str, Any] = {"table": fitted.table, "takes_gaps": fitted.takes_gaps, "pairwise": pairwise}
    X, _ = _validated(estimator, X, reset=False, **known)
    return X


def _check_features(X: Matrix, in_units: bool) -> None:
    """Features so small that their squares are lost; constant ones, hopeless if there is nothing else.

    Both are no matter for kernels that measure each column in its own spread, rather than in the units it comes in.
    """
    largest = float(np.fmax.reduce(np.abs(X.data if sparse.issparse(X) else X), axis=None, initial=0.0))
    nothing = "All features are constant in the training rows: there is nothing to tell the classes by."
    if sparse.issparse(X):  # an empty column is the normal case there
        if not (X.min(axis=0) != X.max(axis=0)).nnz:
            raise ValueError(nothing)
    else:
        gaps = np.isnan(X).any(axis=0) & ~np.isnan(X).all(axis=0)
        constant = np.flatnonzero((np.fmin.reduce(X) == np.fmax.reduce(X)) & ~gaps | np.isnan(X).all(axis=0))
        if len(constant) == X.shape[1]:
            raise ValueError(nothing)
        if len(constant) and in_units:
            shown = ", ".join(map(str, constant[:5])) + (", ..." if len(constant) > 5 else "")
            warnings.warn(
                f"Constant features in the training rows carry no information: column {shown}; consider dropping them.",
                UserWarning,
                stacklevel=5,  # the caller of fit
            )
    if in_units and 0 < largest < _SMALLEST:
        raise ValueError(
            f"X has no entry beyond {largest:.1g}, and kernels square them: rescale the features, for example with "
            "StandardScaler."
        )


@contextmanager
def restore_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """Leave a fitted estimator as it was if fitting it again fails or is interrupted."""
    before = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    try:
        yield
    except BaseException:
        for name in [name for name in vars(estimator) if name.endswith("_")]:
            del vars(estimator)[name]
        vars(estimator).update(before)
        raise
