"""The way through the package of each kind of fit and of a prediction: functions and modules in order of first call.

    python benchmarks/walk.py [--rows 60] [--short]

Counts functions of bayespoint alone, generators and comprehensions with the function that they stand in; depth is that
of such functions inside each other. Those that are no more than a property are told apart, and so are ways back: calls
from one room into another that is already on the way. What a fit passes in any case stands apart from what tuning, the
hyper-prior, calibration and several kernels add to it. Nothing is timed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np

import bayespoint
from bayespoint import BayesianSVC, BayesPointClassifier

ROOT = Path(bayespoint.__file__).parent
PIECES = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
FITS = ["fit", "SVC by its evidence", "first partial_fit", "dask", "certificate"]
BARE: dict[str, Any] = {"kernel": "rbf", "optimizer": None, "hyper_prior": None, "calibration": None}
FEATURES: dict[str, dict[str, Any]] = {  # each has what stands above it, and one thing more
    "any fit": BARE,
    "kernel by evidence": BARE | {"optimizer": "evidence"},
    "hyper-prior": BARE | {"optimizer": "evidence", "hyper_prior": "weak"},
    "calibration": {"kernel": "rbf"},
    "several kernels": {},
}


class Walk(NamedTuple):
    """Functions in order of first call, as (module, name), and those inside each other where they went deepest.

    A way back is a caller and what it called in a room that had been left for the caller's.
    """

    functions: list[tuple[str, str]]
    deepest: list[tuple[str, str]]
    ways_back: list[tuple[tuple[str, str], tuple[str, str]]]

    @property
    def depth(self) -> int:
        """How deep they went into each other."""
        return len(self.deepest)

    @property
    def modules(self) -> list[str]:
        """In order of first call."""
        return list(dict.fromkeys(module for module, _ in self.functions))

    @property
    def properties(self) -> int:
        """How many of the functions are properties: a word of a sentence rather than a step."""
        return sum(is_property(*function) for function in self.functions)


@cache
def place(code: CodeType) -> tuple[str, str] | None:
    """Module and name of a function of the package; None for others, and for pieces of functions."""
    path = Path(code.co_filename)
    name = code.co_qualname.replace(".<locals>", "")
    if not path.is_relative_to(ROOT) or code.co_name in PIECES:
        return None
    return ".".join(path.relative_to(ROOT).with_suffix("").parts), name


def room_of(function: tuple[str, str]) -> str:
    """The folder that a function lives in, or its file where that has no folder."""
    return function[0].split(".")[0]


def is_property(module: str, name: str) -> bool:
    """Whether a function is the getter of a property."""
    owner, _, attribute = name.rpartition(".")
    scope = vars(sys.modules[f"bayespoint.{module}".removesuffix(".__init__")]).get(owner)
    return isinstance(getattr(scope, "__dict__", {}).get(attribute), property | cached_property)


def walked(run: Callable[[Any], Any], before: Callable[[], Any] = lambda: None) -> Walk:
    """What is called in this thread while `run` runs on what came before; one run ahead leaves imports behind us."""
    run(before())
    given = before()
    functions: dict[tuple[str, str], None] = {}
    ways_back: dict[tuple[tuple[str, str], tuple[str, str]], None] = {}
    stack: list[tuple[str, str]] = []
    deepest: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        if event not in ("call", "return") or (found := place(frame.f_code)) is None:
            return
        if event == "return":
            stack.pop()
            return
        if stack and room_of(found) != room_of(stack[-1]) and room_of(found) in map(room_of, stack):
            ways_back.setdefault((stack[-1], found))
        stack.append(found)
        deepest = list(stack) if len(stack) > len(deepest) else deepest
        functions.setdefault(found)

    sys.setprofile(note)
    try:
        run(given)
    finally:
        sys.setprofile(None)
    return Walk(list(functions), deepest, list(ways_back))


def plane(rows: int) -> tuple[Any, Any]:
    """Two classes in the plane that a kernel can tell apart, some rows on the wrong side."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2))
    return X, (np.square(X).sum(axis=1) + 0.3 * rng.normal(size=rows) > 1.4).astype(int)


def walks_by_feature(rows: int) -> dict[str, Walk]:
    """Fits that do one thing more each."""
    X, y = plane(rows)
    return {
        name: walked(lambda model: model.fit(X, y), lambda given=given: BayesPointClassifier(random_state=0, **given))
        for name, given in FEATURES.items()
    }


def walks(rows: int) -> dict[str, Walk]:
    """A fit of one kernel, a prediction, and the other kinds of fit."""
    X, y = plane(rows)
    half = rows // 2
    blocks = da.from_array(X, chunks=(half, -1)), da.from_array(y, chunks=half)

    def point() -> BayesPointClassifier:
        return BayesPointClassifier("rbf", random_state=0)

    def first_batch(model: BayesPointClassifier) -> BayesPointClassifier:
        return model.partial_fit(X[:half], y[:half], classes=[0, 1])

    def fitted() -> BayesPointClassifier:
        return point().fit(X, y)

    with dask.config.set(scheduler="synchronous"):  # in this thread, where it is seen
        return {
            "fit": walked(lambda model: model.fit(X, y), point),
            "predict_proba": walked(lambda model: model.predict_proba(X), fitted),
            "SVC by its evidence": walked(
                lambda model: model.fit(X, y), lambda: BayesianSVC(optimizer="evidence", random_state=0)
            ),
            "first partial_fit": walked(first_batch, point),
            "next partial_fit": walked(
                lambda model: model.partial_fit(X[half:], y[half:]), lambda: first_batch(point())
            ),
            "dask": walked(lambda model: model.fit(*blocks), point),
            "certificate": walked(lambda model: model.certificate(prior_fraction=0.5, trust_inputs=True), fitted),
        }


def show(name: str, walk: Walk) -> None:
    """Modules in order of first call, the functions of each in theirs; then where it went deepest."""
    print(f"\n{name}")
    for module in walk.modules:
        print(f"  {module}: {', '.join(function for place, function in walk.functions if place == module)}")
    print(f"  deepest: {' > '.join(function for _, function in walk.deepest)}")
    for caller, called in walk.ways_back:
        print(f"  way back: {'.'.join(caller)} > {'.'.join(called)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--short", action="store_true", help="the figures without the names")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = walks(options.rows)
    print(f"{'walk':22s} functions  properties  modules  depth  ways back")
    for name, walk in found.items():
        counts = f"{len(walk.functions):9d} {walk.properties:11d} {len(walk.modules):8d} {walk.depth:6d}"
        print(f"{name:22s} {counts} {len(walk.ways_back):10d}")
    passed: set[tuple[str, str]] = set()
    print("\nWhat a fit of rows at hand passes, by what it is asked to do; each has what stands above it")
    for name, walk in walks_by_feature(options.rows).items():
        more = [function for function in walk.functions if function not in passed]
        passed |= set(more)
        print(f"{name:22s} {len(walk.functions):9d} {f'+{len(more)}':>11s} {len(walk.modules):8d} {walk.depth:6d}")
        if name != "any fit" and not options.short:
            print(f"  {', '.join(function for _, function in more)}")
    shared = set.intersection(*(set(found[name].functions) for name in FITS))
    print(f"\n{len(shared)} functions are common to the {len(FITS)} kinds of fit; of a plain fit")
    plain = set(found["fit"].functions)
    for name in FITS[1:]:
        other = set(found[name].functions)
        print(f"  {name} shares {len(plain & other)} of {len(plain)}, and has {len(other - plain)} others")
    if not options.short:
        for name, walk in found.items():
            show(name, walk)


if __name__ == "__main__":
    main()
