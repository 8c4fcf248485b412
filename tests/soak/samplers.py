"""Are draws those of the posterior, and always the same? Calibration, joint tests, long flights, seeds.

    python tests/soak/samplers.py [--minutes 2] [--keep file.json] [--wrong calibration | joint | flights | seeds]

- Calibration (Talts et al. 2018): functions and labels from the model; the rank of the truth among posterior draws is
  uniform. Every sampler on every likelihood it takes, of two classes and of three.
- Joint tests (Geweke 2004): labels given latents and one step of the sampler in turns leave the prior as it is.
- Flights: ten million events, latents against those recomputed from coordinates.
- Seeds: the same draws in other processes, with other numbers of threads, as on other processors; more draws and more
  chains begin with the same.

With `--wrong` one of these is broken on purpose, which must be seen. The time is that of the processor.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from records import Record, arguments, chance_of_smallest
from scipy.stats import chisquare, ttest_1samp
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Choice, Hinge, Logistic, Problem, Step
from bayespoint.engines import EP, Billiard, EllipticalSlice, GibbsSampler
from bayespoint.engines._start import start_of
from bayespoint.engines.billiard import flights, walls_of
from bayespoint.engines.elliptical_slice import Ellipse
from bayespoint.likelihoods import SquaredHinge

KEPT, BINS, ROWS, CLASSES = 31, 8, 4, 3
ALARM = 1e-6  # chance at which ranks are called uneven: some 80 tests a run
CHAINS = 50  # of a joint test
EVENTS = 10_000_000
TOLERANCE = 1e-9  # of draws of one seed on different machines, in prior deviations
STEPS = [Step(), Step(0.1), Step(0.0, 0.5), Step(0.1, 0.5)]
CHOICES = [Choice(), Choice(0.1), Choice(0.0, 0.5), Choice(0.1, 0.5)]
OTHERS = [Hinge(2.0), Logistic(2.0), SquaredHinge(2.0)]
SAMPLERS = {  # draws far enough apart to count as independent
    "Billiard": Billiard(draws=KEPT * 4, chains=1, warmup=20),
    "EllipticalSlice": EllipticalSlice(draws=1, chains=KEPT, warmup=100),
    "GibbsSampler": GibbsSampler(draws=KEPT, chains=1, warmup=60, thin=8),
}
CELLS = [
    (name, likelihood)
    for name, likelihood in product(SAMPLERS, STEPS + OTHERS + CHOICES)
    if (SAMPLERS[name].takes is None or likelihood.kind in SAMPLERS[name].takes)
    and (SAMPLERS[name].takes_classes or not isinstance(likelihood, Choice))
]


# -- the model ---------------------------------------------------------------------------------------------------------


def drawn_labels(likelihood: Any, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels given latents, by the model's own story rather than by the library's likelihoods."""
    noisy = f + np.sqrt(likelihood.softness) * rng.standard_normal(f.shape)
    if isinstance(likelihood, Choice):
        best, high = noisy.argmax(axis=-1), 1 - likelihood.noise
        other = (best + rng.integers(1, CLASSES, best.shape)) % CLASSES
        return np.where(rng.random(best.shape) < high, best, other)
    if isinstance(likelihood, Step):
        return np.where(rng.random(f.shape) < likelihood.noise, -1.0, 1.0) * np.sign(noisy)
    up, down = (np.exp(likelihood.log_likelihood(np.full_like(f, label), f)) for label in (1.0, -1.0))
    return np.where(rng.random(f.shape) * (up + down) < up, 1.0, -1.0)


def drawn_pair(likelihood: Any, root: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Latents and labels from the joint density, which is met by rejection where labels do not add up to one."""
    while True:
        columns = CLASSES if isinstance(likelihood, Choice) else 1
        f = (root @ rng.standard_normal((len(root), columns))).reshape((len(root), columns)[: 1 + (columns > 1)])
        if isinstance(likelihood, Hinge | SquaredHinge):
            both = np.exp([likelihood.log_likelihood(np.full_like(f, label), f) for label in (1.0, -1.0)]).sum(axis=0)
            if both.max() > 1 + 1e-9:
                raise AssertionError("labels have a probability above one")
            if rng.random() > both.prod():
                continue
        return f, drawn_labels(likelihood, f, rng)


def gram_of(rng: np.random.Generator, rows: int = ROWS) -> np.ndarray:
    return 1.5 * RBF(1.0)(rng.normal(size=(rows, 2))) + 0.3


# -- calibration -------------------------------------------------------------------------------------------------------


def quantities(f: np.ndarray, y: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Figures of draws of latents, of shape (..., n) or (..., n, C): a margin, their mean, a length."""
    if y.dtype.kind in "iu":
        own = np.take_along_axis(f, np.broadcast_to(y[:, None], (*f.shape[:-1], 1)), axis=-1)[..., 0]
        margin, first = own - f.mean(axis=-1), f[..., 0]
    else:
        margin, first = y * f, f
    length = np.einsum("...i,ij,...j->...", first, precision, first)
    return np.stack([margin[..., 0], margin.mean(axis=-1), length], axis=-1)


def wrong_of(likelihood: Any) -> Any:
    """A likelihood that is not the model's."""
    if isinstance(likelihood, Step | Choice):
        return replace(likelihood, noise=0.3, softness=likelihood.softness * 4)
    return replace(likelihood, C=3 * likelihood.C) if hasattr(likelihood, "C") else type(likelihood)(6.0)


class Ranks:
    """Of one sampler on one likelihood."""

    def __init__(self, name: str, likelihood: Any, wrong: bool) -> None:
        self.engine, self.likelihood = SAMPLERS[name], likelihood
        self.assumed = wrong_of(likelihood) if wrong else likelihood
        self.rng = np.random.default_rng([len(name), sum(map(ord, str(likelihood)))])
        self.found: list[np.ndarray] = []

    def add(self, count: int) -> None:
        for _ in range(count):
            gram = gram_of(self.rng)
            f, y = drawn_pair(self.likelihood, np.linalg.cholesky(gram), self.rng)
            classes = CLASSES if isinstance(self.likelihood, Choice) else None
            problem = Problem(gram, y, self.assumed, check=False, n_classes=classes)
            latents = self.engine.infer(problem, rng=self.rng).latents
            drawn = latents.reshape(-1, *f.shape)[:: latents.shape[0] * latents.shape[1] // KEPT]
            precision = np.linalg.inv(gram)
            below = quantities(drawn, y, precision) < quantities(f, y, precision)
            self.found.append(below.sum(axis=0))

    def chances(self) -> list[float]:
        """Of ranks as uneven as these, of each figure."""
        bins = np.array(self.found) * BINS // (KEPT + 1)
        return [float(chisquare(np.bincount(column, minlength=BINS)).pvalue) for column in bins.T]


# -- joint tests -------------------------------------------------------------------------------------------------------


def by_flight(problem: Problem, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    latents = Billiard(draws=1, chains=1, warmup=0).infer(problem, rng, start=f).latents
    return np.asarray(latents[0, 0])


def by_slices(problem: Problem, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One slice of each ellipse of the sampler."""
    white, gaussian = problem.whitened(), EP().infer(problem)
    ellipses = [Ellipse(problem, white, gaussian.tau, gaussian.nu)]
    if not problem.likelihood.is_log_concave:
        ellipses.append(Ellipse.of_prior(problem, white))
    latents = f[None]
    for ellipse in ellipses:
        across = ellipse.across(rng.standard_normal((1, white.rank))) @ white.factor.T
        target = ellipse.log_target(latents)
        latents = ellipse.step(latents, across, target, lambda some: rng.random(len(some)))[2]
    return np.asarray(latents[0])


Transition = Callable[[Problem, np.ndarray, np.random.Generator], np.ndarray]
JOINT: list[tuple[Transition, Any]] = [
    *((by_flight, likelihood) for likelihood in (Step(0.1), Step(0.3))),  # hard walls would never be crossed
    *((by_slices, likelihood) for likelihood in (Step(0.1), Step(0.1, 0.5), Step(0.0, 0.5), Logistic(2.0))),
]


def joint_chances(step: Transition, likelihood: Any, count: int, seed: int, wrong: bool) -> np.ndarray:
    """Chances of moments of latents as far from those of the prior, of chains that begin there: their means are alike.

    So the error is that of independent numbers, whatever the memory of a chain.
    """
    rng = np.random.default_rng([seed, 3])
    gram = gram_of(rng, 3)
    root, assumed = np.linalg.cholesky(gram), wrong_of(likelihood) if wrong else likelihood
    means = np.zeros((CHAINS, 6))
    for chain in means:
        f = root @ rng.standard_normal(3)
        for _ in range(count // CHAINS):
            y = drawn_labels(likelihood, f, rng)
            f = step(Problem(gram, y, assumed, check=False), f, rng)
            chain += np.r_[f, f * f]
    expected = np.r_[np.zeros(3), np.diag(gram)]
    return np.asarray(ttest_1samp(means / (count // CHAINS), expected).pvalue)


# -- flights -----------------------------------------------------------------------------------------------------------


def flown(likelihood: Any, events: int, seed: int, wrong: bool) -> tuple[int, float]:
    """At least that many events of one ball, and the largest drift of latents in prior deviations."""
    rng = np.random.default_rng(seed)
    n = 60 if isinstance(likelihood, Choice) else 100
    X = rng.normal(size=(n, 3))
    classes = CLASSES if isinstance(likelihood, Choice) else None
    y = (X @ rng.normal(size=(3, CLASSES))).argmax(axis=1) if classes else np.where(X[:, 0] > 0, 1.0, -1.0)
    problem = Problem(2 * RBF(1.5)(X) + 0.3, y, likelihood, n_classes=classes)
    white, origin = start_of(problem)
    walls = walls_of(problem)
    if wrong:
        walls = walls._replace(gram=walls.gram * (1 + 1e-6 * np.eye(len(walls.gram), k=1)))
    met, largest = 0, 0.0
    for _, batch in flights(Billiard(), walls, white, origin, rng, 10**9):
        met, largest = met + int(batch.events.sum()), max(largest, batch.drift)
        if met >= events:
            return met, largest
    raise AssertionError("unreachable")


# -- seeds -------------------------------------------------------------------------------------------------------------

ELSEWHERE = {
    "other processes, one thread and two": [{}, {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}],
    "four kinds of processors": [{"OPENBLAS_CORETYPE": kind} for kind in ("Haswell", "Zen", "Sandybridge", "Prescott")],
}


def some_draws(seed: int = 7) -> dict[str, list[float]]:
    """Draws of every sampler, for another process to compare with."""
    rng, found = np.random.default_rng(1), {}
    gram = gram_of(rng, 40) + 0.1 * np.eye(40)  # of one that is nearly singular rounding decides the last coordinates
    y = np.where(gram[0] > 1, 1.0, -1.0)
    for name, likelihood in (("Billiard", Step(0.1)), ("EllipticalSlice", Hinge(2.0)), ("GibbsSampler", Step(0.1))):
        engine = replace(SAMPLERS[name], draws=200, chains=2)
        latents = engine.infer(Problem(gram, y, likelihood), rng=seed).latents
        found[name] = latents[:, ::20].ravel().tolist()
    return found


def elsewhere(settings: dict[str, str]) -> dict[str, list[float]]:
    command = [sys.executable, __file__, "--draws"]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def apart(one: dict[str, list[float]], two: dict[str, list[float]]) -> dict[str, float]:
    return {name: float(np.abs(np.subtract(one[name], two[name])).max()) for name in one}


# -- the run -----------------------------------------------------------------------------------------------------------


def parts(record: Record, minutes: float, wrong: str | None) -> Iterator[None]:
    """Each part in turn, cheap ones first; the record after each."""
    here = some_draws(8 if wrong == "seeds" else 7)
    for places, settings in ELSEWHERE.items():
        far = dict.fromkeys(SAMPLERS, 0.0)
        for one in settings:
            far = {name: max(far[name], value) for name, value in apart(here, elsewhere(one)).items()}
            record.times += 1
        record.figures[f"draws of a seed in {places}, largest difference"] = far
        off = {name: value for name, value in far.items() if value > TOLERANCE}
        record.failed += [f"{name}: draws of a seed differ by {value:.1g} in {places}" for name, value in off.items()]
    yield
    largest, met = {}, 0
    for likelihood in (Step(), Step(0.1), Hinge(2.0), Choice(0.1)):
        count, drift = flown(likelihood, EVENTS // 4 if minutes >= 1 else EVENTS // 40, 1, wrong == "flights")
        met, largest[str(likelihood)] = met + count, drift
        if drift > 1e-9:
            record.failed.append(f"{likelihood}: latents drifted by {drift:.1g}")
    record.times += met
    record.figures |= {"events of the billiard": met, "largest residual within 64 flights, prior deviations": largest}
    yield
    found = {}
    for step, likelihood in JOINT:
        count = CHAINS * int(np.clip(20 * minutes, 10, 400))
        found[f"{step.__name__}, {likelihood}"] = joint_chances(step, likelihood, count, 0, wrong == "joint")
        record.times += count
    chances = np.concatenate(list(found.values()))
    record.figures[f"joint tests: smallest of {chances.size} chances"] = least = float(chances.min())
    record.figures["joint tests: chance of a smallest of them as small"] = chance_of_smallest(least, chances.size)
    record.failed += [f"joint test, {name}: {p.min():.1g}" for name, p in found.items() if p.min() < ALARM]
    yield
    ranks = {f"{name}, {likelihood}": Ranks(name, likelihood, wrong == "calibration") for name, likelihood in CELLS}
    end = time.process_time() + 36 * minutes
    while time.process_time() < end:
        for one in ranks.values():
            one.add(10)
        count = len(next(iter(ranks.values())).found)
        if count % 50 == 0 or time.process_time() >= end:
            chances = {name: min(one.chances()) for name, one in ranks.items()}
            tests = sum(len(one.chances()) for one in ranks.values())
            least = min(chances.values())
            record.figures["calibration: sampler and likelihood, fits of each"] = f"{len(ranks)}, {count}"
            record.figures[f"calibration: smallest of {tests} chances"] = least
            record.figures["calibration: chance of a smallest of them as small"] = chance_of_smallest(least, tests)
            kept = [said for said in record.failed if not said.startswith("calibration")]
            record.failed = kept + [f"calibration, {name}: {p:.1g}" for name, p in chances.items() if p < ALARM]
            yield
    record.times += sum(len(one.found) for one in ranks.values())
    record.figures["core minutes"] = round(time.process_time() / 60, 1)
    yield


def main() -> int:
    if "--draws" in sys.argv:
        print(json.dumps(some_draws()))
        return 0
    parser = arguments(__file__)
    parser.add_argument("--wrong", choices=["calibration", "joint", "flights", "seeds"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    record = Record("Samplers", "calibration, joint tests, ten million events, seeds on other threads and processors")
    for _ in parts(record, given.minutes, given.wrong):
        record.keep(given.keep)
        print(list(record.figures.items())[-1], flush=True)
    print("\n".join(record.failed) or "nothing is off")
    return bool(record.failed)


if __name__ == "__main__":
    sys.exit(main())
