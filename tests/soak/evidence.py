"""Standard errors of the evidence: how often the truth lies within two of them, and whether the target is reached.

    python tests/soak/evidence.py [--minutes 2] [--keep file.json]

Problems on a line have a Markov prior, so that their evidence is known to ten digits by a recursion, whatever the
likelihood and the weights. Every method that applies, and "auto", on fresh problems until the time of the processor is
over. The control halves every error, which must be seen.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
from records import Record, arguments, chance_of_largest
from scipy.stats import binom

sys.path.append(str(Path(__file__).parents[1]))
from bayespoint import Hinge, Problem, Step
from bayespoint.evidence import log_evidence
from truths import by_recursion, markov_problem, methods_for

WANTED, WITHIN = 0.1, 1.96
LIKELIHOODS = {
    "hard": Step(),
    "noise": Step(0.1),
    "soft": Step(0.0, 0.5),
    "soft noise": Step(0.1, 0.5),
    "hinge": Hinge(2.0),
}
SIZES = {10: 3, 40: 1}  # problems of each in a round
TILTED = 250  # soft problems of ten rows by tilting, before them


def problem_of(kind: str, size: int, weighted: bool, seed: int) -> Problem:
    weights = np.random.default_rng(seed).choice([0.5, 1.0, 2.0, 3.0], size) if weighted else None
    return markov_problem(size, LIKELIHOODS[kind], seed, weights)


def methods_of(problem: Problem) -> list[str]:
    return ["auto", *methods_for(problem)]


class Covered:
    """Of one method on one kind of problem: how far estimates are from the truth, and what they took."""

    def __init__(self) -> None:
        self.off: list[float] = []
        self.missed = 0
        self.seconds = 0.0

    def add(self, problem: Problem, truth: float, method: str, seed: int) -> None:
        begun = time.process_time()
        estimate = log_evidence(problem, [seed, 5], method, se=WANTED)
        self.seconds += time.process_time() - begun
        self.missed += estimate.se > WANTED
        self.off.append((estimate.value - truth) / max(estimate.se, 1e-9))

    def share(self, factor: float = 1.0) -> float:
        """Of estimates within two standard errors, times a factor."""
        return float(np.mean(np.abs(self.off) < WITHIN * factor))

    def is_short(self, factor: float = 1.0) -> bool:
        """Fewer than chance leaves of intervals of .93: sixteen values know their own spread no better."""
        inside = round(self.share(factor) * len(self.off))
        return bool(binom.cdf(inside, len(self.off), 0.93) < 1e-5)


def main() -> int:
    given = arguments(__file__).parse_args()
    record = Record("Evidence", "estimates with a standard error of .1 against the exact evidence of Markov priors")
    found: dict[str, Covered] = defaultdict(Covered)
    seed, end = 0, time.process_time() + 60 * given.minutes
    warnings.simplefilter("ignore")
    for k in range(TILTED):
        problem = problem_of("soft", 10, False, 1000 + k)
        found["tilted, soft, m = 10"].add(problem, by_recursion(problem), "tilted", k)
        record.times += 1
    while time.process_time() < end or seed == 0:
        for (size, count), kind, weighted in product(SIZES.items(), LIKELIHOODS, [False, True]):
            if weighted and kind == "hard":
                continue
            for k in range(count):
                problem = problem_of(kind, size, weighted, 10 * seed + k)
                truth = by_recursion(problem)
                for method in methods_of(problem):
                    name = f"{method}, {kind}{', weights' if weighted else ''}, m = {size}"
                    found[name].add(problem, truth, method, seed)
                    record.times += 1
            if time.process_time() > end and seed:
                break
        seed += 1
        _write_down(record, found)
        record.keep(given.keep)
    print("\n".join(record.failed) or f"{record.times} estimates, within their errors")
    return bool(record.failed)


def _write_down(record: Record, found: dict[str, Covered]) -> None:
    everyone = Covered()
    everyone.off = [value for one in found.values() for value in one.off]
    tilted, auto = Covered(), Covered()
    for name, one in found.items():
        tilted.off += one.off if name.startswith("tilted, soft, ") else []
        auto.off += one.off if name.startswith("auto") else []
    record.figures = {"core minutes": round(time.process_time() / 60, 1)}
    record.figures["within 1.96 errors, all"] = f"{everyone.share():.3f} of {len(everyone.off)}"
    record.figures["within 1.96 errors, tilted on soft steps"] = f"{tilted.share():.3f} of {len(tilted.off)}"
    record.figures["within 1.96 errors, auto"] = f"{auto.share():.3f} of {len(auto.off)}"
    record.figures["control: with half the errors"] = f"{everyone.share(0.5):.3f}"
    record.figures["target missed, auto"] = sum(one.missed for name, one in found.items() if name.startswith("auto"))
    worst = min(found, key=lambda name: found[name].share())
    record.figures["the least"] = f"{found[worst].share():.3f} of {len(found[worst].off)}: {worst}"
    for name in ("auto, noise, weights, m = 40", "billiard, noise, weights, m = 40"):
        if found[name].off:
            record.figures[f"{name}: core seconds"] = round(found[name].seconds / len(found[name].off), 2)
    largest, count = float(np.abs(everyone.off).max()), len(everyone.off)
    record.figures["largest number of errors off"] = largest
    record.figures[f"chance of as much as the largest of {count} normal ones"] = chance_of_largest(largest, count)
    record.failed = [f"{name}: {one.share():.2f} of {len(one.off)}" for name, one in found.items() if one.is_short()]
    if len(everyone.off) > 200 and not everyone.is_short(0.5):
        record.failed.append("errors halved on purpose were not seen")


if __name__ == "__main__":
    sys.exit(main())
