"""Which classes are taken for which, how sure that is, and how often the probabilities themselves expect it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from .metrics import coded, share_limits

__all__ = ["Confusion", "confusion"]


@told_briefly()
class Confusion(NamedTuple):
    """Classes that came true (rows) against the most probable ones (columns), with intervals.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels of rows and columns.
    count : ndarray of int of shape (n_classes, n_classes)
        How often the class of the column was the most probable one where that of the row came true.
    expected : ndarray of shape (n_classes, n_classes)
        The same as the probabilities expect it, without a look at the labels: the sum of the probability of the row's
        class over all inputs where the column's is the most probable one. Far from `count`, probabilities are wrong.
    share : ndarray of shape (n_classes, n_classes)
        `count` by row; NaN where a class did not occur.
    low, high : ndarray of shape (n_classes, n_classes)
        Exact binomial (Clopper-Pearson) limits of each share; 0 and 1 where a class did not occur.

    Examples
    --------
    >>> from bayespoint.uses import confusion
    >>> confusion(["a", "b"], [0.2, 0.7]).classes
    array(['a', 'b'], dtype='<U1')
    """

    classes: Any
    count: Any
    expected: Array
    share: Array
    low: Array
    high: Array


def confusion(y_true: Any, proba: Any, *, classes: Any = None, level: float = 0.95) -> Confusion:
    """Confusion matrix with intervals, beside the one that the probabilities expect.

    Labels must be ones that the classifier has not seen: those of test rows, or training labels with the
    leave-one-out probabilities `loo_proba_` of the fitted classifier. Of the latter the intervals are approximate, for
    each row had a part in the probabilities of the others. Each share has an interval of its own: that all of them
    hold at once is less certain.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels that came true.
    proba : array-like of shape (n,) or (n, n_classes)
        Probabilities; of the second class alone if there are two.
    classes : array-like of shape (n_classes,), optional
        Labels in the order of the columns; the sorted labels of `y_true` by default.
    level : float, default=0.95
        Confidence of the limits `low` and `high`.

    Returns
    -------
    Confusion

    Examples
    --------
    >>> from bayespoint.uses import confusion
    >>> p = [[0.8, 0.1, 0.1], [0.6, 0.2, 0.2], [0.1, 0.7, 0.2], [0.5, 0.1, 0.4]]
    >>> found = confusion(["ant", "ant", "bee", "cow"], p)
    >>> found.count
    array([[2, 0, 0],
           [0, 1, 0],
           [1, 0, 0]])
    >>> found.expected.round(1)
    array([[1.9, 0.1, 0. ],
           [0.4, 0.7, 0. ],
           [0.7, 0.2, 0. ]])
    >>> found.share[0, 0], found.low[0, 0].round(2), found.high[0, 0]
    (np.float64(1.0), np.float64(0.16), np.float64(1.0))
    """
    if not 0 < level < 1:
        raise InvalidProblemError(f"level must lie between 0 and 1, got {level!r}.")
    codes, p = coded(y_true, proba, classes)
    labels = np.unique(y_true) if classes is None else np.asarray(classes)
    chosen = np.eye(len(labels))[p.argmax(axis=1)]
    count = np.zeros((len(labels), len(labels)), dtype=int)
    np.add.at(count, (codes, p.argmax(axis=1)), 1)
    rows = count.sum(axis=1, keepdims=True)
    share = np.where(rows > 0, count / np.maximum(rows, 1), np.nan)
    low, high = share_limits(count, np.broadcast_to(rows, count.shape), level)
    return Confusion(labels, count, p.T @ chosen, share, low, high)
