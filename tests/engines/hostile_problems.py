"""Problems as nobody would wish for: every engine, likelihood, kind of Gram matrix and number of classes."""

import warnings

import numpy as np
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Choice, Hinge, Logistic, Problem, Step, readouts
from bayespoint.engines import (
    EP,
    Billiard,
    ClassicBilliard,
    Corners,
    EllipticalSlice,
    GibbsSampler,
    Laplace,
    Margin,
    Perceptrons,
)
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import DensePoints, FeaturePoints, KernelRows, LowRank
from bayespoint.likelihoods import SquaredHinge

ENGINES = [
    EP(),
    EP(),
    Billiard(draws=20, chains=2, warmup=5),
    EllipticalSlice(draws=20, chains=2, warmup=5),
    GibbsSampler(draws=20, chains=2, warmup=5),
    ClassicBilliard(tolerance=1e-2, draws=20),
    Corners(),
    Laplace(),
    Margin(C=2.0),
    Margin(C=np.inf),
    Perceptrons(permutations=5),
]
SIGNS = [Step(), Step(0.1), Step(0.0, 0.5), Step(0.1, 0.5), Hinge(2.0), Hinge(1e4), Logistic(2.0), SquaredHinge(2.0)]
CLASSES = [Choice(), Choice(0.1), Choice(0.0, 0.5), Choice(0.1, 0.5)]
GRAMS = ["dense", "factor", "residual", "rows"]
SIZES = [1.0, 1.0, 1.0, 1e-300, 1e-160, 1e-12, 1e6, 1e12, 1e150, 1e300]  # of the Gram matrix
WEIGHTS = [None, None, [1.0, 2.0, 3.0], [0.3, 1.0], [1e-300, 1.0], [1.0, 1e300], [0.0, 1.0], [1.0, np.nan]]


@st.composite
def problems(draw, most=12):
    """Arguments of a `Problem`, and what its posterior takes of new points."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, kind = draw(st.one_of(st.integers(1, 5), st.integers(6, most))), draw(st.sampled_from(GRAMS))
    X = rng.normal(size=(n + 3, draw(st.integers(1, 3))))
    if draw(st.booleans()):
        X[:n] = X[rng.integers(0, n, n)]
    if draw(st.booleans()):
        X[0] = 0.0
    y = np.where(X[:n, 0] + draw(st.sampled_from([0.0, 0.0, 1.0])) * rng.normal(size=n) > 0, 1.0, -1.0)
    likelihood = draw(st.sampled_from([*SIGNS, *CLASSES]))
    if isinstance(likelihood, Choice):
        y = rng.integers(0, draw(st.sampled_from([2, 3, 10])), n)
    weights = draw(st.sampled_from(WEIGHTS))
    gram, new = _meeting(kind, X, n, draw(st.sampled_from(SIZES)))
    return (gram, y, likelihood, None if weights is None else rng.choice(weights, n)), new


def _meeting(kind, X, n, size):
    """The Gram matrix of the first rows, and the others as new points."""
    if kind == "rows":
        rows = KernelRows(size * RBF(1.0), X[:n])
        return rows, rows.new(X[n:])
    root = np.sqrt(size)
    if kind == "dense":
        whole = size * RBF(1.0)(X)
        return whole[:n, :n], DensePoints(whole[n:, :n], np.diagonal(whole)[n:])
    own = size * (0.1 if kind == "residual" else 0.0) * np.ones(n + 3)
    gram = LowRank(root * X[:n], residual=own[:n]) if kind == "residual" else LowRank(root * X[:n])
    return gram, FeaturePoints(root * X[n:], size * np.square(X[n:]).sum(axis=1) + own[n:])


def judged(engine, arguments, new):
    """Inference and probabilities: "refused" in a sentence, or "inferred"."""
    refused = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            posterior = engine.infer(Problem(*arguments), rng=0)
            p, (mean, variance) = readouts.class_probability(posterior, new), readouts.latent(posterior, new)
        except InvalidProblemError as error:
            refused = str(error)
    if refused is not None:
        assert refused.endswith("."), refused
        assert "\n" not in refused, refused
        return "refused"
    assert ((p >= 0) & (p <= 1)).all(), p
    assert np.isfinite(mean).all(), mean
    assert (variance >= 0).all(), variance
    return "inferred"
