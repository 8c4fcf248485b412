"""Hyper-parameters by evidence: L-BFGS on the log-evidence over whatever is not fixed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import delayed
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Sum

from .._core.parallel import in_parallel
from .._core.telling import heard_by, nobody
from .._core.threads import blas_threads_for
from .._core.typing import Array
from ..engines.ep.engine import EP
from ..exceptions import InvalidProblemError
from ..grams.views import as_view
from ..kernels import with_bias
from ..likelihoods import Likelihood
from ..problem import Problem, Weights
from .priors import HyperPrior

_WAY = 1e-2  # tolerance of sites on the way
_ROUGH_WAY = 5e-2  # the same where about the maximum is good enough
_NOWHERE = 1e10  # negative log-evidence where there is none
_POLISHED = 60  # rows up to which the maximum is followed down to rounding: cheap there, and as reproducible
_ROUGHLY: Mapping[str, Any] = {"maxiter": 200, "ftol": 1e-6, "gtol": 1e-2}
_ABOUT: Mapping[str, Any] = {"maxiter": 200, "ftol": 1e-3, "gtol": 1e-1}
_TO_ROUNDING: Mapping[str, Any] = {"maxiter": 30, "maxfun": 60, "ftol": 0.0, "gtol": 1e-8}

__all__ = [
    "Candidate",
    "Model",
    "infer_candidate",
    "is_no_better_than_a_coin",
    "maximise_evidence",
    "rebiased",
]


@dataclass(frozen=True)
class Model:
    """A kernel (bias included), a likelihood, the names of those of its parameters that are free, and a hyper-prior.

    `theta` strings together the logarithms of all free parameters, of which the hyper-prior speaks.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import Step
    >>> from bayespoint.tuning import Model
    >>> Model(RBF(1.0), Step(noise=0.1), free=("noise",)).theta.round(3)
    array([ 0.   , -2.303])
    """

    kernel: Kernel
    likelihood: Likelihood
    free: tuple[str, ...] = ()
    prior: HyperPrior | None = None
    name: str = ""  # what a reader would call it, where there are several

    @property
    def theta(self) -> Array:
        """Logarithms of the free parameters: the kernel's, then the likelihood's."""
        return np.r_[self.kernel.theta, [np.log(getattr(self.likelihood, name)) for name in self.free]]

    @property
    def bounds(self) -> Array:
        """Bounds of `theta`, one row a parameter."""
        return np.vstack(
            [self.kernel.bounds.reshape(-1, 2), *(np.log([self.likelihood.BOUNDS[name]]) for name in self.free)]
        )

    def at(self, theta: Array) -> Model:
        """The same model with other values of the free parameters."""
        n = self.kernel.n_dims
        values = {name: float(np.exp(t)) for name, t in zip(self.free, theta[n:], strict=True)}
        return replace(
            self,
            kernel=self.kernel.clone_with_theta(theta[:n]),
            likelihood=replace(self.likelihood, **values),  # type: ignore[type-var]
        )


@dataclass(frozen=True)
class Candidate:
    """A model with its posteriors, one for each vector of labels, and other plausible candidates with their weights.

    `view` says which form the Gram matrix of the training points has.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import Step
    >>> from bayespoint.tuning import Model, infer_candidate
    >>> X = np.array([[0.0], [1.0]])
    >>> infer_candidate(Model(RBF(1.0), Step()), X, [np.array([1.0, 1.0])], None, EP()).log_evidence < 0
    True
    """

    model: Model
    posteriors: Sequence[Any]
    log_evidence: float | None
    view: Any
    alternatives: Sequence[tuple[Candidate, float]] = ()

    @classmethod
    def of(cls, model: Model, posteriors: Sequence[Any], view: Any) -> Candidate:
        """With the sum of the posteriors' log-evidences, None if one does not have it."""
        parts = [posterior.log_evidence for posterior in posteriors]
        return cls(model, posteriors, None if None in parts else float(sum(parts)), view)

    def evidence_gradient(self) -> Array:
        """Gradient of the log-evidence in ``model.theta``."""
        gradients = [posterior.evidence_gradient for posterior in self.posteriors]
        by_name = [np.sum([gradient.likelihood[name] for gradient in gradients]) for name in self.model.free]
        return np.r_[self.view.slope(self.model.kernel, gradients), by_name]

    @property
    def merit(self) -> float:
        """What is maximised: the log-evidence and the log-density of the hyper-prior; nothing if it cannot be one."""
        value, prior = self.log_evidence, self.model.prior
        if value is None or value > 0:  # labels cannot be more than certain
            return -np.inf
        return value if prior is None else value + prior.log_density(self.model.theta)


def infer_candidate(
    model: Model,
    X: Any,
    targets: Sequence[Array],
    weights: Weights | None,
    engine: Any,
    *,
    rng: Any = None,
    start: Candidate | None = None,
    n_jobs: int | None = None,
) -> Candidate:
    """Infer one posterior for each vector of labels on a shared Gram matrix, from the sites of `start` if given.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import Step
    >>> from bayespoint.tuning import Model, infer_candidate
    >>> X, y = np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    >>> len(infer_candidate(Model(RBF(1.0), Step(softness=1.0)), X, [y, -y], None, EP()).posteriors)
    2
    """
    view = as_view(X)
    gram = view.gram(model.kernel)
    problems = [Problem(gram, y, model.likelihood, weights, check=False) for y in targets]
    sites = None if start is None else start.posteriors
    return Candidate.of(model, engine.infer_all(problems, rng, start=sites, n_jobs=n_jobs), view)


def maximise_evidence(
    model: Model,
    X: Any,
    targets: Sequence[Array],
    weights: Weights | None = None,
    *,
    engine: EP | None = None,
    n_restarts: int = 0,
    rng: np.random.Generator | None = None,
    n_jobs: int | None = None,
    on_iteration: Callable[[Candidate], bool] | None = None,
    optimizer: Callable[..., tuple[Any, Any]] | None = None,
    start: Candidate | None = None,
    roughly: bool = False,
) -> Candidate:
    """Climb the log-evidence, and the hyper-prior if the model has one, from `model` and from random points.

    Parameters
    ----------
    model : Model
        Where to start, and what is free.
    X : ndarray of shape (n, n_features) or View
        Training inputs, see `bayespoint.grams`.
    targets : sequence of ndarray of shape (n,)
        Labels -1 and +1; several vectors (one class against the rest) share the kernel.
    weights : Weights, optional
        Weights of the rows.
    engine : EP, optional
        Engine with a log-evidence and its gradient.
    n_restarts : int, default=0
        Further climbs from points drawn log-uniformly within the bounds.
    rng : numpy.random.Generator, optional
        Where restarts are drawn from.
    n_jobs : int, optional
        Posteriors inferred, and restarts climbed, at the same time.
    on_iteration : callable, optional
        Called with the best candidate after each iteration of the first climb; a true answer stops it there, and leaves
        out the restarts.
    optimizer : callable, optional
        What climbs instead of L-BFGS: ``optimizer(obj_func, initial_theta, bounds)`` returns the theta that is to be
        taken and the value there, as for `sklearn.gaussian_process.GaussianProcessClassifier`. What it minimises is
        ``obj_func(theta)``, the negative log-evidence (and hyper-prior) with its gradient, or
        ``obj_func(theta, eval_gradient=False)`` without.
    start : Candidate, optional
        A similar model of the same rows, whose sites are the first to begin from.
    roughly : bool, default=False
        Whether about the maximum is good enough: until a step gains less than a thousandth of the evidence.

    Returns
    -------
    Candidate
        The best one met, or the one that `optimizer` chose.

    Raises
    ------
    KeyboardInterrupt
        If interrupted, with a message that names the best model so far.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import Step
    >>> from bayespoint.tuning import Model, maximise_evidence
    >>> X = np.linspace(-2, 2, 20)[:, None]
    >>> best = maximise_evidence(Model(4.0 * RBF(0.1), Step(softness=1.0)), X, [np.sign(X[:, 0])])
    >>> bool(best.model.kernel.k2.length_scale > 1.0)
    True
    """
    engine = EP() if engine is None else engine
    # The evidence is stationary in the sites, so a rough fixed point is enough to climb by.
    way, options = (_ROUGH_WAY, _ABOUT) if roughly else (_WAY, _ROUGHLY)
    rough = replace(engine, tolerance=max(engine.tolerance, way), max_sweeps=min(engine.max_sweeps, 50), fallback=False)
    if optimizer is not None:  # which may take differences
        rough = engine
    data = as_view(X), targets, weights
    restarts = []
    if n_restarts:
        low, high = model.bounds.T
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InvalidProblemError("Restarts draw from within the kernel's bounds: make all of them finite.")
        rng = np.random.default_rng() if rng is None else rng
        restarts = [rng.uniform(low, high) for _ in range(n_restarts)]
    climb = _Climb(data, n_jobs, on_iteration, optimizer, last=start)
    with heard_by(nobody):  # rough patches on the way
        best = climb.run(model, model.theta, rough, options)
        if restarts and not climb.stopped:
            tasks = (delayed(_Climb(data, optimizer=optimizer).run)(model, theta, rough, options) for theta in restarts)
            climb.best = best = max([best, *in_parallel(tasks, n_jobs)], key=lambda one: one.merit)
        if (
            len(targets[0]) <= _POLISHED and not climb.stopped and optimizer is None
        ):  # equal data in another guise give equal answers
            exact = replace(engine, tolerance=min(engine.tolerance, 1e-9))
            climb.last = None
            best = climb.run(model, best.model.theta, exact, _TO_ROUNDING)
    return infer_candidate(best.model, *data, engine, start=best, n_jobs=n_jobs)


def is_no_better_than_a_coin(candidate: Candidate) -> bool:
    """Whether the labels are as probable under equal odds, up to a nat: then the evidence has found nothing."""
    problems = [posterior.problem for posterior in candidate.posteriors]
    surprise = sum(float(problem.exponents.sum() * np.log(problem.n_classes or 2)) for problem in problems)
    assert candidate.log_evidence is not None
    return candidate.log_evidence < 1.0 - surprise


def rebiased(model: Model, X: Any, targets: Sequence[Array], weights: Weights | None, *, engine: EP) -> Model:
    """The same model with the bias of largest evidence, all else held: what the weights of classes may decide.

    Weights of classes say how probable the classes are to be, not how many rows there are: they have a word on the
    constant, which is what classes differ by before any row is looked at, and none on the kernel.
    """
    shape, bias = model.kernel.k1, model.kernel.k2
    if not bias.constant_value:
        return model
    held = shape.clone_with_theta(shape.theta)
    held.set_params(**{f"{parameter.name}_bounds": "fixed" for parameter in held.hyperparameters})
    start = np.sqrt(np.mean(held.diag(as_view(X).X)))  # a bias that is small beside the rest has no slope to climb
    free = with_bias(held, float(start), tuned=True)
    best = maximise_evidence(replace(model, kernel=free, free=(), prior=None), X, targets, weights, engine=engine)
    found = ConstantKernel(best.model.kernel.k2.constant_value, bias.constant_value_bounds)
    return replace(model, kernel=Sum(shape, found))


@dataclass
class _Climb:
    """The state of one or more runs of L-BFGS: the best candidate so far, and the last one as a warm start."""

    data: tuple[Any, Any, Any]
    n_jobs: int | None = None
    on_iteration: Callable[[Candidate], bool] | None = None
    optimizer: Callable[..., tuple[Any, Any]] | None = None
    best: Candidate | None = None
    last: Candidate | None = None
    evaluations: int = 0
    stopped: bool = False

    def run(self, model: Model, theta: Array, engine: EP, options: Mapping[str, Any]) -> Candidate:
        """The best candidate, of this run and those before it."""
        try:
            with blas_threads_for(len(self.data[1][0]) if self.data[0].is_exact else 0):  # few landmarks: little to do
                if not theta.size:
                    self.negative_evidence(theta, model, engine)
                elif self.optimizer is None:
                    watched = None if self.on_iteration is None else self.after_iteration
                    settings: dict[str, Any] = {"bounds": model.bounds, "callback": watched, "options": options}
                    start = np.clip(theta, *model.bounds.T)
                    minimize(self.negative_evidence, start, (model, engine), "L-BFGS-B", jac=True, **settings)
                else:
                    self.by_optimizer(np.clip(theta, *model.bounds.T), model, engine)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(self.where()) from None
        assert self.best is not None
        return self.best

    def by_optimizer(self, start: Array, model: Model, engine: EP) -> None:
        """Climb as the user does, and take what is chosen for the best."""

        def obj_func(theta: Array, eval_gradient: bool = True) -> Any:
            theta = np.asarray(theta, dtype=float)
            found = self.negative_evidence(theta, model, engine, eval_gradient)
            return found if eval_gradient else found[0]

        assert self.optimizer is not None
        found = self.optimizer(obj_func, start, model.bounds)
        theta = np.atleast_1d(np.asarray(found[0], dtype=float)) if isinstance(found, tuple) else np.empty(0)
        if theta.shape != start.shape or not np.isfinite(theta).all():
            raise InvalidProblemError(
                f"optimizer must return a tuple of {len(start)} finite log-parameters and the value there, got "
                f"{found!r}."
            )
        self.best = None
        self.negative_evidence(theta, model, engine, with_gradient=False)

    def negative_evidence(
        self, theta: Array, model: Model, engine: EP, with_gradient: bool = True
    ) -> tuple[float, Array]:
        """What is minimised, with its gradient; without it, zero."""
        nothing = np.zeros(len(theta))
        candidate = infer_candidate(model.at(theta), *self.data, engine, start=self.last, n_jobs=self.n_jobs)
        self.evaluations += 1
        value = candidate.merit
        if self.best is None or self.best.merit < value:
            self.best = candidate
        if value == -np.inf:  # expectation propagation broke down here
            self.last = None
            return _NOWHERE, nothing
        self.last = candidate
        if not with_gradient:
            return -value, nothing
        slope = candidate.evidence_gradient()
        return -value, -slope if model.prior is None else -(slope + model.prior.gradient(candidate.model.theta))

    def after_iteration(self, intermediate_result: Any) -> None:
        """Whoever looks on may stop it."""
        if self.on_iteration is not None and self.best is not None and self.on_iteration(self.best):
            self.stopped = True
            raise StopIteration

    def where(self) -> str:
        """What was reached, for one who interrupts."""
        if self.best is None:
            return "Interrupted before the first evaluation of the evidence."
        return (
            f"Interrupted after {self.evaluations} evaluations of the evidence; best log-evidence "
            f"{self.best.log_evidence:.4f} with kernel {self.best.model.kernel} and {self.best.model.likelihood}. "
            "The estimator is as it was before fit."
        )
