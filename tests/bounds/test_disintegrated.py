import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, multivariate_normal

from bayespoint.bounds import binomial_bound, disintegrated_bound, invert_kl
from bayespoint.bounds.disintegrated import draw_by_bound
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import NaturalGaussian

POWER = 0.1


@st.composite
def counts(draw):
    n = draw(st.integers(1, 3000))
    return draw(st.integers(0, n - 1)), n


@given(counts(), st.floats(-2.0, 60.0), st.floats(1e-4, 0.5), st.integers(1, 20))
def test_the_tail_at_the_bound_is_what_is_paid(count, log_ratio, delta, choices):
    errors, n = count
    value = disintegrated_bound(errors, n, log_ratio, delta, choices).value
    tail = min((POWER * delta / (choices * np.exp(log_ratio))) ** (1 / (1 - POWER)), 1.0)
    assert binom.cdf(errors, n, value) == pytest.approx(tail, rel=1e-6)


def test_it_is_a_test_set_bound_at_a_smaller_risk():
    found = disintegrated_bound(7, 100, 0.0, 0.05)
    assert found.value == pytest.approx(binomial_bound(7, 100, (POWER * 0.05) ** (1 / (1 - POWER))).value)
    assert found.terms["training error"] == 0.07
    assert sum(found.terms.values()) - 0.07 == pytest.approx(-np.log(POWER * 0.05) / 100)


@pytest.mark.parametrize("p", [0.001, 0.03, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("n", [1, 20, 500])
def test_what_is_averaged_over_the_prior_has_a_mean_of_one_at_the_most(n, p):
    """The step of the proof that no paper has, by summing over all counts; a larger power of U is none."""
    k = np.arange(n + 1)
    k = k[binom.pmf(k, n, p) > 1e-250]  # the others add up to nothing
    log_tail, log_chance = binom.logcdf(k, n, p), binom.logpmf(k, n, p)
    assert np.exp(log_chance + np.log(POWER) + (POWER - 1) * log_tail).sum() <= 1
    if n * p > 5:
        assert np.exp(log_chance - log_tail).sum() > 1


def rivasplata_bound(errors, n, log_ratio, delta):
    """Theorem 1 (i) of Rivasplata and others (2020) with F = n kl: kl <= (log ratio + log(2 sqrt(n) / delta)) / n."""
    return invert_kl(errors / n, max(log_ratio + np.log(2 * np.sqrt(n) / delta), 0.0) / n)


def viallard_bound(errors, n, renyi, delta, order=2.0):
    """Theorem 2 of Viallard and others (2024) with phi = exp((order - 1) / order n kl), the Renyi divergence given.

    Of order 2 it reads kl <= (D_2 + log(16 sqrt(n) / delta^3)) / n, their form for Gaussians.
    """
    price = (2 * order - 1) / (order - 1) * np.log(2 / delta) + np.log(2 * np.sqrt(n))
    return invert_kl(errors / n, (renyi + price) / n)


def test_the_second_order_has_the_constant_of_the_paper():
    found = viallard_bound(30, 400, 5.0, 0.05)
    assert found == pytest.approx(invert_kl(30 / 400, (5.0 + np.log(16 * np.sqrt(400) / 0.05**3)) / 400))


GRID = [
    (n, errors, nats, delta)
    for n in (100, 500, 2000, 20_000)
    for errors in sorted({0, 1, n // 100, n // 10, n // 3, n // 2 - 5})
    for nats in (-2.0, 0.0, 4.0, 12.0, 26.0, 60.0, 200.0)
    for delta in (0.2, 0.05, 0.001)
]


def test_beside_the_bounds_of_the_papers():
    """Sharper unless errors are next to none or the ratio is large: there up to a tenth is lost, and no more.

    The divergence of a posterior is the mean of its log ratio, that of Renyi is no smaller: equal is their best case.
    """
    orders = (1.1, 1.5, 2.0, 3.0, 10.0)
    ours = np.array([disintegrated_bound(k, n, nats, delta).value for n, k, nats, delta in GRID])
    one = ours / [rivasplata_bound(k, n, nats, delta) for n, k, nats, delta in GRID]
    other = ours / [
        min(viallard_bound(k, n, max(nats, 0.0), delta, order) for order in orders) for n, k, nats, delta in GRID
    ]
    n, k, nats, _ = np.array(GRID).T
    usual = (k >= 0.1 * n) & (nats <= np.where(n >= 500, 26, 12))
    few = (k > 0) & (nats <= 4)
    assert usual.sum() > 100
    assert few.sum() > 100
    assert one[usual | few].max() < 1
    assert 1 < one.max() < 1.1
    assert other[usual | few].max() < 1
    assert other.max() < 1.08


def test_all_wrong_or_infinitely_far_says_nothing():
    assert disintegrated_bound(10, 10, 0.0, 0.05).is_trivial
    assert disintegrated_bound(0, 10, np.inf, 0.05).is_trivial


def test_luck_beyond_the_prior_is_not_paid_out():
    assert disintegrated_bound(3, 10, -100.0, 0.05).value < binomial_bound(3, 10, 0.999).value


@pytest.mark.parametrize(
    ("arguments", "match"),
    [((11, 10, 0.0, 0.05), "errors"), ((1, 0, 0.0, 0.05), "n must"), ((1, 10, np.nan, 0.05), "log_ratio")],
)
def test_bad_arguments_have_one_sentence(arguments, match):
    with pytest.raises(InvalidProblemError, match=match):
        disintegrated_bound(*arguments)


# -- draws ------------------------------------------------------------------------------------------------------------


def gaussians(rng, rank=3):
    """A prior and a posterior that are neither isotropic nor alike."""
    root = rng.normal(size=(rank, rank))
    prior = NaturalGaussian(root @ root.T + np.eye(rank), rng.normal(size=rank))
    rows = rng.normal(size=(40, rank))
    return prior, prior + NaturalGaussian.of_sites(rows, rng.uniform(0, 0.2, 40), rng.normal(size=40))


def drawn(rng, seed=0, **options):
    pairs = [gaussians(rng), gaussians(rng)]
    features, labels = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    found = draw_by_bound(
        *([pair[k] for pair in pairs] for k in (0, 1)),
        features,
        lambda latents: latents.argmax(axis=1) != labels,
        0.05,
        np.random.default_rng(seed),
        **options,
    )
    return found, pairs, features, labels


@pytest.mark.parametrize("is_learned", [False, True])
def test_the_bound_is_that_of_the_densities_at_the_draw(is_learned, rng):
    """Densities by scipy, in the coordinates as they are."""
    found, pairs, features, labels = drawn(rng, is_learned=is_learned)
    log_ratio = 0.0
    for (prior, posterior), w in zip(pairs, found.weights, strict=True):
        both = zip(parts(prior), parts(posterior), strict=True)
        between = [(1 - found.share) * a + found.share * b for a, b in both]
        mean, covariance = np.linalg.solve(*between), found.width * np.linalg.inv(between[0])
        log_ratio += multivariate_normal.logpdf(w, mean, covariance)
        log_ratio -= multivariate_normal.logpdf(w, prior.mean, found.width * prior.covariance)
    errors = int(np.sum((features @ found.weights.T).argmax(axis=1) != labels))
    expected = disintegrated_bound(errors, 60, log_ratio, 0.05, 6 if is_learned else 1)
    assert found.bound.value == pytest.approx(expected.value, rel=1e-9)
    assert found.bound.terms["log ratio"] == pytest.approx(log_ratio / 60, abs=1e-12)


def parts(gaussian):
    return gaussian.precision, gaussian.shift


def test_a_draw_is_the_same_for_the_same_seed_alone(rng):
    seeds = np.random.SeedSequence(5).spawn(1)[0]
    first, second, other = (drawn(np.random.default_rng(seeds), seed, is_learned=True)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.weights, second.weights)
    assert np.abs(first.weights - other.weights).max() > 1e-6


def test_draws_follow_the_posterior(rng):
    """Mean and covariance over many seeds, in Monte Carlo standard errors."""
    prior, posterior = gaussians(rng)
    features = rng.normal(size=(50, 3))
    labels = np.sign(features @ posterior.mean)
    many = [
        draw_by_bound([prior], [posterior], features, lambda f: f[:, 0] * labels <= 0, 0.05, rng, is_learned=False)
        for rng in np.random.default_rng(1).spawn(600)
    ]
    shares = np.array([one.share for one in many])
    share = np.median(shares)
    weights = np.array([one.weights[0] for one in many if one.share == share])
    assert len(weights) > 100
    precision, shift = ((1 - share) * a + share * b for a, b in zip(parts(prior), parts(posterior), strict=True))
    z = (weights - np.linalg.solve(precision, shift)) @ np.linalg.cholesky(precision)
    assert np.all(np.abs(z.mean(axis=0)) < 4 / np.sqrt(len(z)))
    assert np.all(np.abs(z.T @ z / len(z) - np.eye(3)) < 4 * np.sqrt(2 / len(z)))
