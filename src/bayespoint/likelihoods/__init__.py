"""Likelihoods ``exp(-U(y f))``: frozen values with the hooks that engines and read-outs ask for.

For expectation propagation (`y` in {-1, +1}, cavity N(mean, var), likelihood raised to `power`):

``site(y, mean, var, power)``
    log-normaliser of the tilted distribution and the natural parameters of the matching Gaussian site.
``log_normaliser_gradient(y, mean, var, power)``
    derivative of that log-normaliser in the logarithm of each parameter, cavity held fixed.

For sampling around a Gaussian: ``log_likelihood(y, f)``.

For sentences about trouble: ``remedy``, what a user of this likelihood can do about it.

For the read-outs: ``score(mean, var)``, ``log_probability(mean, var)`` and ``disagreement(y, mean, var)``.
"""

from .hinge import Hinge
from .hinge_sum import HingeSum
from .logistic import Logistic
from .protocol import Likelihood
from .step import Step

__all__ = ["Hinge", "HingeSum", "Likelihood", "Logistic", "Step"]
