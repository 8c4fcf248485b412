from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom, binomtest

from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses.rejection import rows_needed, threshold_for_rate, threshold_for_risk


def by_hand(wrong, confidence, risk, delta):
    """The procedure in words, one row after the other, with the binomial tail of scipy.stats."""
    rows = sorted(zip(confidence, wrong, strict=True), key=lambda row: (-row[0], not row[1]))
    n = len(rows)
    starts = []
    for number in (3, 2, 1):
        first = next(m for m in range(1, 10**6) if (1 - risk) ** m <= delta / number)
        if first * 2 ** (number - 1) <= n:
            starts = [first * 2**i for i in range(number)]
            break
    errors = np.cumsum([w for _, w in rows])
    tail = binom.cdf(errors, np.arange(1, n + 1), risk)
    level, best, alone = 0.0, 0, True
    for count in range(1, n + 1):
        if count in starts:
            alone = level == 0
            level += delta / len(starts)
        if level == 0 or tail[count - 1] > level:
            level = 0.0
            continue
        whole = count == n or rows[count - 1][0] > rows[count][0]
        if whole and (not alone or count == n):
            best = count
        alone = False
    threshold = np.inf if best == 0 else -np.inf if best == n else rows[best][0]
    return threshold, best, sum(w for _, w in rows[:best])


@given(
    st.lists(st.tuples(st.sampled_from([False] * 12 + [True]), st.integers(0, 30)), min_size=1, max_size=120),
    st.sampled_from([0.05, 0.1, 0.2, 0.4]),
    st.sampled_from([0.05, 0.2, 0.5]),
)
def test_the_threshold_for_a_risk_step_by_step(rows, risk, delta):
    wrong, confidence = zip(*rows, strict=True)
    found = threshold_for_risk(wrong, confidence, risk=risk, delta=delta)
    assert found[:3] == by_hand(wrong, confidence, risk, delta)
    above = np.array(confidence) > found.threshold
    assert (above.sum(), np.sum(above & wrong)) == (found.accepted, found.errors)
    if found.accepted:
        upper = (
            binomtest(found.errors, found.accepted).proportion_ci(1 - 2 * delta, method="exact").high
            if delta < 0.5
            else 0
        )
        assert upper <= risk == found.bound


@pytest.mark.parametrize("ties", [False, True])
def test_thresholds_on_the_verge_step_by_step(ties, rng):
    """Error rates about the risk, so that every start, level and restart is met; sizes about those of the starts."""
    part, levels = 0, set()
    for _ in range(300):
        risk, delta = rng.choice([0.1, 0.2, 0.4]), rng.choice([0.05, 0.2, 0.45])
        n = int(rng.integers(1, 5 * rows_needed(risk, delta / 3)))
        depth = rng.integers(0, 20, n) / 20 if ties else rng.random(n)  # 0 is most confident
        wrong = rng.random(n) < risk * rng.choice([0.3, 0.6, 0.9]) * np.exp(rng.choice([0.0, 4.0]) * (depth - 0.5))
        confidence = -depth
        found = threshold_for_risk(wrong, confidence, risk=risk, delta=delta)
        assert found[:3] == by_hand(wrong, confidence, risk, delta)
        part += 0 < found.accepted < n
        if found.accepted:
            levels.add(min(3, int(3 * binom.cdf(found.errors, found.accepted, risk) / delta)))
    assert part > 20  # neither nothing nor all
    assert levels == {0, 1, 2}  # up to a third of delta, two thirds, all of it


ROWS = 400  # enough for starts at 80, 160 and 320 rows at a risk and a delta of 0.05


def accepted(errors_at, n=ROWS):
    """How many rows are accepted if the rows of these ranks, counted from 1, are wrong; all from the last one on."""
    wrong = np.zeros(n, dtype=bool)
    wrong[np.array(errors_at) - 1] = True
    wrong[errors_at[-1] - 1 :] = True
    return threshold_for_risk(wrong, -np.arange(n), risk=0.05, delta=0.05).accepted


def test_a_start_alone_proves_nothing():
    assert accepted([81]) == 0
    assert accepted([82]) == 81
    assert accepted([60], n=100) == 0  # a single start at 59
    assert accepted([61], n=100) == 60
    assert threshold_for_risk([False] * 80, range(80), risk=0.05).accepted == 80  # nothing rejected: known beforehand
    assert accepted([1, 2, 161]) == 0  # the second start passes with two errors, and nothing after it
    assert accepted([1, 2, 162]) == 161


def test_a_start_has_a_third_of_delta_and_what_was_not_lost_before():
    third = 0.05 / 3
    assert third < binom.cdf(1, 100, 0.05) < 0.05
    assert accepted([100, 105]) == 99
    assert third < binom.cdf(3, 166, 0.05) < 2 * third
    assert accepted([130, 155, 166, 170]) == 169
    assert accepted([100, 155, 166, 170]) == 165  # the first third is lost at 100
    assert 2 * third < binom.cdf(9, 321, 0.05) < 0.05
    assert accepted([130, 155, 170, 200, 225, 250, 280, 305, 321, 325]) == 324
    assert accepted([100, 155, 170, 200, 225, 250, 280, 305, 321, 325]) == 169


@pytest.mark.parametrize("ties", [False, True])
def test_more_errors_never_lower_the_threshold(ties, rng):
    confidence = rng.integers(0, 30, 400) if ties else rng.random(400)
    order = rng.permutation(400)
    wrong = np.zeros(400, dtype=bool)
    accepted = []
    for row in order[:60]:
        accepted.append(threshold_for_risk(wrong, confidence, risk=0.1).accepted)
        wrong[row] = True
    assert accepted[0] == 400
    assert all(a >= b for a, b in pairwise(accepted))
    assert accepted[-1] < 400


def test_the_order_of_rows_and_the_scale_of_confidence_do_not_matter(rng):
    confidence = rng.integers(0, 40, 1000).astype(float)
    wrong = rng.random(1000) < 0.5 * np.exp(-confidence / 8)
    found = threshold_for_risk(wrong, confidence, risk=0.1)
    shuffled = rng.permutation(1000)
    assert threshold_for_risk(wrong[shuffled], confidence[shuffled], risk=0.1) == found
    scaled = threshold_for_risk(wrong, np.exp(confidence), risk=0.1)
    assert scaled[1:] == found[1:]
    assert 0 < found.accepted < 1000


@pytest.mark.parametrize(("risk", "delta"), [(0.02, 0.05), (0.1, 0.01), (0.3, 0.3)])
def test_rows_needed(risk, delta):
    n = rows_needed(risk, delta)
    assert (1 - risk) ** n <= delta < (1 - risk) ** (n - 1)
    assert threshold_for_risk([False] * n, range(n), risk=risk, delta=delta) == (-np.inf, n, 0, risk)
    assert threshold_for_risk([False] * (n - 1), range(n - 1), risk=risk, delta=delta).threshold == np.inf


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=60), st.floats(0, 0.99))
def test_the_threshold_for_a_rate_rejects_as_many_rows_as_fit(rows, rate):
    wrong, confidence = (np.array(column) for column in zip(*rows, strict=True))
    found = threshold_for_rate(wrong, confidence, rate=rate)
    above = confidence > found.threshold
    assert found.accepted == above.sum() > 0
    assert found.errors == np.sum(wrong & above)
    assert 1 - above.mean() <= rate + 1e-8
    next_one = confidence > confidence[above].min()
    assert 1 - next_one.mean() > rate - 1e-8  # one group more would be too much
    assert found.bound >= binomtest(int(found.errors), int(found.accepted)).proportion_ci(0.95, "exact").high - 1e-9


@pytest.mark.parametrize(("ties", "level"), [(False, 0.05 / 2), (True, 0.05 / 2 / 40)])
def test_the_bound_of_a_rate_pays_for_ties(ties, level):
    wrong = np.arange(40) % 9 == 4
    confidence = -(np.arange(40) // 4 if ties else np.arange(40))
    found = threshold_for_rate(wrong, confidence, rate=0.25, delta=0.05)
    assert found[:3] == ((-8, 32, 4) if ties else (-30, 30, 3))
    assert found.bound == pytest.approx(beta.ppf(1 - level, found.errors + 1, found.accepted - found.errors))


WORLDS = {  # error rate of slabs of confidence, from the top, and whether a slab is a single value
    "barely too much everywhere": ([0.31] * 4, False),
    "one value": ([0.31], True),
    "good, then bad": ([0.1, 0.6, 0.6, 0.6], False),
    "bad at the top": ([0.9, 0.1, 0.1, 0.9], False),
    "bad at the top, few values": ([0.9, 0.1, 0.1, 0.9], True),
    "up and down": ([0.29, 0.33, 0.26, 0.33], False),
    "up and down, few values": ([0.32, 0.29, 0.27, 0.35], True),
}
RISK, DELTA, SETS = 0.3, 0.2, 2000


def violations(method, rates, lumps, rng):
    """Share of data sets where the rows above the threshold have a larger error than promised; known exactly."""
    rates, k = np.array(rates), len(rates)
    failures = 0
    for _ in range(SETS):
        depth = k * rng.random(60)  # 0 is most confident
        wrong = rng.random(60) < rates[depth.astype(int)]
        found = method(wrong, -depth.astype(int) if lumps else -depth)
        if found.accepted:
            reached = -found.threshold if np.isfinite(found.threshold) else k
            mass = np.clip(reached - np.arange(k), 0, 1)
            failures += mass @ rates > found.bound * mass.sum() + 1e-12
    return failures / SETS


@pytest.mark.parametrize("world", WORLDS)
def test_the_guarantee_survives_the_choice_of_the_threshold(world, rng):
    tolerance = 3 * np.sqrt(DELTA * (1 - DELTA) / SETS)
    for method in (
        lambda wrong, confidence: threshold_for_risk(wrong, confidence, risk=RISK, delta=DELTA),
        lambda wrong, confidence: threshold_for_rate(wrong, confidence, rate=0.3, delta=DELTA),
    ):
        assert violations(method, *WORLDS[world], rng) <= DELTA + tolerance


@pytest.mark.parametrize(("risk", "delta"), [(0.5, 0.4), (0.6, 0.2)])
def test_the_guarantee_by_all_sequences_of_errors(risk, delta):
    """Errors at a rate that is just too high at every threshold: accepting anything at all is wrong. No chance here."""
    n = 4 * rows_needed(risk, delta / 3)  # just enough for all three starts
    broken = sum(
        risk ** sum(wrong) * (1 - risk) ** (n - sum(wrong))
        for wrong in product([False, True], repeat=n)
        if threshold_for_risk(wrong, range(n), risk=risk, delta=delta).accepted
    )
    assert 0.25 * delta < broken <= delta


def test_a_perfect_confidence_may_be_infinite():
    found = threshold_for_risk([False] * 90 + [True] * 30, [np.inf] * 90 + [0.0] * 30, risk=0.05)
    assert found == (0.0, 90, 0, 0.05)


def test_the_best_of_all_thresholds_without_paying_for_the_choice_fails(rng):
    """Every count that passes its own test, as if it were the only one."""

    def greedy(wrong, confidence):
        order = np.argsort(-confidence)
        errors, counts = np.cumsum(wrong[order]), np.arange(1, len(wrong) + 1)
        passed = np.flatnonzero(binom.cdf(errors, counts, RISK) <= DELTA)
        found = threshold_for_risk(wrong, confidence, risk=RISK, delta=DELTA)
        if not len(passed):
            return found._replace(accepted=0)
        kept = passed[-1] + 1
        return found._replace(
            threshold=confidence[order][kept] if kept < len(wrong) else -np.inf, accepted=kept, bound=RISK
        )

    assert violations(greedy, *WORLDS["barely too much everywhere"], rng) > DELTA + 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"risk": 0}, "risk must lie strictly between 0 and 1"),
        ({"risk": 1.5}, "risk must lie strictly between 0 and 1"),
        ({"risk": 0.1, "delta": 0}, "delta must lie strictly between 0 and 1"),
    ],
)
def test_bad_risks_are_refused(options, message):
    for call in (lambda: threshold_for_risk([False], [1.0], **options), lambda: rows_needed(**options)):
        with pytest.raises(InvalidProblemError, match=message):
            call()


def test_bad_rates_and_confidences_are_refused():
    for rate in (1, -0.1, "half"):
        with pytest.raises(InvalidProblemError, match="rate must be at least 0 and below 1"):
            threshold_for_rate([False], [1.0], rate=rate)
    with pytest.raises(InvalidProblemError, match="one confidence for each calibration row"):
        threshold_for_rate([False], [1.0, 2.0], rate=0.1)
    for value in (np.nan, -np.inf):
        with pytest.raises(InvalidProblemError, match="NaN or minus infinity"):
            threshold_for_rate([False], [value], rate=0.1)
