"""Probabilities, and what is behind them
======================================

A probability near one half has two causes: the classes overlap there, or there are no rows to tell. The standard
deviation of the latent function tells the two apart: it is small between the classes, and large away from the rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.plots import ProbabilitySurfaceDisplay

data = load_breast_cancer(as_frame=True)
X = data.data[["mean radius", "mean texture"]][::4]
y = data.target_names[data.target][::4]

model = make_pipeline(StandardScaler(), BayesPointClassifier()).fit(X, y)
display = ProbabilitySurfaceDisplay.from_estimator(model, X, y, class_of_interest="malignant")
print(f"kernel chosen by evidence: {model[-1].kernel_}")
plt.show()
