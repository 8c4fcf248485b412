"""Expectation propagation under the toy likelihood beside exact draws of the toy engine."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from toy_engine import PriorRejection
from toy_likelihood import Cauchit

from bayespoint import Problem, readouts
from bayespoint.engines import EP
from bayespoint.grams import Exact

X = np.random.default_rng(0).normal(size=(10, 2))
y = np.where(X[:, 0] > 0, 1, -1)
kernel, view = 4.0 * RBF(1.0), Exact(X)
problem = Problem(view.gram(kernel), y, Cauchit(scale=0.5))
new = view.new(kernel)(np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]]))

gaussian, draws = EP().infer(problem), PriorRejection().infer(problem, rng=0)
print(readouts.class_probability(gaussian, new).round(3))
print(readouts.class_probability(draws, new).round(3))
