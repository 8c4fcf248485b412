"""`GaussianMarginClassifier`: a Gaussian over classifiers with chance constraints (Crammer, Mohri and Pereira 2009)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from itertools import groupby, product
from numbers import Real
from typing import Any, Self

import numpy as np
from joblib import delayed
from scipy.special import ndtr

from .._core.parallel import in_parallel
from .._core.random import as_generator
from .._core.telling import heard_by, nobody
from .._core.typing import Array, RandomState
from ..bounds import Bound, certify, divergence, gaussian_margin_bound, gaussian_margin_slack_bound
from ..bounds.posteriors import deviations
from ..engines.margin.engine import Margin
from ..engines.margin.left_out import left_out
from ..engines.margin.solver import LOST
from ..exceptions import InvalidProblemError
from ..grams import View
from ..kernels import make_kernel, with_bias
from ..likelihoods import Step
from ..posteriors import Latent
from ..readouts import largest_probabilities
from ..tuning.calibration import to_the_power
from ..tuning.climb import Candidate, Model
from ._base import KernelClassifier, scores_of, step_probabilities
from ._callbacks import Watch
from ._fit import Prepared, Recipe, infer_posteriors
from ._fitted import Fitted
from ._linear_weights import FeatureConfidence
from ._settings import common_recipe
from ._validation import TrainingSet

__all__ = ["GaussianMarginClassifier"]

_GRID: Mapping[str, Any] = {
    "eta": (0.6, 0.7, 0.8, 0.84, 0.9, 0.95, 0.98, 0.99, 0.999),
    "C": tuple(np.logspace(-3, 2, 11).tolist()),
}
_ROUGH = 1e-4  # relative gap at which machines of a grid are compared
_UNSOLVED = 0.1  # relative gap of a machine that rounding or infeasibility leaves unsolved
_GIVEN_UP = 2  # of them in a row, after which the rest of a row of the grid is left out
_DELTA = 0.05  # confidence at which the grid is compared
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(64)


class GaussianMarginClassifier(KernelClassifier):
    """A Gaussian over classifiers: the one closest to the prior that puts every training row right with high odds.

    It is the natural PAC-Bayes classifier: its divergence from the prior and its training error are what the bound on
    its error is made of, and with ``tune="bound"`` the bound chooses its settings.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "laplacian", "precomputed"}, callable or Kernel, default="linear"
        As for `BayesPointClassifier`; nothing in it is tuned.
    eta : float, default=0.9
        Probability with which each training row is to be right, above 0.5 (with a `margin` at least 0.5) and below 1.
        About 0.84 is good for the sign, 0.98 to 0.999 for probabilities and bounds.
    C : float, default=1.0
        Price of missing that by a unit; infinite for separable data.
    variance : float, default=1.0
        Prior variance of the weights: a factor of the kernel.
    margin : float, default=0.0
        1 makes it the robust support vector machine, whose margins exceed one by `eta`'s deviations.
    bias : float, default=1.0
        Prior standard deviation of the offset.
    slack : {"unit", "norm", "deviation"}, default="unit"
        What a violation is measured in: units of the latent, lengths of the row (C is then free of the features'
        scale), or its own deviations, the choice that minimises the bound. The last is not convex: the result is a
        local optimum.
    solver : {"newton", "hildreth"}, default="newton"
        Interior point, or the sweep of the paper, which is slow and here for comparison.
    tune : {"bound"}, dict or None, default=None
        "bound" chooses `eta` and `C` from a grid by the bound on the error; a dict ``{"eta": [...], "C": [...]}`` is a
        grid of one's own. See Notes on its price.
    tolerance : float, default=1e-9
        Relative duality gap to stop at.
    max_rank : int, "auto" or None, default="auto"
        Landmarks that stand for many rows, see `BayesPointClassifier`; None works on the whole Gram matrix. Linear
        kernels always go by their features, which is exact.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class. A bound counts rows, so ``tune="bound"`` chooses as if there were no weights.
    n_jobs : int or None, default=None
        Classes, or settings of the grid, worked on at the same time.
    random_state : int, Generator, RandomState or None, default=None
        Randomness of `predict_gibbs` and of the split of a certificate.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    eta_, C_ : float
        Settings in use.
    posterior_ : GaussianPosterior or list of them
        The Gaussian; for more than two classes one each against the rest. `alpha` and `tau` are the dual pair.
    approximation_ : Approximation or None
        What landmarks leave out, measured; None if the Gram matrix is exact.
    calibration_ : float
        Power that class probabilities are raised to; one where left-out labels do not clearly ask for another.
    loo_proba_ : ndarray of shape (n_samples, n_classes)
        Leave-one-out class probabilities of the training rows, without refitting.
    gap_ : float
        Relative duality gap of the solution: how far it may be from the optimum.
    n_iter_ : int
        Iterations of the solver, the most of all classes.
    is_local_optimum_ : bool
        Whether the problem was not convex, so that another start may find a better one.
    kernel_, bias_, likelihood_
        Kernel with its variance, prior standard deviation of the offset, and likelihood in use.
    coef_, coef_std_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Mean and standard deviation of the weights; linear kernels only.
    intercept_, intercept_std_ : ndarray of shape (1,) or (n_classes,)
        Mean and standard deviation of the offset; linear kernels only.
    mean_ : ndarray of shape (n_features,) or (n_classes, n_features)
        The means again, without the first axis for two classes: the paper's mu.
    covariance_ : ndarray of shape (n_features, n_features) or (n_classes, n_features, n_features)
        Covariance of the weights; linear kernels only, made when first asked for.

    Notes
    -----
    Several classes are solved one against the rest; the probability of a class is that its latent is the largest, which
    certificates do not know: theirs decide each against the rest. ``sample_weight`` multiplies C. Probabilities are
    raised to a power where left-out labels are clearly in favour of one, which changes no prediction
    (`bayespoint.tuning.power_of`; not with weights of classes only). A row is left out by following the dual problem
    while its multiplier goes to zero, beyond 500 rows by its terms alone.

    All settings of `eta` and `C` share one prior, and a PAC-Bayes bound holds for all posteriors of a prior at once:
    the choice among them costs nothing. Choosing the kernel or the variance does:
    `bayespoint.uses.selection.BoundSearch` pays for it.

    References
    ----------
    K. Crammer, M. Mohri, F. Pereira (2009). Gaussian Margin Machines. AISTATS, JMLR W&CP 5, 105-112.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from bayespoint import GaussianMarginClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X / X.max(axis=0)
    >>> model = GaussianMarginClassifier(eta=0.98, C=10.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.gap_ < 1e-9
    True
    """

    optimizer: None = None  # kernels are not tuned
    n_restarts = 0

    _left_out = staticmethod(left_out)  # a row's site is not all that its absence would take away

    def __init__(
        self,
        kernel: Any = "linear",
        *,
        eta: float = 0.9,
        C: float = 1.0,
        variance: float = 1.0,
        margin: float = 0.0,
        bias: float = 1.0,
        slack: str = "unit",
        solver: str = "newton",
        tune: Any = None,
        tolerance: float = 1e-9,
        max_rank: int | str | None = "auto",
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.eta = eta
        self.C = C
        self.variance = variance
        self.margin = margin
        self.bias = bias
        self.slack = slack
        self.solver = solver
        self.tune = tune
        self.tolerance = tolerance
        self.max_rank = max_rank
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- predictions ------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Mean of the latent in its standard deviations; its normal distribution function is the probability.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]``; with more than two classes the z of each class probability: the largest is
            predicted.
        """
        latent = self.latent(X)
        if self._is_by_largest(latent):
            return scores_of(largest_probabilities(*latent))
        return latent.mean / np.sqrt(latent.variance)

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities ``Phi(mu.x / sqrt(x' Sigma x))``, of several classes that each has the largest latent.

        Both to the power `calibration_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`; rows sum to one.
        """
        latent = self.latent(X)
        return to_the_power(self._probabilities(self.likelihood_, latent), self.fitted_.power)

    def predict_gibbs(self, X: Any) -> Any:
        """Predict each row by a classifier drawn from the Gaussian for it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Random labels.
        """
        mean, variance = self.latent(X)
        drawn = mean + np.sqrt(variance) * as_generator(self.random_state).standard_normal(mean.shape)
        return self.classes_[(drawn > 0).astype(int) if drawn.ndim == 1 else drawn.argmax(axis=1)]

    def gibbs_error(self, X: Any, y: Any) -> float:
        """Mean error of `predict_gibbs`, in closed form (two classes) or by a one-dimensional integral.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        float

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from bayespoint import GaussianMarginClassifier
        >>> X, y = make_blobs(100, centers=2, random_state=0)
        >>> model = GaussianMarginClassifier(eta=0.9).fit(X, y)
        >>> bool(model.gibbs_error(X, y) > 1 - model.score(X, y))
        True
        """
        mean, variance = self.latent(X)
        sd = np.sqrt(variance)
        y = np.asarray(y)
        if mean.ndim == 1:
            sign = np.where(y == self.classes_[1], 1.0, np.where(y == self.classes_[0], -1.0, np.nan))
            wrong = np.where(np.isnan(sign), 1.0, ndtr(-sign * mean / sd))
            return float(wrong.mean())
        right = np.zeros(len(y))
        for code, label in enumerate(self.classes_):
            rows = np.flatnonzero(y == label)
            right[rows] = _wins(mean[rows], sd[rows], code)
        return float(1 - right.mean())

    # -- weights of linear machines ---------------------------------------------------------------------------------

    @property
    def mean_(self) -> Array:
        """Mean of the weights."""
        return self._squeezed(self._linear_weights.mean)

    @property
    def covariance_(self) -> Array:
        """Covariance of the weights."""
        return self._squeezed(self._linear_weights.covariance)

    def _squeezed(self, values: Array) -> Array:
        return values[0] if len(self.classes_) == 2 else values

    def feature_confidences(self, feature_names: Any = None) -> list[FeatureConfidence]:
        """Features of a linear machine of two classes by how sure their weights are, the surest first.

        Parameters
        ----------
        feature_names : sequence of str, optional
            `feature_names_in_`, or ``x0, x1, ...``, by default.

        Returns
        -------
        list of FeatureConfidence

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import GaussianMarginClassifier
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> model = GaussianMarginClassifier().fit(X, X[:, 1] > 0)
        >>> model.feature_confidences(["noise", "signal", "more noise"])[0].name
        'signal'
        """
        self._require_fit()
        if len(self.classes_) > 2:
            raise InvalidProblemError("Feature confidences are for two classes: fit one class against the rest.")
        mean, sd = self.coef_[0], self.coef_std_[0]
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(len(mean))])
        if len(feature_names) != len(mean):
            raise InvalidProblemError(f"feature_names must hold {len(mean)} names, got {len(feature_names)}.")
        rows = map(FeatureConfidence, map(str, feature_names), mean.tolist(), sd.tolist())
        return sorted(rows, key=lambda row: -abs(row.z))

    # -- guarantees -------------------------------------------------------------------------------------------------

    def bounds(self, delta: float = 0.05) -> dict[str, Bound]:
        """The bounds of the paper on the mean error of a draw, beside the exact inversion; two classes only.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that a bound does not hold.

        Returns
        -------
        dict of Bound
            "corollary 4" (where no row misses its target), "corollary 5", and "exact".

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from bayespoint import GaussianMarginClassifier
        >>> X, y = make_blobs(400, centers=2, random_state=0)
        >>> found = GaussianMarginClassifier(eta=0.98).fit(X, y).bounds()
        >>> found["exact"].value < found["corollary 5"].value
        True
        """
        fitted = self._require_fit()
        if len(self.classes_) > 2:
            raise InvalidProblemError("The corollaries are for two classes: see `certificate` for several.")
        if fitted.prior_saw:
            raise InvalidProblemError(
                f"No bounds: {fitted.prior_saw} on the rows that they would rest on; use "
                "certificate(prior_fraction=0.5)."
            )
        posterior = fitted.posteriors[0]
        n, kl = posterior.problem.size, divergence(posterior)
        z = deviations(posterior)
        found = {"exact": _bound_on_draws([posterior], delta)}
        if self.eta_ > 0.5:
            found["corollary 5"] = gaussian_margin_slack_bound(z, self.eta_, kl, n, delta)
            if ndtr(z.min()) >= self.eta_ - 1e-6:
                found["corollary 4"] = gaussian_margin_bound(self.eta_, kl, n, delta)
        return found

    # -- translation into the core -----------------------------------------------------------------------------------

    def _model(self, data: TrainingSet) -> Model:
        if not isinstance(self.variance, Real) or not 0 < float(self.variance) < np.inf:
            raise InvalidProblemError(f"variance must be a finite number above 0, got {self.variance!r}.")
        kernel = float(self.variance) * make_kernel(self.kernel, data.X, data.sample_weight)
        return Model(with_bias(kernel, float(self.bias)), Step())

    def _recipe(self) -> Recipe:
        recipe = common_recipe(self, self._engine())
        if not (self.tune is None or isinstance(self.tune, Mapping) or str(self.tune) == "bound"):
            raise InvalidProblemError(f"tune must be 'bound', a dict with 'eta' and 'C', or None, got {self.tune!r}.")
        grid = self.tune if isinstance(self.tune, Mapping) else {}
        if not (set(grid) <= {"eta", "C"} and all(np.ndim(values) == 1 and len(values) for values in grid.values())):
            raise InvalidProblemError(f"A grid to tune has lists of values for 'eta' and 'C', got {dict(grid)!r}.")
        self._engines()
        return replace(recipe, search=self._search, linear_from=0)

    @property
    def _gaussian_engine(self) -> Margin:
        """For priors on parts of the rows: settings from before the data, whatever the bound has chosen since."""
        return self._engine_at(self.eta, self.C)

    def _probabilities(self, likelihood: Any, latent: Latent) -> Array:
        """Of several classes the probability that its latent is the largest."""
        return largest_probabilities(*latent) if self._is_by_largest(latent) else step_probabilities(likelihood, latent)

    def _is_by_largest(self, latent: Latent) -> bool:
        return latent.mean.ndim > 1 and not self.fitted_.apart

    @property
    def _calibrates(self) -> bool:  # type: ignore[override]
        return True

    def _as_certified(self) -> Self:
        """Certificates of several classes speak of each against the rest."""
        if len(self.classes_) == 2:
            return self
        other = copy(self)
        other.fitted_ = replace(self.fitted_, apart=True)
        return other

    def _engine(self) -> Margin:
        return self._engine_at(self.eta, self.C)

    def _engines(self) -> list[Margin]:
        """One for each setting of the grid, or the one that is asked for."""
        grid = {"eta": [self.eta], "C": [self.C]}
        if self.tune is not None:
            grid |= dict(self.tune if isinstance(self.tune, Mapping) else _GRID)
        return [self._engine_at(eta, C) for eta, C in product(grid["eta"], grid["C"])]

    def _engine_at(self, eta: Any, C: Any) -> Margin:
        for name, value in (("eta", eta), ("C", C), ("margin", self.margin), ("tolerance", self.tolerance)):
            if not isinstance(value, Real):
                raise InvalidProblemError(f"{name} must be a number, got {value!r}.")
        return Margin(
            float(eta), float(C), float(self.margin), self.slack, self.solver, tolerance=float(self.tolerance)
        )

    def _search(self, recipe: Recipe, ready: Prepared, watch: Watch | None) -> Candidate:
        """The machine, or of a grid of them the one with the smallest bound."""
        return self._inferred(recipe, ready, ready.model, recipe.view(ready.model.kernel, ready.points.X, None))

    @property
    def _chooses_by_bound(self) -> bool:
        return self.tune is not None

    def _inferred(
        self, recipe: Recipe, ready: Prepared, model: Model, view: View, merit: Callable[[Any], float] | None = None
    ) -> Candidate:
        """The one machine that is asked for, or the best of the grid, which is then solved to the last digit.

        The grid is gone through by price, roughly, each machine from where the one before it stood.
        """
        machines = self._engines()
        if len(machines) == 1:
            return infer_posteriors(recipe, ready._replace(engine=machines[0]), model, view=view)
        chains = [list(chain) for _, chain in groupby(machines, key=lambda machine: machine.eta)]
        alone = replace(recipe, n_jobs=None)
        tasks = (delayed(_along)(alone, ready, model, view, chain, merit or _on_draws) for chain in chains)
        found = [best for best in in_parallel(tasks, self.n_jobs) if best is not None]
        if not found:
            raise InvalidProblemError(LOST)
        _, best = min(found, key=lambda one: one[0])
        exact = replace(best.posteriors[0].engine, solver=self.solver, tolerance=float(self.tolerance))
        return infer_posteriors(recipe, ready._replace(engine=exact), model, view=view, start=best)

    def _attributes(self, fitted: Fitted) -> dict[str, Any]:
        engine, solutions = fitted.posteriors[0].engine, [posterior.found for posterior in fitted.posteriors]
        return super()._attributes(fitted) | {
            "eta_": engine.eta,
            "C_": engine.C,
            "calibration_": fitted.power,
            "gap_": max(solution.gap for solution in solutions),
            "n_iter_": max(1, *(solution.iterations for solution in solutions)),
            "is_local_optimum_": self.slack == "deviation",
        }


def _along(
    recipe: Recipe, ready: Prepared, model: Model, view: View, machines: list[Margin], merit: Callable[[Any], float]
) -> tuple[float, Candidate] | None:
    """The best of machines of growing price, and its bound; those lost in rounding are no candidates."""
    best: tuple[float, Candidate] | None = None
    last: Candidate | None = None
    unsolved = 0  # in a row
    for machine in sorted(machines, key=lambda machine: machine.C):
        # whichever way the optimum is found, it is the same: sweeps over a grid would take minutes
        rough = replace(machine, solver="newton", tolerance=max(machine.tolerance, _ROUGH))
        try:
            with heard_by(nobody):  # of the one that is chosen it is told
                last = infer_posteriors(recipe, ready._replace(engine=rough), model, view=view, start=last)
        except InvalidProblemError:
            continue
        value = merit(last.posteriors)
        if best is None or value < best[0]:
            best = value, last
        unsolved = unsolved + 1 if max(posterior.found.gap for posterior in last.posteriors) > _UNSOLVED else 0
        if unsolved == _GIVEN_UP:
            break  # those of higher price would be no easier, and each takes all its iterations
    return best


def _bound_on_draws(posteriors: Any, delta: float) -> Bound:
    found = certify(posteriors, delta).gibbs
    assert found is not None
    return found


def _on_draws(posteriors: Any) -> float:
    return _bound_on_draws(posteriors, _DELTA).value


def _wins(mean: Array, sd: Array, code: int) -> Array:
    """Probability that one of several independent normal variables is the largest."""
    own = mean[:, code, None] + sd[:, code, None] * _NODES
    others = [k for k in range(mean.shape[1]) if k != code]
    below = np.prod([ndtr((own - mean[:, k, None]) / sd[:, k, None]) for k in others], axis=0)
    wins: Array = below @ _NODE_WEIGHTS / _NODE_WEIGHTS.sum()
    return wins
