"""Declining to answer
===================

A classifier that knows when it does not know can hand the hard cases to somebody else. Digits 3, 8 and 9 from few
examples: how much error is left when the least certain points are rejected?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from bayespoint import BayesPointClassifier
from bayespoint.plots import RejectionCurveDisplay

X, y = load_digits(return_X_y=True)
chosen = np.isin(y, [3, 8, 9])
X_train, X_test, y_train, y_test = train_test_split(X[chosen] / 16, y[chosen], train_size=60, random_state=0)

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for model in (BayesPointClassifier(), LogisticRegression()):
    name = type(model).__name__
    pipeline = make_pipeline(VarianceThreshold(), model).fit(X_train, y_train)
    curve = RejectionCurveDisplay.from_estimator(pipeline, X_test, y_test, name=name, ax=ax).curve
    error = curve.error[np.searchsorted(curve.rate, 0.1)]
    print(f"{name}: error {curve.error[0]:.1%}, and {error:.1%} when a tenth is rejected")
plt.show()
