"""Classifiers for tables with text and gaps: ours as it comes, six of others at their best in log loss.

A method makes an estimator for a frame; `fit` and `predict_proba` take frames like it. Every one sees the training rows
alone and chooses its own settings by them (`searches`). Methods that want numbers get text one-hot (new values: all
zero), the median in gaps, with a column that marks them, and numbers standardised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from bayespoint import BayesPointClassifier
from searches import CalibratedGrid, CatBoostByLogLoss, ForestByLogLoss, HistogramsByLogLoss, negative_log_loss
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
    text = nominal(X)
    return make_pipeline(FunctionTransformer(filled, kw_args={"columns": text}), CatBoostByLogLoss(text))


def random_forest(X: pd.DataFrame) -> Any:
    return make_pipeline(numbers(X), ForestByLogLoss())


def gradient_boosting(X: pd.DataFrame) -> Any:
    return make_pipeline(FunctionTransformer(with_categories), HistogramsByLogLoss())


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
