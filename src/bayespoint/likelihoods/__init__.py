"""Likelihoods ``exp(-U(y f))``: frozen values with the hooks of `Likelihood`, which engines and read-outs ask for."""

from .choice import Choice
from .epsilon_insensitive import epsilon_insensitive
from .hinge import Hinge
from .hinge_sum import HingeSum
from .logistic import Logistic
from .protocol import Likelihood
from .squared_hinge import SquaredHinge
from .step import Step

__all__ = ["Choice", "Hinge", "HingeSum", "Likelihood", "Logistic", "SquaredHinge", "Step", "epsilon_insensitive"]
