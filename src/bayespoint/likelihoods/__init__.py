"""Likelihoods ``exp(-U(y f))``: frozen values with the hooks of `Likelihood`, which engines and read-outs ask for."""

from .hinge import Hinge
from .hinge_sum import HingeSum
from .logistic import Logistic
from .step import Step

Likelihood = Step | Hinge | Logistic

__all__ = ["Hinge", "HingeSum", "Likelihood", "Logistic", "Step"]
