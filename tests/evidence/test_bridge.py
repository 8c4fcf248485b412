"""The bridge over many levels on toys whose normalisers are known."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from bayespoint.evidence._bridge import bridge, effective_share, tempered

# -- Gaussians: p_level ~ exp(-x^2 / 2 - level a x^2 / 2), log-normaliser -log(1 + a level) / 2 up to a constant ------

RISE = 8.0
LEVELS = np.array([0.0, 0.1, 0.4, 1.0])
TRUTH = -0.5 * np.log1p(RISE * LEVELS)


def gaussian_potentials(rng, draws, memory=0.0, chains=1):
    """Autoregressive draws of every level, started in equilibrium."""
    potentials = []
    for level in LEVELS:
        noise = rng.standard_normal((chains, draws))
        x = noise.copy()
        for t in range(1, draws):
            x[:, t] = memory * x[:, t - 1] + np.sqrt(1 - memory**2) * noise[:, t]
        potentials.append(0.5 * RISE * x**2 / (1 + RISE * level))
    return potentials


def spread_to_error(memory, chains, shuffle=False, repeats=80, draws=150):
    """Spread of the value over repeats, and its mean offset, in units of the error that the bridge reports."""
    values, variances = [], []
    for k in range(repeats):
        rng = np.random.default_rng([k, chains])
        potentials = gaussian_potentials(rng, draws, memory, chains)
        if shuffle:  # forget that draws are correlated
            potentials = [rng.permuted(u, axis=1) for u in potentials]
        ratio = bridge(potentials, LEVELS)
        values.append(ratio.value)
        variances.append(ratio.variance.sum())
    error = np.sqrt(np.mean(variances))
    return np.std(values, ddof=1) / error, (np.mean(values) - TRUTH[-1]) / error


@pytest.mark.parametrize(("memory", "chains"), [(0.0, 1), (0.9, 1), (0.9, 4), (-0.6, 1)])
def test_the_error_is_the_spread_over_repeats(memory, chains):
    """80 repeats know the spread to 8 %; the offset is known to 0.1 errors, and a bias of order 1/draws is left."""
    spread, offset = spread_to_error(memory, chains)
    assert 0.7 < spread < 1.4
    assert abs(offset) < 0.5


def test_an_error_that_ignores_correlation_is_told():
    assert spread_to_error(0.9, 1, shuffle=True)[0] > 1.6


def test_all_normalisers_are_found(rng):
    ratio = bridge(gaussian_potentials(rng, 20_000), LEVELS)
    assert ratio.value == pytest.approx(ratio.log_normalisers[-1] - ratio.log_normalisers[0])
    np.testing.assert_allclose(ratio.log_normalisers - ratio.log_normalisers[0], TRUTH, atol=0.02)
    assert ratio.variance.shape == LEVELS.shape
    assert np.all(ratio.variance >= 0)


def test_the_solution_is_self_consistent(rng):
    """Equation 11 of Shirts and Chodera, with the mixture of all levels in the denominator."""
    potentials = gaussian_potentials(rng, 200)
    u = np.concatenate([p.ravel() for p in potentials])
    sizes = np.array([p.size for p in potentials])
    log_z = bridge(potentials, LEVELS).log_normalisers
    mixture = sum(n * np.exp(-level * u - z) for n, level, z in zip(sizes, LEVELS, log_z, strict=True))
    again = np.array([np.log(np.sum(np.exp(-level * u) / mixture)) for level in LEVELS])
    np.testing.assert_allclose(again - again[0], log_z - log_z[0], atol=1e-8)


def test_two_levels_are_the_acceptance_ratio_of_bennett(rng):
    before, after = gaussian_potentials(rng, 300)[::3]
    after = after[:, :200]

    def imbalance(value):  # log Z_1 / Z_0
        shift = value - np.log(after.size / before.size)
        return expit(-before - shift).sum() - expit(after + shift).sum()

    expected = brentq(imbalance, -10, 10, xtol=1e-12)
    assert bridge([before, after], LEVELS[[0, 3]]).value == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("shift", [0.0, 700.0, -3000.0])
def test_large_potentials_do_no_harm(shift, rng):
    potentials = gaussian_potentials(rng, 300)
    plain = bridge(potentials, LEVELS)
    moved = bridge([u + shift for u in potentials], LEVELS)
    assert moved.value == pytest.approx(plain.value - shift, abs=1e-6)
    np.testing.assert_allclose(moved.variance, plain.variance, rtol=1e-4)


def test_constant_potentials_have_no_error():
    ratio = bridge([np.full((1, 50), 2.0), np.full((1, 30), 2.0)], np.array([0.0, 1.0]))
    assert ratio.value == pytest.approx(-2.0)
    assert ratio.variance.sum() == 0


# -- mistakes: a potential of whole numbers, and walls of infinite energy at the end ---------------------------------


def mistakes(rng, levels, draws, size=6, p=0.35):
    """Independent mistakes; at a level each has odds p exp(-level) : 1 - p. No mistake at all: (1 - p)^size."""
    odds = p / (1 - p) * np.exp(-levels)
    return [rng.binomial(size, o / (1 + o), size=(1, draws)).astype(float) for o in odds]


def test_an_infinite_level_is_the_share_without_mistakes():
    levels = np.array([0.0, 1.0, 2.5, np.inf])
    values, variances = [], []
    for k in range(150):
        ratio = bridge(mistakes(np.random.default_rng(k), levels, 200), levels)
        values.append(ratio.value)
        variances.append(ratio.variance.sum())
        assert ratio.variance[-1] == 0  # nothing varies behind infinite walls
    error = np.sqrt(np.mean(variances))
    assert 0.7 < np.std(values, ddof=1) / error < 1.4
    assert abs(np.mean(values) - 6 * np.log(0.65)) < 0.5 * error


def test_an_infinite_level_alone_is_a_count(rng):
    before, after = mistakes(rng, np.array([0.0, np.inf]), 400)
    assert bridge([before, after], np.array([0.0, np.inf])).value == pytest.approx(np.log(np.mean(before == 0)))


def test_tempered_forbids_what_an_infinite_level_forbids():
    u = np.array([0.0, 1.0, 3.0])
    np.testing.assert_array_equal(tempered(np.inf, u), [0.0, -np.inf, -np.inf])
    np.testing.assert_array_equal(tempered(2.0, u), [0.0, -2.0, -6.0])
    np.testing.assert_array_equal(tempered(0.0, u), [0.0, 0.0, 0.0])
    levels = np.array([0.0, 1.5, np.inf])
    np.testing.assert_array_equal(tempered(levels[:, None], u[None, :])[1:], [[0, -1.5, -4.5], [0, -np.inf, -np.inf]])


# -- effective share -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "share"), [([1, 1, 1, 1], 1.0), ([1, 0, 0, 0], 0.25), ([3, 3, 0, 0], 0.5), ([2, 1], 0.9)]
)
def test_the_effective_share_by_hand(weights, share):
    with np.errstate(divide="ignore"):
        log_weights = np.log(np.array(weights, dtype=float))
    for shift in (0.0, 1e4, -1e4):
        assert effective_share(log_weights + shift) == pytest.approx(share)


def test_the_effective_share_falls_with_the_distance(rng):
    u = rng.exponential(size=5000)
    shares = [effective_share(tempered(level, u)) for level in (0.0, 0.5, 1.0, 2.0, 4.0)]
    assert all(one > other for one, other in pairwise(shares))
    # E[w]^2 / E[w^2] of w = exp(-level u): (1 + 2 level) / (1 + level)^2
    np.testing.assert_allclose(shares, [(1 + 2 * a) / (1 + a) ** 2 for a in (0.0, 0.5, 1.0, 2.0, 4.0)], rtol=0.05)
