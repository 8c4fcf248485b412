"""Classifiers for tables with text and gaps, each as a person would use it: ours and six of others.

A method makes an estimator for a frame; `fit` and `predict_proba` take frames like it. Every one sees the training rows
alone and chooses its own settings by them. Methods that want numbers get text one-hot (new values: all zero), the
median in gaps, with a column that marks them, and numbers standardised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier
from tables import nominal

ROWS_OF_A_PROCESS, CLASSES_OF_A_PROCESS = 500, 5  # more rows or classes take GaussianProcessClassifier minutes a fit
CLASSES_OF_CATBOOST = 10  # with 19 (soybean, 35 columns of text) a fit took more than twenty minutes
GAP = "missing"


@dataclass(frozen=True)
class Method:
    """What a method is called, what makes it, the package it comes from, and the most classes it is asked for."""

    label: str
    make: Callable[[pd.DataFrame], Any]
    package: str = "scikit-learn"
    most_classes: float = np.inf

    def refusal(self, y: np.ndarray) -> str:
        """Why it is not asked on these labels; empty if it is."""
        classes = len(np.unique(y))
        return f"{classes} classes, asked for {self.most_classes} at most" if classes > self.most_classes else ""

    @property
    def installed(self) -> bool:
        return find_spec({"scikit-learn": "sklearn"}.get(self.package, self.package)) is not None


def numbers(X: pd.DataFrame) -> Any:
    """A transformer of frames like X into numbers."""
    text = nominal(X)
    values = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    gaps = FunctionTransformer(filled, kw_args={"columns": text})
    return make_pipeline(gaps, make_column_transformer((words, text), (values, [c for c in X if c not in text])))


def filled(X: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """These columns as words, gaps too."""
    return X.assign(**{c: X[c].astype(object).where(X[c].notna(), GAP).astype(str) for c in columns})


def with_categories(X: pd.DataFrame) -> pd.DataFrame:
    return X.astype({c: "category" for c in nominal(X)})


def folds(X: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Five, as a list: a class of fewer rows than folds is no reason to give up."""
    return list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))


def negative_log_loss(estimator: Any, X: np.ndarray, y: np.ndarray) -> float:
    """A scorer that does not mind a fold without a rare class."""
    return -log_loss(y, estimator.predict_proba(X), labels=estimator.classes_)


class Decisions(ClassifierMixin, BaseEstimator):
    """Its input is its decision: what calibration takes when decisions are there already."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Decisions:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[(X[:, 0] > 0).astype(int) if X.shape[1] == 1 else X.argmax(axis=1)]


class CalibratedGrid(ClassifierMixin, BaseEstimator):
    """SVC with C and gamma of least log loss after sigmoid calibration on the decisions of five folds.

    The calibration of a place on the grid is the one that CalibratedClassifierCV(ensemble=False) makes of it, two
    numbers a class, and its log loss is taken on the same decisions: 125 fits rather than 750.
    """

    def fit(self, X: np.ndarray, y: np.ndarray) -> CalibratedGrid:
        parts, spread = folds(X, y), X.var(axis=0).sum()
        grid = [(C, gamma / spread) for C in np.logspace(-1, 3, 5) for gamma in np.logspace(-2, 1, 5)]
        C, gamma = min(grid, key=lambda place: self.loss(X, y, parts, *place))
        self.model_ = CalibratedClassifierCV(SVC(C=C, gamma=gamma), cv=parts, ensemble=False).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    @staticmethod
    def loss(X: np.ndarray, y: np.ndarray, parts: list, C: float, gamma: float) -> float:
        decisions = cross_val_predict(SVC(C=C, gamma=gamma), X, y, cv=parts, method="decision_function")
        decisions = decisions.reshape(len(y), -1)
        model = CalibratedClassifierCV(Decisions(), cv=parts, ensemble=False).fit(decisions, y)
        return -negative_log_loss(model, decisions, y)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict_proba(X)


class GaussianProcess(ClassifierMixin, BaseEstimator):
    """GaussianProcessClassifier with a bias, on at most 500 of the rows."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> GaussianProcess:
        if len(y) > ROWS_OF_A_PROCESS:
            X, _, y, _ = train_test_split(X, y, train_size=ROWS_OF_A_PROCESS, stratify=y, random_state=0)
        scale = np.sqrt(X.var(axis=0).sum())
        kernel = ConstantKernel(1.0) * RBF(scale, (scale / 100, scale * 100)) + ConstantKernel(1.0)
        self.model_ = GaussianProcessClassifier(kernel, random_state=0).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict_proba(X)


def ours(X: pd.DataFrame) -> Any:
    return BayesPointClassifier()


def catboost(X: pd.DataFrame) -> Any:
    from catboost import CatBoostClassifier

    text = nominal(X)
    model = CatBoostClassifier(cat_features=text, verbose=0, allow_writing_files=False, thread_count=1)
    return make_pipeline(FunctionTransformer(filled, kw_args={"columns": text}), model)


def random_forest(X: pd.DataFrame) -> Any:
    return make_pipeline(numbers(X), RandomForestClassifier(300, random_state=0))


def gradient_boosting(X: pd.DataFrame) -> Any:
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    return make_pipeline(FunctionTransformer(with_categories), model)


def logistic_regression(X: pd.DataFrame) -> Any:
    parts = StratifiedKFold(5, shuffle=True, random_state=0)
    model = LogisticRegressionCV(
        l1_ratios=(0,), use_legacy_attributes=False, max_iter=1000, cv=parts, scoring=negative_log_loss
    )
    return make_pipeline(numbers(X), model)


def support_vectors(X: pd.DataFrame) -> Any:
    return make_pipeline(numbers(X), CalibratedGrid())


def gaussian_process(X: pd.DataFrame) -> Any:
    return make_pipeline(numbers(X), GaussianProcess())


METHODS = {
    "bayespoint": Method("bayespoint", ours, "bayespoint"),
    "catboost": Method("CatBoost", catboost, "catboost", most_classes=CLASSES_OF_CATBOOST),
    "forest": Method("random forest", random_forest),
    "boosting": Method("HistGradientBoosting", gradient_boosting),
    "logistic": Method("LogisticRegressionCV", logistic_regression),
    "svc": Method("SVC grid + calibration", support_vectors),
    "process": Method("GaussianProcess", gaussian_process, most_classes=CLASSES_OF_A_PROCESS),
}
