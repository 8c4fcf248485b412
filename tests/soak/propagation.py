"""Expectation propagation on a corpus of a thousand random problems: it settles, or says that it did not.

    python tests/soak/propagation.py [--minutes 2] [--keep file.json] [--wrong]

All likelihoods, label noise, softness, weights, kinds of Gram matrices, amplitudes from 1e-6 to 1e6, duplicates and
contradictory labels, two classes and three. On some of them the evidence is compared with the sampled one, which it
must not exceed by more than that one's error and a share of a nat; noise at extreme amplitudes is compared with plain
sequential expectation propagation in forty digits. With `--wrong` every evidence is half a nat too high.
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from records import Record, arguments, chance_of_largest
from sklearn.gaussian_process.kernels import RBF

sys.path.append(str(Path(__file__).parents[1]))
from bayespoint import Choice, Hinge, Logistic, Problem, Step
from bayespoint.engines import EP
from bayespoint.engines.ep.sites import ALARMING
from bayespoint.evidence import log_evidence
from bayespoint.exceptions import EmptyVersionSpaceError, InferenceWarning, InvalidProblemError
from bayespoint.grams import KernelRows, LowRank
from bayespoint.likelihoods import SquaredHinge
from witnesses import precise_ep

CORPUS = 1000
SENTENCE = re.compile(r"[A-Z][^\n]*\.")
ERRORS, NATS = 4.5, 0.05  # by which expectation propagation may exceed the sampled evidence: errors, and nats a row


class Case(NamedTuple):
    """A problem, and what it is made of."""

    problem: Problem
    words: str


def case_of(number: int) -> Case:
    """The problem of that number."""
    rng = np.random.default_rng([number, 24])
    n, amplitude = int(rng.integers(3, 26)), 10.0 ** rng.uniform(-6, 6)
    X = rng.normal(size=(n, 2))
    if rng.random() < 0.3:  # duplicates
        X[rng.integers(n, size=n // 2)] = X[0]
    classes = 3 if rng.random() < 0.25 else None
    noise, softness = rng.choice([0.0, 1e-6, 0.05, 0.4]), rng.choice([0.0, 1e-6, 0.5, 100.0])
    likelihoods = [Step(noise, softness)] * 4 + [Hinge(10.0 ** rng.uniform(-3, 3)), Logistic(2.0), SquaredHinge(2.0)]
    likelihood: Any = Choice(noise, softness) if classes else likelihoods[rng.integers(len(likelihoods))]
    kind = str(rng.choice(["dense", "factor", "residual", "rows"]))
    kernel, features = amplitude * RBF(1.0), np.sqrt(amplitude) * np.c_[X, np.ones(n)]
    gram: Any = kernel(X)
    if kind == "rows":
        gram = KernelRows(kernel, X)
    elif kind != "dense":
        gram = LowRank(features, residual=None if kind == "factor" else rng.uniform(0.0, amplitude, n))
    scores = X @ rng.normal(size=(2, 3))
    y: Any = scores.argmax(axis=1) if classes else np.where(scores[:, 0] > 0, 1.0, -1.0)
    wrong = rng.random(n) < rng.choice([0.0, 0.2, 0.5])  # contradictory labels among duplicates
    y = np.where(wrong, (y + 1) % 3 if classes else -y, y)
    weights = rng.choice([0.3, 1.0, 2.0, 7.0], n) if rng.random() < 0.3 else None
    if weights is not None and classes and softness > 0:
        weights = np.ceil(weights)
    words = f"{number}: {likelihood}, {kind}, n = {n}, amplitude {amplitude:.1g}"
    words += ", weights" if weights is not None else ""
    return Case(Problem(gram, y, likelihood, weights, False, classes), words)


def settled(case: Case) -> tuple[str, Any]:
    """How it ended, and the posterior; anything that is no answer is raised."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", InferenceWarning)
        try:
            found = EP().infer(case.problem)
        except EmptyVersionSpaceError:
            return "version space empty", None
        except InvalidProblemError as error:
            if not SENTENCE.fullmatch(str(error)):
                raise AssertionError(f"no sentence: {error}") from error
            return "refused", None
    said = any("sites still moving" in str(warning.message) for warning in told)
    if not (np.isfinite(found.mean).all() and np.isfinite(found.log_evidence) and np.all(found.variance > 0)):
        raise AssertionError("numbers that are not finite, or a variance of zero")
    if said != (not found.error <= ALARMING):
        raise AssertionError(f"sites moved by {found.error:.1g}, and it was {'' if said else 'not '}said")
    return "said that sites still move" if said else f"settled, {found.info['updates']}", found


class Excess(NamedTuple):
    """By how much the evidence of one exceeds the sampled one, the standard error of that, and its rows."""

    nats: float
    se: float
    rows: int

    @property
    def allowed(self) -> float:
        return ERRORS * self.se + NATS * self.rows

    def __str__(self) -> str:
        return f"{self.nats:.3f} of {self.rows} rows, with a standard error of {self.se:.3f}"


def excess(case: Case, found: Any, more: float) -> Excess | None:
    """Of a problem; None where nobody can sample."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampled = log_evidence(case.problem, 0, se=0.1, max_draws=20_000)
    except InvalidProblemError:
        return None
    if sampled.se is None or not sampled.se <= 0.5:
        return None
    return Excess(found.log_evidence + more - sampled.value, sampled.se, case.problem.size)


def beside_forty_digits(seed: int) -> float:
    """Largest relative difference of means and evidence of a random problem from those in many digits."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4, 2))
    amplitude = 10.0 ** rng.choice([-6.0, 6.0])
    step = Step(float(rng.choice([0.01, 0.1, 0.3])), float(rng.choice([0.0, 0.5])))
    problem = Problem(amplitude * (RBF(1.0)(X) + 0.1 * np.eye(4)), rng.choice([-1.0, 1.0], 4), step)
    found = EP(tolerance=1e-10).infer(problem)
    evidence, mean = precise_ep(problem, 40, 30)
    off = np.abs(found.mean - mean) / np.sqrt(problem.diag)
    return float(max(off.max(), abs(found.log_evidence - evidence) / max(1.0, abs(evidence))))


def main() -> int:
    parser = arguments(__file__)
    parser.add_argument("--wrong", action="store_true")
    given = parser.parse_args()
    record = Record("Expectation propagation", "random problems of every kind, against sampling and forty digits")
    ends: Counter[str] = Counter()
    end, numbers, kept = time.process_time() + 60 * given.minutes, iter(range(CORPUS)), []
    for number in numbers:
        case = case_of(number)
        record.times += 1
        try:
            how, found = settled(case)
        except Exception as error:
            record.failed.append(f"{case.words}: {type(error).__name__}: {error}"[:300])
            continue
        ends[how] += 1
        if found is not None and how.startswith("settled"):
            kept.append((case, found))
        if time.process_time() > end:
            break
    record.figures = {"how they ended": dict(ends.most_common())}
    record.keep(given.keep)
    digits = [beside_forty_digits(seed) for seed in range(int(np.clip(6 * given.minutes, 3, 40)))]
    record.times += len(digits)
    record.figures["noise at 1e-6 and 1e6 beside forty digits, largest relative difference"] = max(digits)
    if max(digits) > 1e-5:
        record.failed.append(f"off by {max(digits):.1g} from expectation propagation in forty digits")
    seen: list[Excess] = []
    for case, found in (kept[i] for i in np.random.default_rng(0).permutation(len(kept))):
        if time.process_time() > end and len(seen) >= 10:
            break
        compared = excess(case, found, 0.5 if given.wrong else 0.0)
        if compared is not None:
            seen.append(compared)
            record.times += 1
            if compared.nats > compared.allowed:
                record.failed.append(f"{case.words}: evidence above the sampled one by {compared} nats")
    errors = [one.nats / one.se for one in seen if one.se > 0]
    record.figures["compared with the sampled evidence"] = len(seen)
    record.figures["the most that it was above, nats"] = str(max(seen, key=lambda one: one.nats))
    record.figures["the most that it was above, in errors of the sampled one"] = max(errors)
    record.figures[f"chance of as much in {len(errors)} normal ones"] = chance_of_largest(max(errors), len(errors)) / 2
    record.figures["the median of the differences, nats"] = float(np.median([one.nats for one in seen]))
    record.figures["core minutes"] = round(time.process_time() / 60, 1)
    record.keep(given.keep)
    print("\n".join(record.failed) or f"{dict(ends)}, {len(seen)} compared")
    return bool(record.failed)


if __name__ == "__main__":
    sys.exit(main())
