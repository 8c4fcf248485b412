"""Linear algebra of the Gaussian margin machine: the same few questions to a Gram matrix and to a factor of it.

With ``Sigma^-1 = I + X' B X`` for weights ``beta = diag(B)`` every question is about ``S = X Sigma X'``:

- the deviations ``s_i = sqrt(S_ii)`` and the log-determinant of ``Sigma^-1``;
- how the deviations answer to the multipliers. From ``beta_i s_i = phi_i alpha_i`` and ``dS_ii = -P dbeta`` with the
  squares ``P_ij = S_ij^2`` it follows that ``phi ds = -N dalpha`` with ``N = phi s^-1 R s^-1 phi``,
  ``R = P (2 A - P)^-1 A`` and ``A = diag(s^2 / beta)``; ``A^-1/2 P A^-1/2`` has its eigenvalues in [0, 1) for any beta;
- the step ``(G + N + diag(barrier)) d = right`` of an interior point method, where ``G_ij = y_i y_j K_ij``.

`DenseGeometry` does it in n dimensions. `FactorGeometry` does it where the parameters live: r for the mean and
r (r + 1) / 2 for the covariance.
"""

from __future__ import annotations

from ...grams import Gram
from .dense import DenseGeometry
from .factor import FactorGeometry

__all__ = ["DenseGeometry", "FactorGeometry", "Geometry", "margin_geometry"]

_LOW_RANK = 0.7  # of n: below that the factor is cheaper

Geometry = DenseGeometry | FactorGeometry


def margin_geometry(gram: Gram) -> Geometry:
    """Where steps are cheaper: in as many dimensions as there are rows, or in those of a factor of low rank."""
    root = gram.root(_LOW_RANK)
    return DenseGeometry(gram.dense) if root is None else FactorGeometry(root)
