"""The toy of section 7 of the paper: one input in [0, 1], an RBF kernel, data from the model itself.

The two data sets that figures 4 to 10 show are kept in toy_sets.json: a draw depends on how the library samples, and a
faster sampler would give these figures other data. All other sets are drawn anew.
"""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayespoint import Hinge, Problem
from bayespoint.evidence.svm import log_normaliser, sample_svm_data, svm_evidence_gradient, svm_log_evidence
from bayespoint.exceptions import InferenceWarning

C, AMPLITUDE, LENGTH = 2.0, 1.25, 0.05  # the truth
PRODUCT = C * AMPLITUDE  # the support vector machine depends on C K alone
GRID = np.linspace(0, 1, 401)  # stands for the interval
APPROXIMATIONS = ("corrected", "laplace")
PARTS = ("sampled", *APPROXIMATIONS, "N", "N-hat")
KEPT = Path(__file__).with_name("toy_sets.json")


class Data(NamedTuple):
    """Inputs, labels, and the latent function on `GRID`."""

    x: np.ndarray
    y: np.ndarray
    target: np.ndarray

    @property
    def margins(self) -> np.ndarray:
        """Of the labels at the true function: below zero where a label is wrong."""
        return self.y * np.interp(self.x, GRID, self.target)

    def thinned(self, step: int) -> Data:
        """Every `step`-th row: enough to see that an experiment runs."""
        return self._replace(x=self.x[::step], y=self.y[::step])


def kernel(x: np.ndarray, z: np.ndarray, amplitude: float = AMPLITUDE, length: float = LENGTH) -> np.ndarray:
    """The paper's K(x, z), without a bias."""
    return amplitude * np.exp(-0.5 * (np.subtract.outer(x, z) / length) ** 2)


@cache
def draw(n: int, seed: int) -> Data:
    """A data set from the joint model (6): the function has survived n rows, inputs follow (12), labels (10)."""
    found = sample_svm_data(kernel(GRID, GRID), n, C, np.random.default_rng([2002, n, seed]))
    order = np.argsort(found.rows)
    return Data(GRID[found.rows][order], found.labels[order], found.latents)


def problem(data: Data, C: float = C, amplitude: float = AMPLITUDE, length: float = LENGTH) -> Problem:
    """The data with these hyper-parameters."""
    return Problem(kernel(data.x, data.x, amplitude, length), data.y, Hinge(C))


def kept(name: str) -> Data:
    """One of the two sets of the paper's figures."""
    held = json.loads(KEPT.read_text(encoding="utf-8"))[name]
    labels = np.array([1.0 if sign == "+" else -1.0 for sign in held["labels"]])
    return Data(GRID[held["rows"]], labels, np.array(held["target"]))


def clean_set() -> Data:
    """As in figure 4 of the paper: no label that looks wrong."""
    return kept("clean")


def corrupt_set() -> Data:
    """As in figure 7: one label that is visibly wrong."""
    return kept("corrupt")


def evidences(
    data: Data, C: float, amplitude: float, length: float, se: float = 0.3, max_draws: int = 20_000, seed: int = 0
) -> np.ndarray:
    """Of each of `PARTS` in nats, the value and its standard error: naive evidences, logarithms of both normalisers."""
    here, options = problem(data, C, amplitude, length), {"se": se, "max_draws": max_draws}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # corners of a grid where the error stays above se
        found = [svm_log_evidence(here, seed, "naive", method, **options) for method in ("sampled", *APPROXIMATIONS)]
        found += [log_normaliser(here, seed, kind, **options) for kind in ("conditional", "joint")]
    return np.array([(estimate.value, estimate.se or 0.0) for estimate in found])


def slopes(
    data: Data, kind: str, C: float, amplitude: float, length: float, *, seed: int = 0, draws: int = 1000
) -> tuple[float, float]:
    """Derivatives of the log-evidence of `kind`: in log C while ``C K`` stays fixed, and in log l."""
    here = problem(data, C, amplitude, length)
    gradient = svm_evidence_gradient(here, seed, kind, "sampled", draws=draws)
    by_length = here.dense * (np.subtract.outer(data.x, data.x) / length) ** 2
    return gradient.by_c().value - gradient.along(here.dense).value, gradient.along(by_length).value


def root(log_values: np.ndarray, slopes: np.ndarray) -> float:
    """Where falling slopes go through zero, by a cubic through all of them; the end of the range if they do not."""
    if slopes.min() > 0 or slopes.max() < 0:
        return float(np.exp(log_values[-1] if slopes.min() > 0 else log_values[0]))
    cubic = np.polynomial.Polynomial.fit(log_values, slopes, 3)
    fine = np.linspace(log_values[0], log_values[-1], 2001)
    falls = np.flatnonzero(cubic(fine) > 0)
    return float(np.exp(fine[falls[-1]])) if falls.size else float(np.exp(log_values[0]))
