"""How good probabilities and confidences are, measured on labels that the classifier has not seen.

Labels may be of any type. Probabilities come as `predict_proba` returns them, or for two classes as the probability of
the second one alone.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import betaincinv
from sklearn.utils import check_consistent_length, column_or_1d

from .._core.scikit import check_sample_weight
from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError

__all__ = [
    "RejectionCurve",
    "ReliabilityCurve",
    "area_under_rejection_curve",
    "coded",
    "expected_calibration_error",
    "information_gain",
    "rejection_curve",
    "reliability_curve",
    "share_limits",
]

_ROUNDING = 1e-5  # of rows of probabilities that should add up to one, single precision included


@told_briefly()
class ReliabilityCurve(NamedTuple):
    """Probabilities against what came true, one entry a bin that is not empty, from low to high probability.

    Attributes
    ----------
    predicted : ndarray
        Mean probability of the bin.
    observed : ndarray
        Share of its rows where the event came true.
    low, high : ndarray
        Exact binomial (Clopper-Pearson) limits of that share.
    count : ndarray of int
        Rows of the bin.

    Examples
    --------
    >>> from bayespoint.uses import reliability_curve
    >>> reliability_curve([0, 0, 1, 1], [0.1, 0.1, 0.4, 0.4], n_bins=2).count
    array([2, 2])
    """

    predicted: Array
    observed: Array
    low: Array
    high: Array
    count: Any


@told_briefly()
class RejectionCurve(NamedTuple):
    """Error of the rows that are kept against the share of rows that are not, one entry a value of the confidence.

    Attributes
    ----------
    rate : ndarray
        Share of the rows rejected, from 0 upward; below 1, for something is always kept.
    error : ndarray
        Share of wrong ones among the rows that are kept.
    threshold : ndarray
        Rows of at least this confidence are kept.

    Examples
    --------
    >>> from bayespoint.uses import rejection_curve
    >>> rejection_curve([0, 1], [0, 0], [0.9, 0.6]).rate
    array([0. , 0.5])
    """

    rate: Array
    error: Array
    threshold: Array


def reliability_curve(
    y_true: Any,
    proba: Any,
    *,
    n_bins: int = 15,
    strategy: Literal["quantile", "uniform"] = "quantile",
    level: float = 0.95,
    classes: Any = None,
) -> ReliabilityCurve:
    """What came true of predicted probabilities, bin by bin.

    With two classes the event is the second class; with more it is that the most probable class is right, and the
    probability is that of this class ("top label").

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels that came true.
    proba : array-like of shape (n,) or (n, n_classes)
        Probabilities; of the second class alone if there are two.
    n_bins : int, default=15
        Number of bins; those without rows are left out.
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins with about as many rows each, or bins of the same width in [0, 1]. A bin includes its upper edge. Equal
        probabilities are never divided, so that fewer and fuller bins remain if there are many of them.
    level : float, default=0.95
        Confidence of the limits `low` and `high`.
    classes : array-like of shape (n_classes,), optional
        Labels in the order of the columns; the sorted labels of `y_true` by default.

    Returns
    -------
    ReliabilityCurve

    Examples
    --------
    >>> from bayespoint.uses import reliability_curve
    >>> curve = reliability_curve(["no", "no", "yes", "no", "yes", "yes"], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], n_bins=2)
    >>> curve.predicted.round(2), curve.observed.round(2)
    (array([0.2, 0.8]), array([0.33, 0.67]))
    >>> curve.low.round(2), curve.high.round(2)
    (array([0.01, 0.09]), array([0.91, 0.99]))
    """
    _check(0 < level < 1, f"level must lie between 0 and 1, got {level!r}.")
    event, p = _event(y_true, proba, classes)
    count, hits, total = _bins(event, p, n_bins, strategy)
    return ReliabilityCurve(total / count, hits / count, *share_limits(hits, count, level), count)


def expected_calibration_error(
    y_true: Any,
    proba: Any,
    *,
    n_bins: int = 15,
    strategy: Literal["quantile", "uniform"] = "quantile",
    norm: Literal["l1", "l2", "max"] = "l1",
    classes: Any = None,
) -> float:
    """Distance of predicted probabilities from what came true, over the bins of `reliability_curve`.

    With ``gap_b = |observed_b - predicted_b|`` and ``w_b`` the share of the rows in bin b: ``sum_b w_b gap_b`` (l1),
    ``sqrt(sum_b w_b gap_b^2)`` (l2), or ``max_b gap_b`` (max). Even perfect probabilities have a positive value, of the
    order of ``sqrt(n_bins / n)``: compare only with the same bins on the same rows.

    Parameters
    ----------
    y_true, proba, n_bins, strategy, classes
        As for `reliability_curve`.
    norm : {"l1", "l2", "max"}, default="l1"
        How the gaps are put together.

    Returns
    -------
    float

    Examples
    --------
    >>> from bayespoint.uses import expected_calibration_error
    >>> y, p = [0, 0, 1, 1], [0.1, 0.1, 0.4, 0.6]
    >>> round(expected_calibration_error(y, p, n_bins=2), 6)
    0.3
    >>> round(expected_calibration_error(y, p, n_bins=2, norm="max"), 6)
    0.5
    """
    event, p = _event(y_true, proba, classes)
    count, hits, total = _bins(event, p, n_bins, strategy)
    gap, weight = np.abs(hits - total) / count, count / count.sum()
    if norm == "l1":
        return float(weight @ gap)
    if norm == "l2":
        return float(np.sqrt(weight @ gap**2))
    _check(norm == "max", f"norm must be 'l1', 'l2' or 'max', got {norm!r}.")
    return float(gap.max())


def rejection_curve(y_true: Any, y_pred: Any, confidence: Any) -> RejectionCurve:
    """Error of the rows that are kept when the least confident ones are rejected.

    Rows of equal confidence are rejected together: there is one point for every value of the confidence.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels that came true.
    y_pred : array-like of shape (n,)
        Predicted labels.
    confidence : array-like of shape (n,)
        Larger where the prediction is more to be trusted, on any scale.

    Returns
    -------
    RejectionCurve

    Examples
    --------
    >>> from bayespoint.uses import rejection_curve
    >>> curve = rejection_curve(list("aabb"), list("aaba"), [0.9, 0.6, 0.8, 0.6])
    >>> curve.rate, curve.error
    (array([0.  , 0.5 , 0.75]), array([0.25, 0.  , 0.  ]))
    >>> curve.threshold
    array([0.6, 0.8, 0.9])
    """
    wrong, confidence = _outcomes(y_true, y_pred, confidence)
    threshold, group = np.unique(confidence, return_inverse=True)
    kept = np.cumsum(np.bincount(group)[::-1])[::-1]
    errors = np.cumsum(np.bincount(group[wrong], minlength=len(threshold))[::-1])[::-1]
    return RejectionCurve((len(wrong) - kept) / len(wrong), errors / kept, threshold)


def area_under_rejection_curve(
    y_true: Any, y_pred: Any, confidence: Any, *, of: Literal["confidence", "perfect", "random"] = "confidence"
) -> float:
    """Mean error of the kept rows over all rejection rates from 0 to 1: small if the confidence knows its errors.

    The curve is integrated as a step function: at rate r as many rows are rejected as is possible without rejecting
    more than the share r or dividing rows of equal confidence, and the most confident group stays to the end. Without
    equal confidences this is the mean of the error over 1, 2, ..., n rows kept.

    Parameters
    ----------
    y_true, y_pred, confidence
        As for `rejection_curve`.
    of : {"confidence", "perfect", "random"}, default="confidence"
        Whose area: that of the confidence given, or for comparison what the same predictions would have under a
        confidence that ranks every error below every other row (the smallest possible area), or in the mean under one
        that knows nothing (the error itself).

    Returns
    -------
    float

    Examples
    --------
    >>> from bayespoint.uses import area_under_rejection_curve
    >>> rows = [0, 0, 1, 1], [0, 0, 1, 0], [0.9, 0.7, 0.8, 0.6]
    >>> [area_under_rejection_curve(*rows, of=which) for which in ("confidence", "perfect", "random")]
    [0.0625, 0.0625, 0.25]
    """
    wrong, confidence = _outcomes(y_true, y_pred, confidence)
    if of == "random":
        return float(wrong.mean())
    if of == "perfect":
        kept = np.arange(1, len(wrong) + 1)
        return float(np.mean(np.maximum(kept - np.sum(~wrong), 0) / kept))
    _check(of == "confidence", f"of must be 'confidence', 'perfect' or 'random', got {of!r}.")
    rate, error, _ = rejection_curve(wrong, np.zeros_like(wrong), confidence)
    return float(error @ np.diff(rate, append=1.0))


def information_gain(y_true: Any, proba: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Bits per row that the probabilities tell about the labels beyond how frequent the classes are.

    ``mean_i log2 p_i(y_i) - mean_i log2 f(y_i)`` with f the class frequencies of `y_true`: 0 for who predicts these
    frequencies everywhere, their entropy for who knows every label, negative for who would better say nothing, and
    minus infinity for who calls impossible what came true (the "information" of GPML, section 3.7.3).

    Parameters
    ----------
    y_true, proba, classes
        As for `reliability_curve`.
    sample_weight : array-like of shape (n,), optional
        Weights, in both means and in the frequencies.

    Returns
    -------
    float

    Examples
    --------
    >>> from bayespoint.uses import information_gain
    >>> y = ["ham", "ham", "spam", "spam"]
    >>> information_gain(y, [0.5, 0.5, 0.5, 0.5]), information_gain(y, [0.0, 0.0, 1.0, 1.0])
    (0.0, 1.0)
    >>> round(information_gain(y, [0.2, 0.1, 0.6, 0.9]), 3)
    0.659
    """
    codes, p = coded(y_true, proba, classes)
    weight = np.ones(len(codes))
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, codes, dtype=np.float64, ensure_non_negative=True)
        _check(weight.sum() > 0, "sample_weight must not be zero for all rows.")
    seen = weight > 0
    codes, weight, truth = codes[seen], weight[seen] / weight.sum(), p[seen, codes[seen]]
    frequency = np.bincount(codes, weights=weight)
    with np.errstate(divide="ignore"):
        return float(weight @ (np.log2(truth) - np.log2(frequency[codes])))


def _check(condition: Any, message: str) -> None:
    if not condition:
        raise InvalidProblemError(message)


def _labels(y: Any, name: str) -> Any:
    y = column_or_1d(y)
    _check(len(y) > 0, f"{name} must hold at least one label.")
    _check(y.dtype.kind != "f" or np.isfinite(y).all(), f"{name} must not hold NaN or infinity.")
    return y


def coded(y_true: Any, proba: Any, classes: Any) -> tuple[Any, Array]:
    """Index of the column of every label, and one column of probabilities a class."""
    y = _labels(y_true, "y_true")
    p = np.asarray(proba, dtype=np.float64)
    check_consistent_length(y, p)
    _check(p.ndim in (1, 2), f"proba must have one or two dimensions, got shape {p.shape}.")
    _check(np.all((p >= 0) & (p <= 1)), "proba must lie between 0 and 1 everywhere.")
    if p.ndim == 1 or p.shape[1] == 1:
        p = np.stack([1 - p.ravel(), p.ravel()], axis=1)
    _check(np.abs(p.sum(axis=1) - 1).max() <= _ROUNDING, "The rows of proba must add up to 1.")
    order = np.unique(y) if classes is None else _labels(classes, "classes")
    _check(
        len(order) == p.shape[1],
        f"proba speaks of {p.shape[1]} classes and {'y_true' if classes is None else 'classes'} of {len(order)}: pass "
        "classes, one label for each column.",
    )
    _check(len(np.unique(order)) == len(order), "classes must not hold a label twice.")
    strange = ~np.isin(y, order)
    _check(not strange.any(), f"y_true has the label {y[strange][:1].tolist()}, which is not among classes.")
    ranks = np.argsort(order)
    return ranks[np.searchsorted(order, y, sorter=ranks)], p


def _event(y_true: Any, proba: Any, classes: Any) -> tuple[Any, Array]:
    """What a probability was given to, as it came true, and that probability."""
    codes, p = coded(y_true, proba, classes)
    if p.shape[1] == 2:
        return codes == 1, p[:, 1]
    return codes == p.argmax(axis=1), p.max(axis=1)


def _bins(event: Any, p: Array, n_bins: int, strategy: str) -> tuple[Any, Any, Any]:
    """Rows, events and sum of probabilities of every bin that has rows."""
    _check(isinstance(n_bins, Integral) and n_bins >= 1, f"n_bins must be a whole number from 1, got {n_bins!r}.")
    edges = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    _check(strategy in ("quantile", "uniform"), f"strategy must be 'quantile' or 'uniform', got {strategy!r}.")
    if strategy == "quantile":
        edges = np.quantile(p, edges)
    which = np.searchsorted(edges, p)
    count = np.bincount(which)
    hits, total = np.bincount(which, weights=event), np.bincount(which, weights=p)
    return count[count > 0], hits[count > 0], total[count > 0]


def share_limits(hits: Array, count: Any, level: float) -> tuple[Array, Array]:
    """Limits outside of which each of the two binomial tails has probability ``(1 - level) / 2``."""
    tail = (1 - level) / 2
    low = betaincinv(np.maximum(hits, 1), count - np.maximum(hits, 1) + 1, tail)
    high = betaincinv(np.minimum(hits, count - 1) + 1, count - np.minimum(hits, count - 1), 1 - tail)
    return np.where(hits > 0, low, 0.0), np.where(hits < count, high, 1.0)


def _outcomes(y_true: Any, y_pred: Any, confidence: Any) -> tuple[Any, Array]:
    """Which predictions are wrong, and how confident they are."""
    truth, guess = _labels(y_true, "y_true"), _labels(y_pred, "y_pred")
    confidence = column_or_1d(confidence, dtype=np.float64)
    check_consistent_length(truth, guess, confidence)
    _check(not np.isnan(confidence).any(), "confidence must not hold NaN.")
    return np.asarray(truth != guess, dtype=bool), confidence
