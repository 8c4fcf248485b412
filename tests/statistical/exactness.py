"""Small problems, brute-force draws from their prior, and a comparison in Monte Carlo standard errors."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
from scipy.special import ndtr
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Problem, Step
from bayespoint.diagnostics import mcse
from bayespoint.grams import DensePoints

STEPS = [Step(q, s) for q, s in product([0.0, 0.05, 0.3], [0.0, 0.5])]
HINGES = [Hinge(C) for C in (0.5, 2.0, 10.0)]
KINDS = ["rbf", "linear", "skewed"]
NEW = 3  # test points
ERRORS = 4.0  # combined Monte Carlo standard errors that a figure may be off


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, and the Gram matrix of its training points followed by the test points."""

    problem: Problem
    joint: np.ndarray

    @property
    def cross(self):
        return self.joint[self.problem.size :, : self.problem.size]

    @property
    def diag(self):
        return np.diagonal(self.joint)[self.problem.size :]


def joint_gram(kind, size, rng):
    if kind == "rbf":
        return 1.5 * RBF(1.0)(rng.normal(size=(size, 2)))
    if kind == "linear":  # more points than dimensions
        X = rng.normal(size=(size, 2))
        return X @ X.T
    scale = rng.permutation(np.geomspace(0.3, 3.0, size))  # strongly correlated, of very unequal variance
    return np.outer(scale, scale) * (0.85 + 0.15 * np.eye(size))


@cache
def case_of(kind, likelihood, size, seed):
    """The first random problem that the prior has enough draws for.

    Labels are those of a function drawn from the prior; one is turned round where the likelihood allows it.
    """
    rng = np.random.default_rng([seed, size, KINDS.index(kind)])
    steep = getattr(likelihood, "C", 1.0) > 5
    while True:
        joint = joint_gram(kind, size + NEW, rng) * (9.0 if steep else 1.0)  # functions that reach a margin of one
        root = root_of(joint)
        y = np.sign(root @ rng.standard_normal(len(joint)))[:size]
        if not likelihood.is_hard and not steep:
            y[-1] *= -1
        f = rng.standard_normal((20_000, len(joint))) @ root[:size].T
        w = np.prod(likelihood_of(likelihood, y * f), axis=1)
        if w.sum() ** 2 > 100 * (w**2).sum():
            return Case(Problem(joint[:size, :size], y, likelihood), joint)


def root_of(gram):
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.clip(values, 0.0, None))


def figures(latents, outputs, radius, votes):
    """What is compared: first and second moments, votes and outputs of classifiers of unit length."""
    return np.concatenate(
        [latents, latents**2, latents[..., 1:] * latents[..., :-1], votes, outputs / radius[..., None]], axis=-1
    )


def likelihood_of(likelihood, margin):
    """Written out once more, so that no line of the library is its own witness."""
    if isinstance(likelihood, Hinge):
        return np.exp(-likelihood.C * np.clip(1 - margin, 0.0, None))
    side = ndtr(margin / np.sqrt(likelihood.softness)) if likelihood.softness else margin > 0
    return likelihood.noise + (1 - 2 * likelihood.noise) * side


@cache
def brute_force(case, n_draws, seed):
    """Posterior means of all figures by weighted draws from the prior, standard errors, and the effective draws."""
    problem = case.problem
    n = problem.size
    rng = np.random.default_rng([seed, 999])
    root, inverse = root_of(case.joint), np.linalg.pinv(problem.dense, hermitian=True)
    sums = [0.0] * 5
    for _ in range(n_draws // 100_000):
        f = rng.standard_normal((100_000, len(root))) @ root.T
        train, new = f[:, :n], f[:, n:]
        w = np.prod(likelihood_of(problem.likelihood, problem.y * train) ** problem.exponents, axis=1)
        alpha = train @ inverse
        g = figures(train, alpha @ case.cross.T, np.sqrt((alpha * train).sum(axis=1)), (new > 0).astype(float))
        parts = w.sum(), w @ g, (w**2).sum(), w**2 @ g, w**2 @ g**2
        sums = [total + part for total, part in zip(sums, parts, strict=True)]
    w, wg, ww, wwg, wwgg = sums
    assert w**2 / ww > 1000, "too few effective draws for a witness"
    mean = wg / w
    return mean, np.sqrt(np.maximum(wwgg - 2 * mean * wwg + mean**2 * ww, 0.0)) / w, w**2 / ww


def drawn_figures(case, posterior):
    at = posterior.at(DensePoints(case.cross, case.diag))
    radius = np.linalg.norm(posterior.coordinates, axis=-1)
    return figures(posterior.latents, at.outputs, radius, ndtr(at.outputs / np.sqrt(at.orthogonal)))


def errors(case, posterior, n_draws, seed):
    """How far each figure is off in combined Monte Carlo errors, the sampler's from its effective sample size here."""
    expected, se, effective = brute_force(case, n_draws, seed)
    draws = drawn_figures(case, posterior)
    error = np.hypot(mcse(draws), se) + 1e-10
    n = case.problem.size
    error[3 * n - 1 : 3 * n - 1 + NEW] += 5 / min(effective, draws[..., 0].size)  # a vote that is never or always seen
    return (draws.mean(axis=(0, 1)) - expected) / error


def assert_exact(case, engine, n_draws, seed):
    """Every figure within four errors. An alarm is raised only if a fresh run of four times the length confirms it."""
    for length in (1, 4):
        posterior = replace(engine, draws=length * engine.draws).infer(case.problem, rng=[seed, length])
        z = errors(case, posterior, length * n_draws, seed + 1000 * length)
        if np.all(np.abs(z) < ERRORS):
            return
    raise AssertionError(f"off by {np.abs(z).max():.1f} errors: {z.round(1)}")
