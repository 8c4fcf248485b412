"""Five ways to the naive evidence (27) of the toy: bias, scatter and time, against a long run.

    python experiments/sollich2002/evidence_methods.py [--quick]

Laplace (32) and expectation propagation, with and without its second-order correction, have a bias, draws and the
paper's chaining a scatter. That of chaining is measured over repeats, as links that have not mixed make its own
standard error too small. Times are per evidence; the time to reach +- 0.05 nat grows with the square of the scatter.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import toy

from bayespoint import Hinge, Problem
from bayespoint.evidence import log_evidence
from bayespoint.evidence.svm import svm_log_evidence
from bayespoint.exceptions import InferenceWarning
from report import save

GOAL = 0.05
METHODS = ("laplace", "ep", "corrected", "sampled", "chaining")
SETS, REPEATS = {50: 5, 200: 2, 500: 1}, 6
SWEEPS = {50: 1000, 200: 500, 500: 250}  # of each link of the chain
LONG = {50: 0.01, 200: 0.02, 500: 0.03}  # standard error of the reference


def rough(data: toy.Data) -> Problem:
    """The same data with an Ornstein-Uhlenbeck kernel, whose rows hold less of each other."""
    gram = toy.AMPLITUDE * np.exp(-np.abs(np.subtract.outer(data.x, data.x)) / toy.LENGTH)
    return Problem(gram, data.y, Hinge(toy.C))


def timed(problem: Problem, method: str, seeds: range, **options: float) -> tuple[list[float], float, float]:
    """Values for each seed, their own mean standard error, and the median time."""
    values, errors, times = [], [], []
    for seed in seeds:
        start = time.perf_counter()
        found = svm_log_evidence(problem, seed, "naive", method, **options)
        times.append(time.perf_counter() - start)
        values.append(found.value)
        errors.append(found.se or 0.0)
    return values, float(np.mean(errors)), float(np.median(times))


def compare(problem: Problem, n: int, repeats: int) -> dict[str, dict[str, float]]:
    """All methods on one problem."""
    truth = log_evidence(problem, 2002, se=LONG[n], max_draws=3_000_000)
    found = {"reference": {"value": truth.value, "se": truth.se}}
    draws = {"sampled": {"se": GOAL, "max_draws": 1_000_000}, "chaining": {"sweeps": SWEEPS[n]}}
    for method in METHODS:
        count = repeats if method in draws else 3
        values, se, seconds = timed(problem, method, range(count), **draws.get(method, {}))
        errors = np.array(values) - truth.value
        rms = float(np.sqrt(np.mean(errors**2)))
        found[method] = {"bias": float(errors.mean()), "rms": rms, "reported se": se, "seconds": seconds}
        if method in draws:
            found[method]["seconds to 0.05"] = seconds * max(1.0, rms / GOAL) ** 2
    return found


def summary(rows: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Means over data sets; of the error of one repeat the root mean square."""
    means = {}
    for method in METHODS:
        means[method] = {key: float(np.mean([row[method][key] for row in rows])) for key in rows[0][method]}
        means[method]["rms"] = float(np.sqrt(np.mean([row[method]["rms"] ** 2 for row in rows])))
    slow, fast = means["chaining"]["seconds to 0.05"], means["sampled"]["seconds to 0.05"]
    return means | {"chaining / sampled, time to 0.05": slow / fast}


def main() -> None:
    quick = "--quick" in sys.argv
    warnings.simplefilter("ignore", InferenceWarning)
    for method in METHODS:  # compile
        svm_log_evidence(toy.problem(toy.draw(50, 0)), 0, "naive", method, sweeps=10)
    found = {}
    cases = [("RBF", n) for n in SETS] + [("Ornstein-Uhlenbeck", 50)]
    for kernel, n in cases[:1] if quick else cases:
        make = toy.problem if kernel == "RBF" else rough
        count = 2 if quick else SETS[n]
        rows = [compare(make(toy.draw(n, seed)), n, 3 if quick else REPEATS) for seed in range(count)]
        found[f"{kernel}, n = {n}"] = row = summary(rows)
        print(f"\n{kernel}, n = {n}" + "".join(f"{c:>12s}" for c in ("bias", "rms", "own se", "s", "s to 0.05")))
        for method in METHODS:
            print(f"  {method:10s}" + "".join(f"{value:12.4f}" for value in row[method].values()))
        print(f"  time of chaining / sampled: {row['chaining / sampled, time to 0.05']:.0f}", flush=True)
    paper = "Laplace differs from chaining 'in absolute values'; chaining takes 1000 sweeps a link or more"
    save(
        "sollich2002_evidence_methods" + ("_quick" if quick else ""),
        {"table": found, "paper": paper},
        model={"C": toy.C, "K0": toy.AMPLITUDE, "l": toy.LENGTH, "data": "from the joint model"},
        data_sets=SETS,
        repeats=REPEATS,
        sweeps=SWEEPS,
        reference_se=LONG,
        seeds="data (2002, n, 0..), methods 0..5, reference 2002",
    )


if __name__ == "__main__":
    main()
