"""Gram matrices that are ill: nearly singular, of rank one, not quite symmetric, slightly or clearly indefinite.

    python tests/soak/kernels.py [--minutes 2] [--keep file.json]

Every engine on every likelihood it takes, the matrix as an array, as a factor, with residuals and by its rows: a
posterior that is finite, the same as that of the exact factor where the engine is deterministic, or one sentence. What
is clearly indefinite must be refused by the problem and by the estimators. The time is that of the processor.
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from records import Record, arguments
from sklearn.gaussian_process.kernels import RBF, DotProduct

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "conformance")]
from test_engines import DETERMINISTIC, LIKELIHOODS, QUICK, works

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier, Problem
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import KernelRows, LowRank

SIZE = 12
SENTENCE = re.compile(r"[A-Z][^\n]*\.")
CONDITIONS = [1e6, 1e9, 1e12, 1e15, 1e18, np.inf]  # the last is rank one
CLOSE = 1e-4  # of the prior deviation: latents of a matrix and of its exact factor


class Ill:
    """A matrix of one illness in all forms, the labels of a function drawn from it, and its exact factor."""

    def __init__(self, condition: float, scale: float, rng: np.random.Generator) -> None:
        values = np.geomspace(1.0, 1 / condition, SIZE) if condition < np.inf else np.ones(1)
        vectors = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0][:, : len(values)]
        self.factor = vectors * np.sqrt(scale * SIZE * values)
        self.y = np.where(self.factor @ rng.standard_normal(len(values)) > 0, 1.0, -1.0)
        dense = self.factor @ self.factor.T
        self.dense = 0.5 * (dense + dense.T)
        # points so near each other that their matrix has that condition, or rank one
        self.X = rng.normal(size=(SIZE, 1)) * (1.0 if condition == np.inf else condition ** (-1 / (2 * SIZE)))
        self.kernel = scale * (DotProduct(0.0) if condition == np.inf else RBF(1.0))

    def forms(self) -> dict[str, tuple[Any, Any]]:
        """By the names of the table of engines."""
        y = np.where(self.X[:, 0] > 0, 1.0, -1.0)
        residual = np.full(SIZE, 0.1 * self.dense.trace() / SIZE)
        return {
            "dense": (self.dense, self.y),
            "factor": (LowRank(self.factor), self.y),
            "residual": (LowRank(self.factor, residual=residual), self.y),
            "rows": (KernelRows(self.kernel, self.X), y),
        }


def outcome(make: Any) -> tuple[str, Any]:
    """What came of it: a posterior, or the sentence that refused it; anything else is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            posterior = make()
        except InvalidProblemError as error:
            if not SENTENCE.fullmatch(str(error)):
                raise AssertionError(f"no sentence: {error}") from error
            return str(error), None
    latents = getattr(posterior, "latents", posterior.mean)
    if not (np.isfinite(latents).all() and np.isfinite(posterior.variance).all()):
        raise AssertionError("numbers that are not finite")
    return "", posterior


def cases(seed: int) -> Iterator[tuple[str, Any]]:
    """One round over everything, each case by name, in an order of its own."""
    rng = np.random.default_rng(seed)
    found = []
    for condition, scale in product(CONDITIONS, 10.0 ** rng.uniform(-6, 6, 1)):
        ill = Ill(condition, scale, rng)
        for form, (gram, y) in ill.forms().items():
            for name, kind in product(QUICK, LIKELIHOODS):
                if works(name, kind, form, "none"):
                    found.append(
                        (f"condition {condition:.0e}, {form}, {name}, {kind}", (ill, gram, y, name, kind, form))
                    )
    yield from (found[i] for i in rng.permutation(len(found)))


def try_case(ill: Ill, gram: Any, y: Any, name: str, kind: str, form: str) -> tuple[str, float]:
    """The sentence of a refusal, or none, and how far latents are from those of the exact factor."""
    likelihood, engine = LIKELIHOODS[kind], QUICK[name]
    said, found = outcome(lambda: engine.infer(Problem(gram, y, likelihood), rng=0))
    if found is None or form != "dense" or name not in DETERMINISTIC or name == "Corners":
        return said, 0.0
    _, exact = outcome(lambda: engine.infer(Problem(LowRank(ill.factor), y, likelihood), rng=0))
    if exact is None:
        return said, 0.0
    scale = np.sqrt(found.problem.diag.max())
    return said, float(np.abs(found.mean - exact.mean).max() / scale)


def try_repairs(seed: int) -> tuple[int, list[str]]:
    """Asymmetry and negative eigenvalues of all sizes: silent, told or refused, and never anything else."""
    rng, failed, tried = np.random.default_rng(seed), [], 0
    for share, what in product([1e-16, 1e-11, 1e-10, 3e-9, 1e-6, 1e-2], ["asymmetry", "eigenvalue"]):
        ill = Ill(1e3, 10.0 ** rng.uniform(-6, 6), rng)
        gram = ill.dense.copy()
        if what == "asymmetry":
            gram[0, 1] += share * np.abs(gram).max()
        else:
            direction = np.linalg.svd(ill.factor)[0][:, -1]
            lowest = np.linalg.eigvalsh(gram)[0] + share * SIZE * np.abs(gram).max()
            gram -= lowest * np.outer(direction, direction)
        expected = "" if share < 1e-13 else "told" if share < 1e-8 else "refused"
        for name, kind in product(QUICK, LIKELIHOODS):
            if not works(name, kind, "dense", "none"):
                continue
            tried += 1
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                try:
                    problem = Problem(gram, ill.y, LIKELIHOODS[kind])
                    seen = (
                        "told" if any("quite" in str(w.message) or "slightly" in str(w.message) for w in told) else ""
                    )
                except InvalidProblemError:
                    seen, problem = "refused", None
            if seen != expected:
                failed.append(f"{what} {share:.0e}, {name}: {seen or 'silent'}, not {expected or 'silent'}")
            if problem is not None:
                try:
                    outcome(lambda name=name, problem=problem: QUICK[name].infer(problem, rng=0))
                except Exception as error:
                    failed.append(f"{what} {share:.0e}, {name}, {kind}: {type(error).__name__}: {error}")
    return tried, failed


def try_estimators(rng: np.random.Generator) -> tuple[int, list[str]]:
    """What is clearly indefinite as a precomputed matrix and as a function."""
    X, failed, tried = rng.normal(size=(30, 2)), [], 0
    y = np.where(X[:, 0] > 0, 1, 0)
    gram = RBF(1.0)(X)
    for model in (BayesPointClassifier, BayesianSVC, GaussianMarginClassifier):
        for kernel, rows in (("precomputed", gram - 0.5 * np.eye(30)), (lambda X, Z: -np.asarray(X) @ Z.T, X)):
            tried += 1
            try:
                model(kernel).fit(rows, y)
                failed.append(f"{model.__name__} took an indefinite kernel")
            except ValueError as error:
                if not SENTENCE.fullmatch(str(error)):
                    failed.append(f"{model.__name__}: {error}")
    return tried, failed


def main() -> int:
    given = arguments(__file__).parse_args()
    record = Record(
        "Kernels", "conditions up to 1e18, rank one, asymmetry and negative eigenvalues; all engines and forms"
    )
    refused: Counter[str] = Counter()
    furthest, seed, end = 0.0, 0, time.process_time() + 60 * given.minutes
    record.times, record.failed = try_estimators(np.random.default_rng(0))
    while time.process_time() < end or seed == 0:
        tried, failed = try_repairs(seed)
        record.times, record.failed = record.times + tried, record.failed + failed
        for name, case in cases(seed):
            record.times += 1
            try:
                said, apart = try_case(*case)
            except Exception as error:
                record.failed.append(f"{name}, seed {seed}: {type(error).__name__}: {error}"[:300])
                continue
            refused[said.split(":")[0][:60]] += bool(said)
            furthest = max(furthest, apart)
            if apart > CLOSE:
                record.failed.append(f"{name}, seed {seed}: latents off by {apart:.1g} prior deviations")
            if time.process_time() > end:
                break
        seed += 1
        record.figures = {"rounds": seed, "core minutes": round(time.process_time() / 60, 1)}
        record.figures["latents beside those of the exact factor, largest difference in prior deviations"] = furthest
        record.figures["refused in a sentence"] = {said: count for said, count in refused.most_common() if said}
        record.keep(given.keep)
    print("\n".join(record.failed) or "every matrix was taken, mended or refused")
    return bool(record.failed)


if __name__ == "__main__":
    sys.exit(main())
