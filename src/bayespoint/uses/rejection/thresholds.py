"""Thresholds of confidence: how many rows to give back, or how many errors to allow among those that are not.

Rows are accepted whose confidence is above a threshold t; R(t) is the error among all rows that would be. The threshold
of a risk is found by testing "R(t) > risk" for every t from the most selective one down, as in fixed-sequence testing
(Angelopoulos, Bates, Candes, Jordan and Lei 2021, Learn then Test), and here is why the guarantee survives the choice.

0. The calibration rows are drawn independently from the distribution that the promise is about, and independently of
   the classifier. That is so for a random sample, chosen without a look at the labels, of rows that were drawn so, and
   it is not if every class gives its share: then the errors are not binomial, and those on classes of one row, which
   cannot be shared, are missed altogether. Each error counts, also on a class that the classifier does not know.
1. So for a fixed t the errors among the j calibration rows above it are, given j, binomial with the rate R(t), and
   p(t) = P(Bin(j, risk) <= errors) is a p-value of R(t) > risk, whatever the share of rows that are accepted.
2. The levels are those of the fallback procedure (Wiens 2003): there are up to three starts, each with an equal share
   of delta, at which the sequence begins anew; a level is lost at the first failure and adds to that of the next start
   otherwise. A start is a count of rows, known beforehand, and hence its t is an order statistic and random.
3. Let the confidence have no atoms, so that R is continuous. Between the points where R crosses the risk lie slabs of
   confidence, and since R equals the risk at both ends of a slab, so does the error within it. Given how many rows fall
   into each slab, and hence into which the starts fall, the errors above a crossing are thus binomial with rate `risk`,
   and those above a start in a slab where R exceeds the risk are, given its t as well, at least so many. The p-value of
   the first wrong threshold after any start is valid given these counts, the levels that meet such thresholds add up
   to at most delta, and so does the chance to pass one of them. At fixed t the usual argument would do.
4. Equal confidences are put in the worst order, errors first, which passes no more than a random order would; with
   random numbers to break the ties there are no atoms. Only thresholds that divide no ties are used, and none that was
   reached by a start alone.
5. With a pilot many counts are tested at once (`_boundary`). Call a count g wrong if R(t) > risk for some t between its
   last row and the next one; which counts are is settled by how many rows fall into each slab. Given these, the errors
   in a whole slab are binomial with rate `risk`, and in a slab where R exceeds the risk errors lie stochastically
   higher than other rows: moving them down until both are mixed evenly takes errors from every top part of it. So the
   errors above all wrong counts are jointly at least those of a coin that errs with probability `risk`. Since t may be
   anything between the two rows, a value that divides no ties is proven together with the count.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil, floor, inf, log, log1p, nan
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..._core.typing import Array
from ...bounds import binomial_bound
from ...exceptions import InvalidProblemError
from ._boundary import binomial_tail, passed_in_window
from ._pilot import curve_of, planned_window, rows_that_would_do

__all__ = ["Acceptance", "rows_needed", "threshold_for_rate", "threshold_for_risk"]

_STARTS = 3  # beginnings of the sequence of tests: more survive an unlucky error at the top, and cost more of delta


class Acceptance(NamedTuple):
    """Which rows to accept, and what is known of their error.

    Attributes
    ----------
    threshold : float
        Rows of a confidence above it are accepted: all if minus infinity, none if infinity.
    accepted : int
        Calibration rows that are.
    errors : int
        Wrong ones among them.
    bound : float
        Their error among new rows is at most this, with the confidence asked for; NaN if none is accepted.

    Examples
    --------
    >>> from bayespoint.uses.rejection import threshold_for_rate
    >>> threshold_for_rate([False] * 8 + [True] * 2, range(10, 0, -1), rate=0.2)
    Acceptance(threshold=2.0, accepted=8, errors=0, bound=0.369...)
    """

    threshold: float
    accepted: int
    errors: int
    bound: float


def threshold_for_rate(wrong: Any, confidence: Any, *, rate: float, delta: float = 0.05) -> Acceptance:
    """Threshold below which at most a given share of the calibration rows lies, and as many as ties allow.

    The bound is that of the binomial tail: given the threshold, an order statistic, the rows above it are independent.
    Half of delta is for the rank asked for; the other half is shared by all ranks, for ties may need another one.

    Parameters
    ----------
    wrong : array-like of bool of shape (n,)
        Calibration rows that are classified wrongly.
    confidence : array-like of shape (n,)
        Of these classifications.
    rate : float
        Share of rows to reject, from 0 up to but not including 1.
    delta : float, default=0.05
        Probability that the bound does not hold.

    Returns
    -------
    Acceptance

    Examples
    --------
    >>> from bayespoint.uses.rejection import threshold_for_rate
    >>> threshold_for_rate([False] * 90 + [True] * 10, range(100, 0, -1), rate=0.1)
    Acceptance(threshold=10.0, accepted=90, errors=0, bound=0.0401...)
    """
    check_rate(rate)
    wrong, confidence = _ranked(wrong, confidence, delta)
    n = len(wrong)
    kept = n - floor(rate * n + 1e-9)
    tied = kept < n and confidence[kept - 1] == confidence[kept]
    if tied:  # keep the whole group
        kept = int(np.searchsorted(-confidence, -confidence[kept], side="right"))
    errors = int(wrong[:kept].sum())
    bound = binomial_bound(errors, kept, delta / 2 / (n if tied else 1)).value
    return Acceptance(_below(confidence, kept), kept, errors, bound)


def threshold_for_risk(
    wrong: Any, confidence: Any, *, risk: float, delta: float = 0.05, pilot: tuple[Any, Any] | None = None
) -> Acceptance:
    """Lowest threshold above which the error is proven to be at most `risk`.

    With probability 1 - delta over the calibration rows the error among new rows above the threshold is at most `risk`,
    although the same rows chose the threshold; see the head of this module for why. Holds for any confidence and any
    classifier that was fixed before these rows, drawn independently, were seen.

    Parameters
    ----------
    wrong, confidence
        As for `threshold_for_rate`.
    risk : float
        Error to allow among accepted rows.
    delta : float, default=0.05
        Probability that the guarantee does not hold.
    pilot : tuple of arrays, optional
        `wrong` and `confidence` of other rows, such as cross-validated ones of the training part. They tell about where
        the threshold will lie and hence where to look for it; the guarantee holds whatever they say, as long as they
        were fixed before the calibration rows were seen.

    Returns
    -------
    Acceptance
        With an infinite threshold if none is proven.

    Examples
    --------
    >>> from bayespoint.uses.rejection import threshold_for_risk
    >>> threshold_for_risk([False] * 90 + [True] * 10, range(100, 0, -1), risk=0.05)
    Acceptance(threshold=10.0, accepted=90, errors=0, bound=0.05)

    With a pilot that looked much the same:

    >>> wrong, rank = [i == 35 or i >= 105 for i in range(120)], range(120, 0, -1)
    >>> threshold_for_risk(wrong, rank, risk=0.05).accepted
    0
    >>> threshold_for_risk(wrong, rank, risk=0.05, pilot=(wrong, rank)).accepted
    105
    """
    check_inside("risk", risk)
    window = None
    if pilot is not None:
        window = planned_window(_ranked(*pilot, delta)[0], np.size(wrong), risk, delta)
    wrong, confidence = _ranked(wrong, confidence, delta)
    n = len(wrong)
    if window is None:
        passed = _passed(np.cumsum(wrong), risk, delta)
        usable = passed & np.append(False, passed[:-1])  # not by a start alone, since its threshold may divide ties
    else:
        passed = usable = passed_in_window(np.cumsum(wrong), *window, risk, delta)
    usable[:-1] &= confidence[:-1] > confidence[1:]
    usable[-1] = passed[-1]  # nothing rejected: a threshold known beforehand
    if not usable.any():
        return Acceptance(inf, 0, 0, nan)
    kept = n - int(np.argmax(usable[::-1]))
    return Acceptance(_below(confidence, kept), kept, int(wrong[:kept].sum()), float(risk))


def rows_needed(risk: float, delta: float = 0.05) -> int:
    """Calibration rows without which nothing can be proven of this risk, not even if none is classified wrongly.

    Parameters
    ----------
    risk, delta : float
        As for `threshold_for_risk`.

    Returns
    -------
    int

    Examples
    --------
    >>> from bayespoint.uses.rejection import rows_needed
    >>> rows_needed(0.01), rows_needed(0.05)
    (299, 59)
    """
    check_inside("risk", risk)
    check_inside("delta", delta)
    return ceil(log(delta) / log1p(-risk))


def rows_likely_needed(wrong: Any, confidence: Any, risk: float, delta: float) -> int | None:
    """Calibration rows that would accept something nine times out of ten if these are typical; None if none would."""
    return rows_that_would_do(curve_of(_ranked(wrong, confidence, delta)[0]), risk, delta)


def check_settings(rate: Any, risk: Any, delta: Any) -> None:
    """Refuse what no threshold can be set for."""
    if (rate is None) == (risk is None):
        raise InvalidProblemError("Give either rate, the share to reject, or risk, the error to allow: one of them.")
    if rate is None:
        check_inside("risk", risk)
    else:
        check_rate(rate)
    check_inside("delta", delta)


def check_rate(rate: Any) -> None:
    if not (isinstance(rate, Real) and 0 <= float(rate) < 1):
        raise InvalidProblemError(f"rate must be at least 0 and below 1, got {rate!r}.")


def check_inside(name: str, value: Any) -> None:
    if not (isinstance(value, Real) and 0 < float(value) < 1):
        raise InvalidProblemError(f"{name} must lie strictly between 0 and 1, got {value!r}.")


def _ranked(wrong: Any, confidence: Any, delta: float) -> tuple[Any, Array]:
    """Rows from the most confident one down, errors first among equals."""
    check_inside("delta", delta)
    wrong, confidence = np.asarray(wrong, dtype=bool), np.asarray(confidence, dtype=np.float64)
    if wrong.ndim != 1 or wrong.shape != confidence.shape or not wrong.size:
        raise InvalidProblemError(
            f"There must be one confidence for each calibration row, got {confidence.shape} for {wrong.shape}."
        )
    if not np.all(confidence > -inf):
        raise InvalidProblemError("confidence must not be NaN or minus infinity.")
    order = np.lexsort((~wrong, -confidence))
    return wrong[order], confidence[order]


def _below(confidence: Array, kept: int) -> float:
    """Threshold that the first `kept` rows of a ranking, and no others, lie above."""
    return float(confidence[kept]) if kept < len(confidence) else -inf


def _starts(n: int, risk: float, delta: float) -> list[int]:
    """Counts of rows at which the tests begin: the smallest that can pass, with no error, then twice as many."""
    for starts in range(_STARTS, 0, -1):
        first = rows_needed(risk, delta / starts)
        counts = [first * 2**i for i in range(starts)]
        if counts[-1] <= n:
            return counts
    return []


def _passed(errors: Any, risk: float, delta: float) -> Any:
    """Which counts of top rows 1, ..., n are proven to have at most this risk, by the number of errors among them."""
    tail = binomial_tail(errors, np.arange(1, len(errors) + 1), risk)
    starts = _starts(len(errors), risk, delta)
    passed = np.zeros(len(errors), dtype=bool)
    level = 0.0
    for start, end in pairwise([*starts, len(errors) + 1]):
        level += delta / len(starts)
        failed = tail[start - 1 : end - 1] > level
        length = int(np.argmax(failed)) if failed.any() else len(failed)
        passed[start - 1 : start - 1 + length] = True
        level = 0.0 if failed.any() else level
    return passed
