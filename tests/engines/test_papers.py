"""The samplers as printed, against the exact billiard."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Choice, Hinge, Problem, Step, readouts
from bayespoint.engines import Billiard, ClassicBilliard, Corners, GibbsSampler, classic_billiard
from bayespoint.engines.svm import hard_margin
from bayespoint.exceptions import EmptyVersionSpaceError, InferenceWarning, InvalidProblemError
from bayespoint.grams import LowRank
from witnesses import mcse


def problem_of(size, likelihood, rng, dimension=4):
    X = rng.normal(size=(size, dimension))
    y = np.where(X @ rng.normal(size=dimension) > 0, 1.0, -1.0)
    return Problem(RBF(2.0)(X) + 0.1, y, likelihood)


def cosine(problem, one, other):
    """Of two Bayes points in feature space."""
    return readouts.bayes_point(one) @ problem.dense @ readouts.bayes_point(other)


# -- kernel Gibbs sampler --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", [Step(), Step(0.1), Step(0.0, 0.5), Choice(), Choice(0.1)], ids=str)
def test_rounding_does_not_grow_along_a_chain(likelihood, rng):
    """Draws of a seed are those of another processor, whose Gram matrix has other last digits."""
    X = rng.normal(size=(12, 3))
    y = np.argmax(X, axis=1) if isinstance(likelihood, Choice) else np.sign(X[:, 0])
    scale = np.linspace(1.0, 2.0, 12)  # no ties, which would give the coordinates another order
    gram = scale[:, None] * (RBF(1.0)(X) + 0.1 * np.eye(12)) * scale
    last_digits = rng.uniform(-1e-15, 1e-15, gram.shape)
    two = [Problem(one, y, likelihood) for one in (gram, gram + last_digits + last_digits.T)]
    here, there = (GibbsSampler(draws=800, chains=1, warmup=0).infer(one, rng=0).latents for one in two)
    assert 0 < np.abs(here - there).max() < 1e-11


def test_rounding_stays_on_this_side_of_hard_walls(rng):
    """Version space is thinner than the digits of a position: two hyperplanes at an angle of 1e-7."""
    x = np.array([1.0, 0.0, 0.0]), np.array([-1.0, 1e-7, 0.0]), np.array([0.0, 0.0, 1.0])
    posterior = GibbsSampler(draws=200, chains=2).infer(Problem(LowRank(np.array(x)), [1, 1, 1], Step()), rng=0)
    assert (posterior.latents > 0).all()
    assert len(np.unique(posterior.latents[..., 2])) > 200


@pytest.mark.parametrize("likelihood", [Step(), Step(0.1), Step(0.0, 0.5), Step(0.2, 0.5)], ids=str)
def test_gibbs_has_the_moments_of_the_billiard(likelihood, rng, seed):
    problem = problem_of(7, likelihood, rng)
    gibbs = GibbsSampler(draws=8000, chains=2).infer(problem, rng=seed)
    exact = Billiard(draws=8000).infer(problem, rng=seed)
    for moment in (gibbs.latents, exact.latents), (gibbs.latents**2, exact.latents**2):
        left, right = moment
        z = (left.mean(axis=(0, 1)) - right.mean(axis=(0, 1))) / np.hypot(mcse(left), mcse(right))
        assert np.all(np.abs(z) < 4)


@pytest.mark.processor
@pytest.mark.parametrize("likelihood", [Step(), Step(0.2, 0.5)], ids=str)
def test_gibbs_is_fixed_by_its_seed(likelihood, rng):
    problem = problem_of(8, likelihood, rng)
    engines = [GibbsSampler(draws=50, chains=3, n_jobs=jobs) for jobs in (1, 1, 2)]
    one, two, parallel = (engine.infer(problem, rng=5).coordinates for engine in engines)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, parallel)


def test_gibbs_stays_in_version_space(rng):
    posterior = GibbsSampler(draws=500).infer(problem_of(15, Step(), rng), rng=0)
    assert np.all(posterior.latents * posterior.problem.y > 0)


def test_thinning_keeps_every_so_manieth_step(rng):
    problem = problem_of(6, Step(0.1), rng)
    all_steps = GibbsSampler(draws=60, chains=1, warmup=10).infer(problem, rng=0).coordinates[0]
    thinned = GibbsSampler(draws=20, chains=1, warmup=10, thin=3).infer(problem, rng=0).coordinates[0]
    directions = [w / np.linalg.norm(w, axis=1, keepdims=True) for w in (all_steps[::3], thinned)]
    np.testing.assert_allclose(*directions, atol=1e-12)


def test_gibbs_turns_a_single_dimension_round(seed):
    """With one dimension a great circle is two points."""
    posterior = GibbsSampler(draws=4000).infer(Problem(np.ones((2, 2)), [1, 1], Step(0.2)), rng=seed)
    positive = (posterior.latents[..., :1] > 0).astype(float)
    assert np.all(positive.std(axis=1) > 0)  # every chain has been on both sides
    assert abs(positive.mean() - 16 / 17) < 4 * mcse(positive)[0]


def test_gibbs_finds_an_empty_version_space():
    with pytest.raises(EmptyVersionSpaceError, match=r"^Version space is empty: .*\.$"):
        GibbsSampler().infer(Problem(np.ones((2, 2)), [1, -1], Step()))


@pytest.mark.parametrize("settings", [{"draws": 0}, {"chains": 0}, {"warmup": -1}, {"thin": 0}], ids=str)
def test_gibbs_refuses_bad_settings(settings):
    with pytest.raises(InvalidProblemError, match=rf"^[^.]*{next(iter(settings))}[^\n]*\.$"):
        GibbsSampler(**settings)


def test_gibbs_refuses_hinges_and_soft_weights(rng):
    match = (
        r"^(GibbsSampler samples Step and Choice likelihoods|Walls cannot weight rows under a soft boundary)[^\n]*\.$"
    )
    with pytest.raises(InvalidProblemError, match=match):
        GibbsSampler().infer(problem_of(4, Hinge(1.0), rng))
    weighted = Problem(np.eye(2), [1, -1], Step(softness=1.0), weights=[1.0, 2.0])
    with pytest.raises(InvalidProblemError, match=match):
        GibbsSampler().infer(weighted)


# -- kernel billiard of 2001 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [20, 50])
@pytest.mark.parametrize("likelihood", [Step(), Step(softness=0.2)], ids=str)
def test_the_classic_billiard_comes_close_to_the_bayes_point(size, likelihood, rng, seed):
    problem = problem_of(size, likelihood, rng)
    classic = ClassicBilliard().infer(problem, rng=seed)
    exact = Billiard(draws=4000).infer(problem, rng=seed)
    assert cosine(problem, classic, exact) > 0.99
    # and no closer, however long it flies: after an escape it favours where the rows lie, so that it spreads too little
    assert 1.2 < np.linalg.norm(classic.mean) / np.linalg.norm(exact.mean) < 2.0


@pytest.mark.processor
def test_the_classic_billiard_is_fixed_by_its_seed(rng):
    problem = problem_of(10, Step(), rng)
    engine = ClassicBilliard(tolerance=1e-3)
    one, two, other = (engine.infer(problem, rng=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.coordinates, two.coordinates)
    np.testing.assert_array_equal(one.centre, two.centre)
    assert not np.array_equal(one.centre, other.centre)


def normalised(coefficients, gram):
    """By equation (20)."""
    return coefficients / np.sqrt(coefficients @ gram @ coefficients)


def rho_as_printed(p, mu):
    rho_1 = mu * np.sqrt(-(mu**2 - mu**2 * p - 2) / (p + 1))
    return rho_1, -rho_1 * p - (mu**2 * (1 - p) - 1)


def random_beta(rng, gram, y, c):
    """Random coefficients that fulfil (22), y_c <v, x_c> > 0, at the wall last hit."""
    beta = normalised(rng.standard_normal(len(y)), gram)
    return beta if c is None or y[c] * (gram[c] @ beta) > 0 else -beta


def algorithm_2(gram, y, gamma, rng, tol, tau_max, max_bounces):
    """As printed, in dual variables and at O(m^2) a bounce; `c` is left out where the ball just comes from it."""
    m, c = len(y), None
    gamma, alpha = normalised(gamma, gram), np.zeros(m)
    beta = random_beta(rng, gram, y, None)
    total = longest = 0.0
    p_min, rho, bounces = 1.0, 1.0, 0
    while rho > tol and bounces < max_bounces:
        while True:
            d, nu = gram @ gamma, gram @ beta
            tau = np.where(np.arange(m) == c, np.inf, -d / nu)
            tau[tau <= 0] = np.inf
            hit = int(np.argmin(tau))
            if tau[hit] < tau_max:
                break
            beta = random_beta(rng, gram, y, c)
        c = hit
        moved = normalised(gamma + tau[c] * beta, gram)
        beta = beta.copy()
        beta[c] -= 2 * nu[c] / gram[c, c]
        zeta = normalised(gamma + moved, gram)
        xi = np.sqrt((gamma - moved) @ gram @ (gamma - moved))
        p = zeta @ gram @ alpha
        rho_1, rho_2 = rho_as_printed(p, total / (total + xi))
        alpha = rho_1 * alpha + rho_2 * zeta
        p_min, longest, total, gamma = min(p, p_min), max(xi, longest), total + xi, moved
        rho = rho_as_printed(p_min, total / (total + longest))[1]
        bounces += 1
    return alpha, bounces, rho


@pytest.mark.parametrize("start", ["svm", "perceptron"])
@pytest.mark.parametrize("softness", [0.0, 0.3])
@pytest.mark.parametrize("tau_max", [1e3, 1.0])
def test_the_classic_billiard_is_the_printed_one(start, softness, tau_max, rng):
    """The same random coefficients lead both the same way: from an escape, too, of which a low limit has many."""
    problem = problem_of(8, Step(softness=softness), rng)
    gram, y = problem.dense + softness * np.eye(8), problem.y
    if start == "svm":
        first = y * hard_margin(problem).alpha
    else:
        first = np.zeros(8)
        while np.any(y * (gram @ first) <= 0):
            for i in range(8):  # scan by scan, as Algorithm 1 does
                first[i] += y[i] * (y[i] * (gram[i] @ first) <= 0)
    alpha, bounces, rho = algorithm_2(gram, y, first, np.random.default_rng(5), 0.03, tau_max, 1000)
    found = ClassicBilliard(0.03, start=start, tau_max=tau_max).infer(problem, np.random.default_rng(5))
    assert found.info["bounces"] == bounces > 50
    assert found.info["rho_2"] == pytest.approx(rho, rel=1e-6)
    assert found.info["escapes"] > 20
    white = problem.whitened()
    centre = white.latents(np.r_[found.centre, np.zeros(white.dimension - white.rank)])
    printed = problem.dense @ alpha  # the function; noise of a soft boundary belongs to its walls
    np.testing.assert_allclose(centre / np.linalg.norm(centre), printed / np.linalg.norm(printed), atol=1e-7)


def test_random_coefficients_favour_where_the_rows_lie():
    """Isotropic directions would have equal shares of both features."""
    X = np.array([[1.0, 0.01], [1.0, -0.01]])
    directions = [classic_billiard._random_direction(wall_of(X), -1, np.random.default_rng(k))[0] for k in range(50)]
    assert np.mean(np.square(directions), axis=0)[0] > 0.9


def wall_of(X):
    return classic_billiard._Walls(X @ X.T, np.array([1.0, 1.0]), X, np.empty(0))


def test_tolerance_and_bounces_of_the_paper_contradict_each_other(rng):
    """About 1,000 bounces at a TOL of about 1e-4: rho_2 is a hundred times that."""
    with pytest.warns(InferenceWarning, match="raise max_bounces"):
        info = ClassicBilliard(1e-4, max_bounces=1000).infer(problem_of(60, Step(), rng), rng=0).info
    assert 0.003 < info["rho_2"] < 0.03


def test_the_ball_stays_in_version_space(rng):
    posterior = ClassicBilliard(tolerance=1e-3).infer(problem_of(15, Step(), rng), rng=0)
    margins = posterior.latents * posterior.problem.y
    assert posterior.coordinates.shape[:2] == (1, 1000)
    assert margins.min() > -1e-9


def test_a_smaller_tolerance_flies_longer(rng):
    problem = problem_of(15, Step(), rng)
    runs = [ClassicBilliard(tolerance=tolerance).infer(problem, rng=0).info for tolerance in (1e-1, 1e-2, 1e-3)]
    assert runs[0]["bounces"] < runs[1]["bounces"] < runs[2]["bounces"]
    for tolerance, info in zip((1e-1, 1e-2, 1e-3), runs, strict=True):
        assert 0 <= info["rho_2"] <= tolerance


def test_a_ball_out_of_bounces_says_so(rng):
    with pytest.warns(InferenceWarning, match=r"^The billiard stopped after 50 bounces .* raise max_bounces\.$"):
        posterior = ClassicBilliard(max_bounces=50).infer(problem_of(15, Step(), rng), rng=0)
    assert posterior.info["bounces"] == 50
    assert posterior.info["rho_2"] > 1e-3


def test_escapes_are_counted(rng):
    engine = ClassicBilliard(tolerance=1e-3)
    few_walls = engine.infer(problem_of(2, Step(), rng), rng=0).info
    assert few_walls["escapes"] > 0
    impatient = ClassicBilliard(tolerance=1e-3, tau_max=1.0)
    shares = []
    for one in (engine, impatient):
        info = one.infer(problem_of(20, Step(), np.random.default_rng(3)), rng=0).info
        shares.append(info["escapes"] / info["bounces"])
    assert shares[1] > 1.2 * shares[0]


LONELY = {
    "one row": Problem([[1.0]], [1], Step()),
    "one soft row": Problem([[1.0]], [1], Step(softness=0.5)),
    "the same row twice": Problem(np.ones((2, 2)), [1, 1], Step()),
    "one direction": Problem(np.outer([1, -1, 2], [1, -1, 2]), [1, -1, 1], Step()),
    "a half-space": Problem(np.outer([1, -1, 2], [1, -1, 2]) * 1.0, [1, -1, 1], Step(softness=0.0)),
}


@pytest.mark.parametrize("name", LONELY)
def test_a_single_wall_is_no_room_for_a_billiard(name):
    """A ball that has left its only wall never meets another: the paper's rule would wait for ever."""
    with pytest.raises(InvalidProblemError, match=r"^The ball of ClassicBilliard [^\n]*\.$"):
        ClassicBilliard(max_bounces=1000).infer(LONELY[name], rng=0)


@pytest.mark.parametrize(
    "settings", [{"draws": 0}, {"max_bounces": 0}, {"tolerance": 0.0}, {"tau_max": 0.0}, {"start": "zero"}], ids=str
)
def test_the_classic_billiard_refuses_bad_settings(settings):
    with pytest.raises(InvalidProblemError, match=rf"^[^.]*{next(iter(settings))}[^\n]*\.$"):
        ClassicBilliard(**settings)


@pytest.mark.parametrize("likelihood", [Step(0.1), Step(0.1, 0.5), Hinge(1.0)], ids=str)
def test_the_classic_billiard_refuses_what_is_no_version_space(likelihood, rng):
    with pytest.raises(InvalidProblemError, match=r"^ClassicBilliard plays in version space: .*\.$"):
        ClassicBilliard().infer(problem_of(4, likelihood, rng))


def unit_vectors(angle):
    return np.array([1.0, 0.0]), np.array([np.cos(angle), np.sin(angle)])


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.floats(0.0, 3.0), st.floats(0.0, 1.0))
def test_rho_is_a_weighted_mean_on_the_sphere(angle, share):
    s, t = unit_vectors(angle)
    rho_1, rho_2 = classic_billiard._rho(np.cos(angle), share)
    mean = rho_1 * s + rho_2 * t
    assert np.linalg.norm(mean) == pytest.approx(1.0, abs=1e-9)
    assert rho_1 >= 0
    assert rho_2 >= -1e-9
    assert np.linalg.norm(mean - t) == pytest.approx(share * np.linalg.norm(s - t), abs=1e-7)


def test_rho_at_its_ends():
    assert classic_billiard._rho(0.3, 0.0) == pytest.approx((0.0, 1.0))
    assert classic_billiard._rho(0.3, 1.0) == pytest.approx((1.0, 0.0))


def test_points_are_equally_spaced_along_the_way():
    path = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    points = classic_billiard._equally_spaced(path, 4)
    on_chords = np.array([[0.75, 0.25], [0.25, 0.75], [-0.25, 0.75], [-0.75, 0.25]])
    np.testing.assert_allclose(points, on_chords / np.linalg.norm(on_chords, axis=1, keepdims=True), atol=1e-12)


# -- corners ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_a_corner_lies_on_every_wall_but_one(softness, rng):
    problem = problem_of(6, Step(softness=softness), rng)
    posterior = Corners().infer(problem)
    walls = problem.dense + softness * np.eye(6)
    corners = np.linalg.inv(walls) * problem.y / np.sqrt(np.diagonal(np.linalg.inv(walls)))  # a column each
    np.testing.assert_allclose(np.einsum("ji,jk,ki->i", corners, walls, corners), 1.0)
    outputs = problem.y[:, None] * (walls @ corners)
    np.testing.assert_allclose(outputs - np.diag(np.diagonal(outputs)), 0.0, atol=1e-10)
    assert np.all(np.diagonal(outputs) > 0)
    np.testing.assert_allclose(posterior.latents[0], np.sqrt(6) * (problem.dense @ corners).T, atol=1e-8)
    np.testing.assert_allclose(posterior.mean, np.sqrt(6) * (problem.dense @ corners).mean(axis=1), atol=1e-8)


def test_corners_lie_near_the_bayes_point(rng, seed):
    problem = problem_of(12, Step(softness=0.5), rng)
    exact = Billiard(draws=2000).infer(problem, rng=seed)
    assert cosine(problem, Corners().infer(problem), exact) > 0.9


def test_corners_need_full_rank(rng):
    X = rng.normal(size=(6, 2))
    gram, y = X @ X.T, np.sign(X[:, 0])
    with pytest.raises(InvalidProblemError, match=r"^Version space has m corners only if .*\.$"):
        Corners().infer(Problem(gram, y, Step()))
    assert Corners().infer(Problem(gram, y, Step(softness=0.1))).latents.shape == (1, 6, 6)


@pytest.mark.parametrize("likelihood", [Step(0.1), Step(0.1, 0.5), Hinge(1.0)], ids=str)
def test_corners_refuse_what_is_no_version_space(likelihood, rng):
    with pytest.raises(InvalidProblemError, match=r"^Corners belong to version space: .*\.$"):
        Corners().infer(problem_of(4, likelihood, rng))
