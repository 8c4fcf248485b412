"""From a user's inputs to the points a kernel can take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import Kernel

from .._core.typing import Array, Matrix
from .._core.words import told_briefly
from ..kernels import Isometry, OnFeatures

__all__ = ["Points"]


@told_briefly()
@dataclass(frozen=True, eq=False)
class Points:
    """The training points, and how to bring new inputs into the same form."""

    X: Any  # training points as the kernel takes them
    columns: Array | None = None  # of a precomputed kernel that belong to training rows of positive weight
    isometry: Isometry | None = None  # to dense coordinates of sparse rows
    densify: bool = False  # whether sparse rows become plain arrays
    by_rows: bool = False  # whether sparse rows stay so because kernel values are computed from products of them

    @classmethod
    def of(cls, X: Matrix, kernel: Kernel, columns: Array | None, takes_sparse: bool, by_rows: bool = False) -> Points:
        """Choose the form: sparse rows stay so for a user's function, or one that makes features of them.

        Others go through an isometry if that is smaller.
        """
        if not sparse.issparse(X) or takes_sparse or isinstance(kernel.k1, OnFeatures):
            return cls(X, columns)
        if by_rows:
            return cls(X, columns, by_rows=True)
        if X.shape[1] > X.shape[0] and Isometry.suits(kernel):
            isometry = Isometry(X)
            return cls(isometry.transform(X), columns, isometry)
        return cls(X.toarray(), columns, densify=True)

    def take(self, rows: Any) -> Points:
        """Some of the training points."""
        X = self.X[rows]
        return replace(self, X=X if self.columns is None else X[:, rows])

    @property
    def as_given(self) -> Any:
        """The training rows from before they were brought into another form."""
        return self.X if self.isometry is None else self.isometry.X

    @property
    def plain(self) -> Any:
        """The training points as the kernel takes them: few enough to be an array where they are sparse for speed."""
        if not (self.by_rows and sparse.issparse(self.X)):
            return self.X
        return Isometry(self.X).transform(self.X) if self.X.shape[1] > self.X.shape[0] else self.X.toarray()

    def among_themselves(self, X: Matrix) -> Any:
        """New inputs in a form that has their kernel values with each other; that of `transform` need not."""
        if self.isometry is not None:
            return Isometry(X).transform(X)
        rows = self.transform(X)
        return rows.toarray() if self.by_rows and sparse.issparse(rows) else rows

    def transform(self, X: Matrix) -> Any:
        """New inputs in the form of the training points."""
        if self.isometry is not None:
            return self.isometry.transform(X)
        if self.densify and sparse.issparse(X):
            return X.toarray()
        if not sparse.issparse(X) and sparse.issparse(self.X):
            return sparse.csr_array(X)
        if sparse.issparse(X) and isinstance(self.X, np.ndarray):
            X = X.toarray()
        return X if self.columns is None else X[:, self.columns]
