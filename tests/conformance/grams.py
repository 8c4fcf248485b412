"""Small problems on every kind of Gram matrix, and what their posteriors take of new points: the one place to know."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bayespoint import Problem
from bayespoint.grams import DensePoints, FeaturePoints, KernelRows, LowRank

SIZE = 8
WEIGHTS = {
    "none": None,
    "whole": np.array([1, 2, 1, 3, 1, 1, 2, 1]),
    "fractional": np.array([1.0, 0.5, 0.8, 1.0, 0.3, 1.0, 0.6, 0.9]),
}
KERNEL = ConstantKernel(1.5) * RBF(1.0) + ConstantKernel(0.3)

_rng = np.random.default_rng(5)
X = _rng.normal(size=(SIZE + 3, 2))  # the last three are new
Y = np.where(X[:SIZE, 0] > 0, 1.0, -1.0)
THREE = np.array([0, 1, 2, 0, 1, 2, 2, 0])  # classes
FEATURES = np.c_[X, 0.5 * np.ones(len(X)), 0.5 * X[:, 0] * X[:, 1]]
RESIDUAL = np.linspace(0.1, 0.8, len(X))
GRAMS = {
    "dense": KERNEL(X[:SIZE]),
    "factor": LowRank(FEATURES[:SIZE]),
    "residual": LowRank(FEATURES[:SIZE], residual=RESIDUAL[:SIZE]),
    "rows": KernelRows(KERNEL, X[:SIZE]),
}


def problem_of(gram, likelihood, weights="none"):
    """Eight rows in the plane, separable by their first feature."""
    return Problem(GRAMS[gram], Y, likelihood, WEIGHTS[weights])


def new_points(gram):
    """The new points, as each kind of Gram matrix meets them."""
    whole = _whole(gram)
    diag = np.diagonal(whole)[SIZE:]
    if gram == "dense":
        return DensePoints(whole[SIZE:, :SIZE], diag)
    if gram == "rows":
        return GRAMS["rows"].new(X[SIZE:])
    return FeaturePoints(FEATURES[SIZE:], diag)


def at_new(weights, gram):
    """Values at the new points of a function with the weights that its posterior's mean has."""
    return (FEATURES[SIZE:] if gram in ("factor", "residual") else _whole(gram)[SIZE:, :SIZE]) @ weights


def spanned(gram):
    """The Gram matrix of the training points without residuals."""
    return FEATURES[:SIZE] @ FEATURES[:SIZE].T if gram in ("factor", "residual") else _whole(gram)[:SIZE, :SIZE]


def dense_problem_of(gram, likelihood, weights="none", *, residual=True, labels=Y):
    """The same problem on a plain Gram matrix, and the same new points.

    A row with a residual that counts more than once is as many rows, each with a residual of its own.
    """
    rows, which = np.arange(SIZE), WEIGHTS[weights]
    if gram == "residual" and residual and weights == "whole":
        rows, which = np.repeat(rows, which), None
    whole = _whole(gram)
    plain = spanned(gram)[np.ix_(rows, rows)]
    if gram == "residual" and residual:
        plain = plain + np.diag(RESIDUAL[rows])
    return Problem(plain, labels[rows], likelihood, which), DensePoints(whole[SIZE:, rows], np.diagonal(whole)[SIZE:])


def _whole(gram):
    """Prior covariance of all latents, new ones too."""
    if gram in ("dense", "rows"):
        return KERNEL(X)
    return FEATURES @ FEATURES.T + (np.diag(RESIDUAL) if gram == "residual" else 0.0)
