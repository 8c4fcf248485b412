"""Limits and alarms at all times: by hand, by quadrature, and over many runs."""

import json
from math import log

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression, SGDClassifier

from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses import ErrorMonitor


def test_limits_by_quadrature(rng):
    """At a limit the mean capital of bets on rates drawn from Beta(1/2, 5/2) is 1 / delta."""
    losses = (rng.random(60) < 0.2).astype(float)
    monitor = ErrorMonitor(delta=0.1)
    monitor.update_losses(losses)

    def capital(m):
        def bet(angle):  # the rate is sin^2 of an angle with a density as cos^4
            p = np.sin(angle) ** 2
            return np.cos(angle) ** 4 * np.prod(1 + (p - m) / (m * (1 - m)) * (losses - m))

        return quad(bet, 0, np.pi / 2)[0] / quad(lambda angle: np.cos(angle) ** 4, 0, np.pi / 2)[0]

    low, high = monitor.interval()
    assert 0 < low < losses.mean() < high < 1
    assert capital(low) == pytest.approx(10, rel=1e-5)
    assert capital(high) == pytest.approx(10, rel=1e-5)


def test_evidence_by_its_definition(rng):
    """The sum over all bets and all rows at which they begin."""
    promised, losses = 0.2, rng.random(12)
    monitor = ErrorMonitor(promised)
    monitor.update_losses(losses)
    rates = promised + (1 - promised) * (np.arange(16) + 0.5) ** 2 / 256
    total = 1 / np.log2(len(losses) + 2)
    for begin in range(12):
        share = 1 / np.log2(begin + 2) - 1 / np.log2(begin + 3)
        bets = (rates[:, None] - promised) / (promised * (1 - promised))
        total += share * np.mean(np.prod(1 + bets * (losses[begin:] - promised), axis=1))
    assert monitor.evidence == pytest.approx(log(total), abs=1e-12)


def test_batches_are_rows_one_by_one_and_survive_a_stop(rng):
    truth, said = rng.integers(0, 3, 500), rng.integers(0, 3, 500)
    said[:300] = truth[:300]
    whole, parts, single = (ErrorMonitor(0.1) for _ in range(3))
    whole.update(truth, said)
    for rows in np.array_split(np.arange(500), [7, 7, 320, 322]):  # an empty one too
        parts = ErrorMonitor.from_state(json.loads(json.dumps(parts.state())))
        parts.update(truth[rows], said[rows])
    for one, other in zip(truth, said, strict=True):
        single.update(one, other)
    for found in (parts, single):
        assert (found.n_seen, found.total, found.alarm_at) == (whole.n_seen, whole.total, whole.alarm_at)
        assert found.evidence == pytest.approx(whole.evidence, rel=1e-9)
        assert found.interval() == whole.interval()
    assert 300 < whole.alarm_at < 320


def test_extremes():
    monitor = ErrorMonitor()
    assert monitor.interval() == (0, 1)
    assert np.isnan(monitor.error)
    monitor.update_losses(np.zeros(100))
    assert monitor.interval().low == 0
    assert monitor.interval().high < 0.1
    monitor = ErrorMonitor()
    monitor.update_losses(np.ones(100))
    assert monitor.interval().high == 1
    assert monitor.interval().low > 0.85


def test_bad_input_is_refused_and_loses_nothing():
    monitor = ErrorMonitor(0.1)
    monitor.update([1, 0], [1, 1])
    before = monitor.state()
    for call, message in (
        (lambda: monitor.update([1], [1], sample_weight=[2]), "counts every row once"),
        (lambda: monitor.update_losses([0.5, 1.5]), "between 0 and 1"),
        (lambda: monitor.update_losses([np.nan]), "between 0 and 1"),
        (lambda: ErrorMonitor(0.0), "promised must lie strictly"),
        (lambda: ErrorMonitor(delta=1.0), "delta must lie strictly"),
        (lambda: ErrorMonitor().evidence, "no promise"),
    ):
        with pytest.raises(InvalidProblemError, match=message):
            call()
    with pytest.raises(ValueError, match="inconsistent"):
        monitor.update([1, 2], [1])
    assert monitor.state() == before


def test_test_then_train(rng):
    """Errors are those made before learning: of the first rows there are none."""
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    monitor, model, expected = ErrorMonitor(), SGDClassifier(random_state=0), 0
    for rows in np.array_split(np.arange(300), 6):
        if rows[0]:
            expected += np.sum(model.predict(X[rows]) != y[rows])
        model = monitor.learn(model, X[rows], y[rows], classes=[0, 1])
    assert (monitor.n_seen, monitor.total) == (250, expected)


def ever_outside(rates, runs, rows, rng, delta, limits):
    """Share of runs in which the error is outside its limits at any of many times."""
    looks = np.unique(np.geomspace(1, rows, 30).astype(int))
    failures = 0
    for _ in range(runs):
        total = np.cumsum(rng.random(rows) < rates)
        failures += any(not low <= rates <= high for low, high in (limits(int(n), total[n - 1], delta) for n in looks))
    return failures / runs


def monitored(n, errors, delta):
    found = ErrorMonitor.from_state(ErrorMonitor(delta=delta).state() | {"n_seen": n, "total": float(errors)})
    return found.interval()


def fixed_time(n, errors, delta):
    """Limits that would hold at one time."""
    return binomtest(int(errors), n).proportion_ci(1 - delta, "exact")


def test_limits_hold_at_all_times(rng):
    allowed = 0.2 + 3 * np.sqrt(0.2 * 0.8 / 40)
    assert ever_outside(0.1, 40, 1000, rng, 0.2, monitored) <= allowed
    assert ever_outside(0.1, 40, 1000, rng, 0.2, fixed_time) > allowed  # the control, valid at one time only


def alarms(rates, promised, runs, rng):
    """Row of the first alarm of each run; 0 if there is none."""
    first = []
    for _ in range(runs):
        losses = rng.random(len(rates)) < rates
        monitor = ErrorMonitor(promised)
        monitor.update_losses(losses)
        first.append(monitor.alarm_at or 0)
    return np.array(first)


def test_alarms_are_false_as_rarely_as_promised_and_come_when_due(rng):
    assert np.mean(alarms(np.full(2000, 0.1), 0.1, 100, rng) > 0) <= 0.1
    late = alarms(np.repeat([0.08, 0.2], 1000), 0.1, 50, rng)
    assert np.mean((late > 0) & (late <= 1000)) <= 0.1
    assert np.mean(late > 1000) > 0.9
    assert np.median(late[late > 1000]) < 1350


@pytest.mark.parametrize(
    ("truth", "said", "words"),
    [
        ([1, 0], ["1", "0"], "words or numbers"),
        (["1"], [1], "words or numbers"),
        ([1.0, np.nan], [1.0, 0.0], "missing labels"),
        (["a", None], ["a", "b"], "missing labels"),
    ],
)
def test_labels_that_say_nothing_of_errors(truth, said, words):
    """They would count as errors, and raise an alarm in the end."""
    monitor = ErrorMonitor(0.1)
    with pytest.raises(InvalidProblemError, match=words):
        monitor.update(np.array(truth, dtype=object), np.array(said, dtype=object))
    assert monitor.n_seen == 0
    monitor.update(np.array(["a", "b"], dtype=object), np.array(["a", -1], dtype=object))  # one was given back
    assert monitor.total == 1


def test_missing_values_of_pandas():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InvalidProblemError, match="missing labels"):
        ErrorMonitor().update(pandas.array([1, None], dtype="Int64"), [1, 1])


def test_a_model_that_cannot_learn_row_by_row_is_refused_before_its_errors_count(rng):
    monitor, model = ErrorMonitor(), LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InvalidProblemError, match="LogisticRegression has no partial_fit"):
        monitor.learn(model, [[0.0]], [1])
    assert monitor.n_seen == 0
