"""Draws of a chain are a function of the seed and of its number: a longer run begins with those of a shorter one."""

from dataclasses import replace

import numpy as np
import pytest

from bayespoint import Choice, Hinge, Logistic, Problem, Step
from bayespoint.engines import Billiard, EllipticalSlice, GibbsSampler
from grams import GRAMS, THREE, Y

ENGINES = [
    Billiard(draws=70, chains=2, warmup=5),
    EllipticalSlice(draws=70, chains=2, warmup=5),
    GibbsSampler(draws=70, chains=2, warmup=5),
]
CELLS = [
    (engine, likelihood)
    for engine in ENGINES
    for likelihood in [Step(), Step(0.1), Step(0.0, 0.5), Step(0.1, 0.5), Hinge(2.0), Logistic(2.0), Choice(0.1, 0.5)]
    if (engine.takes is None or likelihood.kind in engine.takes)
    and (engine.takes_classes or not isinstance(likelihood, Choice))
]
ROUNDING = 1e-9  # products of matrices of other shapes


@pytest.mark.processor
@pytest.mark.parametrize(("engine", "likelihood"), CELLS, ids=lambda part: str(part).split("(draws")[0])
def test_more_draws_or_chains_begin_with_the_same(engine, likelihood):
    problem = Problem(GRAMS["dense"], THREE if isinstance(likelihood, Choice) else Y, likelihood)
    short = engine.infer(problem, rng=3).coordinates
    longer = replace(engine, draws=150).infer(problem, rng=3).coordinates
    wider = replace(engine, chains=5).infer(problem, rng=3).coordinates
    np.testing.assert_allclose(longer[:, :70], short, atol=ROUNDING)
    np.testing.assert_allclose(wider[:2], short, atol=ROUNDING)
    assert not np.allclose(wider[2], wider[0])
    assert not np.allclose(engine.infer(problem, rng=4).coordinates, short)
