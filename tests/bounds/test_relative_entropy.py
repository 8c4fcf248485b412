from decimal import Decimal, getcontext
from math import exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from bayespoint.bounds import binary_kl, gaussian_divergence, invert_kl
from bayespoint.exceptions import InvalidProblemError

shares = st.one_of(st.floats(0, 1), st.floats(-30, 0).map(lambda x: 10.0**x))
budgets = st.floats(-30, 3).map(lambda x: 10.0**x)


def exact_kl(q, p):
    """Relative entropy with a hundred digits."""
    getcontext().prec = 100
    pairs = [(Decimal(q), Decimal(p)), (1 - Decimal(q), 1 - Decimal(p))]
    return sum(a * (a / b).ln() for a, b in pairs if a > 0)


@pytest.mark.parametrize(
    ("q", "p", "value"),
    [
        (0, 0, 0),
        (1, 1, 0),
        (0.3, 0.3, 0),
        (0, 1, inf),
        (1, 0, inf),
        (0.3, 0, inf),
        (0.3, 1, inf),
        (0, 0.25, log(4 / 3)),
        (1, 0.25, log(4)),
        (0.5, 0.25, 0.5 * log(2) + 0.5 * log(2 / 3)),
    ],
)
def test_relative_entropy_of_coins_by_hand(q, p, value):
    assert binary_kl(q, p) == pytest.approx(value, rel=1e-15)


@given(shares, st.floats(1e-30, 1 - 1e-15))
def test_relative_entropy_of_coins_to_a_hundred_digits(q, p):
    assert binary_kl(q, p) == pytest.approx(float(exact_kl(q, p)), rel=1e-13, abs=1e-300)


@given(st.floats(0.001, 0.999), st.floats(-14, -1))
def test_close_coins_lose_no_digits(q, exponent):
    p = q * (1 + 10**exponent) if q < 0.5 else q * (1 - 10**exponent)
    assert binary_kl(q, p) == pytest.approx(float(exact_kl(q, p)), rel=1e-13)
    assert 2 * (p - q) ** 2 <= binary_kl(q, p) * (1 + 1e-12)  # Pinsker


@pytest.mark.parametrize(
    ("q", "budget", "p"),
    [
        (0, 0, 0),
        (0.3, 0, 0.3),
        (1, 0, 1),
        (1, 2, 1),
        (0, inf, 1),
        (0.3, inf, 1),
        (0, log(4 / 3), 0.25),
        (0, 1e-20, 1e-20),
        (0, 800, 1),
        (0.3, 1e5, 1),
        (0.5, -0.5 * log(4 * 0.9 * 0.1), 0.9),
        (0.2, 1e-20, 0.2 + sqrt(2 * 0.2 * 0.8 * 1e-20)),
    ],
)
def test_inversion_by_hand(q, budget, p):
    assert invert_kl(q, budget) == pytest.approx(p, rel=1e-14)


@given(shares, budgets)
def test_inversion_spends_the_budget(q, budget):
    p = invert_kl(q, budget)
    assert q <= p <= 1
    ulp = np.spacing(p)
    if p + 16 * ulp < 1:
        assert binary_kl(q, p + 16 * ulp) >= budget * (1 - 1e-12)
    if p - 16 * ulp > q:
        assert binary_kl(q, p - 16 * ulp) <= budget * (1 + 1e-12)


def test_inversion_agrees_with_a_fine_grid():
    grid = np.linspace(0, 1, 20_001)
    for q in grid[::2500]:
        for budget in (0.001, 0.02, 0.3, 2.0):
            within = [p for p in grid if p >= q and binary_kl(q, p) <= budget]
            assert 0 <= invert_kl(q, budget) - max(within) < 1 / 20_000


@given(shares, shares, budgets, budgets)
def test_inversion_rises_with_both_arguments(q, other_q, budget, other_budget):
    low, high = sorted((q, other_q)), sorted((budget, other_budget))
    assert invert_kl(low[0], high[0]) <= invert_kl(low[1], high[1]) * (1 + 1e-14)


@pytest.mark.parametrize(("q", "budget"), [(-0.1, 1), (1.1, 1), (0.5, -1), (0.5, float("nan"))])
def test_inversion_refuses_what_is_no_share_or_budget(q, budget):
    with pytest.raises(InvalidProblemError):
        invert_kl(q, budget)


def test_gaussian_divergence_of_one_weight_by_hand():
    assert gaussian_divergence([2.0], [[0.25]]) == pytest.approx(0.5 * (0.25 + 4 - 1 - log(0.25)), rel=1e-15)


def test_gaussian_divergence_is_the_mean_log_ratio(rng):
    root = 0.5 * rng.normal(size=(4, 4))
    mean, covariance = rng.normal(size=4), root @ root.T + 0.1 * np.eye(4)
    draws = rng.multivariate_normal(mean, covariance, size=100_000)
    ratio = multivariate_normal(mean, covariance).logpdf(draws) - multivariate_normal(np.zeros(4)).logpdf(draws)
    error = ratio.std() / sqrt(len(ratio))
    assert abs(gaussian_divergence(mean, covariance) - ratio.mean()) < 4 * error
    assert abs(gaussian_divergence(mean, 2 * covariance) - ratio.mean()) > 4 * error  # the check can fail


def test_gaussian_divergence_near_the_prior_keeps_its_digits():
    shift = 1e-9
    assert gaussian_divergence([1e-9], [[1.0]]) == pytest.approx(0.5e-18, rel=1e-12)
    assert 0 <= gaussian_divergence([0.0], [[1 + shift]]) < 1e-15
    assert gaussian_divergence(np.zeros(3), np.eye(3)) == 0


def test_a_flat_gaussian_is_infinitely_far():
    assert gaussian_divergence([1.0, 0.0], [[1.0, 1.0], [1.0, 1.0]]) == inf
    assert gaussian_divergence([1.0], [[0.0]]) == inf


@pytest.mark.parametrize(
    ("mean", "covariance"),
    [([1.0], np.eye(2)), ([[1.0]], np.eye(1)), ([0, 0], [[1, 1], [0, 1]]), ([0, 0], [[1, 2], [2, 1]])],
)
def test_what_is_no_gaussian_is_refused(mean, covariance):
    with pytest.raises(InvalidProblemError):
        gaussian_divergence(mean, covariance)


def test_the_hundred_digits_are_right():
    assert float(exact_kl(0, 1 - exp(-1))) == pytest.approx(1, rel=1e-15)
