"""Fractional powers of a soft step against a rule of many thousand nodes that knows nothing of humps."""

from itertools import product

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from bayespoint import Step
from bayespoint.likelihoods import _fractional
from bayespoint.likelihoods._fractional import fractional_step

NOISE = [0.0, 1e-3, 0.3]
POWERS = [1e-3, 0.3, 0.97]
VARIANCES = [1e-6, 0.1, 1.0, 30.0, 1e4, 1e8]  # in units of the softness
MARGINS = [-40.0, -20.0, -6.5, -2.5, -0.5, 0.0, 1.5, 4.0, 8.0, 40.0]  # cavity mean in standard deviations
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def fine_rule(a, v, u):
    """Gauss-Legendre between edges at all scales: around zero, and around the cavity with and without tails."""
    sd, far = np.sqrt(v), np.geomspace(1e-3, 1e6, 150)
    own = [a / (1 + k * v) + sd / np.sqrt(1 + k * v) * np.linspace(-14, 14, 90) for k in (u, 1.0)]
    edges = np.unique(np.concatenate([a + sd * np.linspace(-12, 45, 250), -far, far, np.linspace(-45, 12, 250), *own]))
    edges = edges[(edges >= min(a - 50 * sd, -40)) & (edges <= max(a + 50 * sd, 40))]
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * WEIGHTS).ravel()


def witness(q, a, v, u):
    """All fields of `FractionalStep` as averages under the tilted density."""
    t, weight = fine_rule(a, v, u)
    log_phi = log_ndtr(t)
    log_l = np.logaddexp(np.log(q), np.log(1 - 2 * q) + log_phi) if q > 0 else log_phi
    logs = -0.5 * np.square(t - a) / v - 0.5 * np.log(2 * np.pi * v) + u * log_l
    density = weight * np.exp(logs - logs.max())
    z = density.sum()
    density /= z
    mean = density @ (t - a)
    centred = t - a - mean
    score = u * (1 - 2 * q) * np.exp(-0.5 * t * t - log_l) / np.sqrt(2 * np.pi)  # slope of log L^u
    slope = density @ score
    curvature = -density @ (centred * (score - slope)) / v
    d_noise = u * (density @ ((1 - 2 * ndtr(t)) * np.exp(np.log(q) - log_l))) if q > 0 else 0.0
    d_softness = -0.5 * density @ (score * t)
    return logs.max() + np.log(z), slope, curvature, density @ centred**2 / v, d_noise, d_softness


def assert_agrees(q, cases):
    """In units that expectation propagation has: shifts of the marginal and of its precision, and nats."""
    found = fractional_step(q, *np.array(cases).T)
    truth = np.array([witness(q, *case) for case in cases]).T
    sd = np.sqrt([v for _, v, _ in cases])
    units = {"log_z": 1.0, "slope": sd, "curvature": sd**2, "gap": 1.0, "d_noise": 1.0, "d_softness": 1.0}
    for (name, unit), right in zip(units.items(), truth, strict=True):
        np.testing.assert_allclose(getattr(found, name) * unit, right * unit, rtol=1e-8, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("u", POWERS)
@pytest.mark.parametrize("q", NOISE)
def test_the_rule_is_right_from_needles_to_plains(q, u):
    assert_agrees(q, [(margin * np.sqrt(v), v, u) for v, margin in product(VARIANCES, MARGINS)])


@pytest.mark.parametrize("q", [1e-6, 1e-4, 0.02])
def test_the_rule_sees_where_little_noise_takes_over(q):
    assert_agrees(q, [(margin * np.sqrt(v), v, 0.4) for v, margin in product([0.5, 5.0, 200.0], MARGINS)])


@pytest.mark.parametrize("change", [{"_SPACING": 0.5}, {"_REACH": 4.0}], ids=str)
def test_a_coarser_rule_is_told(monkeypatch, change):
    for name, value in change.items():
        monkeypatch.setattr(_fractional, name, value)
    with pytest.raises(AssertionError):
        test_the_rule_is_right_from_needles_to_plains(0.0, 0.3)


def test_company_changes_nothing_but_the_last_digits(rng):
    """Rows share the number of nodes, and come in blocks."""
    a, v, u = rng.normal(scale=3.0, size=1300), rng.gamma(1.0, 5.0, size=1300), rng.uniform(0.01, 1.0, size=1300)
    together = fractional_step(0.1, a, v, u)
    for i in (0, 511, 512, 1299):
        alone = fractional_step(0.1, a[[i]], v[[i]], u[[i]])
        for one, all_of_them in zip(alone, together, strict=True):
            assert one[0] == pytest.approx(all_of_them[i], rel=1e-8, abs=1e-11)


@pytest.mark.parametrize("step", [Step(0.0, 0.5), Step(0.1, 2.0)], ids=str)
def test_a_power_next_to_one_meets_the_closed_form(step, rng):
    mean, var, y = rng.normal(scale=3.0, size=50), rng.gamma(1.0, 2.0, size=50), rng.choice([-1.0, 1.0], 50)
    almost, one = np.full(50, 1 - 1e-13), np.ones(50)
    for found, right in zip(step.site(y, mean, var, almost), step.site(y, mean, var, one), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-8, atol=1e-11)
    slopes = step.log_normaliser_gradient(y, mean, var, almost)
    for name, right in step.log_normaliser_gradient(y, mean, var, one).items():
        np.testing.assert_allclose(slopes[name], right, rtol=1e-8, atol=1e-11)
