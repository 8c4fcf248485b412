"""The evidence of Pima as a function of ARD length scales: climbing it, and how rough it is."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.signal import find_peaks
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesianSVC, Hinge, Problem
from bayespoint.engines import EP, Laplace
from datasets import Split, splits

BIAS = 1.0


def kernel(n_features: int, ard: bool, factors: np.ndarray | float = 1.0) -> ConstantKernel:
    scale = np.sqrt(n_features)
    lengths = np.full(n_features, scale) * factors if ard else scale
    return ConstantKernel(1.0, (1e-3, 1e5)) * RBF(lengths, (scale / 100, scale * 100))


def standardised(name: str, index: int) -> Split:
    split = splits(name, index + 1)[index]
    scaler = StandardScaler().fit(split.X_train)
    return Split(scaler.transform(split.X_train), split.y_train, scaler.transform(split.X_test), split.y_test)


def climb(C: float, start: int) -> tuple[float, float, list[bool]]:
    """ARD on Pima by the naive evidence at fixed C, from a start of its own: log-evidence, test errors of the SVM."""
    split = standardised("pima-ripley", 0)
    X, y, n_features = split.X_train, split.y_train.astype(float), split.X_train.shape[1]
    factors = np.exp(np.random.default_rng(start).normal(0, 1, n_features)) if start else 1.0
    first = kernel(n_features, True, factors)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        gram, change = first.clone_with_theta(theta)(X, eval_gradient=True)
        posterior = EP().infer(Problem(gram + BIAS**2, y, Hinge(C)))
        slopes = np.einsum("ij,ijk->k", posterior.evidence_gradient.by_gram(), change)
        return -posterior.log_evidence / len(y), -slopes / len(y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = minimize(loss, first.theta, jac=True, method="L-BFGS-B", bounds=first.bounds)
        best = first.clone_with_theta(found.x)
        model = BayesianSVC(C, best, bias=BIAS, probability="map").fit(X, split.y_train)
    wrong = model.predict(split.X_test) != split.y_test
    return -found.fun * len(y), 100 * float(wrong.mean()), wrong.tolist()


def optima(line: int, points: int) -> tuple[int, int]:
    """Local maxima along a line through ARD length scales on Pima, higher than 0.1 nat: by Laplace (32), by EP."""
    split = standardised("pima-ripley", 0)
    X, rng = split.X_train, np.random.default_rng([2002, line])
    centre, direction = rng.normal(0, 0.5, X.shape[1]), rng.normal(size=X.shape[1])
    values = []
    for t in np.linspace(-2, 2, points):
        factors = np.exp(centre + t * direction / np.linalg.norm(direction))
        problem = Problem(10 * kernel(X.shape[1], True, factors)(X) + 1, split.y_train.astype(float), Hinge(1.0))
        values.append([engine.infer(problem).log_evidence for engine in (Laplace(), EP())])
    laplace, ep = (len(find_peaks(column, prominence=0.1)[0]) for column in np.array(values).T)
    return laplace, ep
