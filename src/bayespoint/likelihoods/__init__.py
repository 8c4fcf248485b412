"""Likelihoods ``exp(-U(y f))``: frozen values with the hooks of `Likelihood`, which engines and read-outs ask for."""

from .hinge import Hinge
from .hinge_sum import HingeSum
from .logistic import Logistic
from .protocol import Likelihood
from .step import Step

__all__ = ["Hinge", "HingeSum", "Likelihood", "Logistic", "Step"]
