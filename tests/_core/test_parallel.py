"""Tasks that run where no memory is shared give what they give here."""

import os
import warnings

import joblib
import numpy as np
import pytest

from bayespoint import Problem, Step
from bayespoint._core.parallel import in_parallel
from bayespoint._core.telling import tell
from bayespoint.engines import Billiard, GibbsSampler
from bayespoint.evidence import log_evidence
from bayespoint.exceptions import InferenceWarning

pytestmark = pytest.mark.xdist_group("processes")  # which are started once
PROBLEM = Problem(np.eye(4) + 1.0, [1, -1, 1, 1], Step(noise=0.1))


@pytest.fixture(scope="module", autouse=True)
def other_processes():
    yield
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


@pytest.mark.processor
@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize("engine", [Billiard, GibbsSampler])
def test_draws_come_back_from_other_processes(engine, backend):
    engine = engine(draws=30, chains=3, warmup=5, n_jobs=2)
    here = engine.infer(PROBLEM, rng=1)
    with joblib.parallel_config(backend=backend):
        there = engine.infer(PROBLEM, rng=1)
    np.testing.assert_array_equal(there.coordinates, here.coordinates)


def test_stepping_stones_come_back_from_other_processes():
    """Several visits to each level: chains and their randomness go on where they were."""
    here = log_evidence(PROBLEM, rng=0, method="billiard", se=0.05, n_jobs=1)
    with joblib.parallel_config(backend="loky"):
        there = log_evidence(PROBLEM, rng=0, method="billiard", se=0.05, n_jobs=2)
    assert there.value == here.value
    assert there.se == here.se


@pytest.mark.parametrize("backend", ["loky", "threading", "sequential"])
def test_warnings_come_back(backend):
    with joblib.parallel_config(backend=backend, n_jobs=2), pytest.warns(InferenceWarning, match="mind") as caught:
        pids = in_parallel((joblib.delayed(_warn)(i) for i in range(2)), None)
    assert len({str(one.message) for one in caught}) == 2
    assert (os.getpid() in pids) == (backend != "loky")


def test_silence_here_is_silence_there():
    with warnings.catch_warnings(), joblib.parallel_config(backend="loky", n_jobs=2):
        warnings.simplefilter("ignore", InferenceWarning)
        in_parallel((joblib.delayed(_warn)(i) for i in range(2)), None)


def _warn(i):
    tell(f"mind the gap {i}")
    return os.getpid()
