"""Hyper-parameters by evidence: L-BFGS on the log-evidence over whatever is not fixed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import delayed
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Sum

from ._parallel import in_parallel
from ._threads import blas_threads_for
from ._typing import Array
from .bases import as_basis
from .engines.ep import EP
from .exceptions import InferenceWarning, InvalidProblemError
from .kernels import with_bias
from .likelihoods import Likelihood
from .posteriors import GaussianPosterior, Posterior
from .problem import Problem, Weights, as_generator

_NOWHERE = 1e10  # negative log-evidence where there is none
_POLISHED = 60  # rows up to which the maximum is followed down to rounding: cheap there, and as reproducible

__all__ = ["Candidate", "Model", "infer", "is_no_better_than_a_coin", "maximise_evidence", "rebiased"]


@dataclass(frozen=True)
class Model:
    """A kernel (bias included), a likelihood, and the names of the likelihood's parameters that are free.

    `theta` strings together the logarithms of all free parameters.

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
            likelihood=replace(self.likelihood, **values),  # type: ignore[arg-type]
        )


@dataclass(frozen=True)
class Candidate:
    """A model with its posteriors, one for each vector of labels, and other plausible candidates with their weights.

    `basis` says which form the Gram matrix of the training points has.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import Step
    >>> from bayespoint.tuning import Model, infer
    >>> X = np.array([[0.0], [1.0]])
    >>> infer(Model(RBF(1.0), Step()), X, [np.array([1.0, 1.0])], None, EP()).log_evidence < 0
    True
    """

    model: Model
    posteriors: Sequence[Posterior]
    log_evidence: float | None
    basis: Any
    alternatives: Sequence[tuple[Candidate, float]] = ()

    @classmethod
    def of(cls, model: Model, posteriors: Sequence[Posterior], basis: Any) -> Candidate:
        """With the sum of the posteriors' log-evidences, None if one does not have it."""
        parts = [posterior.log_evidence for posterior in posteriors]
        return cls(model, posteriors, None if None in parts else float(sum(parts)), basis)  # type: ignore[arg-type]

    def evidence_gradient(self, X: Any) -> Array:
        """Gradient of the log-evidence in ``model.theta``."""
        gradients = [p.evidence_gradient for p in self.posteriors if isinstance(p, GaussianPosterior)]
        by_name = [np.sum([gradient.likelihood[name] for gradient in gradients]) for name in self.model.free]
        return np.r_[as_basis(X).slope(self.model.kernel, gradients), by_name]


def infer(
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
    >>> from bayespoint.tuning import Model, infer
    >>> X, y = np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    >>> len(infer(Model(RBF(1.0), Step(softness=1.0)), X, [y, -y], None, EP()).posteriors)
    2
    """
    basis = as_basis(X)
    gram = basis.gram(model.kernel)
    problems = [Problem(gram, y, model.likelihood, weights, check=False) for y in targets]
    streams = as_generator(rng).spawn(len(problems))  # one for each, so that n_jobs changes nothing
    options = [{"start": posterior} for posterior in start.posteriors] if start else [{}] * len(problems)
    if hasattr(engine, "infer_together"):  # classes share what is costly
        return Candidate.of(model, engine.infer_together(problems, rng, n_jobs=n_jobs), basis)
    if len(problems) == 1:
        return Candidate.of(model, [engine.infer(problems[0], streams[0], **options[0])], basis)
    work = zip(problems, streams, options, strict=True)
    tasks = (delayed(engine.infer)(problem, stream, **option) for problem, stream, option in work)
    return Candidate.of(model, in_parallel(tasks, n_jobs), basis)


def infer_quietly(*args: Any, **options: Any) -> Candidate:
    """`infer` on the way to somewhere: a rough patch there is not the user's concern."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        return infer(*args, **options)


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
) -> Candidate:
    """Climb the log-evidence from `model`, and from random points within the bounds.

    Parameters
    ----------
    model : Model
        Where to start, and what is free.
    X : ndarray of shape (n, n_features) or Basis
        Training inputs, see `bayespoint.bases`.
    targets : sequence of ndarray of shape (n,)
        Labels -1 and +1; several vectors (one class against the rest) share the kernel.
    weights : Weights, optional
        Weights of the rows.
    engine : EP, optional
        Engine with a log-evidence and its gradient.
    n_restarts : int, default=0
        Further climbs from points drawn log-uniformly between the bounds.
    rng : numpy.random.Generator, optional
        Where restarts are drawn from.
    n_jobs : int, optional
        Posteriors inferred, and restarts climbed, at the same time.
    on_iteration : callable, optional
        Called with the best candidate after each iteration of the first climb; a true answer stops it there, and leaves
        out the restarts.

    Returns
    -------
    Candidate
        The best one met.

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
    rough = replace(engine, tolerance=max(engine.tolerance, 1e-3))
    climb = _Climb(X, targets, weights, rough, n_jobs, on_iteration)
    starts = [model.theta]
    if n_restarts:
        bounds = model.bounds
        if not np.isfinite(bounds).all():
            raise InvalidProblemError("Restarts draw from within the kernel's bounds: make all of them finite.")
        rng = np.random.default_rng() if rng is None else rng
        starts += [rng.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(n_restarts)]
    climb.run(model, starts[0])
    if not climb.stopped:
        rest = (delayed(_climb_alone)(model, theta, X, targets, weights, rough) for theta in starts[1:])
        climb.take(in_parallel(rest, n_jobs))
    assert climb.best is not None
    if len(targets[0]) <= _POLISHED and not climb.stopped:
        climb.polish(model, engine)
    return infer(climb.best.model, X, targets, weights, engine, start=climb.best, n_jobs=n_jobs)


def is_no_better_than_a_coin(candidate: Candidate) -> bool:
    """Whether the labels are as probable under equal odds, up to a nat: then the evidence has found nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import Hinge
    >>> from bayespoint.engines import EP
    >>> from bayespoint.tuning import Model, infer, is_no_better_than_a_coin
    >>> X, y = np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    >>> is_no_better_than_a_coin(infer(Model(1e-4 * RBF(1.0), Hinge(0.1)), X, [y], None, EP()))
    True
    """
    rows = sum(float(posterior.problem.exponents.sum()) for posterior in candidate.posteriors)
    assert candidate.log_evidence is not None
    return candidate.log_evidence < 1.0 - rows * float(np.log(2))


def rebiased(model: Model, X: Any, targets: Sequence[Array], weights: Weights | None, *, engine: EP) -> Model:
    """The same model with the bias of largest evidence, all else held: what the weights of classes may decide.

    Weights of classes say how probable the classes are to be, not how many rows there are: they have a word on the
    constant, which is what classes differ by before any row is looked at, and none on the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayespoint import Step
    >>> from bayespoint.engines import EP
    >>> from bayespoint.kernels import with_bias
    >>> from bayespoint.problem import Weights
    >>> from bayespoint.tuning import Model, rebiased
    >>> X, y = np.linspace(-2, 2, 20)[:, None], np.repeat([-1.0, 1.0], 10)
    >>> model = Model(with_bias(RBF(0.1), 0.1, tuned=True), Step(softness=1.0))
    >>> rebiased(model, X, [y], Weights.of(np.where(y > 0, 100.0, 0.01)), engine=EP()).kernel
    RBF(length_scale=0.1) + 5.23**2
    """
    shape, bias = model.kernel.k1, model.kernel.k2
    if not bias.constant_value:
        return model
    held = shape.clone_with_theta(shape.theta)
    held.set_params(**{f"{parameter.name}_bounds": "fixed" for parameter in held.hyperparameters})
    start = np.sqrt(np.mean(held.diag(as_basis(X).X)))  # a bias that is small beside the rest has no slope to climb
    free = with_bias(held, float(start), tuned=True)
    best = maximise_evidence(replace(model, kernel=free, free=()), X, targets, weights, engine=engine)
    found = ConstantKernel(best.model.kernel.k2.constant_value, bias.constant_value_bounds)
    return replace(model, kernel=Sum(shape, found))


def _possible(candidate: Candidate) -> float:
    """Its log-evidence if that can be one."""
    value = candidate.log_evidence
    return -np.inf if value is None or value > 0 else value


def _climb_alone(model: Model, theta: Array, X: Any, targets: Any, weights: Any, engine: EP) -> Candidate:
    """The best candidate of a climb of its own, wherever it runs."""
    climb = _Climb(X, targets, weights, engine, None, None)
    climb.run(model, theta)
    assert climb.best is not None
    return climb.best


class _Climb:
    """The state of one or more runs of L-BFGS: the best candidate so far, and the last one as a warm start."""

    def __init__(self, X: Any, targets: Any, weights: Any, engine: EP, n_jobs: int | None, on_iteration: Any) -> None:
        self.data = X, targets, weights, engine
        self.n_jobs, self.on_iteration = n_jobs, on_iteration
        self.best: Candidate | None = None
        self.last: Candidate | None = None
        self.evaluations, self.stopped = 0, False
        self.options = {"maxiter": 200, "ftol": 1e-8, "gtol": 1e-3}

    def run(self, model: Model, theta: Array) -> None:
        self.last = None
        if not theta.size:
            self.negative_evidence(theta, model)
            return
        try:
            with blas_threads_for(len(self.data[1][0])):
                self._minimize(model, theta)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(self.where()) from None

    def _minimize(self, model: Model, theta: Array) -> None:
        minimize(
            self.negative_evidence,
            np.clip(theta, *model.bounds.T),
            args=(model,),
            jac=True,
            method="L-BFGS-B",
            bounds=model.bounds,
            callback=self.after_iteration,
            options=self.options,
        )

    def polish(self, model: Model, engine: EP) -> None:
        """Follow the gradient down to rounding, so that equal data in another guise give equal answers."""
        assert self.best is not None
        self.data = (*self.data[:3], replace(engine, tolerance=min(engine.tolerance, 1e-9)))
        self.options = {"maxiter": 30, "maxfun": 60, "ftol": 0.0, "gtol": 1e-8}
        self.run(model, self.best.model.theta)

    def negative_evidence(self, theta: Array, model: Model) -> tuple[float, Array]:
        candidate = infer_quietly(model.at(theta), *self.data, start=self.last, n_jobs=self.n_jobs)
        self.evaluations += 1
        self.last = candidate
        value = candidate.log_evidence
        assert value is not None
        if value > 0:  # labels cannot be more than certain: expectation propagation broke down here
            self.last = None
            self.best = candidate if self.best is None else self.best
            return _NOWHERE, np.zeros(len(theta))
        if self.best is None or _possible(self.best) < value:
            self.best = candidate
        return -value, -candidate.evidence_gradient(self.data[0])

    def take(self, candidates: Sequence[Candidate]) -> None:
        """Candidates from elsewhere."""
        found = [candidate for candidate in (self.best, *candidates) if candidate is not None]
        self.best = max(found, key=_possible)

    def after_iteration(self, intermediate_result: Any) -> None:
        if self.on_iteration is not None and self.on_iteration(self.best):
            self.stopped = True
            raise StopIteration

    def where(self) -> str:
        if self.best is None:
            return "Interrupted before the first evaluation of the evidence."
        return (
            f"Interrupted after {self.evaluations} evaluations of the evidence; best log-evidence "
            f"{self.best.log_evidence:.4f} with kernel {self.best.model.kernel} and {self.best.model.likelihood}. "
            "The estimator is as it was before fit."
        )
