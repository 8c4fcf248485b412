"""How the kernel is chosen
========================

The default classifier climbs the log-evidence of the training labels: the probability that the model gave them before
it saw them. Too small a length scale explains anything, too large a one nothing; nothing is held out to find the best.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from bayespoint import BayesPointClassifier
from bayespoint.plots import EvidenceSurfaceDisplay

X, y = make_moons(60, noise=0.3, random_state=0)
model = BayesPointClassifier(None).fit(X, y)
print(f"chosen: {model.kernel_}, log-evidence {model.log_evidence_:.2f}")

EvidenceSurfaceDisplay.from_estimator(model, X, y, parameters=("amplitude", "length scale"))
plt.show()
