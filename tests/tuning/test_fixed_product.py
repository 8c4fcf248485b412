"""The way up of the support vector machine: C moves, ``C K`` stays."""

import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Sum

from bayespoint import Hinge
from bayespoint.exceptions import InferenceWarning
from bayespoint.tuning import Model
from bayespoint.tuning.limits import warn_at_bounds
from bayespoint.tuning.svm import at_fixed_product


def machine(amplitude):
    kernel = ConstantKernel(amplitude, (1e-3, 1e5)) * RBF(1.0, "fixed")
    return Model(Sum(kernel, ConstantKernel(1.0, "fixed")), Hinge(8.0))


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_an_amplitude_at_its_bound_is_there_at_any_c(C):
    """Once wrong: "amplitude 514 (of 0.0316 to 316)", and no word where it had moved away from the bound."""
    with pytest.warns(InferenceWarning, match=r"amplitude .* \(of "):
        warn_at_bounds([at_fixed_product(machine(1e5), C)])


def test_one_inside_is_not_at_a_bound():
    warn_at_bounds([at_fixed_product(machine(2e4), 0.5)])  # 3.2e5: beyond the bound of another C


def test_the_machine_stays_the_same():
    model = machine(10.0)
    moved = at_fixed_product(model, 2.0)
    assert moved.likelihood.C * moved.kernel([[0.0]])[0, 0] == pytest.approx(8.0 * model.kernel([[0.0]])[0, 0])
