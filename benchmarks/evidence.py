"""Sampled evidence against expectation propagation, in one run on one core.

    python benchmarks/evidence.py [--sizes 50,100,200,400] [--se 0.25]

Hard walls. First table: the time of 20 fits of expectation propagation, each with an evidence of unknown error, over
the time of one `log_evidence(method="auto")` to a standard error of 0.25 (above 1: sampling is faster than 20 fits).
Second table: what the error of expectation propagation is, from a longer run. Compilation is left out of all times.
Draws are limited so that the whole run takes about two minutes; the standard error reached is printed.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from bayespoint import Problem, Step
from bayespoint.engines import EP
from bayespoint.evidence import Estimate, log_evidence
from bayespoint.exceptions import InvalidProblemError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments"))
from datasets import at_hand, load_arrays, splits

FITS = 20


class Family(NamedTuple):
    """Problems of growing size; draws allowed at 400 points, more below in inverse proportion to the size.

    `reference` is the method of the second table.
    """

    name: str
    make: Callable[[int], Problem]
    draws: int
    reference: str


def usps(m: int) -> Problem:
    arrays = load_arrays("usps")
    rows = np.flatnonzero(np.isin(arrays["y_train"], (3, 8)))[:m]
    X, digits = arrays["X_train"][rows].astype(float), arrays["y_train"][rows]
    return Problem(RBF(8.0)(X), np.where(digits == 3, 1, -1), Step())


def diabetis(m: int) -> Problem:
    split = splits("diabetis", 1)[0]
    return Problem(RBF(5.0)(split.X_train[:m]), split.y_train[:m], Step())


def teacher(m: int) -> Problem:
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(m, 10)), rng.normal(size=10)
    return Problem(X @ X.T / 10, np.sign(X @ w), Step())


def generated(m: int) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 4))
    return Problem(RBF(1.0)(X), np.sign(X @ rng.normal(size=4)), Step())


def families() -> list[Family]:
    if not at_hand("usps", "diabetis"):
        return [Family("RBF, 4 dimensions", generated, 10_000, "bridge")]
    return [
        Family("USPS 3/8, sigma 8", usps, 10_000, "bridge"),
        Family("diabetis, sigma 5", diabetis, 1000, "bridge"),
        Family("linear teacher, d=10", teacher, 20_000, "billiard"),
    ]


def timed(action: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def sampled(family: Family, problem: Problem, method: str, se: float) -> Estimate | str:
    """The estimate, or why there is none."""
    try:
        return log_evidence(problem, 0, method, se=se, max_draws=family.draws * 400 // problem.size)
    except InvalidProblemError as error:
        return f"{type(error).__name__}: {error}"


def twenty_fits(problem: Problem) -> float:
    for _ in range(FITS):
        value = EP().infer(problem).log_evidence
    return float(value)


def speed(family: Family, problem: Problem, se: float) -> str:
    fits, _ = timed(lambda: twenty_fits(problem))
    seconds, found = timed(lambda: sampled(family, problem, "auto", se))
    line = f"{family.name:22s}{problem.size:6d}{fits:10.3f}s{seconds:10.3f}s"
    if isinstance(found, str):
        return f"{line}   {found}"
    return f"{line}{fits / seconds:9.2f}{found.se:9.3f}   {found.method}"


def bias(family: Family, problem: Problem) -> str:
    value = float(EP().infer(problem).log_evidence)
    found = sampled(family, problem, family.reference, 0.05)
    line = f"{family.name:22s}{problem.size:6d}{value:11.3f}"
    if isinstance(found, str):
        return f"{line}   {found}"
    return f"{line}{found.value:11.3f}{value - found.value:9.3f} +- {found.se:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="50,100,200,400")
    parser.add_argument("--se", type=float, default=0.25)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the standard error reached is printed
    sizes = [int(m) for m in options.sizes.split(",")]
    problems = [(family, family.make(m)) for family in families() for m in sizes]
    with threadpool_limits(1):
        for method in ("bridge", "billiard"):  # compilation
            log_evidence(generated(20), 0, method)
        print(f"{'problem':22s}{'m':>6s}{'20 EP':>11s}{'sampled':>11s}{'ratio':>9s}{'se':>9s}   method", flush=True)
        for family, problem in problems:
            print(speed(family, problem, options.se), flush=True)
        print(f"\n{'problem':22s}{'m':>6s}{'EP':>11s}{'sampled':>11s}   EP minus sampled", flush=True)
        for family, problem in problems:
            print(bias(family, problem), flush=True)


if __name__ == "__main__":
    main()
