"""Kernels: whatever a user names becomes one `sklearn.gaussian_process.kernels.Kernel`.

Hyper-parameters, bounds and gradients are scikit-learn's; this package adds the four kernels that have a name,
callables, precomputed Gram matrices, normalisation in feature space, sparse inputs, and a faster way to the values.
"""

from .features import Features, kinds_of_columns
from .gradients import by_differences, contract_gradient
from .isometry import Isometry
from .linear import linear_features
from .named import make_kernel, with_bias
from .objects import CallableKernel, Normalized, Precomputed, amplitude
from .portfolio import table_kernel, table_kernels
from .tables import GroupedRBF, OnFeatures
from .values import kernel_values

__all__ = [
    "CallableKernel",
    "Features",
    "GroupedRBF",
    "Isometry",
    "Normalized",
    "OnFeatures",
    "Precomputed",
    "amplitude",
    "by_differences",
    "contract_gradient",
    "kernel_values",
    "kinds_of_columns",
    "linear_features",
    "make_kernel",
    "table_kernel",
    "table_kernels",
    "with_bias",
]
