"""Do limits and alarms hold at all times? Over 1,000 runs of 10,000 rows, delta 0.05.

Figures of one run. Share of runs with the error outside its limits at any row; on the right by limits for one time
(100 runs).

    error 0.01    0.019   0.430
    error 0.1     0.028   0.520
    error 0.4     0.034   0.620

Alarm, promised 0.1: false in 0.022 of the runs. Median rows from a change of the error from 0.08, at row 2,000, to the
alarm (200 runs); on the right for a binomial test of every 200 rows by themselves at the level delta shared by the 50
of them, one of which begins just at the change.

    to 0.15    912   800
    to 0.2     278   200
    to 0.3      84   200
"""

import numpy as np
import pytest
from scipy.special import betaln, xlog1py, xlogy
from scipy.stats import binom

from bayespoint.uses import ErrorMonitor

pytestmark = pytest.mark.slow
RUNS, ROWS, DELTA = 1000, 10_000, 0.05
TOLERANCE = 3 * np.sqrt(DELTA * (1 - DELTA) / RUNS)
WINDOW = 200


def interval(n, errors):
    state = ErrorMonitor(delta=DELTA).state() | {"n_seen": int(n), "total": float(errors)}
    return ErrorMonitor.from_state(state).interval()


@pytest.mark.parametrize("error", [0.01, 0.1, 0.4])
def test_the_error_is_within_its_limits_at_every_row(error, rng, record_property):
    """Looked at through the capital that is bet against the true error: limits of ten million rows would take hours."""
    n, failures, plain = np.arange(1, ROWS + 1), 0, 0
    for run in range(RUNS):
        s = np.cumsum(rng.random(ROWS) < error)
        capital = betaln(s + 0.5, n - s + 0.5) - betaln(0.5, 0.5) - xlogy(s, error) - xlog1py(n - s, -error)
        out = capital >= np.log(1 / DELTA)
        failures += out.any()
        if run < 100:
            plain += np.any(2 * np.minimum(binom.cdf(s, n, error), binom.sf(s - 1, n, error)) <= DELTA)
        for row in {int(np.argmax(out)), int(rng.integers(ROWS))}:  # the monitor's own limits say the same
            low, high = interval(n[row], s[row])
            assert (low <= error <= high) != out[row]
    record_property(f"error {error}", f"{failures / RUNS:.3f}, by limits for one time {plain / 100:.3f}")
    print(f"error {error:4}  {failures / RUNS:.3f}   {plain / 100:.3f}")
    assert failures / RUNS <= DELTA + TOLERANCE
    assert plain / 100 > 0.3


def first_alarm(losses, promised):
    monitor = ErrorMonitor(promised, delta=DELTA)
    monitor.update_losses(losses)
    return monitor.alarm_at or 0


def first_window(losses, promised):
    """A binomial test of each window by itself, all windows paid for."""
    errors = losses.reshape(-1, WINDOW).sum(axis=1)
    failed = binom.sf(errors - 1, WINDOW, promised) <= DELTA / len(errors)
    return WINDOW * (int(np.argmax(failed)) + 1) if failed.any() else 0


def test_alarms(rng, record_property):
    false = np.array([first_alarm(rng.random(ROWS) < 0.1, 0.1) for _ in range(RUNS)])
    lines = [f"false {np.mean(false > 0):.3f}"]
    for error in (0.15, 0.2, 0.3):
        rates = np.where(np.arange(ROWS) < 2000, 0.08, error)
        runs = [rng.random(ROWS) < rates for _ in range(200)]
        delays = [np.array([first(losses, 0.1) for losses in runs]) - 2000 for first in (first_alarm, first_window)]
        lines.append(f"to {error}: {np.median(delays[0]):.0f}, windows {np.median(delays[1]):.0f}")
        assert np.mean(delays[0] > 0) > 0.9
    record_property("alarms", "; ".join(lines))
    print("\n".join(lines))
    assert np.mean(false > 0) <= DELTA + TOLERANCE
    without_price = [
        np.any(binom.sf(np.cumsum(rng.random(2000) < 0.1) - 1, np.arange(1, 2001), 0.1) <= DELTA) for _ in range(200)
    ]
    assert np.mean(without_price) > 2 * DELTA  # a test at every row as if it were the only one
