"""Bayesian kernel classifiers: probabilities, evidence and error guarantees you can trust."""

from . import engines, readouts
from .estimators import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from .likelihoods import Hinge, Logistic, Step
from .problem import Problem

__version__ = "0.1.0"
__all__ = [
    "BayesPointClassifier",
    "BayesianSVC",
    "GaussianMarginClassifier",
    "Hinge",
    "Logistic",
    "Problem",
    "Step",
    "engines",
    "readouts",
]
