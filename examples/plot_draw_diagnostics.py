"""Can these draws be trusted?
===========================

Traces of the latent function at three training rows, and the ranks of each chain's draws among those of all chains:
flat histograms mean that every chain has seen the same posterior. The billiard forgets its past in about one flight;
the kernel Gibbs sampler, which changes one row at a time, does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Problem, Step
from bayespoint.diagnostics import diagnose
from bayespoint.engines import Billiard, GibbsSampler
from bayespoint.plots import TraceDisplay

X, y = make_moons(40, noise=0.2, random_state=0)
problem = Problem(RBF(0.7)(X), np.where(y == 1, 1, -1), Step(noise=0.05))

for engine in (Billiard(draws=500), GibbsSampler(draws=500, chains=4)):
    posterior = engine.infer(problem, rng=0)
    worst = diagnose(posterior)
    print(f"{type(engine).__name__}: R-hat {worst.rhat:.3f}, at least {worst.ess:.0f} effective draws")
    display = TraceDisplay.from_posterior(posterior)
    display.figure_.suptitle(type(engine).__name__)
plt.show()
