"""How good a classifier is on labelled rows, with intervals, and beside others on the same splits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from .._core.typing import Array
from ..estimators import BayesPointClassifier
from ..exceptions import InvalidProblemError
from .metrics import area_under_rejection_curve, expected_calibration_error, share_limits

__all__ = ["Evaluation", "Interval", "Rival", "compare", "evaluate", "rivals"]

_LEVEL = 0.95


class Interval(NamedTuple):
    """A figure and the limits that it lies in with 95 % confidence."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """Figures of a classifier on rows that it has not seen."""

    rows: int
    error: Interval
    log_loss: Interval
    calibration_error: float
    rejection_area: float
    constant_error: float  # of the most frequent class alone
    constant_log_loss: float  # of the classes' shares alone


def evaluate(y: Any, proba: Array, classes: Any) -> Evaluation:
    """Of class probabilities, a column each, on labels that came true."""
    classes = np.asarray(classes)
    codes = np.searchsorted(classes, y)
    predicted, truth = proba.argmax(axis=1), proba[np.arange(len(codes)), codes]
    wrong = predicted != codes
    losses = -np.log(np.maximum(truth, np.finfo(float).tiny))
    shares = np.bincount(codes, minlength=len(classes)) / len(codes)
    present = shares[shares > 0]
    low, high = share_limits(np.array([wrong.sum()]), np.array([len(wrong)]), _LEVEL)
    return Evaluation(
        rows=len(codes),
        error=Interval(float(wrong.mean()), float(low[0]), float(high[0])),
        log_loss=_mean_interval(losses),
        calibration_error=expected_calibration_error(np.asarray(y), proba, classes=classes),
        rejection_area=area_under_rejection_curve(codes, predicted, proba.max(axis=1)),
        constant_error=float(1 - shares.max()),
        constant_log_loss=float(-np.sum(present * np.log(present))),
    )


def _mean_interval(values: Array) -> Interval:
    mean = float(values.mean())
    half = float(-ndtri((1 - _LEVEL) / 2) * values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf
    return Interval(mean, max(mean - half, 0.0), mean + half)


# -- rivals ----------------------------------------------------------------------------------------------------------


class _Encoded(TransformerMixin, BaseEstimator):
    """A frame as numbers for classifiers that take nothing else.

    A column for each name that a nominal one has, gaps among them; gaps of numbers become medians, with a column that
    says so.
    """

    def fit(self, X: Any, y: Any = None) -> _Encoded:
        self.columns_: list[tuple[str, Any, float | None]] = []
        for name, values in X.data.items():
            if values.dtype == object:
                self.columns_.append((name, sorted({str(value) for value in values}), None))
            else:
                gaps = bool(np.isnan(values).any())
                middle = 0.0 if np.isnan(values).all() else float(np.nanmedian(values))
                self.columns_.append((name, gaps, middle))
        return self

    def transform(self, X: Any) -> Array:
        found = []
        for name, known, middle in self.columns_:
            values = X.data[name]
            if middle is None:
                texts = np.array([str(value) for value in values])
                found += [(texts == level).astype(np.float64) for level in known]
                continue
            empty = np.isnan(values)
            found.append(np.where(empty, middle, values))
            found += [empty.astype(np.float64)] if known else []
        return np.column_stack(found)


class _CatBoost(ClassifierMixin, BaseEstimator):
    """CatBoost with its defaults, on tables as they are."""

    def fit(self, X: Any, y: Any) -> _CatBoost:
        from catboost import CatBoostClassifier

        nominal = [j for j, values in enumerate(X.data.values()) if values.dtype == object]
        self.model_ = CatBoostClassifier(verbose=False, allow_writing_files=False, random_seed=0, thread_count=1)
        self.model_.fit(self._rows(X), y, cat_features=nominal)
        self.classes_ = np.asarray(self.model_.classes_)
        return self

    def predict_proba(self, X: Any) -> Array:
        return np.asarray(self.model_.predict_proba(self._rows(X)))

    @staticmethod
    def _rows(X: Any) -> list[list[Any]]:
        columns = [[str(v) for v in c] if c.dtype == object else c.tolist() for c in X.data.values()]
        return [list(row) for row in zip(*columns, strict=True)]


def _has_catboost() -> bool:
    from importlib.util import find_spec

    return find_spec("catboost") is not None


def rivals(seed: int = 0) -> dict[str, Callable[[], Any]]:
    """Classifiers to compare with, by name, ours first; CatBoost where it is installed."""
    machine = CalibratedClassifierCV(SVC(), ensemble=False)
    found: dict[str, Callable[[], Any]] = {
        "BayesPointClassifier": lambda: BayesPointClassifier(random_state=seed),
        "SVC, calibrated": lambda: make_pipeline(_Encoded(), StandardScaler(), machine),
        "logistic regression": lambda: make_pipeline(_Encoded(), StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    return found | ({"CatBoost": _CatBoost} if _has_catboost() else {})


class Rival(NamedTuple):
    """A classifier's figures over all splits; `seconds` are of the processor."""

    name: str
    error: Interval
    log_loss: Interval
    calibration_error: float
    seconds: float
    versus_first: Interval | None  # its log loss less that of the first, on the same rows


def compare(
    X: Any, y: Any, *, folds: int = 5, seed: int = 0, tell: Callable[[str], None] = lambda _: None
) -> list[Rival]:
    """Ours beside others on the same splits of the rows: each row is predicted once, by classifiers without it."""
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < folds:
        rare = str(classes[counts.argmin()])
        if counts.min() < 2:
            raise InvalidProblemError(
                f"The class {rare!r} has a single row, which cannot be on both sides of a split: leave it out."
            )
        folds = int(counts.min())
        warnings.warn(f"The class {rare!r} has {folds} rows: {folds} splits instead.", stacklevel=2)
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))
    losses: dict[str, Array] = {}
    found = []
    for name, make in rivals(seed).items():
        started, proba = process_time(), np.zeros((len(y), len(classes)))
        for k, (train, test) in enumerate(splits):
            tell(f"{name}: split {k + 1} of {folds}")
            fitted = make().fit(X[train], y[train])
            proba[np.ix_(test, np.searchsorted(classes, fitted.classes_))] = fitted.predict_proba(X[test])
        seconds = process_time() - started
        scores = evaluate(y, proba, classes)
        truth = proba[np.arange(len(y)), np.searchsorted(classes, y)]
        losses[name] = -np.log(np.maximum(truth, np.finfo(float).tiny))
        first = next(iter(losses))
        versus = None if name == first else _difference(losses[name] - losses[first])
        found.append(Rival(name, scores.error, scores.log_loss, scores.calibration_error, seconds, versus))
    return found


def _difference(values: Array) -> Interval:
    half = float(-ndtri((1 - _LEVEL) / 2) * values.std(ddof=1) / np.sqrt(len(values)))
    return Interval(float(values.mean()), float(values.mean()) - half, float(values.mean()) + half)
