from itertools import product

import numpy as np
import pytest
from scipy.special import expit
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from test_logistic import Tilted, arrays, assert_site, assert_slope

from bayespoint import Hinge, Problem
from bayespoint.engines import EP
from bayespoint.exceptions import InvalidProblemError
from bayespoint.likelihoods import HingeSum
from bayespoint.problem import Weights
from bayespoint.tuning import Model, infer_candidate
from witnesses import central_difference

SLOPES = [0.01, 0.7, 2.0, 10.0]
MARGINS = [-30.0, -8.0, -2.0, 0.0, 0.3, 1.0, 8.0, 30.0]  # cavity mean in standard deviations


def hinge(C, y, f, power=1.0):
    """log of [kappa exp(-C max(0, 1 - y f))]^power, written out once more."""
    return -power * (np.log1p(np.exp(-2 * C)) + C * np.clip(1 - y * f, 0.0, None))


def tilted(C, mean, var, power=1.0):
    around = np.r_[-30.0:31.0:2.0] / (C * power)
    cuts = np.r_[np.linspace(-1, 1, 41), around - 1, around + 1]
    return Tilted([lambda f, y=y: hinge(C, y, f, power) for y in (1.0, -1.0)], C * power, cuts, mean, var)


def slope_of(truth, C, power):
    """Derivative of log Z in log C: the mean over latents, and over labels given these."""

    def score(f):
        plus = expit(hinge(C, 1.0, f, power) - hinge(C, -1.0, f, power))
        energy = plus * np.clip(1 - f, 0.0, None) + (1 - plus) * np.clip(1 + f, 0.0, None)
        return power * C * (2 / (1 + np.exp(2 * C)) - energy)

    return truth.average(score)


# -- tilted moments --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [1.0, 0.3])
@pytest.mark.parametrize("C", SLOPES)
def test_site_and_slope_are_those_of_quadrature(C, power):
    for margin, var in product(MARGINS, [1e-8, 1e-3, 1.0, 100.0]):
        mean = margin * np.sqrt(var)
        truth = tilted(C, mean, var, power)
        assert_site(HingeSum(C), truth, 1.0, mean, var, power)
        assert_slope(HingeSum(C), slope_of(truth, C, power), 1.0, mean, var, power)


@pytest.mark.parametrize(("C", "var"), [(10.0, 1e8), (100.0, 1e8)])
def test_site_of_hinges_far_steeper_than_the_cavity(C, var):
    assert_site(HingeSum(C), tilted(C, 0.0, var), 1.0, 0.0, var, 1.0, rtol=1e-8)


@pytest.mark.parametrize("change", [{"C": 2.001}, {"power": 0.999}, {"mean": -0.501}])
def test_quadrature_tells_a_wrong_site(change):
    right = {"C": 2.0, "mean": -0.5, "var": 2.0, "power": 1.0}
    with pytest.raises(AssertionError):
        assert_site(HingeSum(2.0), tilted(**(right | change)), 1.0, -0.5, 2.0, 1.0)


def test_quadrature_tells_a_wrong_slope():
    with pytest.raises(AssertionError):
        assert_slope(HingeSum(2.0), slope_of(tilted(2.0, -0.5, 2.0), 2.001, 1.0), 1.0, -0.5, 2.0, 1.0)


def test_sites_of_two_modes_push_apart():
    """Between the margins the sum is hollow: a cavity there gets wider, one beyond them narrower."""
    _, tau, nu = HingeSum(2.0).site(*arrays(1.0, 0.0, 1.0, 1.0))
    assert tau[0] < 0
    assert nu[0] == pytest.approx(0.0, abs=1e-14)
    assert HingeSum(2.0).site(*arrays(1.0, 2.0, 1.0, 1.0))[1][0] > 0


@pytest.mark.parametrize("C", [1e-3, 0.7, 10.0, 1e3])
def test_far_tails_stay_finite(C):
    mean = np.r_[-np.geomspace(1e6, 1, 40), 0.0, np.geomspace(1, 1e6, 40)]
    ones = np.ones_like(mean)
    log_z, tau, nu = HingeSum(C).site(ones, mean, ones, ones)
    assert np.isfinite([log_z, tau, nu]).all()
    assert np.all(1 + tau > 0)  # a proper tilted variance
    assert np.all(log_z <= 1e-12)  # v is at most one
    assert np.isfinite(HingeSum(C).log_normaliser_gradient(ones, mean, ones, ones)["C"]).all()


def test_labels_do_not_matter_and_the_site_is_odd(rng):
    mean, var, power = rng.normal(size=9), rng.gamma(1.0, size=9) + 0.1, np.tile([1.0, 0.5, 0.3], 3)
    log_z, tau, nu = HingeSum(2.0).site(np.ones(9), mean, var, power)
    np.testing.assert_array_equal(HingeSum(2.0).site(-np.ones(9), mean, var, power), [log_z, tau, nu])
    np.testing.assert_allclose(
        HingeSum(2.0).site(np.ones(9), -mean, var, power), [log_z, tau, -nu], rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("C", SLOPES)
def test_log_likelihood_is_that_of_either_label(C):
    f = np.linspace(-4, 4, 33)
    v = np.exp(hinge(C, 1.0, f)) + np.exp(hinge(C, -1.0, f))
    for y in (1.0, -1.0, np.ones(33)):
        np.testing.assert_allclose(HingeSum(C).log_likelihood(y, f), np.log(v), rtol=1e-12, atol=1e-14)
    assert v.max() == pytest.approx(1.0)
    assert abs(f[v.argmax()]) >= 1.0  # never in the gap between the margins


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan, np.inf])
def test_a_bad_slope_is_refused(C):
    with pytest.raises(InvalidProblemError, match=r"^C must be a finite number above 0, got .*\.$"):
        HingeSum(C)


# -- expectation propagation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [1.0, 0.4])
@pytest.mark.parametrize("C", SLOPES)
def test_a_single_row_is_exact(C, power):
    for var in (1e-3, 0.1, 1.0, 100.0):
        truth = tilted(C, 0.0, var, power)
        weights = Weights(np.ones(1), np.array([power]))
        posterior = EP(tolerance=1e-12).infer(Problem([[var]], [1.0], HingeSum(C), weights))
        assert posterior.log_evidence == pytest.approx(truth.log_z, abs=1e-8)
        assert posterior.mean[0] == pytest.approx(0.0, abs=1e-8)
        assert posterior.variance[0] == pytest.approx(truth.var, rel=1e-8)


def test_the_evidence_of_a_single_row_is_that_of_both_labels():
    for C, var in product(SLOPES, [0.1, 1.0, 30.0]):
        labels = [EP(tolerance=1e-12).infer(Problem([[var]], [y], Hinge(C))).log_evidence for y in (1, -1)]
        both = EP(tolerance=1e-12).infer(Problem([[var]], [1], HingeSum(C))).log_evidence
        assert both == pytest.approx(np.logaddexp(*labels), abs=1e-9)


def test_the_gradient_is_that_of_differences(rng):
    X = rng.normal(size=(8, 2))
    model = Model(ConstantKernel(1.5) * RBF(0.7), HingeSum(0.8), free=("C",))
    engine = EP(tolerance=1e-11, max_sweeps=500)

    def log_evidence(theta):
        return infer_candidate(model.at(theta), X, [np.ones(8)], None, engine).log_evidence

    found = infer_candidate(model, X, [np.ones(8)], None, engine).evidence_gradient()
    np.testing.assert_allclose(found, central_difference(log_evidence, model.theta, 1e-3), rtol=1e-5, atol=1e-6)
