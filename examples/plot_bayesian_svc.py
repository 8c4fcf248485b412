"""A support vector machine with probabilities
===========================================

`BayesianSVC` has the constructor of `sklearn.svm.SVC`, and probabilities that follow from the model rather than from a
sigmoid fitted on folds. Taken at the machine itself they trust its margin; averaged over the posterior they return to
one half away from the rows. A calibrated `SVC` is sure of itself, or not, wherever its decision function says so.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from bayespoint import BayesianSVC
from bayespoint.plots import ProbabilitySurfaceDisplay

X, y = make_moons(60, noise=0.2, random_state=0)
models = {
    "calibrated SVC": CalibratedClassifierCV(SVC(C=2.0)),
    "BayesianSVC, at the machine": BayesianSVC(C=2.0, probability="map"),
    "BayesianSVC, averaged": BayesianSVC(C=2.0),
}
figure, axes = plt.subplots(1, 3, figsize=(14, 4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    ProbabilitySurfaceDisplay.from_estimator(model.fit(X, y), X, y, uncertainty=None, ax=ax)
    ax.set_title(name)
for ax in axes[1:]:
    ax.get_legend().remove()
plt.show()
