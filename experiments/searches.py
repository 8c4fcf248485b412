"""Classifiers of others that choose their settings by the log loss of rows left out, as whoever wants it least would.

All see the training rows alone: SVC by five folds and its calibration, forests by the rows that a tree did not see,
boosted trees by three folds, which say how many trees, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC

MOST_TREES, PATIENCE = 1000, 50  # of CatBoost: its default, and the rounds without gain after which a fold ends
MOST_ROUNDS, RATE = 200, 0.05  # of HistGradientBoosting
LEAST = 1e-15  # the least probability that log loss is taken of


def folds(X: Any, y: np.ndarray, count: int = 5) -> list[tuple[np.ndarray, np.ndarray]]:
    """As a list: a class of fewer rows than folds is no reason to give up."""
    return list(StratifiedKFold(count, shuffle=True, random_state=0).split(np.zeros(len(y)), y))


def negative_log_loss(estimator: Any, X: np.ndarray, y: np.ndarray) -> float:
    """A scorer that does not mind a fold without a rare class."""
    return -log_loss(y, estimator.predict_proba(X), labels=estimator.classes_)


def loss_of_the_labels(p: np.ndarray, classes: np.ndarray, y: np.ndarray) -> float:
    """Log loss where the classifier knows all these labels, the least probability instead where it does not."""
    known = np.isin(y, classes)
    of_label = p[np.flatnonzero(known), np.searchsorted(classes, y[known])]
    return float(-np.concatenate([np.log(np.clip(of_label, LEAST, 1)), np.full((~known).sum(), np.log(LEAST))]).mean())


class Decisions(ClassifierMixin, BaseEstimator):
    """Its input is its decision: what calibration takes when decisions are there already."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Decisions:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[(X[:, 0] > 0).astype(int) if X.shape[1] == 1 else X.argmax(axis=1)]


def calibrated_loss(decisions: np.ndarray, y: np.ndarray, parts: list) -> float:
    """Log loss of left-out decisions after the two numbers a class of CalibratedClassifierCV(ensemble=False)."""
    model = CalibratedClassifierCV(Decisions(), cv=parts, ensemble=False).fit(decisions, y)
    return -negative_log_loss(model, decisions, y)


class Search(ClassifierMixin, BaseEstimator):
    """What all have in common: `fit` leaves the best in `model_`."""

    def settle(self, model: Any) -> Any:
        self.model_, self.classes_ = model, np.asarray(model.classes_)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model_.predict_proba(X)


class CalibratedGrid(Search):
    """SVC with C and gamma of least log loss after sigmoid calibration on the decisions of five folds.

    The calibration of a place on the grid is the one that CalibratedClassifierCV(ensemble=False) makes of it, and its
    log loss is taken on the same decisions: 125 fits rather than 750.
    """

    def fit(self, X: np.ndarray, y: np.ndarray) -> CalibratedGrid:
        parts, spread = folds(X, y), X.var(axis=0).sum()
        grid = [(C, gamma / spread) for C in np.logspace(-1, 3, 5) for gamma in np.logspace(-2, 1, 5)]
        C, gamma = min(grid, key=lambda place: self.loss(X, y, parts, *place))
        return self.settle(CalibratedClassifierCV(SVC(C=C, gamma=gamma), cv=parts, ensemble=False).fit(X, y))

    @staticmethod
    def loss(X: np.ndarray, y: np.ndarray, parts: list, C: float, gamma: float) -> float:
        decisions = cross_val_predict(SVC(C=C, gamma=gamma), X, y, cv=parts, method="decision_function")
        return calibrated_loss(decisions.reshape(len(y), -1), y, parts)


class ForestByLogLoss(Search):
    """300 trees with leaves, features a cut, and calibration or none, of least log loss outside each tree's bag."""

    LEAVES, FEATURES = (1, 5), ("sqrt", 0.5)

    def fit(self, X: np.ndarray, y: np.ndarray) -> ForestByLogLoss:
        parts, found = folds(X, y), []
        for leaf, features in product(self.LEAVES, self.FEATURES):
            forest = self.forest(leaf, features).set_params(oob_score=True).fit(X, y)
            p = forest.oob_decision_function_
            found.append((loss_of_the_labels(p, forest.classes_, y), False, leaf, features))
            found.append((calibrated_loss(p[:, 1:] if p.shape[1] == 2 else p, y, parts), True, leaf, features))
        _, calibrate, *best = min(found, key=lambda one: one[0])
        model = self.forest(*best)
        if calibrate:
            model = CalibratedClassifierCV(model, cv=parts, ensemble=False)
        return self.settle(model.fit(X, y))

    @staticmethod
    def forest(leaf: int, features: str | float) -> RandomForestClassifier:
        return RandomForestClassifier(300, min_samples_leaf=leaf, max_features=features, random_state=0)


def best_of(curves: dict[tuple, Sequence[np.ndarray]]) -> tuple[tuple, int]:
    """The key and the number of trees of least mean loss; of each key one curve a fold, of any lengths."""
    means = {key: np.mean([one[: min(map(len, some))] for one in some], axis=0) for key, some in curves.items()}
    key = min(means, key=lambda one: means[one].min())
    return key, 1 + int(means[key].argmin())


class HistogramsByLogLoss(Search):
    """HistGradientBoosting with the leaves of a tree and the rounds of least log loss on folds."""

    LEAVES, ROWS = (4, 8, 31), (20,)

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> HistogramsByLogLoss:
        curves = {
            key: [self.curve(key, X, y, *part) for part in folds(X, y, 3)] for key in product(self.LEAVES, self.ROWS)
        }
        key, rounds = best_of(curves)
        return self.settle(self.model(key, rounds).fit(X, y))

    @staticmethod
    def model(key: tuple[int, int], rounds: int) -> HistGradientBoostingClassifier:
        leaves, rows = key
        sizes = {"max_leaf_nodes": leaves, "min_samples_leaf": rows, "learning_rate": RATE, "max_iter": rounds}
        return HistGradientBoostingClassifier(
            **sizes, categorical_features="from_dtype", early_stopping=False, random_state=0
        )

    def curve(self, key: tuple, X: pd.DataFrame, y: np.ndarray, inside: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Log loss of the rows left out after each round."""
        model = self.model(key, MOST_ROUNDS).fit(X.iloc[inside], y[inside])
        staged = model.staged_predict_proba(X.iloc[out])
        return np.array([loss_of_the_labels(p, model.classes_, y[out]) for p in staged])


class CatBoostByLogLoss(Search):
    """CatBoost with the depth, the rate of learning and the number of trees of least log loss on folds."""

    KEYS = ((3, 0.03), (6, 0.1), (6, None))  # None: the rate that it sets itself, .003 to .01 here

    def __init__(self, text: Sequence[str] = ()) -> None:
        self.text = text

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> CatBoostByLogLoss:
        parts = folds(X, y, 3)
        fits = {key: [self.fold(key, X, y, *part) for part in parts] for key in self.KEYS}
        key, trees = best_of({key: [curve for curve, _ in some] for key, some in fits.items()})
        rate = float(np.mean([rate for _, rate in fits[key]]))
        return self.settle(self.model(key[0], rate, iterations=trees).fit(X, y))

    def model(self, depth: int, rate: float | None, **settings: Any) -> Any:
        from catboost import CatBoostClassifier

        quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
        return CatBoostClassifier(depth=depth, learning_rate=rate, cat_features=list(self.text), **quiet, **settings)

    def fold(
        self, key: tuple, X: pd.DataFrame, y: np.ndarray, inside: np.ndarray, out: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Log loss of the rows left out after each tree, and the rate."""
        out = out[np.isin(y[out], y[inside])]  # CatBoost refuses to be judged by a class it does not know
        model = self.model(*key, iterations=MOST_TREES, early_stopping_rounds=PATIENCE, use_best_model=False)
        model.fit(X.iloc[inside], y[inside], eval_set=(X.iloc[out], y[out]))
        (curve,) = model.evals_result_["validation"].values()
        return np.array(curve), float(model.get_all_params()["learning_rate"])
