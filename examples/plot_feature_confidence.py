"""Weights with their confidences
==============================

The Gaussian margin machine is a Gaussian over linear classifiers: every weight comes with a standard deviation. Those
that are many deviations away from zero are the ones that the machine goes by.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from bayespoint import GaussianMarginClassifier
from bayespoint.plots import FeatureConfidenceDisplay

data = load_breast_cancer()
X = data.data / data.data.max(axis=0)
model = GaussianMarginClassifier(eta=0.99, C=10.0).fit(X, data.target)
print(f"training error {1 - model.score(X, data.target):.1%}")

FeatureConfidenceDisplay.from_estimator(model, top=12, feature_names=data.feature_names)
plt.show()
