"""The billiard between the walls of several classes: flights by the book, starts, walls on top of each other."""

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Choice, Problem
from bayespoint.engines import Billiard, GibbsSampler, _choice_start
from bayespoint.engines._choice_walls import ChoiceWalls
from bayespoint.engines._start import start_of
from bayespoint.exceptions import EmptyVersionSpaceError, InferenceWarning, InvalidProblemError
from bayespoint.grams import LowRank
from witnesses import mcse

LIKELIHOODS = [Choice(), Choice(0.1), Choice(0.0, 0.5), Choice(0.05, 0.3)]
SHORT = Billiard(draws=150, chains=3, warmup=10)


def problem_of(likelihood, rng, size=12, classes=4, weights=None):
    X = rng.normal(size=(size, 2))
    y = (X @ rng.normal(size=(2, classes))).argmax(axis=1)
    if not likelihood.is_hard:
        y[:2] = (y[:2] + 1) % classes
    return Problem(RBF(1.0)(X) + 0.2, y, likelihood, weights, n_classes=classes)


def z_of(left, right):
    """Differences of means of two runs in Monte Carlo errors."""
    return (left.mean(axis=(0, 1)) - right.mean(axis=(0, 1))) / (np.hypot(mcse(left), mcse(right)) + 1e-12)


# -- randomness ------------------------------------------------------------------------------------------------------


@pytest.mark.processor
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_a_seed_fixes_the_draws_and_jobs_change_nothing(likelihood, rng):
    problem = problem_of(likelihood, rng)
    one, two = (Billiard(draws=70, chains=2, n_jobs=jobs).infer(problem, rng=7).coordinates for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one[0], one[1])
    assert not np.array_equal(one, Billiard(draws=70, chains=2).infer(problem, rng=8).coordinates)


# -- the flight itself -----------------------------------------------------------------------------------------------


def reference(gram, energy, lead, theta, velocity, time):
    """One flight by the book: arc tangents, explicit times, one event after the other; arrays are (C, n)."""
    a, b, lead, events, rows = theta.copy(), velocity.copy(), lead.copy(), 0, np.arange(theta.shape[1])
    while True:
        ahead, faster = a[lead, rows] - a, b[lead, rows] - b
        times = np.arctan2(np.maximum(ahead, 0.0), -faster)
        times[lead, rows] = np.inf
        c, i = np.unravel_index(times.argmin(), times.shape)
        t = min(times[c, i], time)
        a, b = a * np.cos(t) + b * np.sin(t), b * np.cos(t) - a * np.sin(t)
        time -= t
        if time <= 0:
            return a, lead, events
        events += 1
        k, length = lead[i], np.sqrt(2 * gram[i, i])
        speed, rise = (b[k, i] - b[c, i]) / length, energy[i, c] - energy[i, k]
        crosses = speed**2 > 2 * rise
        after = -np.sqrt(speed**2 - 2 * rise) if crosses else -speed
        b[k] += (after - speed) / length * gram[i]
        b[c] -= (after - speed) / length * gram[i]
        a[[k, c], i] = a[[k, c], i].mean()
        if crosses:
            lead[i] = c


@pytest.mark.parametrize("flight", [0.7, np.pi / 2, 3.0])
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
@pytest.mark.parametrize(("size", "classes"), [(1, 3), (6, 2), (40, 5)])
def test_a_flight_is_that_of_the_book(likelihood, size, classes, flight, rng):
    problem = problem_of(likelihood, rng, size, classes)
    walls, (white, position) = ChoiceWalls.of(problem), start_of(problem)
    for _ in range(3):  # from where the last one ended
        theta = white.latents(position)
        refresh = rng.standard_normal((1, white.dimension))
        velocity = white.latents(refresh)
        table = walls.energy
        lead = problem.y if likelihood.noise == 0 else white.apart(theta).argmax(axis=0)
        gram = problem.dense + np.diag(problem.own)
        end, last, count = reference(gram, table, lead, white.apart(theta), white.apart(velocity)[0], flight)
        impulse, potential, events = walls.fly(theta, velocity, flight, 10_000)
        np.testing.assert_allclose(white.apart(theta), end, atol=1e-10)
        assert events[0] == count
        assert potential[0] == pytest.approx(table[np.arange(size), last].sum())
        assert walls.potential(theta[None])[0] == pytest.approx(potential[0])
        position = np.cos(flight) * position + np.sin(flight) * refresh[0] + white.pull(impulse)[0]
        np.testing.assert_allclose(white.latents(position), theta, atol=1e-10)  # coordinates tell the same


@pytest.mark.parametrize("soft", [0.0, 0.5])
def test_few_impulses_are_pulled_as_many_are(soft, rng):
    white, _ = start_of(problem_of(Choice(0.1, soft), rng, 30, 3))
    few = np.zeros((2, 90))
    few[:, [3, 50]] = rng.normal(size=(2, 2))
    many = rng.normal(size=(2, 90))
    np.testing.assert_allclose(white.pull(few + many), white.pull(few) + white.pull(many), atol=1e-12)
    position = rng.normal(size=(2, white.dimension))
    np.testing.assert_allclose(
        (white.latents(position) * few).sum(axis=1), (position * white.pull(few)).sum(axis=1), rtol=1e-10
    )


def test_latents_stay_in_version_space_and_do_not_drift(rng):
    problem = problem_of(Choice(), rng, 60, 5)
    posterior = Billiard(draws=400, chains=1).infer(problem, rng=0)
    assert posterior.info["drift"] < 1e-8
    assert posterior.info["events_per_flight"][0] > 30
    lead = np.sort(posterior.latents, axis=-1)
    assert np.all(posterior.latents.argmax(axis=-1) == problem.y)
    assert np.all(lead[..., -1] > lead[..., -2])


def test_a_flight_without_end_is_given_up(rng):
    with pytest.raises(InvalidProblemError, match=r"^A flight met more than 3 walls .* raise softness or noise\.$"):
        Billiard(max_events=3).infer(problem_of(Choice(), rng, 40), rng=0)


# -- starts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["perceptron", "regression", "programme"])
def test_every_way_to_a_start_ends_in_version_space(way, rng, monkeypatch):
    problem = problem_of(Choice(), rng, 15, 3)
    if way != "perceptron":
        monkeypatch.setattr(_choice_start, "_perceptron", lambda *_: False)
    if way == "programme":
        monkeypatch.setattr(_choice_start.lapack, "dposv", lambda *_, **__: (None, None, 1))
        factor = np.linalg.cholesky(problem.dense)[:, :12]  # of lower rank than rows: nothing to interpolate
        problem = Problem(LowRank(factor), (factor @ rng.normal(size=(12, 3))).argmax(axis=1), Choice(), n_classes=3)
    white, position = start_of(problem)
    assert np.array_equal(white.apart(white.latents(position)).argmax(axis=0), problem.y)


def test_an_empty_version_space_says_why():
    X = np.array([[1.0], [-1.0], [2.0]])
    for engine in (Billiard(), GibbsSampler()):
        with pytest.raises(EmptyVersionSpaceError, match=r"^Version space is empty: no function of this kernel"):
            engine.infer(Problem(X @ X.T, [0, 1, 2], Choice()), rng=0)
        with pytest.raises(EmptyVersionSpaceError, match="rows 0 and 2 are the same point with different labels"):
            engine.infer(Problem(np.ones((3, 3)), [1, 1, 2], Choice()), rng=0)


def test_given_latents_are_the_start(rng):
    problem = problem_of(Choice(), rng)
    start = Billiard(draws=1, chains=1).infer(problem, rng=0).latents[0, 0]
    assert SHORT.infer(problem, rng=0, start=start).latents.shape == (3, 150, 12, 4)
    with pytest.raises(InvalidProblemError, match=r"^The start is not in version space"):
        SHORT.infer(problem, rng=0, start=-start)
    with pytest.raises(InvalidProblemError, match=r"^start must be 12 x 4 finite numbers"):
        SHORT.infer(problem, rng=0, start=start.T)


def test_hard_and_soft_rows_side_by_side(rng):
    factor = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    posterior = SHORT.infer(Problem(LowRank(factor, residual=[0.0, 1.0, 0.5]), [0, 1, 2], Choice()), rng=0)
    assert np.all(posterior.latents[..., 0, :].argmax(axis=-1) == 0)
    assert np.any(posterior.latents[..., 1, :].argmax(axis=-1) != 1)


# -- walls on top of each other --------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [[0, 0, 1], [0, 1, 2], [0, 1, 1]])
def test_rows_at_one_place_are_one_row(labels, rng):
    """Three copies of a point, one of them twice as far out, against a sampler that has no walls to merge."""
    points = np.array([[1.0, 0.3], [1.0, 0.3], [2.0, 0.6], [-0.2, 1.0]])
    problem = Problem(points @ points.T, [*labels, 2], Choice(0.15), n_classes=3)
    walls = ChoiceWalls.of(problem)
    assert len(walls.diag) == (1 if labels == [0, 1, 2] else 2)
    one = Billiard(draws=1500).infer(problem, rng=1).latents
    two = GibbsSampler(draws=5000, chains=2, warmup=100).infer(problem, rng=2).latents
    for power in (1, 2):
        assert np.abs(z_of(one**power, two**power)).max() < 4.5


def test_points_opposite_to_each_other_share_walls_of_two_classes_alone():
    points = np.array([[1.0, 0.3], [-1.0, -0.3]])
    two, three = (ChoiceWalls.of(Problem(points @ points.T, [0, 0], Choice(0.1), n_classes=c)) for c in (2, 3))
    assert len(two.diag) == 0  # labels at odds
    assert two.floor == pytest.approx(np.log(9))
    assert len(three.diag) == 2


def test_a_row_of_length_zero_has_no_walls():
    gram = np.diag([1.0, 0.0, 2.0])
    posterior = SHORT.infer(Problem(gram, [0, 1, 2], Choice(0.1)), rng=0)
    np.testing.assert_array_equal(posterior.latents[..., 1, :], 0.0)
    assert posterior.mean[0].argmax() == 0
    assert posterior.mean[2].argmax() == 2


# -- weights ---------------------------------------------------------------------------------------------------------


def test_a_weight_is_a_number_of_copies(rng):
    problem = problem_of(Choice(0.2), rng, 5, 3, weights=[1, 2, 1, 3, 1])
    rows = np.repeat(np.arange(5), [1, 2, 1, 3, 1])
    copies = Problem(problem.dense[np.ix_(rows, rows)], problem.y[rows], Choice(0.2), n_classes=3)
    one = Billiard(draws=800).infer(problem, rng=1).latents
    two = Billiard(draws=800).infer(copies, rng=2).latents[:, :, [0, 1, 3, 4, 7]]
    assert np.abs(z_of(one, two)).max() < 4.5


def test_weights_under_a_soft_boundary_are_refused(rng):
    with pytest.raises(InvalidProblemError, match=r"^Walls cannot weight rows under a soft boundary.*\.$"):
        SHORT.infer(problem_of(Choice(0.0, 0.5), rng, 5, 3, weights=[1, 2, 1, 3, 1]), rng=0)


# -- classes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [Billiard(draws=600), GibbsSampler(draws=2500, chains=2, warmup=100)])
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_names_of_classes_do_not_matter(engine, likelihood, rng):
    problem, order = problem_of(likelihood, rng, 5, 3), np.array([2, 0, 1])
    renamed = Problem(problem.gram, order[problem.y], likelihood, n_classes=3)
    one, two = engine.infer(problem, rng=1).latents, engine.infer(renamed, rng=2).latents
    assert np.abs(z_of(one, two[..., order])).max() < 4.5


def test_a_class_that_no_row_has_is_pushed_down_everywhere(rng):
    problem = Problem(problem_of(Choice(), rng, 6, 3).gram, np.arange(6) % 2, Choice(), n_classes=3)
    posterior = Billiard(draws=500).infer(problem, rng=0)
    assert np.all(posterior.mean[:, 2] < posterior.mean[np.arange(6), problem.y])


def test_long_work_is_announced_by_the_number_of_classes(monkeypatch):
    engine = Billiard(draws=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.announce(2000, 1)
    with pytest.warns(InferenceWarning, match=r"takes some \d+ (minutes|hours) for"):
        engine.announce(2000, 10)
