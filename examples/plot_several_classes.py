"""Three classes: where each is probable, and which are taken for which
====================================================================

Irises by two measures of their petals: two of the three kinds overlap. All classes are one model
here (``decision="joint"``). On the left the plane is the paler the less sure the most probable class is, between kinds
and far from all flowers. On the right each training label is predicted by all the others: counts, in brackets those
that the probabilities themselves expect, and 95 % limits of each share of a row.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from bayespoint import BayesPointClassifier
from bayespoint.plots import ClassRegionsDisplay, ConfusionDisplay

data = load_iris(as_frame=True)
X, y = data.data.iloc[:, 2:], data.target_names[data.target]
model = BayesPointClassifier("rbf", decision="joint").fit(X, y)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
ClassRegionsDisplay.from_estimator(model, X, y, ax=left)
ConfusionDisplay.from_predictions(y, model.loo_proba_, classes=model.classes_, ax=right)
plt.show()
