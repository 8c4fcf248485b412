"""Samplers of version space in one run on one core: effective draws a second of processor time.

    python benchmarks/samplers.py [--sizes 20,50,100,200,1000] [--seconds 1.5] [--only billiard,gibbs]

RBF kernel of unit length scale in four dimensions, labels of a linear teacher, hard walls. The figure is the median
over 20 test points of the effective sample size of the normalised output f(x) / |w|, divided by the sampling time
(set-up and compilation left out for all). Samplers take turns, three times each, and the ratio is the median of the
three turns, since the machine may be doing other work as well. A sampler that makes fewer than 100 effective draws in
its time is marked "capped": its figure is then an upper guess, since short chains look better than they are.

Peers: two proposals of hopsy, hit-and-run and a Gibbs sampler for truncated Gaussians (`TruncatedGaussianProposal`);
tmg-hmc, the flights of Pakman and Paninski, in Python; BoTorch's elliptical slices (`pip install ".[torch]"`);
independent draws by minimax tilting (Botev 2017), accepted or not, on our own `evidence/_tilting.py`. hdtg (zig-zag
and harmonic samplers) is an R package and not here.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from bayespoint import Hinge, Problem, Step
from bayespoint.diagnostics import ess
from bayespoint.engines import Billiard, ClassicBilliard, EllipticalSlice, GibbsSampler
from bayespoint.engines._start import starting_position
from bayespoint.evidence._tilting import tilt, tilted_draws
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import DensePoints
from bayespoint.grams.whitening import Whitened

TURNS = 3
Sampler = Callable[[Problem, Whitened, int, int], np.ndarray]


def rbf(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    values = a @ b.T  # in place from here on: a large Gram matrix should not need three
    values -= 0.5 * np.square(a).sum(1)[:, None]
    values -= 0.5 * np.square(b).sum(1)
    return np.exp(np.minimum(values, 0.0, out=values), out=values)


def make_problem(m: int, likelihood: Step | Hinge) -> tuple[Problem, np.ndarray]:
    rng = np.random.default_rng(0)
    X, test = rng.normal(size=(m, 4)), rng.normal(size=(20, 4))
    y = np.sign(X @ rng.normal(size=4))
    return Problem(rbf(X, X), y, likelihood, check=False), rbf(test, X)


def billiard(problem: Problem, white: Whitened, draws: int, seed: int) -> np.ndarray:
    return Billiard(draws=draws, chains=1, warmup=0).infer(problem, seed).coordinates


def elliptical_slice(problem: Problem, white: Whitened, draws: int, seed: int) -> np.ndarray:
    chains = 32  # its cost is that of numpy calls, which 32 chains share
    return EllipticalSlice(draws=draws // chains + 1, chains=chains, warmup=0).infer(problem, seed).coordinates


def gibbs(problem: Problem, white: Whitened, draws: int, seed: int) -> np.ndarray:
    return GibbsSampler(draws=draws, chains=1, warmup=0).infer(problem, seed).coordinates


def classic_billiard(problem: Problem, white: Whitened, draws: int, seed: int) -> np.ndarray:
    engine = ClassicBilliard(tolerance=1e-300, max_bounces=draws, draws=draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return engine.infer(problem, seed).coordinates


def botorch(problem: Problem, white: Whitened, draws: int, seed: int) -> np.ndarray:
    import torch
    from botorch.utils.probability.lin_ess import LinearEllipticalSliceSampler

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    walls = torch.tensor(-problem.y[:, None] * white.factor)
    sampler = LinearEllipticalSliceSampler(
        inequality_constraints=(walls, torch.zeros(len(walls), 1, dtype=walls.dtype)),
        interior_point=torch.tensor(starting_position(problem, white))[:, None],
        mean=torch.zeros(white.rank, 1, dtype=walls.dtype),
        covariance_matrix=torch.eye(white.rank, dtype=walls.dtype),
    )
    return sampler.draw(draws).numpy().reshape(1, draws, white.rank)


def hopsy(problem: Problem, white: Whitened, draws: int, seed: int) -> np.ndarray:
    return _hopsy(problem, white, draws, seed, "GaussianHitAndRunProposal")


def hopsy_truncated(problem: Problem, white: Whitened, draws: int, seed: int) -> np.ndarray:
    return _hopsy(problem, white, draws, seed, "TruncatedGaussianProposal")


def _hopsy(problem: Problem, white: Whitened, draws: int, seed: int, proposal: str) -> np.ndarray:
    import hopsy as hp

    model = hp.Gaussian(mean=np.zeros(white.rank), covariance=np.eye(white.rank))
    walls = hp.Problem(-problem.y[:, None] * white.factor, np.zeros(problem.size), model)
    start = starting_position(problem, white)
    chain = hp.MarkovChain(walls, getattr(hp, proposal), starting_point=start / np.linalg.norm(start))
    _, samples = hp.sample(chain, hp.RandomNumberGenerator(seed), n_samples=draws, thinning=1)
    return np.asarray(samples)


def tmg_hmc(problem: Problem, white: Whitened, draws: int, seed: int) -> np.ndarray:
    from tmg_hmc import TMGSampler

    np.random.seed(seed)  # noqa: NPY002 (it has no other source)
    sampler = TMGSampler(Sigma=np.eye(white.rank))
    for row in problem.y[:, None] * white.factor:
        sampler.add_constraint(f=row[:, None], sparse=False)
    start = starting_position(problem, white)
    return np.asarray(sampler.sample(start[:, None], n_samples=draws, burn_in=0)).reshape(1, draws, white.rank)


class RefusedError(Exception):
    """Why a sampler takes no turns."""


def tilting(problem: Problem, white: Whitened, draws: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    orthant = tilt(problem.dense * np.multiply.outer(problem.y, problem.y))
    accepted, tried, found = [], 0, 0
    while found < draws:
        points, log_weights = tilted_draws(orthant, rng.random((1000, problem.size)))
        kept = points[np.log(rng.random(1000)) < log_weights - orthant.log_bound]
        accepted.append(kept)
        tried, found = tried + 1000, found + len(kept)
        if tried >= 20_000 and found < 1e-3 * tried:
            raise RefusedError("accepts < 1e-3")
    latents = np.empty((draws, problem.size))
    latents[:, orthant.order] = np.concatenate(accepted)[:draws] @ orthant.factor.T
    return np.linalg.solve(white.factor, (latents * problem.y).T).T[None]


SAMPLERS: dict[str, Sampler] = {
    "Billiard": billiard,
    "EllipticalSlice": elliptical_slice,
    "GibbsSampler": gibbs,
    "ClassicBilliard": classic_billiard,
    "BoTorch": botorch,
    "hopsy": hopsy,
    "hopsy-truncated": hopsy_truncated,
    "tmg-hmc": tmg_hmc,
    "tilting": tilting,
}


def conditions() -> str:
    """Processor, threads of BLAS, and versions of what is compared."""
    with threadpool_limits(1):
        blas = {pool.get("internal_api"): (pool.get("version"), pool.get("architecture")) for pool in threadpool_info()}
    names = {one for one in ("bayespoint", "numpy", "numba", "hopsy", "tmg-hmc", "botorch", "torch") if _version(one)}
    versions = ", ".join(f"{name} {_version(name)}" for name in sorted(names))
    chip = platform.processor() or platform.machine()
    if (listing := Path("/proc/cpuinfo")).is_file():
        chip = next(
            (line.split(":")[1].strip() for line in listing.read_text().splitlines() if "model name" in line), chip
        )
    return f"{chip}, one thread, BLAS {blas}\nPython {platform.python_version()}, {versions}"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


class Turns:
    """One sampler on one problem: as many draws as fit in the time of a turn, turn after turn."""

    def __init__(self, sample: Sampler, problem: Problem, seconds: float) -> None:
        self.sample, self.problem, self.white = sample, problem, problem.whitened()
        self.draws, self.turns = 40, 0
        sample(problem, self.white, 1, 0)  # compilation
        if self.seconds_of(self.draws, 0) > 5 * seconds:
            raise RefusedError("too slow")
        while (spent := self.seconds_of(self.draws, 0)) < 0.4 * seconds and self.draws < 50_000:
            self.draws = int(min(50_000, self.draws * min(10.0, 0.8 * seconds / max(spent, 1e-9)) + 1))
        self.set_up = min(self.seconds_of(1, 0) for _ in range(3))

    def seconds_of(self, draws: int, seed: int) -> float:
        start = time.process_time()
        self.coordinates = self.sample(self.problem, self.white, draws, seed)
        return time.process_time() - start

    def turn(self, cross: np.ndarray) -> dict[str, float]:
        """Effective draws of one more run, and its time without set-up."""
        self.turns += 1
        spent = self.seconds_of(self.draws, self.turns)
        features = self.white.features(DensePoints(cross, np.ones(len(cross))))
        outputs = self.coordinates @ features.T / np.linalg.norm(self.coordinates, axis=-1, keepdims=True)
        effective = float(np.median(ess(outputs)))
        return {"ess": effective, "seconds": max(spent - self.set_up, 0.2 * spent), "draws": self.draws}


def prepare(name: str, problem: Problem, seconds: float) -> Turns | str:
    """A sampler ready to take turns, or why it takes none."""
    try:
        return Turns(SAMPLERS[name], problem, seconds)
    except ImportError:
        return "not installed"
    except RefusedError as reason:
        return str(reason)
    except InvalidProblemError:
        return "no full rank"


def compare(names: list[str], problem: Problem, cross: np.ndarray, seconds: float) -> dict[str, list[dict[str, float]]]:
    """Turns of each sampler, which take them one after the other; a text is in place of those that cannot."""
    ready = {name: prepare(name, problem, seconds) for name in names}
    turns: dict[str, Any] = {name: [] if isinstance(one, Turns) else one for name, one in ready.items()}
    for _ in range(TURNS):
        for name, one in ready.items():
            if isinstance(one, Turns):
                turns[name].append(one.turn(cross))
    return turns


def rates(turns: list[dict[str, float]]) -> np.ndarray:
    return np.array([turn["ess"] / turn["seconds"] for turn in turns])


def _figure(turns: Any) -> str:
    if isinstance(turns, str):
        return f"{turns:>22s}"
    capped = " capped" if min(turn["ess"] for turn in turns) < 100 else ""
    return f"{np.median(rates(turns)):15.4g}{capped:>7s}"


def _ratio(ours: list[dict[str, float]], theirs: Any) -> str:
    """How many times as many effective draws a second are ours: the median of the turns."""
    return f"{'':22s}" if isinstance(theirs, str) else f"{np.median(rates(ours) / rates(theirs)):15.4g}{'':7s}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="20,50,100,200,1000")
    parser.add_argument("--seconds", type=float, default=1.5, help="of a turn")
    parser.add_argument("--only", default=",".join(SAMPLERS))
    parser.add_argument("--hinge", type=float, default=0.0, help="C of a hinge likelihood instead of hard walls")
    options = parser.parse_args()
    likelihood = Hinge(options.hinge) if options.hinge else Step()
    names = [name for name in SAMPLERS if name.lower() in options.only.lower().split(",")]
    if options.hinge:
        names = [name for name in names if name in ("Billiard", "EllipticalSlice")]
    results: dict[str, Any] = {}
    print(conditions(), flush=True)
    print(f"{'m':>6s}" + "".join(f"{name:>22s}" for name in names) + "   effective draws a second", flush=True)
    for m in map(int, options.sizes.split(",")):
        problem, cross = make_problem(m, likelihood)
        with threadpool_limits(1):
            row = results[str(m)] = compare(names, problem, cross, options.seconds)
        print(f"{m:6d}" + "".join(_figure(row[name]) for name in names), flush=True)
        if isinstance(row.get("Billiard"), list):
            print(f"{'ratio':>6s}" + "".join(_ratio(row["Billiard"], row[name]) for name in names), flush=True)
    out = Path(__file__).parent / "results" / f"samplers{'_hinge' if options.hinge else ''}.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
