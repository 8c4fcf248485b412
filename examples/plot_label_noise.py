"""Finding wrong labels
====================

With ``noise`` a label may have been flipped, and the posterior tells how probable that is for each row. Here a tenth of
the labels was flipped on purpose; the share of flips is found by the evidence.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from bayespoint import BayesPointClassifier, readouts
from bayespoint.plots import DecisionBoundariesDisplay

rng = np.random.default_rng(0)
X, y = make_moons(150, noise=0.12, random_state=0)
flipped = rng.permutation(150)[:15]
y[flipped] = 1 - y[flipped]

model = BayesPointClassifier(noise="evidence", softness=0.01).fit(X, y)
suspicion = readouts.flip_probability(model.posterior_)
found = np.flatnonzero(suspicion > 0.5)
print(f"share of flips by evidence: {model.likelihood_.noise:.3f}")
print(f"{len(found)} rows are suspect, {np.isin(found, flipped).sum()} of the 15 flipped ones among them")

ax = DecisionBoundariesDisplay.from_estimator(model, X, y, n_draws=10).ax_
ax.scatter(*X[found].T, s=130, facecolor="none", edgecolor="black", zorder=5)
ax.set_title("circles: labels that are probably wrong")
plt.show()
