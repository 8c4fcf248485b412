from fractions import Fraction
from math import asin, comb, e, log, log2, pi, sin

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from bayespoint import Problem, Step
from bayespoint.bounds import (
    ball_bound,
    bayes_bound,
    cap_bound,
    linear_svm_bound,
    log_ball_ratio,
    log_cap_ratio,
    margin_bound,
    seeger_bound,
    subset_bound,
)
from bayespoint.engines.svm import hard_margin

margins = st.floats(-6, 0).map(lambda x: 10.0**x)
dimensions = st.integers(2, 10_000)
sizes = st.integers(1, 10**6)
risks = st.floats(1e-12, 0.999)


def log_ratio_by_quadrature(psi, dimension):
    """Lemma 1 with the integrand divided by its value at the edge, on panels that halve towards it."""
    power = dimension - 2
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = psi * (1 - np.r_[1.0, 0.5 ** np.arange(1, 40), 0.0])
    centre, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    theta = centre[:, None] + half[:, None] * nodes
    scaled = (half[:, None] * weights * np.exp(power * np.log(np.sin(theta) / sin(psi)))).sum()
    whole = 0.5 * log(pi) + gammaln((dimension - 1) / 2) - gammaln(dimension / 2)
    return whole - log(scaled) - power * log(sin(psi))


@pytest.mark.parametrize("margin", [1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0])
def test_the_cap_on_a_circle_is_an_angle_and_on_a_sphere_a_height(margin):
    assert log_cap_ratio(margin, 2) == pytest.approx(log(pi / (2 * asin(margin / 2))), rel=1e-14)
    assert log_cap_ratio(margin, 3) == pytest.approx(log(2 / (margin**2 / 2)), rel=1e-14)


@pytest.mark.parametrize("margin", [1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("dimension", [2, 3, 4, 5, 10, 101, 1000, 10_000])
def test_the_cap_ratio_is_that_of_quadrature(margin, dimension):
    assert log_cap_ratio(margin, dimension) == pytest.approx(
        log_ratio_by_quadrature(2 * asin(margin / 2), dimension), rel=1e-12
    )


@pytest.mark.parametrize("k", [1, 2, 10, 50])
def test_the_cap_ratio_is_that_of_the_finite_sum_in_lemma_2(k):
    margin = Fraction(1, 3)
    x = margin**2 / 4
    share = (2 * x + (2 * x - 1) * sum(comb(2 * i, i) * (x * (1 - x)) ** i for i in range(1, k + 1))) / 2
    assert log_cap_ratio(float(margin), 2 * k + 3) == pytest.approx(-log(share), rel=1e-12)


def test_the_cap_ratio_is_the_share_of_random_directions(rng):
    draws = rng.normal(size=(200_000, 4))
    inside = draws[:, 0] / np.linalg.norm(draws, axis=1) >= 1 - 0.9**2 / 2
    error = inside.std() / np.sqrt(len(inside))
    assert abs(np.exp(-log_cap_ratio(0.9, 4)) - inside.mean()) < 4 * error
    assert abs(np.exp(-log_cap_ratio(0.9, 4)) / 2 - inside.mean()) > 4 * error  # 2 pi for pi, as printed


@given(margins, st.integers(3, 10_000))
def test_the_cap_ratio_is_within_lemma_2(margin, dimension):
    assert 0 < log_cap_ratio(margin, dimension) <= (dimension - 2) * log(4 / margin**2) * (1 + 1e-12)


@given(margins, margins, dimensions, dimensions)
def test_the_cap_shrinks_with_the_margin_and_the_dimension(margin, margin2, dimension, dimension2):
    (margin2, margin), (dimension, dimension2) = sorted((margin, margin2)), sorted((dimension, dimension2))
    base = log_cap_ratio(margin, dimension) * (1 - 1e-14)
    assert base <= log_cap_ratio(margin2, dimension)
    assert base <= log_cap_ratio(margin, dimension2)


def test_the_cap_lies_in_version_space():
    for margin in np.linspace(0.01, 1, 100):
        assert 2 * asin(margin / 2) <= asin(margin)


def test_margin_bound_by_hand():
    bound = margin_bound(0.5, 10**7, 0.05, radius=2.0)
    kappa = 9232  # 577 * 16
    capacity = 2e-7 * kappa * log2(8 * e * 1e7 / kappa) * log2(3.2e8)
    assert bound.value == pytest.approx(capacity + 2e-7 * log2(1.6e9), rel=1e-14)
    assert bound.terms["kappa"] == kappa
    assert margin_bound(0.7, 100, 0.05).terms["kappa"] == 1178  # 577 / 0.49 = 1177.6, rounded up


@given(margins, margins, sizes, risks, risks)
def test_margin_bound_is_monotone_and_never_negative(margin, margin2, n, delta, delta2):
    (margin2, margin), (delta2, delta) = sorted((margin, margin2)), sorted((delta, delta2))
    base = margin_bound(margin, n, delta).value
    assert 0 < base <= margin_bound(margin2, n, delta).value * (1 + 1e-14)
    assert base <= margin_bound(margin, n, delta2).value


@pytest.mark.parametrize("margin", [1e-3, 1e-160, 1e-300])
def test_tiny_margins_are_promised_nothing(margin):
    assert margin_bound(margin, 100, 0.05).is_trivial


def test_volume_bounds_by_hand():
    bound = subset_bound(-5.0, 200, 0.05)
    value = (5 + log(20) + 2 * log(200) + 1) / 200
    assert bound.value == pytest.approx(value, rel=1e-14)
    assert sum(bound.terms.values()) == pytest.approx(value)
    assert bound.terms["volume"] == 0.025
    assert bayes_bound(-5.0, 200, 0.05).value == pytest.approx(2 * value, rel=1e-14)


def test_svm_bounds_by_hand():
    rest = 2 * log(1000) + log(20) + 1
    assert linear_svm_bound(0.2, 30, 1000, 0.05).value == pytest.approx(0.002 * (30 * log(100) + rest), rel=1e-14)
    assert cap_bound(1.0, 3, 1000, 0.05).value == pytest.approx(0.002 * (log(4) + rest), rel=1e-14)


def test_the_report_s_example_of_a_tiny_volume():
    # Section 4.1 reads less than 70 % off a figure; (17) gives 156 % for the vote, (15) 78 % for the mean.
    log_volume = log(100) - 100 * log(2)
    assert np.exp(log_volume) == pytest.approx(7.8e-29, rel=0.02)
    assert subset_bound(log_volume, 100, 0.05).value == pytest.approx(0.779, abs=1e-3)
    assert bayes_bound(log_volume, 100, 0.05).is_trivial


@given(margins, dimensions, sizes, risks)
def test_the_exact_cap_is_never_worse_than_corollary_2(margin, dimension, n, delta):
    assert cap_bound(margin, dimension, n, delta).value <= linear_svm_bound(margin, dimension, n, delta).value


@given(st.floats(-1e4, 0), st.floats(-1e4, 0), sizes, risks, risks)
def test_volume_bounds_are_monotone_and_weaker_than_seeger(log_volume, log_volume2, n, delta, delta2):
    (log_volume2, log_volume), (delta2, delta) = sorted((log_volume, log_volume2)), sorted((delta, delta2))
    base = subset_bound(log_volume, n, delta).value
    assert base <= subset_bound(log_volume2, n, delta).value * (1 + 1e-14)
    assert base <= subset_bound(log_volume, n, delta2).value * (1 + 1e-14)
    assert seeger_bound(0.0, -log_volume, n, delta).value <= base


@pytest.mark.parametrize("margin", [1e-3, 0.1, 0.5, 0.9, 0.999, 1.0])
@pytest.mark.parametrize("dimension", [2, 3, 10, 500, 20_000])
def test_the_largest_ball_is_that_of_quadrature(margin, dimension):
    """Its angle is arcsin(margin)."""
    expected = log_ratio_by_quadrature(asin(margin), dimension)
    assert log_ball_ratio(margin, dimension) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("dimension", [3, 50])
def test_the_largest_ball_touches_the_nearest_wall_and_no_more(dimension, rng):
    """Directions inside the ball are in version space, some just outside are not; the report's chord is inside it."""
    X = rng.normal(size=(30, dimension))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    w = rng.normal(size=dimension)
    y = np.sign(X @ w)
    problem = Problem(X @ X.T, y, Step())
    machine = (y * hard_margin(problem).alpha) @ X
    machine /= np.linalg.norm(machine)
    margin = float(np.min(y * (X @ machine)))
    nearest = (y[:, None] * X)[np.argmin(y * (X @ machine))]
    towards = -(nearest - margin * machine)
    towards /= np.linalg.norm(towards)
    for angle, inside in ((asin(margin) * 0.999, True), (asin(margin) * 1.001, False)):
        assert bool(np.all(y * (X @ (np.cos(angle) * machine + np.sin(angle) * towards)) > 0)) is inside
    assert 2 * asin(margin / 2) < asin(margin)  # the angle of a chord as long as the margin
    assert log_ball_ratio(margin, dimension) < log_cap_ratio(margin, dimension)
    assert ball_bound(margin, dimension, 1000, 0.05).value < cap_bound(margin, dimension, 1000, 0.05).value
