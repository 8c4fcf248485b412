"""How many rows could any valid rule accept, and how many do ours? By curves of errors that are known.

A rule that is valid accepts c rows or more with probability delta at most where the error among the first t rows is at
the risk or above for all t from c on: any of these choices would break the promise. So under the true curve it does so
at most as often as the best test (Neyman and Pearson) tells the two apart at the level delta, and the mean over c
bounds the mean share of rows accepted, whatever the rule. The errors of such a rival curve are those of the true one at
other odds among the first c, at the risk until the true ones are there too, and the true ones beyond: about the closest
there is. Two turns have it once each, at half of delta. No rule need attain it, since the best test is another for
every c.

Figures of 120 and 80 runs (standard errors up to 0.03) with 200 calibration rows, delta 0.05, and a log odds of
errors that grows by the slope times the logarithm of the rank, twice the risk in the mean: share of rows accepted by
three starts, by one turn and by two turns with a pilot of 200 rows, by two turns whose pilot was told the truth; the
ceiling of one turn and of two; the share above which errors exceed the risk.

    risk slope  three  one    two    told    ceilings      errors at the risk
    0.11 2      0.273  0.335  0.382  0.378   0.440  0.472  0.625
    0.06 3      0.410  0.375  0.484  0.499   0.545  0.586  0.750
"""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit

from bayespoint.uses import threshold_for_risk

pytestmark = pytest.mark.slow
N, DELTA, RUNS, DRAWS = 200, 0.05, 80, 3000
RANKS = (np.arange(N) + 0.5) / N


def curve(risk, slope):
    """Chance of an error at each rank, twice the risk in the mean."""
    level = brentq(lambda level: expit(level + slope * np.log(RANKS)).mean() - 2 * risk, -30, 30)
    return expit(level + slope * np.log(RANKS))


def rival(p, count, risk):
    """The closest curve under which nothing from this count on may be accepted."""
    q = p.copy()
    if p[:count].mean() < risk:
        q[:count] = expit(logit(p[:count]) + brentq(lambda k: expit(logit(p[:count]) + k).mean() - risk, 0, 50))
    q[count:] = np.maximum(p[count:], risk)
    return q


def power(p, q, delta, rng):
    """Of the best test of q against p, with fractions of a draw to the benefit of the test."""
    score = logit(q) - logit(p)
    ours, theirs = (np.sort((rng.random((DRAWS, N)) < one) @ score + 1e-9 * rng.random(DRAWS)) for one in (p, q))
    return np.mean(ours <= theirs[int(np.ceil(delta * DRAWS))])


def ceilings(p, risk, rng):
    """Of one turn, and of the better of two."""
    counts = np.unique(np.linspace(1, N, 50).astype(int))
    sizes = np.diff(counts, append=N + 1) / N
    one, half = ([power(p, rival(p, c, risk), level, rng) for c in counts] for level in (DELTA, DELTA / 2))
    return float(sizes @ one), float(sizes @ (1 - (1 - np.array(half)) ** 2))


def accepted(p, risk, delta, pilot, rng):
    wrong = rng.random(N) < p
    return threshold_for_risk(wrong, -RANKS, risk=risk, delta=delta, pilot=pilot).accepted / N


def of_rules(p, risk, rng):
    """Three starts, one turn, two turns, two turns with a pilot that was told; a draw each."""
    told = rng.random((20, N)) < p
    told = told.T.ravel(), -np.repeat(RANKS, 20)
    guessed = [(rng.random(N) < p, -RANKS) for _ in range(3)]
    return (
        accepted(p, risk, DELTA, None, rng),
        accepted(p, risk, DELTA, guessed[0], rng),
        max(accepted(p, risk, DELTA / 2, pilot, rng) for pilot in guessed[1:]),
        max(accepted(p, risk, DELTA / 2, told, rng) for _ in range(2)),
    )


@pytest.mark.parametrize(("risk", "slope"), [(0.11, 2.0), (0.06, 3.0)])
def test_no_rule_accepts_more_than_any_could(risk, slope, rng, record_property):
    p = curve(risk, slope)
    one, two = ceilings(p, risk, rng)
    found = np.array([of_rules(p, risk, rng) for _ in range(RUNS)])
    means, errors = found.mean(axis=0), found.std(axis=0) / RUNS**0.5
    known = np.mean(np.cumsum(p) <= risk * np.arange(1, N + 1))
    text = (
        f"{risk:.2f} {slope:.0f}   "
        + " ".join(f"{mean:.3f}" for mean in means)
        + f"   {one:.3f} {two:.3f}   {known:.3f}"
    )
    record_property("share accepted", text)
    print(text)
    assert np.all(means - 3 * errors < [one, one, two, two])
    assert one < two < known
    assert means[2] > means[0]
    plain = [plainly(rng.random(N) < p, risk) for _ in range(RUNS)]
    assert np.mean(plain) - 3 * np.std(plain) / RUNS**0.5 > two  # what is not valid may


def plainly(wrong, risk):
    """The control: as many as have errors at the risk, with no allowance for chance."""
    counts = np.flatnonzero(np.cumsum(wrong) <= risk * np.arange(1, N + 1)) + 1
    return counts[-1] / N if len(counts) else 0.0
