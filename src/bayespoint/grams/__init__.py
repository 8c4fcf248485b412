"""Gram matrices: one interface (`Gram`), three kinds, and the views of points that make them."""

from .checks import check_gram
from .cholesky import pivoted_cholesky
from .coordinates import NaturalGaussian
from .dense import Dense, DensePoints
from .factor import FeaturePoints, LowRank
from .gram import Conditioned, Gram, NewPoints, Root, RowSource
from .rows import KernelRows, RowPoints
from .views import Approximation, Exact, Landmarks, Linear, Range, Rows, View, choose_view, view_by_features

__all__ = [
    "Approximation",
    "Conditioned",
    "Dense",
    "DensePoints",
    "Exact",
    "FeaturePoints",
    "Gram",
    "KernelRows",
    "Landmarks",
    "Linear",
    "LowRank",
    "NaturalGaussian",
    "NewPoints",
    "Range",
    "Root",
    "RowPoints",
    "RowSource",
    "Rows",
    "View",
    "check_gram",
    "choose_view",
    "pivoted_cholesky",
    "view_by_features",
]
