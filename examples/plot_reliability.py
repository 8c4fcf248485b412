"""Are the probabilities right?
============================

Of the points that a classifier gives 70 %, about 70 % should be of that class. Two classes that overlap, 150 training
rows and 2,000 test points to tell: the Bayes point classifier beside a calibrated support vector machine. Which is
ahead depends on the data; with a tenth of these labels flipped the two are on a par.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier
from bayespoint.plots import ReliabilityDisplay

X, y = make_moons(2150, noise=0.35, random_state=0)
X_train, y_train, X_test, y_test = X[:150], y[:150], X[150:], y[150:]

axes = None
for name, model in {
    "BayesPointClassifier": BayesPointClassifier(),
    "calibrated SVC": CalibratedClassifierCV(SVC()),
}.items():
    p = model.fit(X_train, y_train).predict_proba(X_test)
    name = f"{name}, log loss {log_loss(y_test, p):.3f}"
    axes = ReliabilityDisplay.from_predictions(y_test, p, n_bins=10, strategy="uniform", name=name, ax=axes).axes_
plt.show()
