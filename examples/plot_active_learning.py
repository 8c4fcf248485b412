"""Asking for the labels that matter
=================================

Labels are dear, inputs are cheap. `ActiveLearner` asks for the label that would tell it most about the function; beside
it is the same classifier on labels chosen at random. Means of six repeats, with 95 % bands.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF

from bayespoint import ActiveLearner, BayesPointClassifier
from bayespoint.plots import LearningCurveDisplay

X_test, y_test = make_moons(500, noise=0.15, random_state=100)
first, steps, repeats = 4, 20, 6
errors = {"active": np.empty((repeats, steps)), "random": np.empty((repeats, steps))}

for repeat in range(repeats):
    rng = np.random.default_rng(repeat)
    X, y = make_moons(200, noise=0.15, random_state=repeat)
    start = np.r_[rng.choice(np.flatnonzero(y == 0), first // 2), rng.choice(np.flatnonzero(y == 1), first // 2)]
    for name, history in errors.items():
        learner = ActiveLearner(BayesPointClassifier(30.0 * RBF(0.7), optimizer=None), X[start], y[start])
        for step in range(steps):
            history[repeat, step] = 1 - learner.model.score(X_test, y_test)
            rows = learner.ask(X) if name == "active" else rng.integers(len(X), size=1)
            learner.tell(X[rows], y[rows])

LearningCurveDisplay.from_histories(errors, n_labels=first + np.arange(steps))
plt.show()
