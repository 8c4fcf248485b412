"""Do limits and alarms hold at all times? Over 1,000 runs of 10,000 rows, delta 0.05.

Figures of one run. Share of runs with the error outside its limits at any row; on the right by limits for one time
(100 runs).

    error 0.01    0.022   0.430
    error 0.1     0.042   0.520
    error 0.4     0.036   0.620

Widths of the limits after 100, 1,000 and 10,000 rows (40 runs), ours and those of the hedged capital of Waudby-Smith
and Ramdas (2024) each time; on the right the share of 1,000 runs with the error outside the latter.

    error 0.01    0.0676 0.0804    0.0212 0.0195    0.0074 0.0070    0.022
    error 0.1     0.1780 0.1715    0.0658 0.0696    0.0226 0.0286    0.034
    error 0.4     0.3182 0.3076    0.1130 0.1270    0.0388 0.0512    0.036

Alarm, promised 0.1: false in 0.022 of the runs. Median rows from a change of the error from 0.08, at row 2,000, to the
alarm (200 runs); on the right for a binomial test of every 200 rows by themselves at the level delta shared by the 50
of them, one of which begins just at the change.

    to 0.15    912   800
    to 0.2     278   200
    to 0.3      84   200

The hedged capital against the promise takes 3,474 rows for the change to 0.2 (40 runs, ours 252 there).
"""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betaln, xlog1py, xlogy
from scipy.stats import binom

from bayespoint.uses import ErrorMonitor

pytestmark = pytest.mark.slow
RUNS, ROWS, DELTA = 1000, 10_000, 0.05
TOLERANCE = 3 * np.sqrt(DELTA * (1 - DELTA) / RUNS)
WINDOW = 200
LOOKS = (100, 1000, 10_000)


def interval(n, errors):
    state = ErrorMonitor(delta=DELTA).state() | {"n_seen": int(n), "total": float(errors)}
    return ErrorMonitor.from_state(state).interval()


@pytest.mark.parametrize("error", [0.01, 0.1, 0.4])
def test_the_error_is_within_its_limits_at_every_row(error, rng, record_property):
    """Looked at through the capital that is bet against the true error: limits of ten million rows would take hours."""
    n, failures, plain = np.arange(1, ROWS + 1), 0, 0
    for run in range(RUNS):
        s = np.cumsum(rng.random(ROWS) < error)
        capital = betaln(s + 0.5, n - s + 2.5) - betaln(0.5, 2.5) - xlogy(s, error) - xlog1py(n - s, -error)
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


def hedged_bets(losses):
    """The predictable plug-in of Waudby-Smith and Ramdas (2024): deviations learned from the rows before."""
    n = np.arange(1, len(losses) + 1)
    mean = (0.5 + np.cumsum(losses)) / (n + 1)
    variance = (0.25 + np.cumsum((losses - mean) ** 2)) / (n + 1)
    before = np.append(0.25, variance[:-1])
    return np.sqrt(2 * np.log(2 / DELTA) / (before * n * np.log1p(n)))


def hedged_capital(losses, bets, m):
    """Logarithm of the larger one of two capitals, a half each: on a larger mean than m, and on a smaller one."""
    above = np.cumsum(np.log1p(np.minimum(bets, 0.5 / m) * (losses - m)))
    below = np.cumsum(np.log1p(-np.minimum(bets, 0.5 / (1 - m)) * (losses - m)))
    return np.maximum(above, below) - np.log(2)


def hedged_width(losses, bets):
    """Of the limits after all of these rows."""

    def refuted(m):
        return hedged_capital(losses, bets, m)[-1] - np.log(1 / DELTA)

    best = np.clip(losses.mean(), 1e-6, 1 - 1e-6)
    low = brentq(refuted, 1e-9, best, xtol=1e-6) if refuted(1e-9) > 0 > refuted(best) else 0.0
    return brentq(refuted, best, 1 - 1e-9, xtol=1e-6) - low


@pytest.mark.parametrize("error", [0.01, 0.1, 0.4])
def test_limits_beside_the_hedged_capital(error, rng, record_property):
    failures, widths = 0, []
    for run in range(RUNS):
        losses = (rng.random(ROWS) < error).astype(float)
        bets = hedged_bets(losses)
        failures += np.any(hedged_capital(losses, bets, error) >= np.log(1 / DELTA))
        if run < 40:
            pairs = [(np.diff(interval(n, losses[:n].sum()))[0], hedged_width(losses[:n], bets[:n])) for n in LOOKS]
            widths.append(pairs)
    ours, theirs = np.mean(widths, axis=0).T
    text = "   ".join(f"{a:.4f} {b:.4f}" for a, b in zip(ours, theirs, strict=True))
    record_property(f"widths at {error}", f"{text}, hedged outside in {failures / RUNS:.3f}")
    print(f"error {error:4}   {text}   {failures / RUNS:.3f}")
    assert failures / RUNS <= DELTA + TOLERANCE  # a transcription that does not hold would be no rival
    assert np.all(ours < 1.15 * theirs)


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


def test_a_bet_that_began_long_ago_has_lost_its_capital(rng, record_property):
    """The hedged capital against the promise, one-sided, is asleep when the error grows late; ours begins anew."""
    delays, most = [], 8000
    for _ in range(40):
        losses = (rng.random(ROWS) < np.where(np.arange(ROWS) < 2000, 0.08, 0.2)).astype(float)
        bets = np.minimum(hedged_bets(losses), 0.5 / 0.1)
        proof = np.cumsum(np.log1p(bets * (losses - 0.1))) >= np.log(1 / DELTA)
        delays.append((first_alarm(losses, 0.1) - 2000, np.argmax(proof) + 1 - 2000 if proof.any() else most))
    ours, hedged = np.median(delays, axis=0)
    record_property("to 0.2", f"{ours:.0f}, hedged {hedged:.0f}")
    print(f"to 0.2: {ours:.0f}, hedged {hedged:.0f}")
    assert ours < hedged
