"""Views of the training points: the form that their Gram matrix takes under any kernel.

A view makes the Gram matrix of its points, brings new points into the form that belongs to it, and turns the evidence's
derivative in the Gram matrix into one in the kernel's parameters. `Exact` holds all kernel values; `Linear` goes by the
features of a linear kernel, `Range` by the leading ones of very many, `Landmarks` by those of a few points that stand
for all; `Rows` computes rows when they are asked for.
"""

from .choice import SHARE, choose_view, largest_rank, may_take_landmarks, view_by_features
from .landmarks import Landmarks
from .linear import Linear, Range, linear_view
from .view import Approximation, View, approximation
from .whole import Exact, Rows, as_view

__all__ = [
    "SHARE",
    "Approximation",
    "Exact",
    "Landmarks",
    "Linear",
    "Range",
    "Rows",
    "View",
    "approximation",
    "as_view",
    "choose_view",
    "largest_rank",
    "linear_view",
    "may_take_landmarks",
    "view_by_features",
]
