"""Weights of models against another optimiser, copies, and what they must not do."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bayespoint import Step
from bayespoint.kernels import table_kernels, with_bias
from bayespoint.tuning import Candidate, Model, stacking_weights
from bayespoint.tuning.stacking import _PRIOR, warm_start


def objective(share, logs, rows):
    mixed = np.log(np.exp(logs) @ share)
    return float(rows @ mixed + _PRIOR / len(share) * np.log(share).sum())


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # of the other optimiser, in scipy 1.15
@pytest.mark.parametrize("case", range(5))
def test_weights_are_those_of_another_optimiser(case):
    rng = np.random.default_rng(case)
    logs = np.log(rng.beta(2, 1, size=(40, 4)) * rng.uniform(0.5, 1, 4))
    rows = rng.uniform(0.5, 3, 40)
    found = stacking_weights(logs, rows)
    witness = minimize(
        lambda share: -objective(share, logs, rows),
        np.full(4, 0.25),
        method="SLSQP",
        bounds=[(1e-9, 1)] * 4,
        constraints={"type": "eq", "fun": lambda share: share.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert found.sum() == pytest.approx(1.0)
    assert objective(found, logs, rows) >= -witness.fun - 1e-7
    np.testing.assert_allclose(found, witness.x, atol=2e-3)


def test_weights_of_rows_are_copies(rng):
    logs, rows = np.log(rng.random((20, 3))), rng.integers(1, 4, 20)
    copies = stacking_weights(np.repeat(logs, rows, axis=0))
    np.testing.assert_allclose(stacking_weights(logs, rows.astype(float)), copies, atol=1e-9)


def test_a_further_model_never_makes_the_labels_less_probable(rng):
    """But for the shrinkage, which is worth three rows."""
    logs = np.log(rng.random((60, 4)))
    values = []
    for k in range(1, 5):
        share = stacking_weights(logs[:, :k])
        values.append(np.log(np.exp(logs[:, :k]) @ share).sum())
    assert np.all(np.diff(values) > -_PRIOR)
    assert values[-1] > values[0]


def test_hopeless_densities_and_equal_models():
    logs = np.array([[-2000.0, -1000.0]] * 10)
    np.testing.assert_allclose(stacking_weights(logs), [0.115, 0.885], atol=5e-4)
    np.testing.assert_allclose(stacking_weights(np.zeros((10, 3))), 1 / 3)


def test_a_model_begins_where_a_simpler_one_ended(rng):
    kernels = table_kernels(rng.normal(size=(9, 2)))
    one, each, flat = (
        Model(with_bias(kernels[name], 1.0, tuned=True), Step(softness=1.0))
        for name in ("isotropic", "relevance", "linear")
    )
    simple, wide, line = (
        Candidate(model.at(np.log(2.0 + np.arange(len(model.theta)))), [], -1.0, None) for model in (one, each, flat)
    )
    amplitude, scale, bias = simple.model.theta
    begun, after = warm_start(each, [simple, wide, line])
    np.testing.assert_allclose(begun.theta, [amplitude, scale, scale, bias])
    assert after is simple
    assert warm_start(each, [wide, line]) == (each, None)
    assert warm_start(flat, [simple, wide, line]) == (flat, None)
