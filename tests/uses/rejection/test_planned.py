"""Thresholds tested at once where a pilot expects the right one: exact chances, and worlds made to break them."""

from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from bayespoint import BayesPointClassifier, RejectingClassifier
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.uses.rejection import rows_needed, threshold_for_risk
from bayespoint.uses.rejection._boundary import allowed_errors, largest_errors, passed_in_window
from bayespoint.uses.rejection._pilot import curve_of, planned_window, rows_that_would_do

RISK, DELTA, SETS = 0.3, 0.2, 150


def sequences(n, rate):
    """All sequences of errors of a coin, as running sums, and their chances."""
    rows = np.array(list(product([0, 1], repeat=n)))
    ones = rows.sum(axis=1)
    return np.cumsum(rows, axis=1), rate**ones * (1 - rate) ** (n - ones)


@pytest.mark.parametrize(("first", "last"), [(4, 4), (4, 10), (6, 9), (10, 10)])
@pytest.mark.parametrize(("risk", "delta"), [(0.5, 0.2), (0.6, 0.05)])
def test_the_guarantee_by_all_sequences_of_errors(first, last, risk, delta):
    """Errors at a rate that is just too high at every threshold: whatever is proven is so wrongly. No chance here."""
    errors, chance = sequences(10, risk)
    broken = sum(
        p for row, p in zip(errors, chance, strict=True) if passed_in_window(row, first, last, risk, delta).any()
    )
    assert broken <= delta * (1 + 1e-9)
    if (first, last, risk) == (4, 10, 0.5):
        assert broken > 0.3 * delta  # what is paid for is used
        greedy = np.any(errors[:, first - 1 : last] <= largest_errors(np.arange(first, last + 1), risk, delta), axis=1)
        assert chance[greedy].sum() > delta  # each count as if it were the only one


def test_numbers_of_errors_by_their_definition():
    counts = np.arange(1, 60)
    allowed = largest_errors(counts, 0.1, 0.05)
    for count, most in zip(counts, allowed, strict=True):
        assert binom.cdf(most, count, 0.1) <= 0.05 < binom.cdf(most + 1, count, 0.1)
    assert np.all(allowed_errors(30, 59, 0.1, 0.05) <= allowed[29:])
    assert allowed_errors(30, 30, 0.1, 0.05)[0] == allowed[29]


def test_more_errors_never_prove_more(rng):
    for _ in range(50):
        wrong = rng.random(60) < 0.2
        more = wrong | (rng.random(60) < 0.05)
        fewer = passed_in_window(np.cumsum(wrong), 20, 45, RISK, DELTA)
        assert not np.any(passed_in_window(np.cumsum(more), 20, 45, RISK, DELTA) & ~fewer)


WORLDS = {  # error rate of slabs of confidence, from the top, and whether a slab is a single value
    "barely too much everywhere": ([0.31] * 4, False),
    "good, then bad": ([0.1, 0.6, 0.6, 0.6], False),
    "bad at the top": ([0.9, 0.1, 0.1, 0.9], False),
    "bad at the top, few values": ([0.9, 0.1, 0.1, 0.9], True),
    "up and down": ([0.29, 0.33, 0.26, 0.33], False),
    "up and down, few values": ([0.32, 0.29, 0.27, 0.35], True),
    "a rare class, all of it wrong": ([0.28, 0.28, 0.28, 0.999], False),
}
PILOTS = {  # errors in the order of confidence, whatever the world is like
    "fits": None,
    "all right": np.zeros(60, dtype=bool),
    "all wrong": np.ones(60, dtype=bool),
    "upside down": np.arange(60) < 20,
}


def violations(window, rates, lumps, rng, test=passed_in_window):
    """Share of data sets where the rows above the threshold have a larger error than promised; known exactly."""
    rates, k = np.array(rates), len(rates)
    failures = 0
    for _ in range(SETS):
        depth = k * rng.random(60)  # 0 is most confident
        wrong = rng.random(60) < rates[depth.astype(int)]
        confidence = -depth.astype(int) if lumps else -depth
        order = np.lexsort((~wrong, -confidence))
        ranked = confidence[order]
        usable = test(np.cumsum(wrong[order]), *window, RISK, DELTA) & np.append(ranked[:-1] > ranked[1:], True)
        if usable.any():
            kept = int(np.flatnonzero(usable)[-1]) + 1
            reached = -ranked[kept] if kept < 60 else k
            mass = np.clip(reached - np.arange(k), 0, 1)
            failures += mass @ rates > RISK * mass.sum() + 1e-12
    return failures / SETS


def pilot_window(name, rates, rng):
    pilot = PILOTS[name]
    if pilot is None:
        depth = np.sort(len(rates) * rng.random(60))
        pilot = rng.random(60) < np.array(rates)[depth.astype(int)]
    return planned_window(pilot, 60, RISK, DELTA)


@pytest.mark.parametrize("pilot", PILOTS)
@pytest.mark.parametrize("world", WORLDS)
def test_the_guarantee_holds_whatever_the_pilot_says(world, pilot, rng):
    window = pilot_window(pilot, WORLDS[world][0], rng)
    assert violations(window, *WORLDS[world], rng) <= DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / SETS)


def test_without_the_price_of_the_window_it_fails(rng):
    def greedy(errors, first, last, risk, delta):
        passed = np.zeros(len(errors), dtype=bool)
        passed[first - 1 : last] = errors[first - 1 : last] <= largest_errors(np.arange(first, last + 1), risk, delta)
        return passed

    assert violations((10, 60), *WORLDS["barely too much everywhere"], rng, greedy) > DELTA + 0.05


def test_a_pilot_helps_where_it_knows(rng):
    """Errors among the surest rows, at a rate that is allowed: the tests have to begin further down."""
    n, with_pilot, without = 300, [], []
    for _ in range(20):
        wrong = rng.random(n) < np.where(np.arange(n) < 240, 0.03, 0.6)
        pilot = rng.random(n) < np.where(np.arange(n) < 240, 0.03, 0.6)
        rank = -np.arange(n)
        with_pilot.append(threshold_for_risk(wrong, rank, risk=0.07, pilot=(pilot, rank)).accepted)
        without.append(threshold_for_risk(wrong, rank, risk=0.07).accepted)
    assert np.mean(with_pilot) > 1.1 * np.mean(without)
    assert np.mean(np.equal(with_pilot, 0)) <= np.mean(np.equal(without, 0))


def test_ties_are_never_divided(rng):
    confidence = rng.integers(0, 6, 200)
    wrong = rng.random(200) < 0.25 - 0.045 * confidence
    found = threshold_for_risk(wrong, confidence, risk=0.2, pilot=(wrong, confidence))
    assert found.accepted == np.sum(confidence > found.threshold) > 0


def test_too_few_rows_for_any_plan():
    assert planned_window(np.zeros(30, dtype=bool), 20, 0.05, 0.05) is None
    assert threshold_for_risk([False] * 20, range(20), risk=0.05, pilot=([False] * 30, range(30))).accepted == 0


def test_the_curve_finds_what_it_was_drawn_from(rng):
    ranks = (np.arange(4000) + 0.5) / 4000
    odds = np.exp(-1 + 0.8 * np.log(ranks))
    found = curve_of(rng.random(4000) < odds / (1 + odds))
    error = (found.mean - [-1, 0.8]) / np.sqrt(np.diag(found.covariance))
    assert np.abs(error).max() < 3.5


def test_as_many_rows_as_are_said_would_do(rng):
    wrong = rng.random(400) < 0.25 * (np.arange(400) + 0.5) / 400
    curve = curve_of(wrong)
    n = rows_that_would_do(curve, 0.05, 0.05)
    assert n > rows_needed(0.05)
    chance = curve.errors((np.arange(n) + 0.5) / n, curve.mean)

    def accepted(m):
        rows = np.sort(rng.integers(0, n, m))
        errors = rng.random(m) < chance[rows]
        return threshold_for_risk(errors, -np.arange(m), risk=0.05, pilot=(wrong, -np.arange(400))).accepted > 0

    assert np.mean([accepted(n) for _ in range(6)]) >= 0.6
    assert np.mean([accepted(n // 12) for _ in range(6)]) < 0.6
    assert rows_that_would_do(curve_of(np.ones(300, dtype=bool)), 0.03, 0.05) is None


def two_classes(n, rng):
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int)


def test_folds_or_leave_one_out(rng):
    X, y = two_classes(400, rng)

    class Counting(LogisticRegression):
        fits = 0

        def fit(self, X, y, sample_weight=None):
            Counting.fits += 1
            return super().fit(X, y, sample_weight)

    for options, fits in (({"risk": 0.1, "turns": 1}, 6), ({"risk": 0.1, "pilot": None}, 2), ({"rate": 0.1}, 1)):
        Counting.fits = 0
        RejectingClassifier(Counting(), random_state=0, **options).fit(X, y)
        assert Counting.fits == fits
    model = RejectingClassifier(BayesPointClassifier("linear", optimizer=None), risk=0.1, random_state=0).fit(X, y)
    assert hasattr(model.estimator_, "loo_proba_")
    assert model.coverage_ > 0


def test_the_warning_says_how_many_rows_would_do(rng):
    X, y = two_classes(160, rng)
    with pytest.warns(InferenceWarning, match=r"about [\d,]+ would probably do"):
        RejectingClassifier(LogisticRegression(), risk=0.02, random_state=0).fit(X, y)
    coins = rng.integers(0, 2, 160)
    with pytest.warns(InferenceWarning, match=r"no number of rows would do|about [\d,]{5,} would"):
        RejectingClassifier(LogisticRegression(), risk=0.02, random_state=0).fit(X, coins)


def test_one_in_a_thousand(rng):
    """A rare class that the folds of the pilot may lack."""
    X = rng.normal(size=(2000, 2))
    y = np.zeros(2000, dtype=int)
    y[:2] = 1
    for k in range(3):
        model = RejectingClassifier(LogisticRegression(), risk=0.01, random_state=k)
        with suppress(InvalidProblemError):  # both rows are for calibration, and one class is left to learn
            assert model.fit(X, y).coverage_ > 0.5
