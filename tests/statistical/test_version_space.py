"""Version space of a linear kernel: rejection sampling on the sphere, and the theory of teacher and student."""

import numpy as np
import pytest
from sklearn.svm import SVC

from bayespoint import Problem, Step
from bayespoint.diagnostics import mcse
from bayespoint.engines import EP, Billiard, EllipticalSlice, GibbsSampler

ENGINES = [
    Billiard(draws=5000),
    EllipticalSlice(draws=800, chains=24, warmup=100),
    GibbsSampler(draws=8000, chains=2),
]


def moments(directions):
    """First and second moments of unit vectors in three dimensions."""
    pairs = directions[..., [0, 1, 2, 0, 1]] * directions[..., [0, 1, 2, 1, 2]]
    return np.concatenate([directions, pairs], axis=-1)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def on_the_sphere(X, y, rng):
    """Moments over version space by rejection, and their standard errors."""
    w = unit(rng.standard_normal((1_000_000, 3)))
    inside = moments(w[(y * (w @ X.T) > 0).all(axis=1)])
    assert len(inside) > 500
    return inside.mean(axis=0), inside.std(axis=0) / np.sqrt(len(inside))


def assert_moments_on_the_sphere(engine, X, y, rows, seed):
    expected, se = on_the_sphere(X, y, np.random.default_rng([seed, 1]))
    posterior = engine.infer(Problem(X[rows] @ X[rows].T, y[rows], Step()), rng=seed)
    assert posterior.white.rank == 3
    drawn = moments(unit(posterior.alpha @ X[rows]))
    z = (drawn.mean(axis=(0, 1)) - expected) / np.hypot(mcse(drawn), se)
    assert np.all(np.abs(z) < 4), f"off by {np.abs(z).max():.1f} errors"


@pytest.fixture
def ten_points(rng):
    X = rng.normal(size=(10, 3))
    return X, np.sign(X @ rng.normal(size=3))


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: type(e).__name__)
def test_directions_are_those_of_rejection_sampling(engine, ten_points, seed):
    assert_moments_on_the_sphere(engine, *ten_points, slice(None), seed)


def walls_of(X, y):
    """Rows whose wall bounds version space, found by leaving each out of a dense sample."""
    w = unit(np.random.default_rng(0).standard_normal((200_000, 3)))
    wrong = y * (w @ X.T) < 0
    alone = wrong[wrong.sum(axis=1) == 1].sum(axis=0)
    return np.argsort(alone)[::-1]


def test_rejection_sampling_tells_a_missing_wall(ten_points, seed):
    X, y = ten_points
    rows = np.delete(np.arange(10), walls_of(X, y)[0])
    with pytest.raises(AssertionError, match="off by"):
        assert_moments_on_the_sphere(ENGINES[0], X, y, rows, seed)


# Teacher and student (BPM section 1): m = zeta N Gaussian inputs, labels of a linear teacher.


def generalisation_error(w, teacher):
    return np.arccos(np.clip(unit(w) @ unit(teacher), -1.0, 1.0)) / np.pi


def hard_margin_svm(X, y):
    """Largest margin without a bias: mirrored data have none by symmetry."""
    machine = SVC(kernel="linear", C=1e8, tol=1e-4, cache_size=500).fit(np.vstack([X, -X]), np.r_[y, -y])
    w = machine.coef_[0]
    assert abs(machine.intercept_[0]) < 1e-2 * np.linalg.norm(w)
    return w if np.mean(np.sign(X @ w) == y) > 0.5 else -w


@pytest.mark.slow
def test_the_bayes_point_learns_at_the_rate_of_theory(seed):
    dimension, zeta, repeats = 50, 20, 20
    errors = np.empty((repeats, 3))
    for k in range(repeats):
        rng = np.random.default_rng([seed, k])
        X, teacher = rng.normal(size=(zeta * dimension, dimension)), rng.normal(size=dimension)
        y = np.sign(X @ teacher)
        problem = Problem(X @ X.T / dimension, y, Step())
        students = [
            EP().infer(problem).mean_weights @ X,
            Billiard(draws=200, chains=2).infer(problem, rng=rng).mean_weights @ X,
            hard_margin_svm(X, y),
        ]
        errors[k] = [zeta * generalisation_error(w, teacher) for w in students]
    ep, billiard, svm = errors.mean(axis=0)
    assert 0.41 < ep < 0.48  # theory: 0.44
    assert 0.41 < billiard < 0.48
    for student in (0, 1):  # theory for the support vector machine: 0.50
        excess = errors[:, 2] - errors[:, student]
        assert excess.mean() > 2 * excess.std(ddof=1) / np.sqrt(repeats)
    assert svm > 0.48
