import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from bayespoint.bounds import binomial_bound, invert_kl

risks = st.floats(1e-12, 0.999)


@st.composite
def counts(draw):
    n = draw(st.integers(1, 3000))
    return draw(st.integers(0, n)), n


def test_no_errors_by_hand():
    assert binomial_bound(0, 50, 0.05).value == pytest.approx(1 - 0.05 ** (1 / 50), rel=1e-14)


def test_all_but_one_error_by_hand():
    assert binomial_bound(4, 5, 0.05).value == pytest.approx(0.95 ** (1 / 5), rel=1e-14)
    assert binomial_bound(5, 5, 0.05).value == 1.0


def test_terms_add_up():
    bound = binomial_bound(7, 100, 0.1)
    assert bound.terms["test error"] == 0.07
    assert sum(bound.terms.values()) == pytest.approx(bound.value)


@given(counts(), risks)
def test_the_tail_at_the_bound_is_delta(count, delta):
    errors, n = count
    value = binomial_bound(errors, n, delta).value
    if errors < n:
        assert binom.cdf(errors, n, value) == pytest.approx(delta, rel=1e-8)


@pytest.mark.parametrize("errors", [0, 1, 13, 59, 60])
def test_it_is_the_interval_of_clopper_and_pearson(errors):
    interval = binomtest(errors, 60, alternative="less").proportion_ci(0.97, method="exact")
    assert binomial_bound(errors, 60, 0.03).value == pytest.approx(interval.high, rel=1e-10)


@given(counts(), risks, risks)
def test_the_bound_is_monotone_and_sharper_than_chernoff(count, delta, delta2):
    (errors, n), (delta2, delta) = count, sorted((delta, delta2))
    value = binomial_bound(errors, n, delta).value
    assert value <= binomial_bound(errors, n, delta2).value * (1 + 1e-12)
    assert value >= binomial_bound(errors, n + 1, delta).value * (1 - 1e-12)
    assert value <= binomial_bound(errors + 1, n + 1, delta).value * (1 + 1e-12)
    assert value <= invert_kl(errors / n, -np.log(delta) / n) * (1 + 1e-12)


def failures(bound, p, rng, n=50, sets=2000):
    values = np.array([bound(errors, n) for errors in range(n + 1)])
    return np.mean(p > values[rng.binomial(n, p, size=sets)])


@pytest.mark.parametrize("p", [0.01, 0.0582, 0.2, 0.5, 0.9])
def test_the_bound_fails_as_often_as_it_says(p, rng):
    assert failures(lambda k, n: binomial_bound(k, n, 0.05).value, p, rng) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 2000)


def test_a_normal_approximation_fails_more_often(rng):
    def normal(k, n):
        return k / n + 1.645 * np.sqrt(k / n * (1 - k / n) / n)

    assert failures(normal, 0.01, rng) > 0.3
