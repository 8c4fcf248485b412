"""Rows, labels, weights and settings as nobody would wish for, and what has to come of them."""

import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from bayespoint.engines import Billiard, EllipticalSlice

SPARSE = [
    f"{name}_{kind}" for name in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok") for kind in ("array", "matrix")
]
TABLES = ["pandas", "polars", "arrow"]
DENSE = [
    "plain",
    "columns",
    "strided",
    "float32",
    "int64",
    "bool",
    "list",
    "read only",
    "memory map",
    "object",
    "nested",
]
LABELS = {
    "numbers": np.arange,
    "negative": lambda count: -7 - 3 * np.arange(count),
    "floats": lambda count: 2.0 * np.arange(count),
    "huge": lambda count: 2**62 + np.arange(count),
    "words": lambda count: np.array([f"class {c}" for c in range(count)]),
    "objects": lambda count: np.array([chr(945 + c) * (c + 1) for c in range(count)], dtype=object),
    "bools": lambda count: np.array([False, True]) if count == 2 else np.arange(count),
}
SCALES = [1.0, 1.0, 1.0, 1e-300, 1e-160, 1e-30, 1e-8, 1e8, 1e30, 1e150, 1e300]


def container(name, X):
    """The rows in another form, and as plain numbers what that form holds."""
    if name == "float32":
        X = np.clip(X, -1e38, 1e38).astype(np.float32)
    elif name == "int64":
        X = np.clip(np.rint(X), -(2**53), 2**53).astype(np.int64)
    elif name == "bool":
        X = X > 0
    plain = np.array(X, dtype=np.float64)
    made = {
        "columns": lambda: np.asfortranarray(X),
        "strided": lambda: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        "list": X.tolist,
        "nested": lambda: [list(row) for row in X],
        "object": lambda: X.astype(object),
        "read only": lambda: _read_only(X),
        "memory map": lambda: _mapped(X),
        "pandas": lambda: _table("pandas", X),
        "polars": lambda: _table("polars", X),
        "arrow": lambda: _table("pyarrow", X),
    }
    if name in SPARSE:
        return getattr(sparse, name)(X), plain
    return made.get(name, lambda: X)(), plain


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _mapped(X):
    if not X.size:
        return X
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=X.dtype, shape=X.shape)
        mapped[:] = X
        return mapped


def _table(library, X):
    import importlib

    columns = {f"column {j}": X[:, j] for j in range(X.shape[1])}
    module = importlib.import_module(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


@st.composite
def rows(draw, most=30, widest=10_000):
    """Rows in some container, the same as plain numbers, labels, weights, and whether the classes are far apart."""
    n = draw(st.one_of(st.integers(1, 5), st.integers(6, most)))
    features = draw(st.sampled_from([1, 2, 2, 3, 0, 40, widest]))
    classes = draw(st.sampled_from([2, 2, 2, 1, 3, n]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X, y = rng.normal(size=(n, features)), np.arange(n) % classes
    trouble = draw(
        st.sets(st.sampled_from(["repeated", "at odds", "zero", "constant", "collinear", "rare", "whole"]), max_size=3)
    )
    apart = not trouble - {"constant", "whole"} and n >= 4 * classes and 0 < features < 4 and classes < 4
    if apart:
        X[:, 0] += 20 * y
    if "rare" in trouble and classes > 1:
        y = np.minimum(np.arange(n), classes - 1)
    if "repeated" in trouble:
        X, y = X[kept := rng.integers(0, n, n)], y[kept]
    if "at odds" in trouble:
        X = X[np.zeros(n, dtype=int)]
    if "zero" in trouble:
        X[rng.integers(0, n, 1 + n // 4)] = 0
    if "constant" in trouble and features > 1:
        X[:, 1:] = draw(st.sampled_from([0.0, 3.0, 1e9]))
    if "collinear" in trouble and features > 1:
        X[:, 1:] = X[:, :1] * rng.normal(size=features - 1)
    if "whole" in trouble:
        X = np.rint(X)
    scale = draw(st.sampled_from(SCALES))
    name = draw(st.sampled_from([*DENSE, *SPARSE, *TABLES]))
    with np.errstate(over="ignore"):
        given, plain = container(name, np.clip(X * scale, -1.7e308, 1.7e308))
    apart = apart and (name in ("plain", "columns", "list", "csr_array", "pandas") and 1e-30 <= scale <= 1e30)
    weights = None
    if draw(st.booleans()):
        weights, apart = rng.choice(draw(st.sampled_from(WEIGHTS)), n), False
    labels = LABELS[draw(st.sampled_from(list(LABELS)))](classes)[y]
    return given, plain, labels, weights, apart


WEIGHTS = [
    [1.0],
    [0.0, 1.0],
    [0.0, 1e300],
    [1e-300, 1.0],
    [0.1, 2.5, 1e6],
    [0.0],
    [-1.0, 1.0],
    [1.0, np.nan],
    [1.0, np.inf],
]
SAMPLERS = [Billiard(draws=20, chains=1, warmup=5), EllipticalSlice(draws=20, chains=1, warmup=5)]
COMMON = {"max_rank": st.sampled_from(["auto", None, 1, 5]), "random_state": st.just(0)}
MODELS = st.one_of(
    st.builds(BayesPointClassifier, st.sampled_from(["auto", "rbf", "linear"]), **COMMON),
    st.builds(
        BayesPointClassifier,
        st.sampled_from(["rbf", "linear", "poly"]),
        noise=st.sampled_from([0.0, 0.1]),
        softness=st.sampled_from([0.0, 1.0]),
        engine=st.sampled_from(["ep", "ep", "perceptron", *SAMPLERS]),
        optimizer=st.none(),
        decision=st.sampled_from(["bayes_point", "vote", "joint", "one-vs-rest"]),
        class_weight=st.sampled_from([None, "balanced"]),
        **COMMON,
    ),
    st.builds(BayesianSVC, st.sampled_from([1e-6, 1.0, 1e4]), st.sampled_from(["rbf", "linear"]), **COMMON),
    st.builds(BayesianSVC, optimizer=st.sampled_from([None, "evidence"]), **COMMON),
    st.builds(
        GaussianMarginClassifier,
        st.sampled_from(["linear", "rbf"]),
        C=st.sampled_from([1e-6, 1.0, np.inf]),
        slack=st.sampled_from(["unit", "norm", "deviation"]),
        solver=st.sampled_from(["newton", "hildreth"]),
        tune=st.sampled_from([None, None, "bound"]),
        **COMMON,
    ),
)


def is_a_sentence(error):
    """Whether an error is one of ours, or one that scikit-learn's validation has for everybody."""
    if isinstance(error, np.linalg.LinAlgError):  # a ValueError too
        return False
    *_, last = traceback.extract_tb(error.__traceback__)
    ours = "bayespoint" in Path(last.filename).parts and str(error).endswith(".") and "\n" not in str(error)
    return ours or "sklearn" in Path(last.filename).parts


def error_of(function):
    """What it raises that a caller may expect, or None."""
    try:
        function()
    except ValueError as error:
        return error
    return None


def is_steady(model):
    """Whether rounding of the rows cannot show: no draws, and no climb to a kernel."""
    tuned = getattr(model, "optimizer", None) is not None or getattr(model, "tune", None) is not None
    return not tuned and not isinstance(getattr(model, "engine", None), (Billiard, EllipticalSlice))


def judged(model, other, case):
    """Fit and predict: "refused" in a sentence, or "fitted". `other` is the same model, for the plain numbers."""
    given, plain, y, weights, apart = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = error_of(lambda: model.fit(given, y, sample_weight=weights))
        if error is not None:
            assert is_a_sentence(error), repr(error)
            return "refused"
        proba = check_predictions(model, given)
        if apart and is_flexible(model):
            np.testing.assert_array_equal(model.predict(given), y)
        if is_steady(model) and type(given) is not np.ndarray:
            expected = other.fit(plain, y, sample_weight=weights).predict_proba(plain)
            np.testing.assert_allclose(proba, expected, atol=1e-5)
    return "fitted"


def is_flexible(model):
    """Whether it has to tell classes apart that are far from each other on a line, three of them included."""
    if isinstance(model, BayesPointClassifier):
        return model.optimizer is not None and model.kernel != "linear" and model.max_rank in (None, "auto")
    return isinstance(model, BayesianSVC) and model.optimizer is not None and model.max_rank in (None, "auto")


def check_predictions(model, X):
    """Finite scores, and probabilities that add up to one and agree with the decisions."""
    proba = model.predict_proba(X)
    assert np.isfinite(model.decision_function(X)).all()
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    return proba
