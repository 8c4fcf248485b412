"""Rows, labels, weights and settings as nobody would wish for: the right answer or one sentence, and in time.

    python tests/soak/hostile.py [--minutes 10] [--keep file.json]

First the cases that once took minutes, then cases at random, as Hypothesis finds them.
"""

from __future__ import annotations

import contextlib
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import given as taken
from hypothesis import strategies as st
from records import Record, arguments
from sklearn.base import clone

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from bayespoint.engines import Billiard

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("estimators", "engines")]
from hostile_problems import ENGINES, problems
from hostile_problems import judged as judged_engine
from hostile_rows import MODELS, error_of, is_a_sentence, judged, rows

LONGEST = 20.0  # processor seconds of a fit of up to 100 rows


def named() -> dict[str, tuple[Any, np.ndarray, np.ndarray]]:
    """Cases of their own: a model, rows and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=100) > 0, 1, 0)
    many = np.repeat(np.arange(100), 3)
    rare = rng.normal(size=(10_001, 2))
    return {
        "hildreth, tuned by its bound": (GaussianMarginClassifier(solver="hildreth", tune="bound"), X, y),
        "slack in deviations on three rows": (
            GaussianMarginClassifier(slack="deviation", tune="bound"),
            X[:3],
            np.array([0, 1, 0]),
        ),
        "steep hinges by billiard on a linear kernel": (BayesianSVC(1e4, "linear", engine="billiard"), X, y),
        "billiard and averaging on integers near 1e9": (
            BayesianSVC(
                optimizer="evidence", evidence="naive", average=True, engine=Billiard(draws=200), random_state=0
            ),
            np.rint(1e9 + 100 * X),
            y,
        ),
        "10,000 features": (BayesPointClassifier(), rng.normal(size=(100, 10_000)), y),
        "100 classes of 3 rows, one kernel": (
            BayesPointClassifier("rbf"),
            3 * rng.normal(size=(100, 3))[many] + 0.5 * rng.normal(size=(300, 3)),
            many,
        ),
        "1 row to 10,000": (BayesPointClassifier("rbf"), rare, np.r_[1, np.zeros(10_000, dtype=int)]),
    }


def try_named(record: Record) -> None:
    for name, (model, X, y) in named().items():
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error = error_of(lambda model=model, X=X, y=y: model.fit(X, y))
            if error is None and not np.isfinite(model.predict_proba(X[:100])).all():
                record.failed.append(f"{name}: probabilities that are none")
        spent = time.process_time() - begun
        record.times += 1
        record.figures[f"{name}, core seconds"] = f"{spent:.1f}" + (" (refused)" if error else "")
        if error is not None and not is_a_sentence(error):
            record.failed.append(f"{name}: {error!r}")
        if len(y) <= 100 and spent > LONGEST:
            record.failed.append(f"{name}: {spent:.0f} s for {len(y)} rows")


class Over(BaseException):
    """The time is."""


def try_any(record: Record, minutes: float, keep: Path, cases: Any, judge: Callable[..., str], name: str) -> None:
    """Cases at random until the time is over."""
    ends, outcomes, longest = time.monotonic() + 60 * minutes, Counter[str](), (0.0, "")

    @settings(
        max_examples=10**6,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @taken(cases)
    def one(case: Any) -> None:
        nonlocal longest
        if time.monotonic() > ends:
            raise Over
        begun, what = time.process_time(), told(case)
        try:
            outcomes[judge(case)] += 1
        except Exception as error:
            outcomes["failed"] += 1
            record.failed.append(f"{what}: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
        spent = time.process_time() - begun
        if spent > LONGEST:
            record.failed.append(f"{what}: {spent:.0f} s")
        longest = max(longest, (round(spent, 1), what))
        record.times += 1
        if record.times % 50 == 0:
            write_down()

    def write_down() -> None:
        record.figures |= {f"{name} at random": dict(outcomes), f"longest of them, {name}": longest}
        record.keep(keep)

    with contextlib.suppress(Over):
        one()
    write_down()


def told(case: Any) -> str:
    """A case in one line: a model and rows, or an engine and a problem."""
    first, rest = case
    gram = rest[0][0] if isinstance(rest[0], tuple) else rest[0]
    more = f" of {rest[0][2]!r} and weights {rest[0][3]}" if isinstance(rest[0], tuple) else f" {rest[1].shape}"
    return " ".join(f"{first!r} on {type(gram).__name__}{more}".split())[:300]


def main() -> int:
    given = arguments(__file__, 10.0).parse_args()
    record = Record(
        "Input",
        "estimators and engines, settings, containers, Gram matrices, scales and weights at random; slow cases by name",
    )
    try_named(record)
    models, engines = st.tuples(MODELS, rows(most=100)), st.tuples(st.sampled_from(ENGINES), problems(most=100))
    half = given.minutes / 2
    try_any(record, half, given.keep, models, lambda case: judged(case[0], clone(case[0]), case[1]), "fits")
    try_any(record, half, given.keep, engines, lambda case: judged_engine(case[0], *case[1]), "problems")
    record.keep(given.keep)
    print(record.failed, record.figures)
    return bool(record.failed)


if __name__ == "__main__":
    sys.exit(main())
