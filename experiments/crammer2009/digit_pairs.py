"""Machines on pairs of USPS digits: 100 training rows, settings by the validation rows, errors on the test rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from sklearn.svm import SVC

from bayespoint import Hinge, Problem
from bayespoint.engines.margin import gaussian_margin
from bayespoint.engines.svm import support_vectors
from datasets import Split, digits

PHIS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0)
CS, SVM_CS = np.logspace(-3, 2, 12), np.logspace(-4, 4, 9)
TRAIN, GAP = 100, 1e-4
MACHINES = ("Gaussian margin machine", "SVM", "SVM with an intercept")


class Gaussian(NamedTuple):
    """Of weights."""

    mean: np.ndarray
    covariance: np.ndarray

    def gibbs_error(self, X: np.ndarray, y: np.ndarray) -> float:
        """Mean error of classifiers drawn from it."""
        variance = np.einsum("ij,jk,ik->i", X, self.covariance, X)
        return float(ndtr(-y * (X @ self.mean) / np.sqrt(variance)).mean())


def small(images: np.ndarray) -> np.ndarray:
    """Means of four adjacent pixels."""
    return images.reshape(-1, 8, 2, 8, 2).mean(axis=(2, 4)).reshape(-1, 64)


def margin_machines(X: np.ndarray, y: np.ndarray, phi: float) -> list[Gaussian]:
    """One for each C, as far as they differ: above a price that no row comes near they do not."""
    gram, found = X @ X.T, []
    for C in CS:
        solution = gaussian_margin(gram, y, phi, C, tolerance=GAP)
        precision = np.eye(X.shape[1]) + X.T @ (solution.beta[:, None] * X)
        found.append(Gaussian(X.T @ (y * solution.alpha), np.linalg.inv(precision)))
        if solution.alpha.max() < 0.5 * C:
            break
    return found


def plain_machines(X: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Weights of support vector machines without an intercept, solved to rounding."""
    gram = X @ X.T
    return [X.T @ (y * support_vectors(Problem(gram, y, Hinge(C), check=False), 1e-6).alpha) for C in SVM_CS]


def error(X: np.ndarray, weights: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Shares of wrong signs, for one or several vectors of weights."""
    return np.mean(np.sign(weights @ X.T) != y, axis=-1)


def compare(rows: Split, seed: list[int]) -> tuple[list[float], list[tuple[float, float]], list[list[float]]]:
    """Test errors: of the machines that err least on validation rows, by phi of the mean and of draws, by phi and C."""
    order = np.random.default_rng(seed).permutation(len(rows.y_train))
    train, held_out = order[:TRAIN], order[TRAIN:]
    X, y = rows.X_train[train], rows.y_train[train].astype(float)
    X_held, y_held, X_test, y_test = rows.X_train[held_out], rows.y_train[held_out], rows.X_test, rows.y_test
    least, curve, table = [], [], []
    for phi in PHIS:
        machines = margin_machines(X, y, phi)
        means = np.array([machine.mean for machine in machines])
        held, test = error(X_held, means, y_held), error(X_test, means, y_test)
        best = int(held.argmin())
        least.append(held[best])
        curve.append((test[best], machines[best].gibbs_error(X_test, y_test)))
        table.append(np.pad(test, (0, len(CS) - len(test)), mode="edge"))
    weights = np.array(plain_machines(X, y))
    plain = weights[int(error(X_held, weights, y_held).argmin())]
    with_intercept = [SVC(C=C, kernel="linear").fit(X, y) for C in SVM_CS]
    rival = max(with_intercept, key=lambda machine: machine.score(X_held, y_held))
    others = [float(error(X_test, plain, y_test)), 1 - rival.score(X_test, y_test)]
    return [curve[int(np.argmin(least))][0], *others], curve, table


def all_divisions(pair: tuple[int, int], repeats: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors in percent on one pair: (division, machine), (division, phi, mean or draws), and (division, phi, C)."""
    X, y, X_test, y_test = digits("usps", pair)
    rows = Split(small(X), y, small(X_test), y_test)
    found = zip(*(compare(rows, [*pair, k]) for k in range(repeats)), strict=True)
    errors, curves, table = (100 * np.array(part) for part in found)
    return errors, curves, table
