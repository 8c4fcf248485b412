"""From a fitted classifier to a graph: converters for skl2onnx."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.extras import needed
from .._core.objects import Objects
from .._core.typing import Array
from ..estimators import BayesianSVC, BayesPointClassifier, Fitted, GaussianMarginClassifier
from ..estimators._base import KernelClassifier, parts_of
from ..exceptions import InvalidProblemError
from ..kernels.tables import without_features
from ..posteriors import GaussianClassesPosterior, GaussianPosterior
from .features import write_features
from .graph import Graph
from .kernels import write_diagonal, write_kernel
from .readouts import write_averaged, write_largest, write_log_odds, write_power, write_step

__all__ = ["register_converters", "to_onnx"]

_KINDS = (BayesPointClassifier, BayesianSVC, GaussianMarginClassifier)


def to_onnx(model: Any, X: Any, **options: Any) -> Any:
    """A fitted classifier, or a pipeline that ends with one, as a graph of ONNX.

    The graph has the outputs "label" and "probabilities". It works in double precision within; `X` says what its
    input is: rows of float64 agree with `predict_proba` to 1e-9 or so, rows of float32 to what their own rounding
    leaves. Needs ``bayespoint[onnx]``.

    Parameters
    ----------
    model : estimator
        With a Gaussian posterior; draws have none, and user's functions no graph.
    X : ndarray of shape (n_samples, n_features)
        Some rows, of which type and number of columns are looked at.
    **options
        For `skl2onnx.to_onnx`, such as `target_opset`.

    Returns
    -------
    onnx.ModelProto
        Write ``.SerializeToString()`` to a file.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.onnx import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesPointClassifier("rbf", optimizer=None).fit(X, y)
    >>> graph = to_onnx(model, X).SerializeToString()
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    >>> label, proba = session.run(None, {"X": X})
    >>> bool(np.abs(proba - model.predict_proba(X)).max() < 1e-8)
    True
    """
    skl2onnx = _skl2onnx()
    register_converters()
    check_is_fitted(model)
    return skl2onnx.to_onnx(model, X[:1], options={id(model): {"zipmap": False}}, **options)


def register_converters() -> None:
    """Tell skl2onnx of the classifiers of this library, for its own functions to take them.

    Examples
    --------
    >>> from bayespoint.onnx import register_converters
    >>> register_converters()
    >>> from skl2onnx import supported_converters
    >>> "BayespointBayesianSVC" in supported_converters()
    True
    """
    skl2onnx = _skl2onnx()
    shapes = import_module("skl2onnx.common.shape_calculator").calculate_linear_classifier_output_shapes
    for kind in _KINDS:
        skl2onnx.update_registered_converter(
            kind,
            f"Bayespoint{kind.__name__}",
            shapes,
            _convert,
            options={"zipmap": [True, False, "columns"], "nocl": [True, False]},
        )


def _skl2onnx() -> Any:
    return needed("skl2onnx", "onnx", "ONNX graphs need skl2onnx")


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Writes label and probabilities of a classifier."""
    g, model = Graph(scope, container), operator.raw_operator
    inputs = [g.double(one.full_name) for one in operator.inputs]
    x = inputs[0] if len(inputs) == 1 else g("Concat", *inputs, axis=1)
    proba = _probabilities(g, model, x)
    label, shown = (one.full_name for one in operator.outputs)
    best = g("ArgMax", proba, axis=1, keepdims=0)
    classes = model.classes_
    if classes.dtype.kind not in "UO":
        classes = classes.astype(np.int64)
    chosen = g("Gather", classes, best, axis=0)
    kind = 11 if type(operator.outputs[1].type).__name__ == "DoubleTensorType" else 1
    container.add_node("Identity", chosen, label, name=scope.get_unique_operator_name("label"))
    container.add_node("Cast", proba, shown, name=scope.get_unique_operator_name("proba"), to=kind)


def _probabilities(g: Graph, model: KernelClassifier, x: str) -> str:
    """Of the classifiers that decide together, by their weights."""
    parts = [(_of_one(g, one, x), weight) for one, weight in parts_of(model)]
    total = parts[0][0]
    if len(parts) > 1:
        weighted = [g("Mul", proba, np.float64(weight)) for proba, weight in parts]
        total = g("Sum", *weighted)
    return write_power(g, total, model.fitted_.power)


def _of_one(g: Graph, model: KernelClassifier, x: str) -> str:
    """Of a single kernel."""
    fitted = model.fitted_
    _check(fitted)
    kernel, features = without_features(fitted.kernel)
    if features is not None:
        x = write_features(g, features, x)
    points, change = fitted.view.spanned(fitted.kernel)
    rows = write_kernel(g, kernel, x, points)
    if change is not None:
        rows = g("MatMul", rows, change)
    if isinstance(model, BayesianSVC):
        return _of_machine(g, model, rows, write_diagonal(g, kernel, x))
    mean, variance = _moments(g, fitted, rows, write_diagonal(g, kernel, x))
    likelihood: Any = fitted.model.likelihood
    by_rest = isinstance(model, BayesPointClassifier) and model.decision != "bayes_point"
    if len(fitted.classes) > 2 and not (by_rest or fitted.apart):
        return write_largest(g, likelihood, mean, variance)
    if len(fitted.classes) == 2:
        mean, variance = g("Concat", g("Neg", mean), mean, axis=1), g("Concat", variance, variance, axis=1)
    return write_step(g, likelihood, mean, variance)


def _of_machine(g: Graph, model: BayesianSVC, rows: str, diagonal: str) -> str:
    """Averaged over the posterior, or at its mean or the support vector machine."""
    fitted, likelihood = model.fitted_, model.likelihood_
    if model.probability == "map":
        kept = model.support_ if fitted.rows is None else np.searchsorted(fitted.rows.kept, model.support_)
        gram = fitted.posteriors[0].problem.gram
        latent = g("MatMul", rows, np.stack([gram.weights(kept, alpha) for alpha in model.dual_coef_], axis=1))
    else:
        latent, variance = _moments(g, fitted, rows, diagonal)
    both = g("Concat", g("Neg", latent), latent, axis=1) if len(fitted.classes) == 2 else latent
    if model.probability == "average":
        variance = g("Concat", variance, variance, axis=1) if len(fitted.classes) == 2 else variance
        return g("Softmax", write_averaged(g, likelihood, both, variance), axis=1)
    return g.shares(g("Sigmoid", write_log_odds(g, likelihood, both)))


def _moments(g: Graph, fitted: Fitted, rows: str, diagonal: str) -> tuple[str, str]:
    """Means and variances of the latents, a column for each posterior."""
    weights: Array = np.stack([posterior.mean_weights for posterior in fitted.posteriors], axis=1)
    mean = g("MatMul", rows, weights)
    variances = []
    for posterior in fitted.posteriors:
        less, more = posterior.gaussian.explained()
        variance = g("Sub", diagonal, g.total(g.square(g("MatMul", rows, less)))) if less is not None else diagonal
        if more is not None:
            variance = g("Add", variance, g.total(g.square(g("MatMul", rows, more))))
        variances.append(variance)
    variance = g("Concat", *variances, axis=1) if len(variances) > 1 else variances[0]
    return mean, g.at_least(variance, 1e-300)


def _check(fitted: Fitted) -> None:
    """Say what cannot be exported, and what to do."""
    if isinstance(fitted.posteriors[0], GaussianClassesPosterior):
        raise InvalidProblemError(
            "Several classes as one model have no graph of ONNX: fit with decision='bayes_point' instead of 'joint'."
        )
    if not all(isinstance(posterior, GaussianPosterior) for posterior in fitted.posteriors):
        raise InvalidProblemError("Only Gaussian posteriors have a graph of ONNX: fit with engine='ep'.")
    if fitted.table is not None and fitted.table.nominal:
        raise InvalidProblemError(
            "A table with nominal columns has no graph of ONNX: encode them first, for example with OrdinalEncoder."
        )
    points = fitted.points
    if points.isometry is not None or isinstance(points.X, Objects) or not isinstance(points.X, np.ndarray):
        raise InvalidProblemError("A graph of ONNX takes dense rows of numbers: fit on an array.")
