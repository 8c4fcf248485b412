from fractions import Fraction
from math import comb, exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, logsumexp, xlogy
from scipy.stats import norm

from bayespoint.bounds import (
    Bound,
    binary_kl,
    catoni_bound,
    gaussian_divergence,
    gaussian_margin_bound,
    gaussian_margin_slack_bound,
    invert_kl,
    majority_vote_bound,
    mcallester_bound,
    mcallester_two_sided,
    seeger_bound,
)
from bayespoint.exceptions import InvalidProblemError

shares = st.floats(0, 1)
divergences = st.one_of(st.just(0.0), st.floats(1e-6, 1e4))
sizes = st.integers(2, 10**6)
risks = st.floats(1e-12, 0.999)


def log_moment(n):
    """What `seeger_bound` takes for the logarithm of xi(n)."""
    return n * seeger_bound(0.1, 0.0, n, 0.5).terms["confidence"] - log(2)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 20, 60])
def test_the_moment_is_that_of_exact_fractions(n):
    shared = [Fraction(k, n) for k in range(n + 1)]
    xi = sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k, p in enumerate(shared))
    assert log_moment(n) == pytest.approx(log(xi), rel=1e-13)
    assert xi <= 2 * sqrt(n)  # Maurer, and from n = 1 on


@pytest.mark.parametrize("n", [1000, 10**6])
def test_the_moment_of_many_points_is_that_of_a_sum(n):
    k = np.arange(n + 1)
    log_binomial = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    witness = logsumexp(log_binomial + xlogy(k, k / n) + xlogy(n - k, 1 - k / n))
    assert log_moment(n) == pytest.approx(witness, abs=1e-7)
    assert exp(witness) == pytest.approx(sqrt(np.pi * n / 2) + 2 / 3, rel=1e-4)


def test_seeger_without_training_errors_by_hand():
    # xi(2) = 1 + 1/2 + 1, and kl(0 || p) = -log(1 - p)
    assert seeger_bound(0.0, 0.0, 2, 0.5).value == pytest.approx(1 - (2.5 / 0.5) ** (-1 / 2), rel=1e-14)
    assert seeger_bound(0.0, 3.0, 2, 0.5, choices=7).value == pytest.approx(1 - (35 * exp(3.0)) ** (-1 / 2), rel=1e-14)


def test_seeger_with_training_errors_by_hand():
    bound = seeger_bound(0.3, 1.5, 3, 0.1, choices=4)
    xi = 1 + 3 * (1 / 3) * (2 / 3) ** 2 + 3 * (2 / 3) ** 2 * (1 / 3) + 1
    p = bound.value
    spent = 0.3 * log(0.3 / p) + 0.7 * log(0.7 / (1 - p))
    assert 3 * spent == pytest.approx(1.5 + log(xi * 4 / 0.1), rel=1e-12)
    assert bound.terms == pytest.approx(
        {"training error": 0.3, "divergence": 1.5 / 3, "confidence": log(xi / 0.1) / 3, "grid": log(4) / 3}, rel=1e-13
    )


def test_catoni_by_hand():
    bound = catoni_bound(0.2, 3.0, 50, 0.1, C=1.5, choices=5)
    assert bound.value == pytest.approx((1 - exp(-0.3 - 0.06 - log(50) / 50)) / (1 - exp(-1.5)), rel=1e-14)
    assert bound.terms == pytest.approx(
        {"training error": 0.2, "divergence": 0.06, "confidence": log(10) / 50, "grid": log(5) / 50}
    )


@pytest.mark.parametrize(("q", "divergence", "n"), [(0.05, 10.0, 1000), (0.3, 2.0, 50), (0.001, 30.0, 200)])
def test_the_best_catoni_bound_is_an_inversion(q, divergence, n):
    best = min(catoni_bound(q, divergence, n, 0.05, C).value for C in np.geomspace(1e-3, 30, 20_001))
    assert best == pytest.approx(invert_kl(q, (divergence + log(20)) / n), rel=1e-6)


def test_mcallester_by_hand():
    bound = mcallester_two_sided(0.2, 3.0, 51, 0.1)
    budget = (3.0 + log(1020)) / 50
    for p in (bound.value, bound.terms["lower end"]):
        assert 0.2 * log(0.2 / p) + 0.8 * log(0.8 / (1 - p)) == pytest.approx(budget, rel=1e-12)
    assert bound.terms["lower end"] < 0.2 < bound.value
    linear = mcallester_bound(0.2, 3.0, 51, 0.1)
    assert linear.value == pytest.approx(0.2 * 1.7071067811865475 + budget * 2.7071067811865475, rel=1e-14)
    assert linear.value == pytest.approx(sum(linear.terms.values()))


@given(shares, divergences, sizes, risks)
def test_each_relaxation_is_weaker(q, divergence, n, delta):
    seeger, two_sided, linear = (
        bound(q, divergence, n, delta).value for bound in (seeger_bound, mcallester_two_sided, mcallester_bound)
    )
    assert q <= seeger <= two_sided * (1 + 1e-14)
    assert two_sided <= linear * (1 + 1e-14)


@given(shares, st.floats(1e-12, 100))
def test_the_step_from_theorem_2_to_theorem_3_holds(q, x):
    p = invert_kl(q, x)
    assert p <= (q + sqrt(2 * q * x) + 2 * x) * (1 + 1e-14)
    assert p <= ((1 + sqrt(0.5)) * q + (2 + sqrt(0.5)) * x) * (1 + 1e-14)


@pytest.mark.parametrize(
    "bound", [seeger_bound, mcallester_two_sided, mcallester_bound, lambda *args: catoni_bound(*args, C=2.0)]
)
@given(shares, shares, divergences, divergences, sizes, sizes, risks, risks)
def test_bounds_rise_with_error_and_divergence_and_fall_with_n_and_delta(bound, q, q2, kl, kl2, n, n2, delta, delta2):
    (q, q2), (kl, kl2), (n2, n), (delta2, delta) = map(sorted, ((q, q2), (kl, kl2), (n, n2), (delta, delta2)))
    base = bound(q, kl, n, delta).value
    for worse in (bound(q2, kl, n, delta), bound(q, kl2, n, delta), bound(q, kl, n2, delta), bound(q, kl, n, delta2)):
        assert base <= worse.value * (1 + 1e-14)


def test_no_posterior_at_infinite_distance_is_promised_anything():
    assert seeger_bound(0.0, inf, 100, 0.05).is_trivial
    assert mcallester_bound(0.0, inf, 100, 0.05).is_trivial
    assert catoni_bound(0.0, inf, 100, 0.05, C=1.0).is_trivial


def test_gaussian_margin_bounds_by_hand():
    divergence = gaussian_divergence([3.0, 0.0], np.diag([0.5, 1.0]))
    assert divergence == pytest.approx(0.5 * (-log(0.5) + 1.5 + 9 - 2))
    tail = 2.7071067811865475 * (divergence + log(2 * 4 / 0.1)) / 3
    assert gaussian_margin_bound(0.9, divergence, 4, 0.1).value == pytest.approx(0.17071067811865476 + tail)
    z, phi = [3.0, 2.0, 0.5, -1.0], norm.ppf(0.9)
    loss = (2 * norm.cdf(-phi) + norm.cdf(-phi + (phi - 0.5)) + norm.cdf(-phi + (phi + 1))) / 4
    slack = gaussian_margin_slack_bound(z, 0.9, divergence, 4, 0.1)
    assert slack.value == pytest.approx(1.7071067811865475 * loss + tail)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20), st.floats(0.501, 1))
def test_slack_costs_nothing_where_all_points_reach_the_target(z, eta):
    z = np.array(z)
    slack = gaussian_margin_slack_bound(z, eta, 1.0, len(z), 0.1).value
    assert slack >= mcallester_bound(norm.cdf(-z).mean(), 1.0, len(z), 0.1).value * (1 - 1e-12)
    assert slack >= gaussian_margin_bound(eta, 1.0, len(z), 0.1).value * (1 - 1e-12)
    reached = np.maximum(z, norm.ppf(eta))
    assert gaussian_margin_slack_bound(reached, eta, 1.0, len(z), 0.1).value == pytest.approx(
        gaussian_margin_bound(eta, 1.0, len(z), 0.1).value
    )


def test_at_a_target_of_one_the_slack_bound_is_that_of_the_training_error():
    z = np.array([-1.0, 0.5, 3.0])
    assert gaussian_margin_slack_bound(z, 1.0, 1.0, 3, 0.1).value == pytest.approx(
        mcallester_bound(norm.cdf(-z).mean(), 1.0, 3, 0.1).value
    )


def test_the_vote_has_twice_the_error_and_the_same_terms():
    assert majority_vote_bound(Bound(0.2, {"divergence": 0.1})) == Bound(0.4, {"divergence": 0.1, "mean error": 0.2})


def failures(bound, rng, hypotheses=1000, n=30, sets=500, risk=0.05):
    """Share of data sets on which the bound fails for the softmin posterior of a finite class under a flat prior."""
    true = np.linspace(0.45, 0.55, hypotheses)
    training = rng.binomial(n, true, size=(sets, hypotheses)) / n
    posterior = np.exp(-3 * n * (training - training.min(axis=1, keepdims=True)))
    posterior /= posterior.sum(axis=1, keepdims=True)
    divergence = xlogy(posterior, posterior * hypotheses).sum(axis=1)
    gibbs = (posterior * training).sum(axis=1)
    values = [bound(q, kl, n, risk).value for q, kl in zip(gibbs, divergence, strict=True)]
    return np.mean(posterior @ true > values)


def assert_holds_on_fresh_data(bound, rng):
    assert failures(bound, rng) <= 0.05


@pytest.mark.parametrize(
    "bound", [seeger_bound, mcallester_two_sided, mcallester_bound, lambda *args: catoni_bound(*args, C=1.0)]
)
def test_bounds_hold_on_fresh_data(bound, rng):
    assert_holds_on_fresh_data(bound, rng)


def test_without_the_price_of_the_choice_the_bound_fails(rng):
    with pytest.raises(AssertionError):
        assert_holds_on_fresh_data(lambda q, kl, n, delta: seeger_bound(q, 0.0, n, delta), rng)


def test_the_moment_is_sharp_for_one_classifier():
    n, p = 30, 0.3
    values = np.array([exp(n * binary_kl(k / n, p)) for k in range(n + 1)])
    k = np.arange(n + 1)
    pmf = np.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + k * log(p) + (n - k) * log(1 - p))
    assert log(pmf @ values) == pytest.approx(log_moment(n), rel=1e-12)


@pytest.mark.parametrize("z", [[1.0, np.nan, 2.0], [np.nan] * 3, [1.0, 2.0]])
def test_margins_are_numbers_one_for_each_point(z):
    with pytest.raises(InvalidProblemError, match="z must hold 3 numbers"):
        gaussian_margin_slack_bound(z, 0.9, 1.0, 3, 0.1)
