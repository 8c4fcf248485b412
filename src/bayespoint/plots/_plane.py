"""What displays of two features share: a grid, the classifier at the end of a pipeline, functions on the grid."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..exceptions import InvalidProblemError
from ..kernels import kernel_values, with_bias
from ..posteriors import GaussianPosterior, LowRankSiteFactor
from ._style import MARKERS, PALETTE


class Plane(NamedTuple):
    """A grid over the plane, the same as rows of two features, and the names of these."""

    x0: Array
    x1: Array
    rows: Any
    names: tuple[str, str]

    @classmethod
    def around(cls, X: Any, n_points: int, margin: float = 0.15) -> Plane:
        """A grid over the range of some rows and a little more."""
        values = np.asarray(X, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != 2:
            raise InvalidProblemError(f"A picture of the plane needs rows of two features, got shape {values.shape}.")
        if n_points < 2:
            raise InvalidProblemError(f"n_points must be at least 2, got {n_points!r}.")
        low, high = values.min(axis=0), values.max(axis=0)
        room = margin * np.where(high > low, high - low, 1.0)
        x0, x1 = np.meshgrid(*(np.linspace(a, b, n_points) for a, b in zip(low - room, high + room, strict=True)))
        rows: Any = np.column_stack([x0.ravel(), x1.ravel()])
        names = ("feature 0", "feature 1")
        if hasattr(X, "iloc"):  # the estimator wants to see the names again
            rows, names = type(X)(rows, columns=X.columns), (str(X.columns[0]), str(X.columns[1]))
        return cls(x0, x1, rows, names)

    def label(self, ax: Any) -> None:
        """Limits and names of the axes."""
        ax.set(xlim=(self.x0.min(), self.x0.max()), ylim=(self.x1.min(), self.x1.max()))
        ax.set(xlabel=self.names[0], ylabel=self.names[1])


def last_step(estimator: Any, rows: Any) -> tuple[Any, Any]:
    """A fitted kernel classifier and rows as it takes them, from the end of a pipeline if it is at one."""
    check_is_fitted(estimator)
    if isinstance(estimator, Pipeline):
        return last_step(estimator[-1], estimator[:-1].transform(rows) if len(estimator) > 1 else rows)
    if not hasattr(estimator, "posterior_"):
        raise InvalidProblemError(f"{type(estimator).__name__} has no posterior: use a classifier of bayespoint.")
    return estimator, rows


def draw_functions(classifier: Any, rows: Any, n_draws: int, rng: np.random.Generator) -> Array:
    """Latent functions from the posterior of a classifier of two classes, of shape (n_draws, n_rows)."""
    posterior = classifier.posterior_
    if isinstance(posterior, list):
        raise InvalidProblemError(f"Boundaries of draws are for two classes, the classifier has {len(posterior)}.")
    if not isinstance(posterior, GaussianPosterior):
        (draws,) = classifier._in_blocks(
            rows, lambda cross, diag: (np.moveaxis(posterior.outputs(cross, diag)[0], 2, 0),)
        )
        draws = draws.reshape(len(draws), -1).T
        return draws[np.linspace(0, len(draws) - 1, min(n_draws, len(draws))).astype(int)]
    mean, covariance = joint_latent(classifier, rows)
    root = cholesky(covariance, lower=True, overwrite_a=True)
    return mean + rng.standard_normal((n_draws, len(mean))) @ root.T


def joint_latent(classifier: Any, rows: Any) -> tuple[Array, Array]:
    """Mean and covariance matrix of the latent function, under a Gaussian posterior."""
    factor = classifier.posterior_.factor
    (cross,) = classifier._in_blocks(rows, lambda cross, diag: (cross,))
    kernel = with_bias(classifier.kernel_, classifier.bias_)
    covariance = kernel_values(kernel, np.asarray(rows, dtype=np.float64))
    jitter = 1e-8 * np.max(np.diag(covariance))
    if isinstance(factor, LowRankSiteFactor):
        left = cross @ np.tril(factor.root).T
        covariance += left @ left.T - cross @ cross.T
    else:
        covariance -= cross @ factor.dense() @ cross.T
    covariance[np.diag_indices_from(covariance)] += jitter
    return classifier.latent(rows).mean, covariance


def scatter_classes(ax: Any, X: Any, y: Any, classes: Any) -> list[Any]:
    """Points of each class with a colour and a marker of their own."""
    values, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if y.shape != values.shape[:1]:
        raise InvalidProblemError(f"y must have one label for each of the {len(values)} rows, got shape {y.shape}.")
    return [
        ax.scatter(
            *values[y == label].T,
            s=26,
            color=PALETTE[k % len(PALETTE)],
            marker=MARKERS[k % len(MARKERS)],
            edgecolor="white",
            linewidth=0.7,
            zorder=4,
            label=f"class {label}",
        )
        for k, label in enumerate(classes)
    ]
