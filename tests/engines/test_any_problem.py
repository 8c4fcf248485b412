"""Every engine on any problem: finite probabilities, or one sentence. `make soak` sees many more."""

import numpy as np
import pytest
from hostile_problems import ENGINES, judged, problems
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayespoint import Step
from bayespoint.engines import EP
from bayespoint.grams import DensePoints


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(ENGINES), problems())
def test_probabilities_or_one_sentence(engine, case):
    assert judged(engine, *case) in ("inferred", "refused")


def test_what_is_no_sentence_and_no_number_is_seen():
    case = np.eye(2), np.array([1.0, -1.0]), Step()
    assert judged(EP(), case, DensePoints(np.eye(2), np.ones(2))) == "inferred"
    with pytest.raises(AssertionError):
        judged(EP(), case, DensePoints(np.full((2, 2), np.nan), np.ones(2)))
