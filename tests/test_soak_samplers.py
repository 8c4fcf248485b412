"""The long runs of samplers, kernels and evidence see what is wrong on purpose."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from bayespoint import Choice, Hinge, Logistic, Step

SOAK = Path(__file__).parent / "soak"


def script(name):
    """A script by its file: others have modules of the same names."""
    if str(SOAK) not in sys.path:
        sys.path.append(str(SOAK))
    spec = importlib.util.spec_from_file_location(f"soak_{name}", SOAK / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


evidence, propagation, samplers = map(script, ["evidence", "propagation", "samplers"])


def test_every_sampler_meets_every_likelihood_it_takes():
    names = [name for name, _ in samplers.CELLS]
    assert {name: names.count(name) for name in samplers.SAMPLERS} == {
        "Billiard": 9,
        "EllipticalSlice": 7,
        "GibbsSampler": 8,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "likelihood"),
    [
        ("Billiard", Step(0.1)),
        ("Billiard", Hinge(2.0)),
        ("EllipticalSlice", Logistic(2.0)),
        ("GibbsSampler", Choice(0.1)),
    ],
    ids=str,
)
def test_ranks_see_another_likelihood(name, likelihood):
    right, wrong = (samplers.Ranks(name, likelihood, is_wrong) for is_wrong in (False, True))
    right.add(400)
    wrong.add(400)
    assert min(wrong.chances()) < samplers.ALARM < min(right.chances())


@pytest.mark.slow
@pytest.mark.parametrize(("step", "likelihood"), [samplers.JOINT[0], samplers.JOINT[4]], ids=str)
def test_joint_tests_see_another_likelihood(step, likelihood):
    right, wrong = (samplers.joint_chances(step, likelihood, 5000, 0, is_wrong) for is_wrong in (False, True))
    assert wrong.min() < samplers.ALARM < right.min()


@pytest.mark.parametrize("likelihood", [Step(0.1), Hinge(2.0), Choice(0.1)], ids=str)
def test_flights_see_a_matrix_that_is_not_the_walls(likelihood):
    (met, right), (_, wrong) = (samplers.flown(likelihood, 20_000, 1, is_wrong) for is_wrong in (False, True))
    assert met >= 20_000
    assert right < 1e-11
    assert wrong > 1e-9


def test_other_seeds_are_far_apart():
    one, same, other = (samplers.some_draws(seed) for seed in (7, 7, 8))
    assert max(samplers.apart(one, same).values()) == 0
    assert min(samplers.apart(one, other).values()) > 0.1


def test_coverage_sees_errors_that_are_too_small():
    covered = evidence.Covered()
    covered.off = list(np.random.default_rng(0).normal(size=200))
    assert covered.share() == pytest.approx(0.95, abs=0.04)
    assert not covered.is_short()
    assert covered.is_short(0.5)


def test_evidence_that_is_too_high_is_seen():
    cases = map(propagation.case_of, range(1000))
    case = next(case for case in cases if case.problem.likelihood.kind == "soft noise" and case.problem.weights is None)
    how, found = propagation.settled(case)
    assert how == "settled, parallel"
    right, wrong = (propagation.excess(case, found, more) for more in (0.0, 5.0))
    assert right.nats < right.allowed < wrong.nats


def test_problems_of_the_corpus_are_of_every_kind():
    cases = [propagation.case_of(number) for number in range(150)]
    kinds = {case.problem.likelihood.kind for case in cases}
    assert {"hard", "noise", "soft", "soft noise", "hinge", "choice soft noise"} <= kinds
    assert {type(case.problem.gram).__name__ for case in cases} == {"Dense", "LowRank", "KernelRows"}
    assert len({case.problem.weights is None for case in cases}) == 2
