from decimal import Decimal, localcontext
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from bayespoint import Step
from bayespoint.exceptions import InvalidProblemError
from witnesses import log_likelihood, tilted

STEPS = [Step(q, s) for q, s in product([0.0, 0.1, 0.4], [0.0, 0.01, 1.0])]
MARGINS = [-20.0, -8.0, -2.5, -0.3, 0.0, 0.3, 2.5, 8.0, 20.0]  # cavity mean in standard deviations


def arrays(*numbers):
    return tuple(np.array([x], dtype=float) for x in numbers)


def moments_of_site(step, y, mean, var, power):
    log_z, tau, nu = (float(x[0]) for x in step.site(*arrays(y, mean, var, power)))
    tilted_var = 1 / (1 / var + tau)
    return log_z, tilted_var * (mean / var + nu), tilted_var


def assert_site_matches_quadrature(step, y, mean, var, power, tolerance):
    log_z, m, v = moments_of_site(step, y, mean, var, power)
    witness = tilted(step, y, mean, var, power)
    sd = np.sqrt(witness["var"])
    assert log_z == pytest.approx(witness["log_z"], rel=tolerance, abs=tolerance)
    assert m == pytest.approx(witness["mean"], abs=tolerance * (sd + abs(mean)))
    assert v == pytest.approx(witness["var"], rel=max(tolerance, 1e-6))
    slopes = step.log_normaliser_gradient(*arrays(y, mean, var, power))
    for name in ("noise", "softness"):
        assert slopes[name][0] == pytest.approx(witness[name], rel=1e-6, abs=1e-8), name


@pytest.mark.parametrize("power", [1.0, 0.5, 0.3])
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_site_and_slopes_are_those_of_quadrature(step, power):
    tolerance = 1e-9 if power == 1 or step.softness == 0 else 1e-7  # a grid stands in for a closed form
    for margin, (y, var) in product(MARGINS, [(1.0, 1.0), (-1.0, 0.3)]):
        mean = margin * np.sqrt(var)
        assert_site_matches_quadrature(step, y, mean, var, power, tolerance)


@pytest.mark.parametrize("wrong", [Step(0.11, 1.0), Step(0.1, 1.01), Step(0.0, 1.0)])
@pytest.mark.parametrize("hook", ["site", "log_normaliser_gradient"])
def test_quadrature_tells_a_wrong_site(monkeypatch, wrong, hook):
    right = getattr(Step, hook)
    monkeypatch.setattr(Step, hook, lambda self, *args: right(wrong, *args))
    with pytest.raises(AssertionError):
        assert_site_matches_quadrature(Step(0.1, 1.0), 1.0, -0.5, 2.0, 1.0, 1e-7)


@pytest.mark.parametrize("power", [1.0, 0.5])
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_far_tails_stay_finite_and_proper(step, power):
    mean = np.r_[-np.geomspace(1e6, 1, 40), 0.0, np.geomspace(1, 1e6, 40)]
    ones = np.ones_like(mean)
    log_z, tau, nu = step.site(ones, mean, ones, power * ones)
    assert np.isfinite([log_z, tau, nu]).all()
    assert np.all(1 + tau > 0)
    if step.is_log_concave:
        assert np.all(tau >= -1e-10)  # rounding; engines clip it
    for slope in step.log_normaliser_gradient(ones, mean, ones, power * ones).values():
        assert np.isfinite(slope).all()


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_flipping_label_and_cavity_mirrors_the_site(step, rng):
    mean, var, power = rng.normal(size=9), rng.gamma(1.0, size=9) + 0.1, np.tile([1.0, 0.5, 0.3], 3)
    log_z, tau, nu = step.site(np.ones(9), mean, var, power)
    mirrored = step.site(-np.ones(9), -mean, var, power)
    np.testing.assert_allclose(mirrored, [log_z, tau, -nu], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_log_probability_is_that_of_quadrature(step):
    for mean, var in product([-5.0, -0.7, 0.0, 2.0], [0.2, 3.0]):
        log_p = step.log_probability(*arrays(mean, var))[0]
        assert log_p == pytest.approx(tilted(step, 1.0, mean, var)["log_z"], abs=1e-9)
    both = [np.exp(step.log_probability(*arrays(sign * 0.7, 2.0))[0]) for sign in (-1, 1)]
    assert sum(both) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_disagreement_is_that_of_quadrature(step):
    for y, mean, var in product([1.0, -1.0], [-3.0, -0.7, 0.0, 0.7, 3.0], [0.2, 3.0]):
        sd = np.sqrt(var)

        def density(margin, y=y, mean=mean, sd=sd):
            return norm.pdf(margin, y * mean, sd) * np.exp(log_likelihood(step, margin))

        detail = np.sqrt(step.softness) * np.arange(-8, 9, 2)
        edges = np.unique(np.r_[0.0, detail, y * mean + sd * np.arange(-12, 13, 2)])
        pieces = {(a, b): quad(density, a, b, epsabs=1e-13)[0] for a, b in pairwise(edges)}
        wrong = sum(mass for (_, b), mass in pieces.items() if b <= 0)
        answer = step.disagreement(*arrays(y, mean, var))[0]
        assert answer == pytest.approx(wrong / sum(pieces.values()), abs=1e-8)


def test_a_soft_step_tends_to_the_hard_one():
    mean = np.array([-2.0, -0.1, 0.5, 3.0])
    ones = np.ones(4)
    for noise in (0.0, 0.2):
        soft, hard = (Step(noise, s).site(ones, mean, ones, ones) for s in (1e-12, 0.0))
        np.testing.assert_allclose(soft, hard, rtol=1e-6, atol=1e-8)


def test_the_step_knows_what_it_is():
    assert [Step(*args).is_hard for args in [(0, 0), (0.1, 0), (0, 1)]] == [True, False, False]
    assert [Step(*args).is_log_concave for args in [(0, 0), (0.1, 0), (0, 1)]] == [True, False, True]


@pytest.mark.parametrize("noise", [-0.1, 0.5, 0.7, np.nan, np.inf])
def test_a_bad_noise_is_refused(noise):
    with pytest.raises(InvalidProblemError, match=r"^noise must be at least 0 and below 0\.5 .*\.$"):
        Step(noise=noise)


@pytest.mark.parametrize("softness", [-1.0, np.nan, np.inf])
def test_a_bad_softness_is_refused(softness):
    with pytest.raises(InvalidProblemError, match=r"^softness must be a finite number of at least 0, got .*\.$"):
        Step(softness=softness)


@pytest.mark.parametrize("depth", [60.0, 69.0, 71.0, 100.0, 1000.0])
def test_deep_on_the_wrong_side_the_variance_is_that_of_a_truncated_gaussian(depth):
    """Beyond the wall a Gaussian of deviation one at -z is nearly exponential: variance by a continued fraction."""
    _, tau, _ = Step().site(*np.array([[1.0], [-depth], [1.0], [1.0]]))
    with localcontext() as digits:
        digits.prec = 60
        z, ratio = Decimal(depth), Decimal(depth)
        for k in range(400, 0, -1):  # hazard of the Gaussian, z + 1 / (z + 2 / (z + 3 / ...))
            ratio = z + k / ratio
        variance = 1 - ratio * (ratio - z)
    assert 1 / (1 + tau[0]) == pytest.approx(float(variance), rel=1e-7)


@pytest.mark.parametrize(("mean", "var"), [(0.0, 1.0), (0.7, 0.3), (-2.0, 4.0), (9.0, 0.5), (0.3, 1e-6)])
@pytest.mark.parametrize("step", [Step(0.0, 0.5), Step(0.1, 2.0), Step(0.2)], ids=str)
def test_entropy_given_the_latent_is_that_of_quadrature(step, mean, var):
    def integrand(u):
        p = np.exp(step.log_likelihood(np.array([1.0, -1.0]), mean + np.sqrt(var) * u))
        return norm.pdf(u) * -np.sum(p * np.log(p))

    edge = float(np.clip(-mean / np.sqrt(var), -8, 8))
    truth = quad(integrand, -8, edge, limit=200)[0] + quad(integrand, edge, 8, limit=200)[0]
    found = step.conditional_entropy(np.array([mean]), np.array([var]))
    assert found[0] == pytest.approx(truth, abs=1e-7)
