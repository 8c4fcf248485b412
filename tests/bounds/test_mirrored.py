from math import log, pi

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Problem, Step
from bayespoint.bounds import bayes_bound, mirrored, mirrored_problem, symmetric_centre
from bayespoint.engines import EP, Billiard
from bayespoint.evidence import log_evidence
from bayespoint.exceptions import InvalidProblemError


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def directions(degrees):
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=-1)


def weights_of(X, w):
    """Weights of training points that make up the vector w."""
    return np.linalg.lstsq(X.T, w, rcond=None)[0]


@pytest.fixture
def three_dimensions(rng):
    X = rng.normal(size=(9, 3))
    w = unit(rng.normal(size=3))
    return X, np.sign(X @ w), w


# -- symmetry -----------------------------------------------------------------------------------------------------


def test_the_classifiers_between_the_walls_lie_symmetric_in_version_space(three_dimensions):
    X, y, w = three_dimensions
    symmetric = mirrored_problem(Problem(X @ X.T, y, Step()), weights_of(X, w))
    posterior = Billiard(draws=500).infer(symmetric, rng=0)
    rows = posterior.latents[..., :9].reshape(-1, 9)  # latents of the original points tell the classifier
    v = unit(rows @ np.linalg.pinv(X).T)
    image = 2 * (v @ w)[:, None] * w - v
    for classifier in (v, image):
        assert np.all(y * (classifier @ X.T) > 0)
    mirrored_walls = 2 * np.outer(X @ w, w) - X
    np.testing.assert_allclose(rows @ np.linalg.pinv(X).T @ mirrored_walls.T, posterior.latents.reshape(-1, 18)[:, 9:])
    assert np.all(y * (image @ mirrored_walls.T) > 0)
    assert np.all(v @ w > 0)


def test_not_all_of_version_space_is_symmetric(three_dimensions):
    X, y, w = three_dimensions
    v = unit(Billiard(draws=500).infer(Problem(X @ X.T, y, Step()), rng=0).latents.reshape(-1, 9) @ np.linalg.pinv(X).T)
    image = 2 * (v @ w)[:, None] * w - v
    assert not np.all(y * (image @ X.T) > 0)


def test_the_vote_of_the_symmetric_part_is_the_classifier_itself(three_dimensions):
    X, y, w = three_dimensions
    alpha = weights_of(X, w)
    posterior = Billiard(draws=2000).infer(mirrored_problem(Problem(X @ X.T, y, Step()), alpha), rng=0)
    centre = unit(posterior.mean[:9] @ np.linalg.pinv(X).T)
    assert centre @ w > 0.999
    assert unit(Billiard(draws=2000).infer(Problem(X @ X.T, y, Step()), rng=0).mean @ np.linalg.pinv(X).T) @ w < 0.999


def test_the_gram_matrix_is_that_of_points_and_mirrored_points(three_dimensions):
    X, y, w = three_dimensions
    symmetric = mirrored_problem(Problem(X @ X.T, y, Step()), 7.0 * weights_of(X, w))
    walls = np.vstack([X, 2 * np.outer(X @ w, w) - X])
    np.testing.assert_allclose(symmetric.dense, walls @ walls.T, atol=1e-12)
    np.testing.assert_array_equal(symmetric.y, np.r_[y, y])
    assert symmetric.likelihood == Step()


def test_a_kernel_of_full_rank_mirrors_in_feature_space(rng):
    X = rng.normal(size=(6, 2))
    y = np.sign(X[:, 0])
    gram = RBF(1.0)(X)
    alpha = EP().infer(Problem(gram, y, Step())).alpha
    symmetric = mirrored_problem(Problem(gram, y, Step()), alpha)
    f = gram @ alpha / np.sqrt(alpha @ gram @ alpha)
    np.testing.assert_allclose(symmetric.dense[:6, :6], gram, atol=1e-10)
    np.testing.assert_allclose(symmetric.dense[:6, 6:], 2 * np.outer(f, f) - gram, atol=1e-10)
    np.testing.assert_allclose(symmetric.dense[6:, 6:], gram, atol=1e-10)  # mirrors keep lengths and angles


# -- volumes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "width"),
    [(0, 60), (30, 120), (80, 20), (-25, 10)],  # version space is a sector from -30 to 90 degrees
)
def test_the_volume_of_a_sector_is_twice_the_way_to_its_nearer_end(at, width):
    X = directions([0, 60])
    symmetric = mirrored_problem(Problem(X @ X.T, [1, 1], Step()), weights_of(X, directions(at)))
    estimate = log_evidence(symmetric, rng=0, se=0.05)
    assert abs(estimate.value - log(width / 360)) < 4 * estimate.se + 1e-9


def test_the_volume_of_many_rows_in_the_plane(rng):
    X = rng.normal(size=(15, 2))
    y = np.sign(X @ directions(20))
    grid = directions(np.linspace(0, 360, 720_001)[:-1])
    inside = np.flatnonzero(np.all(y * (grid @ X.T) > 0, axis=1))
    inside = np.unwrap(inside * (2 * pi / 720_000))
    low, high = inside.min(), inside.max()
    at = np.degrees(low + 0.3 * (high - low))
    symmetric = mirrored_problem(Problem(X @ X.T, y, Step()), weights_of(X, directions(at)))
    estimate = log_evidence(symmetric, rng=0, se=0.05)
    assert abs(estimate.value - log(0.6 * (high - low) / (2 * pi))) < 4 * estimate.se + 1e-3


def largest_sphere(X, y):
    """Centre of the largest sphere in version space: most distant from the walls of rows of unit length."""
    rows = unit(X) * y[:, None]
    found = minimize(
        lambda v: 0.5 * v @ v,
        x0=10 * rows.mean(axis=0),
        jac=lambda v: v,
        constraints={"type": "ineq", "fun": lambda v: rows @ v - 1, "jac": lambda v: rows},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    assert (rows @ found.x).min() > 1 - 1e-8
    return unit(found.x)


def share_of_the_sphere(X, y, w, rng):
    """Share of directions that are in version space together with their mirror images, and its standard error."""
    v = unit(rng.standard_normal((1_000_000, 3)))
    v = v[np.all(y * (v @ X.T) > 0, axis=1)]
    inside = np.all(y * ((2 * (v @ w)[:, None] * w - v) @ X.T) > 0, axis=1).sum()
    return inside / 1_000_000, np.sqrt(inside) / 1_000_000


@pytest.mark.parametrize("version_space", [19, 242])  # seeds of long and thin ones
def test_the_centre_of_mass_has_more_symmetric_volume_than_the_largest_sphere(version_space):
    """BPM Figure 6: ten points in a cube of three dimensions; an elongated version space."""
    rng = np.random.default_rng(version_space)
    X = rng.uniform(-1, 1, size=(10, 3))
    y = np.sign(X @ rng.normal(size=3))
    problem = Problem(X @ X.T, y, Step())
    v = unit(Billiard(draws=3000).infer(problem, rng=0).latents.reshape(-1, 10) @ np.linalg.pinv(X).T)
    spread = np.sqrt(np.linalg.eigvalsh(np.cov(v.T))[1:])
    assert spread[1] > 3 * spread[0]  # long and thin
    classifiers = {"centre": unit(v.mean(axis=0)), "sphere": largest_sphere(X, y)}
    volumes = {
        name: log_evidence(mirrored_problem(problem, weights_of(X, w)), rng=0, se=0.03)
        for name, w in classifiers.items()
    }
    for name, w in classifiers.items():
        share, se = share_of_the_sphere(X, y, w, np.random.default_rng(1))
        assert abs(volumes[name].value - log(share)) < 4 * np.hypot(volumes[name].se, se / share)
    error = np.hypot(volumes["centre"].se, volumes["sphere"].se)
    assert volumes["centre"].value - volumes["sphere"].value > 5 * error
    whole = log_evidence(problem, rng=0, se=0.03)
    assert volumes["centre"].value < whole.value + 4 * np.hypot(whole.se, error)
    bounds = [bayes_bound(volumes[name].value, 10, 0.05).value for name in ("centre", "sphere")]
    assert bounds[0] < bounds[1]


# -- soft boundaries ---------------------------------------------------------------------------------------------


def test_a_soft_boundary_is_mirrored_on_what_its_walls_see(three_dimensions):
    """The same as a hard boundary on K + softness I, by its dense Gram matrix."""
    X, y, w = three_dimensions
    alpha, gram = weights_of(X, w), X @ X.T
    soft = mirrored_problem(Problem(gram, y, Step(softness=0.3)), alpha)
    hard = mirrored_problem(Problem(gram + 0.3 * np.eye(9), y, Step()), alpha)
    np.testing.assert_allclose(soft.dense, hard.dense, atol=1e-10)
    assert soft.likelihood == Step()


# -- the largest symmetric part ------------------------------------------------------------------------------------


def test_the_largest_symmetric_part_by_search(three_dimensions):
    """No direction of version space has a larger one; the centre of mass has a smaller one."""
    X, y, _ = three_dimensions
    problem = Problem(X @ X.T, y, Step())

    def volume(v):
        return EP().infer(mirrored_problem(problem, weights_of(X, v))).log_evidence

    best = unit(symmetric_centre(problem) @ X)
    tried = unit(Billiard(draws=150).infer(problem, rng=0).latents.reshape(-1, 9)[::15] @ np.linalg.pinv(X).T)
    assert volume(best) >= max(volume(v) for v in tried)
    around = [unit(best + 0.02 * step) for step in np.vstack([np.eye(3), -np.eye(3)])]
    assert volume(best) > max(volume(v) for v in around) + 1e-6
    centre = unit(EP().infer(problem).mean @ np.linalg.pinv(X).T)
    assert volume(best) > volume(centre)


@pytest.mark.parametrize("softness", [0.0, 0.2])
def test_its_slope_is_that_of_finite_differences(softness, rng):
    X = rng.normal(size=(8, 4))
    problem = Problem(X @ X.T, np.sign(X[:, 0]), Step(softness=softness))
    factor = problem.whitened().whole_factor
    w = factor.T @ EP().infer(problem).alpha + 0.01 * rng.normal(size=factor.shape[1])
    _, slope = mirrored._minus_log_volume(w, factor, problem.y)
    for step in 1e-4 * rng.normal(size=(3, len(w))):
        up, down = (mirrored._minus_log_volume(w + sign * step, factor, problem.y)[0] for sign in (1, -1))
        assert (up - down) / 2 == pytest.approx(slope @ step, rel=1e-3, abs=1e-8)


def test_the_centre_of_a_soft_boundary(three_dimensions):
    X, y, _ = three_dimensions
    problem = Problem(X @ X.T, y, Step(softness=0.3))
    alpha, other = symmetric_centre(problem), EP().infer(problem).alpha
    volumes = [EP().infer(mirrored_problem(problem, a)).log_evidence for a in (alpha, other)]
    assert volumes[0] >= volumes[1] - 1e-6


# -- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", [Step(0.1), Step(0.1, 0.5), Hinge(1.0)], ids=str)
def test_only_a_boundary_without_noise_has_a_version_space(likelihood):
    with pytest.raises(InvalidProblemError, match=r"^Only a step without label noise has a version space, got .*\.$"):
        mirrored_problem(Problem(np.eye(2), [1, -1], likelihood), [1.0, -1.0])


@pytest.mark.parametrize("alpha", [[1.0, 1.0], [-1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [np.nan, -1.0]])
def test_the_classifier_must_get_every_label_right(alpha):
    with pytest.raises(InvalidProblemError, match=r"^The classifier is not in version space: .*\.$"):
        mirrored_problem(Problem(np.eye(2), [1, -1], Step()), alpha)


@pytest.mark.parametrize("alpha", [[1.0], [1.0, -1.0, 1.0], [[1.0, -1.0]], 1.0])
def test_every_row_has_a_weight(alpha):
    with pytest.raises(InvalidProblemError, match=r"^alpha must hold 2 weights, one for each row\.$"):
        mirrored_problem(Problem(np.eye(2), [1, -1], Step()), alpha)
