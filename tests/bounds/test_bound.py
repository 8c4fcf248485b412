import pickle

import pytest

from bayespoint import bounds
from bayespoint.bounds import Bound
from bayespoint.exceptions import InvalidProblemError

SAMPLE = {"n": 100, "delta": 0.05}
ERROR = {"gibbs_error": 0.1, "divergence": 2.0}
CALLS = {  # every bound with arguments that it takes
    "margin_bound": {"margin": 0.5, **SAMPLE},
    "subset_bound": {"log_volume": -3.0, **SAMPLE},
    "bayes_bound": {"log_volume": -3.0, **SAMPLE},
    "linear_svm_bound": {"margin": 0.5, "dimension": 3, **SAMPLE},
    "cap_bound": {"margin": 0.5, "dimension": 3, **SAMPLE},
    "seeger_bound": {**ERROR, **SAMPLE},
    "catoni_bound": {**ERROR, **SAMPLE, "C": 1.0},
    "mcallester_two_sided": {**ERROR, **SAMPLE},
    "mcallester_bound": {**ERROR, **SAMPLE},
    "gaussian_margin_bound": {"eta": 0.9, "divergence": 2.0, **SAMPLE},
    "gaussian_margin_slack_bound": {"z": [1.0] * 100, "eta": 0.9, "divergence": 2.0, **SAMPLE},
    "binomial_bound": {"errors": 3, **SAMPLE},
}
WRONG = {
    "n": [0, -5, 10.5, float("nan"), float("inf")],
    "delta": [0.0, 1.0, -0.1, 2.0, float("nan")],
    "margin": [0.0, -0.5, 1.0001, float("nan")],
    "dimension": [1, 2.5],
    "log_volume": [0.1, float("nan")],
    "gibbs_error": [-0.1, 1.1, float("nan")],
    "divergence": [-0.1, float("nan")],
    "C": [0.0, -1.0, float("inf"), float("nan")],
    "eta": [0.5, 1.1, float("nan")],
    "z": [[1.0] * 99, [float("nan")] * 100, 1.0],
    "errors": [-1, 101, 1.5],
}


def call(name, **changes):
    return getattr(bounds, name)(**{**CALLS[name], **changes})


@pytest.mark.parametrize("name", CALLS)
def test_every_bound_is_a_number_with_terms(name):
    bound = call(name)
    assert float(bound) == bound.value > 0
    assert all(type(term) is float for term in bound.terms.values())
    lines = str(bound).split("\n")
    assert lines[0].startswith(f"{bound.value:.6g}")
    assert [line.split("  ")[1].strip() for line in lines[1:]] == list(bound.terms)
    assert pickle.loads(pickle.dumps(bound)) == bound


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        (name, argument, value)
        for name, arguments in CALLS.items()
        for argument in arguments
        for value in WRONG[argument]
    ],
)
def test_wrong_arguments_are_refused_with_one_sentence(name, argument, value):
    with pytest.raises(InvalidProblemError, match=rf"^\W?{argument}\b.*\.$|^n - {argument}\b.*\.$"):
        call(name, **{argument: value})


@pytest.mark.parametrize("name", ["seeger_bound", "catoni_bound"])
@pytest.mark.parametrize("choices", [0, 1.5, -2])
def test_a_grid_has_at_least_one_point(name, choices):
    with pytest.raises(InvalidProblemError, match="choices"):
        call(name, choices=choices)


@pytest.mark.parametrize("name", ["mcallester_two_sided", "mcallester_bound", "gaussian_margin_bound"])
def test_mcallester_needs_two_points(name):
    with pytest.raises(InvalidProblemError, match="at least 2"):
        call(name, n=1)


@pytest.mark.parametrize("name", ["subset_bound", "bayes_bound"])
def test_a_volume_of_one_may_be_rounded(name):
    assert call(name, log_volume=1e-10) == call(name, log_volume=0.0)


def test_a_divergence_of_zero_may_be_rounded():
    assert call("seeger_bound", divergence=-1e-10) == call("seeger_bound", divergence=0.0)


def test_trivial_bounds_say_so():
    assert Bound(1.0, {}).is_trivial
    assert str(Bound(1.0, {})) == "1 (trivial)"
    assert not Bound(0.999, {}).is_trivial


def test_a_bound_cannot_be_changed():
    with pytest.raises(AttributeError):
        call("binomial_bound").value = 0.0
