"""Evidence by other means: closed forms, spherical geometry, quadrature, a Markov recursion, plain draws."""

from functools import cache
from itertools import combinations, product

import numpy as np
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Problem, Step
from bayespoint.evidence import log_evidence
from witnesses import orthant_probability

ERRORS = 4.5  # combined standard errors that an estimate may be off


def assert_close(estimate, truth, truth_se=0.0):
    """Within the standard errors that the estimate itself reports."""
    error = np.hypot(estimate.se, truth_se) + 1e-9
    off = (estimate.value - truth) / error
    assert abs(off) < ERRORS, f"{estimate} is off {truth:.4f} by {off:.1f} errors"


def assert_exact(problem, truth, method, seed, se=0.05, truth_se=0.0):
    estimate = log_evidence(problem, seed, method, se=se)
    assert estimate.se <= se
    assert_close(estimate, truth, truth_se)
    return estimate


def methods_for(problem, full_rank=True):
    """Methods that apply, apart from "auto"."""
    likelihood = problem.likelihood
    weighted_soft = problem.weights is not None and likelihood.softness > 0
    orthant = isinstance(likelihood, Step) and likelihood.noise == 0 and not weighted_soft
    names = ["tilted"] if orthant and full_rank else []
    names += ["bridge"] if full_rank or not likelihood.is_hard else []
    return names + ([] if weighted_soft else ["billiard"])


def likelihood_of(likelihood, margin):
    """Written out once more, so that no line of the library is its own witness."""
    if isinstance(likelihood, Hinge):
        return np.exp(-likelihood.C * np.clip(1 - margin, 0.0, None)) / (1 + np.exp(-2 * likelihood.C))
    side = ndtr(margin / np.sqrt(likelihood.softness)) if likelihood.softness else margin > 0
    return likelihood.noise + (1 - 2 * likelihood.noise) * side


def rbf_problem(size, likelihood, seed=0, weights=None):
    """Points in the plane and labels of a tilted line, two of them wrong where that is possible."""
    rng = np.random.default_rng([seed, size])
    X = rng.normal(size=(size, 2))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1.0, -1.0)
    if not likelihood.is_hard:
        y[:2] *= -1
    return Problem(1.5 * RBF(1.0)(X) + 0.1 * np.eye(size), y, likelihood, weights)


# -- orthants --------------------------------------------------------------------------------------------------------


@cache
def orthant_by_genz(size, seed=0, repeats=6):
    """Log-probability of the orthant of `rbf_problem` by the lattice rule in scipy, and its error from its spread."""
    problem = rbf_problem(size, Step(), seed)
    cov = problem.dense * np.outer(problem.y, problem.y)
    settings = {"maxpts": 4000 * size, "abseps": 1e-14, "releps": 1e-6}
    values = [orthant_probability(cov, k, **settings) for k in range(repeats)]
    mean = np.mean(values)
    return np.log(mean), np.std(values, ddof=1) / np.sqrt(repeats) / mean


def pair_probability(correlation):
    """P(both positive)."""
    return 0.25 + np.arcsin(correlation) / (2 * np.pi)


def two_latents(gram, y, step, rows):
    """Evidence of copies of two points: `rows` says which point a label is of; steps without softness."""
    r = gram[0, 1] / np.sqrt(gram[0, 0] * gram[1, 1])
    return np.log(
        sum(
            pair_probability(signs[0] * signs[1] * r)
            * np.prod(likelihood_of(step, np.asarray(y) * np.array(signs)[list(rows)]))
            for signs in product([-1.0, 1.0], repeat=2)
        )
    )


def wedge(X, y, teacher):
    """Share of the circle on which all labels are right: half circles around y_i x_i, seen from the teacher."""
    turned = (y[:, None] * X) @ np.array([[teacher[0], -teacher[1]], [teacher[1], teacher[0]]])
    angles = np.arctan2(turned[:, 1], turned[:, 0])
    assert np.all(np.abs(angles) < np.pi / 2)
    return (np.pi - np.ptp(angles)) / (2 * np.pi)


def spherical_polygon(X, y):
    """Share of the sphere: Girard's theorem, with pi minus the angle of the normals as the inner angle of a corner."""
    normals = y[:, None] * X / np.linalg.norm(X, axis=1, keepdims=True)
    turns = []
    for i, j in combinations(range(len(y)), 2):
        others = np.delete(normals, [i, j], axis=0)
        corner = np.cross(normals[i], normals[j])
        if np.all(others @ corner > 0) or np.all(others @ corner < 0):
            turns.append(np.arccos(normals[i] @ normals[j]))
    assert len(turns) >= 3
    return (2 * np.pi - sum(turns)) / (4 * np.pi)


# -- quadrature ------------------------------------------------------------------------------------------------------


def panels(edges, order=40):
    """Gauss-Legendre between each two edges: nodes and weights."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    edges = np.asarray(edges, dtype=float)
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()


def by_quadrature(problem):
    """One or two latents, on panels that end at the kinks and steps."""
    f, w = panels([-15, -5, -2, -1, 0, 1, 2, 5, 15])
    points = np.stack(np.meshgrid(*[f] * problem.size, indexing="ij"), axis=-1).reshape(-1, problem.size)
    weights = np.prod(np.stack(np.meshgrid(*[w] * problem.size, indexing="ij")), axis=0).ravel()
    density = multivariate_normal.pdf(points, cov=problem.dense)
    return np.log(weights @ (density * np.prod(likelihood_of(problem.likelihood, problem.y * points), axis=1)))


def markov_problem(size, likelihood, seed=0, weights=None):
    """Ornstein-Uhlenbeck kernel on a line, labels of a function of the prior with a few turned round."""
    rng = np.random.default_rng([seed, size])
    x = np.cumsum(rng.uniform(0.1, 0.3, size))
    gram = 2.0 * np.exp(-np.abs(x[:, None] - x))
    y = np.sign(np.linalg.cholesky(gram) @ rng.standard_normal(size))
    y[rng.choice(size, size // 10, replace=False)] *= -1
    return Problem(gram, y, likelihood, weights)


def by_recursion(problem, order=40):
    """Forward through a Markov prior: what is known of the latest latent, on panels that end at kinks and steps."""
    f, w = panels([-12, -6, -3, -1, 0, 1, 3, 6, 12], order)
    gram, total = problem.dense, 0.0
    message = norm.pdf(f, scale=np.sqrt(gram[0, 0]))
    for i in range(problem.size):
        message = message * likelihood_of(problem.likelihood, problem.y[i] * f) ** problem.exponents[i]
        mass = w @ message
        total += np.log(mass)
        if i + 1 < problem.size:
            back = gram[i, i + 1] / gram[i, i]
            spread = np.sqrt(gram[i + 1, i + 1] - back * gram[i, i + 1])
            message = norm.pdf(f[:, None], loc=back * f, scale=spread) @ (w * message / mass)
    return total


# -- draws -----------------------------------------------------------------------------------------------------------


def by_draws(problem, n_draws=1_000_000, seed=0):
    """Log of the mean likelihood over draws of the prior, and its standard error."""
    rng = np.random.default_rng([seed, 999])
    values, vectors = np.linalg.eigh(problem.dense)
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    f = rng.standard_normal((n_draws, problem.size)) @ root.T
    weights = np.prod(likelihood_of(problem.likelihood, problem.y * f) ** problem.exponents, axis=1)
    return np.log(weights.mean()), weights.std() / weights.mean() / np.sqrt(n_draws)
