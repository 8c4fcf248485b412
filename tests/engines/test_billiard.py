import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Logistic, Problem, Step
from bayespoint.engines import Billiard, billiard
from bayespoint.engines._start import starting_position
from bayespoint.exceptions import EmptyVersionSpaceError, InferenceWarning, InvalidProblemError
from witnesses import mcse

LIKELIHOODS = [Step(), Step(0.1), Step(0.0, 0.5), Step(0.05, 0.3), Hinge(2.0)]
SHORT = Billiard(draws=150, chains=3, warmup=10)


def problem_of(likelihood, rng, size=12, weights=None):
    X = rng.normal(size=(size, 2))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1.0, -1.0)
    if not likelihood.is_hard:
        y[:2] *= -1
    return Problem(RBF(1.0)(X) + 0.2, y, likelihood, weights)


def assert_same_mean(left, right):
    """Means of the latents of two independent runs, in Monte Carlo errors."""
    error = np.hypot(mcse(left.latents), mcse(right.latents)) + 1e-12
    z = (left.mean - right.mean) / error
    assert np.all(np.abs(z) < 4.5), z


# -- randomness ------------------------------------------------------------------------------------------------------


@pytest.mark.processor
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_a_seed_fixes_the_draws(likelihood, rng):
    problem = problem_of(likelihood, rng)
    one, two = (SHORT.infer(problem, rng=7).coordinates for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, SHORT.infer(problem, rng=8).coordinates)


@pytest.mark.processor
@pytest.mark.parametrize("likelihood", [Step(), Step(0.1), Hinge(2.0)], ids=str)
def test_jobs_change_nothing(likelihood, rng):
    problem = problem_of(likelihood, rng)
    one, two = (Billiard(draws=150, chains=3, n_jobs=jobs).infer(problem, rng=0) for jobs in (1, 2))
    np.testing.assert_array_equal(one.coordinates, two.coordinates)


@pytest.mark.processor
def test_every_chain_has_a_stream_of_its_own(rng):
    problem = problem_of(Step(0.1), rng)
    three, two = (Billiard(draws=150, chains=chains).infer(problem, rng=0).coordinates for chains in (3, 2))
    np.testing.assert_array_equal(three[:2], two)
    assert not np.array_equal(three[0], three[1])


def test_batches_do_not_show(rng, monkeypatch):
    problem = problem_of(Hinge(2.0), rng)
    many = SHORT.infer(problem, rng=0).coordinates
    monkeypatch.setattr(billiard, "_BATCH", 7)
    monkeypatch.setattr(billiard, "_MANY", 0)
    np.testing.assert_allclose(SHORT.infer(problem, rng=0).coordinates[:, :20], many[:, :20], atol=1e-9)


def test_inputs_are_left_alone(rng):
    problem = problem_of(Step(0.1), rng)
    gram, y, start = problem.dense.copy(), problem.y.copy(), problem.y.copy()
    SHORT.infer(problem, rng=0, start=start)
    np.testing.assert_array_equal(problem.dense, gram)
    np.testing.assert_array_equal(problem.y, y)
    np.testing.assert_array_equal(start, y)


# -- the flight itself -----------------------------------------------------------------------------------------------


def reference_steps(gram, y, energy, theta, velocity, time):
    """One flight between walls by the book: arc tangents, explicit times, one event after the other."""
    side = np.where((energy == np.inf) | (theta * y > 0), y, -y)
    a, b, events = side * theta, side * velocity, 0
    while True:
        times = np.arctan2(np.maximum(a, 0.0), -b)  # where a cos t + b sin t falls to zero
        i = int(np.argmin(times))
        t = min(times[i], time)
        a, b = a * np.cos(t) + b * np.sin(t), b * np.cos(t) - a * np.sin(t)
        time -= t
        if time <= 0:
            return side * a, events
        events += 1
        length = np.sqrt(gram[i, i])
        speed = b[i] / length
        rise = energy[i] if side[i] == y[i] else -energy[i]
        crosses = speed**2 > 2 * rise
        after = -np.sqrt(speed**2 - 2 * rise) if crosses else -speed
        b = b + side * side[i] * (after - speed) / length * gram[i]
        a[i] = 0.0
        if crosses:
            side[i] *= -1
            b[i] *= -1


def reference_hinges(gram, y, slope, theta, velocity, time):
    """One flight between kinks: the phase of each ellipse by arc cosine."""
    a, b, push, events, last = y * theta, y * velocity, y * theta < 1, 0, -1
    signed = np.outer(y, y) * gram
    while True:
        centre = signed @ (slope * push)
        radius, phase = np.hypot(a - centre, b), np.arctan2(b, a - centre)
        share = (1 - centre) / radius
        with np.errstate(invalid="ignore"):
            half = np.arccos(share)  # not a number: the ellipse does not reach the kink
        times = np.stack([phase - half, phase + half]) % (2 * np.pi)
        if last >= 0:
            times[:, last][np.minimum(times[:, last], 2 * np.pi - times[:, last]) < 1e-9] = np.inf
        times = np.nan_to_num(times.min(axis=0), nan=np.inf)
        i = int(np.argmin(times))
        t = min(times[i], time)
        a, b = centre + (a - centre) * np.cos(t) + b * np.sin(t), b * np.cos(t) - (a - centre) * np.sin(t)
        time -= t
        if time <= 0:
            return y * a, events
        events += 1
        a[i], push[i], last = 1.0, not push[i], i


def walls_and_start(problem, count, rng):
    white = problem.whitened()
    walls = billiard.Walls.of(problem)
    position = starting_position(problem, white)
    if not position.any():  # zero is where all walls meet
        position = rng.standard_normal(white.dimension)
    refresh = rng.standard_normal((count, white.dimension))
    return white, walls, position, refresh


def height(walls, theta):
    """Potential of latents: energies of walls on the wrong side, or slopes times hinges."""
    margin = walls.y * theta
    if walls.loop in (billiard._fly_hinges, billiard._fly_hinges.py_func):
        return walls.energy @ np.maximum(0, 1 - margin)
    return walls.energy[margin < 0].sum()


def fly(walls, white, position, refresh, time):
    """Latents after each flight, number of events, and positions from the impulses."""
    theta, latents, events, positions = white.latents(position), [], [], []
    for g in refresh:
        impulse, potential, counts = walls.fly(theta, white.latents(g[None]), time, 10_000)
        assert potential[0] == pytest.approx(height(walls, theta), abs=1e-9)
        position = position * np.cos(time) + g * np.sin(time) + white.pull(impulse)[0]
        latents.append(theta.copy())
        events.append(counts[0])
        positions.append(position)
    return np.array(latents), np.array(events), np.array(positions)


@pytest.mark.parametrize("time", [0.7, np.pi / 2, 2.5])
@pytest.mark.parametrize("likelihood", [*LIKELIHOODS, Hinge(0.3), Hinge(20.0)], ids=str)
def test_a_flight_is_that_of_the_book(likelihood, time, rng):
    problem = problem_of(likelihood, rng, size=9)
    white, walls, position, refresh = walls_and_start(problem, 10, rng)
    latents, events, positions = fly(walls, white, position, refresh, time)
    gram = problem.dense + np.diag(white.softness)
    reference = reference_hinges if isinstance(likelihood, Hinge) else reference_steps
    starts, total = [white.latents(position), *latents[:-1]], 0
    for k, g in enumerate(refresh):
        theta, count = reference(gram, walls.y, walls.energy, starts[k], white.latents(g), time)
        np.testing.assert_allclose(latents[k], theta, atol=1e-9)
        assert events[k] == count
        total += count
    assert total > 5
    np.testing.assert_allclose(white.latents(positions), latents, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
@pytest.mark.parametrize("likelihood", [Step(), Step(0.1)], ids=str)
def test_the_scale_of_latents_does_not_show(likelihood, scale, rng):
    walls = billiard.Walls.of(problem_of(likelihood, rng, size=9))
    larger = walls._replace(gram=scale**2 * walls.gram, diag=scale**2 * walls.diag)
    theta, velocity = walls.y * np.abs(rng.normal(size=9)), rng.normal(size=(1, 9)) @ walls.gram
    scaled = scale * theta
    events = walls.fly(theta, velocity, np.pi / 2, 100)[2]
    assert larger.fly(scaled, scale * velocity, np.pi / 2, 100)[2] == events > 0
    np.testing.assert_allclose(scaled / scale, theta, atol=1e-9)


def test_the_book_tells_a_wrong_flight(rng):
    problem = problem_of(Step(0.1), rng, size=9)
    white, walls, position, refresh = walls_and_start(problem, 3, rng)
    right = fly(walls, white, position, refresh, 1.0)[0]
    wrong = fly(walls._replace(energy=0.9 * walls.energy), white, position, refresh, 1.0)[0]
    assert np.abs(right - wrong).max() > 1e-3


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_fast_arithmetic_changes_nothing(likelihood, rng, monkeypatch):
    problem = problem_of(likelihood, rng, size=140)  # more than one block of rows
    white, walls, position, refresh = walls_and_start(problem, 2, rng)
    compiled = fly(walls, white, position, refresh, 0.3)
    for name in ("_next_wall", "_next_kink"):
        monkeypatch.setattr(billiard, name, getattr(billiard, name).py_func)
    monkeypatch.setattr(billiard, "bits_of", lambda number: np.float64(number).view(np.int64))
    plain = fly(walls._replace(loop=walls.loop.py_func), white, position, refresh, 0.3)
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    assert plain[1].sum() > 0


@pytest.mark.parametrize("likelihood", [Step(0.1), Step(0.1, 0.5), Hinge(2.0)], ids=str)
def test_energy_is_conserved(likelihood, rng):
    """Half the squared distance and speed in whitened space, plus the energy of walls or hinges."""
    problem = problem_of(likelihood, rng, size=9)
    white, walls, position, refresh = walls_and_start(problem, 1, rng)
    times = [0.2, 0.5, 1.0, 1.5]

    def potential(latents):
        margin = problem.y * latents
        if isinstance(likelihood, Hinge):
            return (walls.energy * np.clip(1 - margin, 0.0, None)).sum()
        return (walls.energy * (margin <= 0)).sum()

    def energy(time):  # the speed by a central difference between events
        before, at, after = (fly(walls, white, position, refresh, time + d) for d in (-1e-6, 0.0, 1e-6))
        assert before[1] == after[1]
        velocity = (after[2][0] - before[2][0]) / 2e-6
        return 0.5 * (velocity @ velocity + at[2][0] @ at[2][0]) + potential(at[0][0])

    assert fly(walls, white, position, refresh, times[-1])[1] > 0
    start = potential(white.latents(position)) + 0.5 * (position @ position + refresh[0] @ refresh[0])
    np.testing.assert_allclose([energy(time) for time in times], start, rtol=1e-6)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_drift_stays_small(likelihood, rng):
    posterior = Billiard(draws=2000, chains=1).infer(problem_of(likelihood, rng, size=60), rng=0)
    assert posterior.info["events_per_flight"].min() > 1
    assert posterior.info["drift"] < 1e-9


def test_a_large_drift_is_told(rng, monkeypatch):
    right = billiard.Walls.of

    def inexact(problem):
        walls = right(problem)
        return walls._replace(gram=walls.gram * (1 + 1e-4))

    monkeypatch.setattr(billiard.Walls, "of", inexact)
    with pytest.warns(InferenceWarning, match=r"^Latents drifted by .* a little softness helps\.$"):
        Billiard(draws=100, chains=1).infer(problem_of(Step(), rng), rng=0)


# -- starts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_any_feasible_start_does(likelihood, rng):
    problem = problem_of(likelihood, rng, size=6)
    engine = Billiard(draws=4000, warmup=100)
    start = (30.0 if likelihood.is_hard else -30.0) * problem.y * np.linspace(0.1, 1.0, 6)
    assert_same_mean(engine.infer(problem, rng=0), engine.infer(problem, rng=1, start=start))


@pytest.mark.parametrize("flight", [0.3, np.pi / 2])
def test_a_soft_boundary_takes_any_function_as_its_start(flight, rng):
    problem = problem_of(Step(softness=0.5), rng, size=6)
    engine = Billiard(draws=100, chains=2, warmup=0, flight=flight)
    posterior = engine.infer(problem, rng=0, start=-5.0 * problem.y)
    assert posterior.info["drift"] < 1e-9
    assert np.isfinite(posterior.coordinates).all()


def test_a_start_outside_version_space_is_refused(rng):
    problem = problem_of(Step(), rng)
    start = problem.y.copy()
    start[3] *= -1
    with pytest.raises(InvalidProblemError, match=r"^The start is not in version space: .*\.$"):
        SHORT.infer(problem, rng=0, start=start)


@pytest.mark.parametrize("start", [np.ones(3), np.ones((12, 1)), np.full(12, np.nan)], ids=["short", "2d", "nan"])
def test_a_start_that_is_no_vector_of_latents_is_refused(start, rng):
    with pytest.raises(InvalidProblemError, match=r"^start must be 12 finite numbers.*\.$"):
        SHORT.infer(problem_of(Step(0.1), rng), rng=0, start=start)


def test_an_empty_version_space_is_refused():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(EmptyVersionSpaceError, match=r"^Version space is empty: .*\.$"):
        SHORT.infer(Problem(X @ X.T, [1, 1, 1], Step()), rng=0)


def test_a_thin_version_space_is_found(rng):
    teacher = np.array([1.0, 0.0])
    angles = np.r_[np.pi / 2 - 1e-4, -np.pi / 2 + 1e-4, rng.uniform(-1, 1, 10)]
    X = np.c_[np.cos(angles), np.sin(angles)]
    posterior = SHORT.infer(Problem(X @ X.T, np.sign(X @ teacher), Step()), rng=0)
    assert np.all(posterior.latents * posterior.problem.y > -1e-9)
    w = posterior.alpha @ X
    assert np.abs(np.arctan2(w[..., 1], w[..., 0])).max() < 1.001e-4


# -- awkward Gram matrices -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", [Step(0.1), Step(0.0, 0.5), Step(0.1, 0.5), Hinge(2.0)], ids=str)
@pytest.mark.parametrize("flight", [0.5, np.pi / 2, 2.5])
def test_a_point_of_norm_zero_says_nothing(likelihood, flight, rng):
    X = rng.normal(size=(6, 2))
    X[[1, 4]] = 0.0
    y = np.array([1.0, 1, -1, 1, -1, -1])
    keep = [0, 2, 3, 5]
    engine = Billiard(draws=4000, warmup=20, flight=flight)
    with_zero = engine.infer(Problem(X @ X.T, y, likelihood), rng=0)
    without = engine.infer(Problem(X[keep] @ X[keep].T, y[keep], likelihood), rng=1)
    assert np.all(with_zero.latents[..., [1, 4]] == 0)
    error = np.hypot(mcse(with_zero.latents[..., keep]), mcse(without.latents))
    assert np.all(np.abs(with_zero.mean[keep] - without.mean) < 4.5 * error)


def test_a_point_of_norm_zero_empties_version_space():
    with pytest.raises(EmptyVersionSpaceError, match="row 1 has kernel value zero with itself"):
        SHORT.infer(Problem(np.diag([1.0, 0.0]), [1, 1], Step()), rng=0)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_duplicate_rows_are_weights(likelihood, rng):
    single = problem_of(likelihood, rng, size=5)
    twice = np.r_[0, 1, 2, 3, 4, 4, 0]
    double = Problem(single.dense[np.ix_(twice, twice)], single.y[twice], likelihood)
    if likelihood.softness > 0:
        weighted = None  # each copy has a latent noise of its own
    else:
        weighted = Problem(single.gram, single.y, likelihood, [2.0, 1.0, 1.0, 1.0, 2.0])
    engine = Billiard(draws=5000, warmup=20)
    posterior = engine.infer(double, rng=0)
    assert posterior.white.rank == 5
    np.testing.assert_allclose(posterior.latents[..., [4, 0]], posterior.latents[..., 5:], atol=1e-9)
    if weighted is not None:
        other = engine.infer(weighted, rng=1)
        error = np.hypot(mcse(posterior.latents[..., :5]), mcse(other.latents))
        assert np.all(np.abs(posterior.mean[:5] - other.mean) < 4.5 * error)


CONTRADICTIONS = {
    "one each": (np.ones((2, 2)), [1, -1], 0.5),
    "the other order": (np.ones((2, 2)), [-1, 1], 0.5),
    "two to one": (np.ones((3, 3)), [1, 1, -1], 0.8),
    "one to two": (np.ones((3, 3)), [1, -1, -1], 0.2),
    "two to one, shuffled": (np.ones((3, 3)), [1, -1, 1], 0.8),
    "mirrored": (np.outer([1, -1, 2], [1, -1, 2]), [1, 1, 1], 0.8),
    "in the plane": (np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]]), [1, -1, 1], 0.5),
    "a whole crowd": (np.ones((7, 7)), [1, -1, 1, 1, -1, -1, 1], 0.8),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_walls_on_top_of_each_other_add_up(name, seed):
    """Coincident walls are one wall: with odds of 4 to 1 a label, the side has odds of 4 to the net number."""
    gram, y, share = CONTRADICTIONS[name]
    posterior = Billiard(draws=6000, max_events=10_000).infer(Problem(gram, y, Step(0.2)), rng=seed)
    positive = (posterior.latents[..., :1] > 0).astype(float)
    assert abs(positive.mean() - share) < 4 * mcse(positive)[0]


@pytest.mark.parametrize("likelihood", [Step(0.1), Hinge(2.0)], ids=str)
def test_mirrored_rows_are_the_same_row(likelihood, rng):
    X = rng.normal(size=(5, 3))
    y = np.array([1.0, -1, 1, -1, 1])
    sign = np.array([1.0, -1, 1, 1, -1])
    engine = Billiard(draws=4000)
    straight = engine.infer(Problem(X @ X.T, y, likelihood), rng=0)
    mirrored = engine.infer(Problem(np.outer(sign, sign) * (X @ X.T), sign * y, likelihood), rng=1)
    error = np.hypot(mcse(straight.latents), mcse(mirrored.latents))
    assert np.all(np.abs(straight.mean - sign * mirrored.mean) < 4.5 * error)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_a_single_row_is_a_truncated_normal(likelihood, seed):
    from scipy.integrate import quad

    posterior = Billiard(draws=5000).infer(Problem([[2.0]], [-1], likelihood), rng=seed)

    def density(f):
        return np.exp(likelihood.log_likelihood(np.array(-1.0), np.array(f)) - f**2 / 4)

    pieces = [quad(lambda f, k=k: f**k * density(f), a, b)[0] for k in (0, 1) for a, b in ((-20, -1), (-1, 0), (0, 20))]
    expected = sum(pieces[3:]) / sum(pieces[:3])
    assert abs(posterior.mean[0] - expected) < 4 * mcse(posterior.latents)[0]


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_rank_deficient_matrices_are_sampled_in_their_rank(likelihood, rng):
    X = rng.normal(size=(30, 2))
    y = np.sign(X[:, 0] + 1e-3)
    posterior = SHORT.infer(Problem(X @ X.T, y, likelihood), rng=0)
    assert posterior.coordinates.shape == (3, 150, 2)
    np.testing.assert_allclose(posterior.alpha @ X @ X.T, posterior.latents, atol=1e-9)
    if likelihood.is_hard:
        assert np.all(posterior.latents * y > 0)


def test_hard_walls_are_never_crossed(rng):
    posterior = Billiard(draws=2000).infer(problem_of(Step(), rng, size=80), rng=0)
    assert np.all(posterior.latents * posterior.problem.y > 0)


@pytest.mark.processor
def test_views_and_read_only_matrices_are_welcome(rng):
    problem = problem_of(Step(0.1), rng, size=8)
    wide = np.zeros((16, 16))
    wide[::2, ::2] = problem.dense
    frozen = problem.dense.copy()
    frozen.flags.writeable = False
    expected = SHORT.infer(problem, rng=0).coordinates
    for gram in (wide[::2, ::2], np.asfortranarray(problem.dense), frozen):
        np.testing.assert_array_equal(SHORT.infer(Problem(gram, problem.y, Step(0.1)), rng=0).coordinates, expected)


# -- weights and refusals --------------------------------------------------------------------------------------------


def test_weights_scale_the_energy_of_walls(rng):
    problem = problem_of(Step(0.1), rng, size=5, weights=[1.0, 2.0, 0.5, 1.0, 3.0])
    np.testing.assert_allclose(billiard.Walls.of(problem).energy, np.array([1, 2, 0.5, 1, 3]) * np.log(9))


def test_weights_scale_the_slope_of_hinges(rng):
    problem = problem_of(Hinge(2.0), rng, size=5, weights=[1.0, 2.0, 0.5, 1.0, 3.0])
    np.testing.assert_allclose(billiard.Walls.of(problem).energy, [2, 4, 1, 2, 6])


@pytest.mark.processor
def test_weights_do_not_move_hard_walls(rng):
    plain, weighted = (problem_of(Step(), np.random.default_rng(1), weights=w) for w in (None, np.full(12, 2.5)))
    np.testing.assert_array_equal(SHORT.infer(plain, rng=0).coordinates, SHORT.infer(weighted, rng=0).coordinates)


def test_weights_under_a_soft_boundary_are_refused(rng):
    problem = problem_of(Step(softness=0.5), rng, weights=np.full(12, 2.0))
    with pytest.raises(InvalidProblemError, match=r"^Walls cannot weight rows under a soft boundary, .*\.$"):
        SHORT.infer(problem, rng=0)


@pytest.mark.parametrize(
    "settings",
    [{"draws": 0}, {"chains": 0}, {"warmup": -1}, {"flight": 0.0}, {"flight": np.pi}, {"flight": np.nan}],
    ids=str,
)
def test_bad_settings_are_refused_in_a_sentence(settings):
    with pytest.raises(InvalidProblemError, match=rf"^[^.]*{next(iter(settings))}[^\n]*\.$"):
        Billiard(**settings)


def test_a_flight_that_never_ends_is_given_up(rng):
    with pytest.raises(InvalidProblemError, match=r"^A flight met more than 2 walls and was given up: .*\.$"):
        Billiard(draws=50, max_events=2).infer(problem_of(Step(), rng, size=60), rng=0)


def test_a_chain_of_endless_flights_is_given_up():
    """Steep hinges that are at odds keep the ball between them, 27,000 kinks a flight: a bound on all of them holds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    problem = Problem(X @ X.T + 1, np.where(X[:, 0] + 0.5 * rng.normal(size=20) > 0, 1, -1), Hinge(1e4))
    with pytest.raises(InvalidProblemError, match=r"^The chain was given up after 64 of 100 flights, .*max_events\.$"):
        Billiard(draws=100, chains=1, warmup=0).infer(problem, rng=0)


def test_an_unknown_likelihood_is_refused(rng):
    with pytest.raises(
        InvalidProblemError, match=r"^Billiard samples Step, Choice and Hinge likelihoods, not Logistic\(C=1"
    ):
        SHORT.infer(Problem(np.eye(2), [1, -1], Logistic(1.0)), rng=0)


def test_a_good_run_is_silent(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SHORT.infer(problem_of(Step(), rng, size=100), rng=0)


@pytest.mark.parametrize(("minutes", "said"), [(60, "60 minutes"), (600, "10 hours")])
def test_long_flights_are_told_in_minutes_or_hours(minutes, said):
    draws = round(60 * minutes / (billiard._SECONDS * 1000**2))
    with pytest.warns(InferenceWarning, match=f"takes some {said} for {draws:,} flights"):
        Billiard(draws=draws, chains=1, warmup=0).announce(1000)
