"""Classifiers drawn from the posterior
====================================

Many boundaries are compatible with the labels. They agree where there are rows, and part where there are none. On the
left functions are drawn from the Gaussian approximation of expectation propagation, on the right they come from the
exact billiard, with the same kernel.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from bayespoint import BayesPointClassifier
from bayespoint.plots import DecisionBoundariesDisplay

X, y = make_moons(60, noise=0.2, random_state=1)
approximate = BayesPointClassifier().fit(X, y)
exact = BayesPointClassifier(
    approximate.kernel_, bias=approximate.bias_, optimizer=None, engine="sample", random_state=0
).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, model, title in zip(axes, (approximate, exact), ("expectation propagation", "exact draws"), strict=True):
    DecisionBoundariesDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(title)
axes[0].get_legend().remove()
axes[1].set_ylabel("")
plt.show()
