"""Watching the error of a classifier at work: limits that hold at all times at once, and an alarm.

Losses l_1, l_2, ... in [0, 1] come one after the other. A bet against "their mean, given the past, is m" multiplies its
capital by ``1 + b (l - m)`` each time, which is worth the same in the mean if m is right. It starts at 1 and stays
positive, so that it ever reaches 1 / delta with probability delta at most (Ville 1939), whenever one looks and however
long (Waudby-Smith and Ramdas 2024).

Limits: those m that a mixture of bets has not refuted. The bet that the rate is p has
``log(1 + b (l - m)) >= l log(p / m) + (1 - l) log((1 - p) / (1 - m))``, with equality for losses 0 and 1, since the
logarithm is concave. So with n losses of sum s and rates drawn from Beta(1/2, 5/2) the capital is at least
``B(s + 1/2, n - s + 5/2) / B(1/2, 5/2) / (m^s (1 - m)^(n - s))``: the two numbers n and s are all it takes, in
whatever order the rows came. Classifiers err seldom, and so do the rates: below 0.4 limits are narrower than with
Beta(1/2, 1/2). The hedged capital of Waudby-Smith and Ramdas bets on one rate a row, learned from the rows before. Its
limits are up to a tenth narrower while there are fewer than a hundred errors, these up to a quarter where there are
many (tests/statistical/test_monitor_guarantee.py), and they need no row a second time.

Alarm: bets that the mean is above the promised one win nothing in the mean as long as it is not, so their capital may
be watched in the same way. To be awake when the error grows late, a new bet begins at every row t with the share
``w_t = 1 / log2(t + 1) - 1 / log2(t + 2)`` of the capital; the shares add up to 1, and the capital of all bets on one
rate follows ``M_t = (M_(t-1) + w_t) (1 + b (l_t - m))``. A single bet from the first row on, such as the
hedged capital, has lost nearly all by the time that the error grows.
"""

from __future__ import annotations

from math import inf, log
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, logsumexp, xlog1py, xlogy
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from .._core.typing import Array
from ..exceptions import InvalidProblemError

__all__ = ["ErrorInterval", "ErrorMonitor"]

_BETS = 16  # rates above the promised one that are bet on
_RATES = 0.5, 2.5  # parameters of the Beta distribution that the rates of the limits are drawn from
_EDGE = 1e-12  # nearest to 0 and 1 that a limit is looked for


class ErrorInterval(NamedTuple):
    """Limits of the error.

    Attributes
    ----------
    low, high : float
        Limits that hold at all times at once, with the confidence asked for.

    Examples
    --------
    >>> from bayespoint.uses import ErrorMonitor
    >>> ErrorMonitor().interval()
    ErrorInterval(low=0.0, high=1.0)
    """

    low: float
    high: float


class ErrorMonitor:
    """The error of a classifier from rows whose labels come after the prediction, with limits valid at all times.

    One may look after every row and stop or go on as one likes: with probability 1 - delta the limits hold at all times
    at once, and with probability 1 - delta no alarm is ever raised while the error is at most the promised one.

    Parameters
    ----------
    promised : float, optional
        Error above which an alarm is wanted; none by default.
    delta : float, default=0.05
        Probability that the limits fail at any time, and that of ever raising a false alarm.

    Attributes
    ----------
    n_seen : int
        Rows so far.
    total : float
        Sum of their losses.
    alarm_at : int or None
        The row at which the alarm was raised; it stays.

    Notes
    -----
    The limits speak of one error that does not change. The alarm needs less: it is false only if the chance of an
    error, given all that came before, was at most `promised` at every row up to it, so it may be used where the
    distribution drifts or the classifier goes on learning. After a drift the limits are those of no fixed quantity;
    start a new monitor.

    Examples
    --------
    >>> from bayespoint.uses import ErrorMonitor
    >>> monitor = ErrorMonitor(promised=0.1)
    >>> monitor.update(["a", "b"] * 100, (["a", "b"] * 9 + ["a", "a"]) * 10)  # every twentieth is wrong
    >>> monitor.error, monitor.alarm
    (0.05, False)
    >>> low, high = monitor.interval()
    >>> round(low, 3), round(high, 3)
    (0.015, 0.114)
    >>> monitor.update(["a"] * 40, ["b"] * 40)  # all of them wrong
    >>> monitor.alarm, monitor.alarm_at
    (True, 206)
    """

    def __init__(self, promised: float | None = None, *, delta: float = 0.05) -> None:
        if promised is not None:
            _check_inside("promised", promised)
        _check_inside("delta", delta)
        self.promised, self.delta = promised, delta
        self.n_seen, self.total = 0, 0.0
        self.alarm_at: int | None = None
        self._log_capital: Array = np.full(_BETS, -inf)

    def update(self, y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> None:
        """Take in one row or many: what came true, and what had been predicted before.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            Labels, in the order in which they came. Rows that were given back have none: leave them out.
        sample_weight : None
            Refused: the guarantee is for rows that count alike.
        """
        if sample_weight is not None:
            raise InvalidProblemError("A monitor counts every row once: leave sample_weight out.")
        truth, said = column_or_1d(np.atleast_1d(y_true)), column_or_1d(np.atleast_1d(y_pred))
        check_consistent_length(truth, said)
        _check_labels(truth, said)
        self.update_losses(np.asarray(truth != said, dtype=np.float64))

    def update_losses(self, losses: Any) -> None:
        """Take in losses between 0 and 1 instead of labels, in the order in which they came."""
        losses = np.atleast_1d(np.asarray(losses, dtype=np.float64))
        if losses.ndim != 1 or not np.all((losses >= 0) & (losses <= 1)):
            raise InvalidProblemError("Losses must be numbers between 0 and 1, one for each row.")
        if self.promised is not None and len(losses):
            self._bet(losses, self.promised)
        self.n_seen += len(losses)
        self.total += float(losses.sum())

    def learn(self, model: Any, X: Any, y: Any, **params: Any) -> Any:
        """Test, then train: predict the rows, take in the errors, and only then learn from them.

        Parameters
        ----------
        model : classifier
            With `partial_fit`. Before its first rows it predicts nothing, and these do not count.
        X, y : array-like
            Rows and labels.
        **params
            Passed on to `partial_fit`, such as ``classes``.

        Returns
        -------
        classifier
            The model after learning.
        """
        if not hasattr(model, "partial_fit"):  # before its errors are counted
            raise InvalidProblemError(f"{type(model).__name__} has no partial_fit, so it cannot learn row by row.")
        try:
            check_is_fitted(model)
        except NotFittedError:
            pass
        else:
            self.update(y, model.predict(X))
        return model.partial_fit(X, y, **params)

    @property
    def error(self) -> float:
        """Mean loss so far; NaN before the first row."""
        return self.total / self.n_seen if self.n_seen else float("nan")

    @property
    def alarm(self) -> bool:
        """Whether the error is, or was, above the promised one."""
        return self.alarm_at is not None

    @property
    def evidence(self) -> float:
        """Natural logarithm of the capital that was won by betting against the promise; ``log(1 / delta)`` is proof."""
        if self.promised is None:
            raise InvalidProblemError("There is no promise to bet against: give promised.")
        return float(np.logaddexp(_log_mean(self._log_capital), _log_unspent(self.n_seen)))

    def interval(self) -> ErrorInterval:
        """Limits of the error: those that no bet has refuted so far."""
        n, s = self.n_seen, self.total
        if not n:
            return ErrorInterval(0.0, 1.0)
        a, b = _RATES
        won = float(betaln(s + a, n - s + b) - betaln(a, b)) - log(1 / self.delta)

        def refuted(m: float) -> float:
            return float(won - xlogy(s, m) - xlog1py(n - s, -m))

        best = min(max(s / n, _EDGE), 1 - _EDGE)
        low = brentq(refuted, _EDGE, best) if refuted(_EDGE) > 0 else 0.0
        high = brentq(refuted, best, 1 - _EDGE) if refuted(1 - _EDGE) > 0 else 1.0
        return ErrorInterval(float(low), float(high))

    def state(self) -> dict[str, Any]:
        """All that the monitor knows, as plain numbers, to be kept as JSON."""
        capital = [None if value == -inf else float(value) for value in self._log_capital]
        names = ("promised", "delta", "n_seen", "total", "alarm_at")
        return {name: getattr(self, name) for name in names} | {"log_capital": capital}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """A monitor that goes on where another one was."""
        found = cls(state["promised"], delta=state["delta"])
        found.n_seen, found.total, found.alarm_at = state["n_seen"], state["total"], state["alarm_at"]
        found._log_capital = np.array([-inf if value is None else value for value in state["log_capital"]])
        return found

    def _bet(self, losses: Array, promised: float) -> None:
        """Capital of all bets after each loss, and the first row at which it is proof."""
        rates = promised + (1 - promised) * (np.arange(_BETS) + 0.5)[:, None] ** 2 / _BETS**2
        bets = (rates - promised) / (promised * (1 - promised))
        rows = self.n_seen + 1 + np.arange(len(losses))
        log_share = np.log(1 / np.log2(rows + 1.0) - 1 / np.log2(rows + 2.0))
        growth = np.cumsum(np.log1p(bets * (losses - promised)), axis=1)
        begun = log_share - np.concatenate([np.zeros((_BETS, 1)), growth[:, :-1]], axis=1)
        begun = np.concatenate([self._log_capital[:, None], begun], axis=1)
        capital = growth + np.logaddexp.accumulate(begun, axis=1)[:, 1:]
        proof = np.logaddexp(_log_mean(capital), _log_unspent(rows)) >= log(1 / self.delta)
        if self.alarm_at is None and proof.any():
            self.alarm_at = int(rows[np.argmax(proof)])
        self._log_capital = capital[:, -1]


def _log_mean(capital: Array) -> Any:
    """Over the rates that are bet on."""
    return logsumexp(capital, axis=0) - log(_BETS)


def _log_unspent(rows: Any) -> Any:
    """Share of the capital that no bet has got so far."""
    return -np.log(np.log2(np.asarray(rows) + 2.0))


def _check_labels(truth: Any, said: Any) -> None:
    """Refuse labels that would count as errors although nobody knows of one."""
    truth, said = truth.tolist(), said.tolist()
    if any(label is None or (label == label) is not True for label in truth):
        raise InvalidProblemError("y_true has missing labels: take rows in when their labels are known.")
    if truth and not {isinstance(label, str) for label in truth} & {isinstance(label, str) for label in said}:
        raise InvalidProblemError(
            f"y_true has labels such as {truth[0]!r} and y_pred such as {said[0]!r}: give words or numbers to both."
        )


def _check_inside(name: str, value: Any) -> None:
    if not (isinstance(value, Real) and 0 < float(value) < 1):
        raise InvalidProblemError(f"{name} must lie strictly between 0 and 1, got {value!r}.")
