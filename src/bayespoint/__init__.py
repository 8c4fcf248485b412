"""Bayesian kernel classifiers: probabilities, evidence and error guarantees you can trust."""

from . import engines, readouts
from .estimators import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier, Progress
from .files import load, save
from .likelihoods import Choice, Hinge, Logistic, Step
from .problem import Problem
from .uses.active import ActiveLearner, query
from .uses.label_errors import find_label_errors
from .uses.rejection import RejectingClassifier

__version__ = "0.2.0"
__all__ = [
    "ActiveLearner",
    "BayesPointClassifier",
    "BayesianSVC",
    "Choice",
    "GaussianMarginClassifier",
    "Hinge",
    "Logistic",
    "Problem",
    "Progress",
    "RejectingClassifier",
    "Step",
    "engines",
    "find_label_errors",
    "load",
    "query",
    "readouts",
    "save",
]
