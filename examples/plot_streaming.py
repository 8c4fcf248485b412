"""Learning from a stream
======================

`partial_fit` takes one batch after the other and holds none of them. The posterior so far is the prior of what comes:
probabilities grow surer as rows come in, and end where a fit on all rows would.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF

from bayespoint import BayesPointClassifier
from bayespoint.plots import ProbabilitySurfaceDisplay

X, y = make_moons(640, noise=0.25, random_state=0)
X_test, y_test = make_moons(2000, noise=0.25, random_state=1)
model = BayesPointClassifier(20.0 * RBF(0.8), optimizer=None)

figure, axes = plt.subplots(1, 3, figsize=(14, 4), sharey=True, layout="constrained")
seen = 0
for ax, upto in zip(axes, (10, 80, 640), strict=True):
    for start in range(seen, upto, 10):
        model.partial_fit(X[start : start + 10], y[start : start + 10], classes=[0, 1])
    seen = upto
    ProbabilitySurfaceDisplay.from_estimator(model, X, n_points=60, uncertainty=None, ax=ax)
    ax.set_title(f"{model.n_seen_} rows: test error {1 - model.score(X_test, y_test):.1%}")
plt.show()
