"""Kernels: whatever a user names becomes one `sklearn.gaussian_process.kernels.Kernel`.

Hyper-parameters, bounds and gradients are scikit-learn's; this package adds the four kernels that have a name,
callables, precomputed Gram matrices, normalisation in feature space, sparse inputs, and a faster way to the values.
"""

from .directions import Directions, Spectral
from .features import Features, kinds_of_columns
from .gradients import by_differences, contract_gradient
from .isometry import Isometry
from .linear import linear_features, spectral_leaf
from .named import make_kernel, with_bias
from .objects import CallableKernel, Normalized, Precomputed, amplitude
from .portfolio import is_wide, table_kernel, table_kernels, wide_kernels
from .tables import GroupedRBF, OnFeatures
from .values import kernel_values

__all__ = [
    "CallableKernel",
    "Directions",
    "Features",
    "GroupedRBF",
    "Isometry",
    "Normalized",
    "OnFeatures",
    "Precomputed",
    "Spectral",
    "amplitude",
    "by_differences",
    "contract_gradient",
    "is_wide",
    "kernel_values",
    "kinds_of_columns",
    "linear_features",
    "make_kernel",
    "spectral_leaf",
    "table_kernel",
    "table_kernels",
    "wide_kernels",
    "with_bias",
]
