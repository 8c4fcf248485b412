"""Every sampler against brute force, on problems small enough for that."""

from functools import partial

import numpy as np
import pytest
from exactness import HINGES, KINDS, STEPS, assert_exact, case_of

from bayespoint import Hinge, Problem, Step
from bayespoint.engines import Billiard, EllipticalSlice, GibbsSampler, billiard

FAST, MANY = 400_000, 4_000_000
BILLIARD = Billiard(draws=4000, warmup=20)
SLICES = EllipticalSlice(draws=1200, chains=24, warmup=800)  # rare excursions into the tails that noise leaves
GIBBS = GibbsSampler(draws=6000, chains=2, warmup=100)

CELLS = [
    (kind, likelihood, 2 + (4 * i + j) % 7 if getattr(likelihood, "C", 1) < 5 else 2 + j)
    for i, likelihood in enumerate(STEPS + HINGES)
    for j, kind in enumerate(KINDS)
]
SOME_CELLS = CELLS[:: len(KINDS) + 1] + CELLS[1 :: len(KINDS) + 1]  # of each kind; all of them with the slow tests
STEP_CELLS = [cell for cell in SOME_CELLS if isinstance(cell[1], Step)]


def label(value):
    return str(value)


@pytest.mark.parametrize(("kind", "likelihood", "size"), CELLS, ids=label)
def test_the_billiard_is_exact(kind, likelihood, size, seed):
    case = case_of(kind, likelihood, size, seed)
    assert_exact(case, BILLIARD, FAST, seed)


@pytest.mark.parametrize(("kind", "likelihood", "size"), SOME_CELLS, ids=label)
def test_elliptical_slices_are_exact(kind, likelihood, size, seed):
    case = case_of(kind, likelihood, size, seed)
    assert_exact(case, SLICES, FAST, seed)


@pytest.mark.parametrize(("kind", "likelihood", "size"), STEP_CELLS, ids=label)
def test_the_gibbs_sampler_is_exact(kind, likelihood, size, seed):
    case = case_of(kind, likelihood, size, seed)
    assert_exact(case, GIBBS, FAST, seed)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4, 6, 8])
@pytest.mark.parametrize("likelihood", STEPS + HINGES, ids=label)
@pytest.mark.parametrize("kind", KINDS)
def test_the_billiard_is_exact_to_four_million_draws(kind, likelihood, size, seed):
    if likelihood == Hinge(10.0) and size > 4:
        size = 3  # more would leave no draw of the prior with a weight
    case = case_of(kind, likelihood, size, seed)
    assert_exact(case, Billiard(draws=50_000), MANY, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "likelihood", "size"), CELLS, ids=label)
def test_slices_and_gibbs_are_exact_to_four_million_draws(kind, likelihood, size, seed):
    case = case_of(kind, likelihood, size, seed)
    assert_exact(case, EllipticalSlice(draws=10_000, chains=50, warmup=1000), MANY, seed)
    if isinstance(likelihood, Step):
        assert_exact(case, GibbsSampler(draws=40_000, warmup=100), MANY, seed)


@pytest.mark.parametrize("likelihood", [Step(0.1), Hinge(1.0)], ids=label)
@pytest.mark.parametrize("flight", [0.4, 2.0, 3.0])
def test_a_flight_of_any_length_is_exact(likelihood, flight, seed):
    case = case_of("rbf", likelihood, 4, seed)
    engine = Billiard(draws=10_000, warmup=100, flight=flight)
    assert_exact(case, engine, FAST, seed)


@pytest.mark.parametrize("engine", [BILLIARD, SLICES, GIBBS], ids=lambda e: type(e).__name__)
def test_weights_are_powers_of_the_likelihood(engine, seed):
    case = case_of("rbf", Step(0.2), 4, seed)
    weighted = Problem(case.problem.dense, case.problem.y, Step(0.2), weights=[2.0, 0.5, 1.0, 3.0])
    case = type(case)(weighted, case.joint)
    assert_exact(case, engine, FAST, seed)


@pytest.mark.parametrize("engine", [BILLIARD, SLICES], ids=lambda e: type(e).__name__)
def test_weights_are_powers_of_the_hinge(engine, seed):
    case = case_of("skewed", Hinge(1.0), 4, seed)
    weighted = Problem(case.problem.dense, case.problem.y, Hinge(1.0), weights=[2.0, 0.5, 1.0, 3.0])
    case = type(case)(weighted, case.joint)
    assert_exact(case, engine, FAST, seed)


# What must fail. Each mistake is one that a sign or a factor in the loop would make.


def halve_the_energy(loop, walls, *rest):
    gram, y, diag, energy, kink = walls
    return loop((gram, y, diag, energy / 2, kink), *rest)


def mistake_the_normal_speed(loop, walls, *rest):
    gram, y, diag, energy, kink = walls
    return loop((gram, y, 1.5 * diag, energy, kink), *rest)


def reflect_instead_of_crossing(loop, walls, *rest):
    gram, y, diag, energy, kink = walls
    return loop((gram, y, diag, np.full_like(energy, 1e9), kink), *rest)


def start_from_the_wrong_side(loop, walls, *rest):
    gram, y, *others = walls
    return loop((gram, -y, *others), *rest)


MISTAKES = [
    (halve_the_energy, "rbf", Step(0.05), 4),
    (halve_the_energy, "rbf", Step(0.05, 0.5), 4),
    (halve_the_energy, "skewed", Hinge(2.0), 4),
    (mistake_the_normal_speed, "skewed", Step(0.05), 4),
    (mistake_the_normal_speed, "rbf", Step(), 4),
    (mistake_the_normal_speed, "linear", Step(0.0, 0.5), 4),
    (reflect_instead_of_crossing, "rbf", Step(0.3), 4),
    (start_from_the_wrong_side, "rbf", Step(0.3), 4),
    (start_from_the_wrong_side, "rbf", Hinge(0.5), 4),
]


@pytest.mark.parametrize(
    ("mistake", "kind", "likelihood", "size"), MISTAKES, ids=lambda v: getattr(v, "__name__", str(v))
)
@pytest.mark.filterwarnings("ignore:Latents drifted")
def test_brute_force_tells_a_wrong_flight(mistake, kind, likelihood, size, seed, monkeypatch):
    case = case_of(kind, likelihood, size, seed)
    right = billiard.Walls.of

    def wrong(problem):
        walls = right(problem)
        return walls._replace(loop=partial(mistake, walls.loop))

    monkeypatch.setattr(billiard.Walls, "of", wrong)
    with pytest.raises(AssertionError, match=r"off by"):
        assert_exact(case, BILLIARD, FAST, seed)
