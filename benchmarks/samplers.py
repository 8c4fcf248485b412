"""Samplers of version space in one run on one core: effective draws a second.

    python benchmarks/samplers.py [--sizes 20,100,200,400,1000] [--seconds 20] [--only billiard,gibbs]

RBF kernel of unit length scale in four dimensions, labels of a linear teacher, hard walls. The figure is the median
over 20 test points of the effective sample size of the normalised output f(x) / |w|, divided by the sampling time
(set-up and compilation left out for all). A sampler that makes fewer than 100 effective draws in its time is marked
"capped": its figure is then an upper guess, since short chains look better than they are. Of hopsy there are two
proposals: hit-and-run, and a Gibbs sampler for truncated Gaussians (`TruncatedGaussianProposal`).
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

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from bayespoint import Hinge, Problem, Step
from bayespoint.diagnostics import ess
from bayespoint.engines import Billiard, ClassicBilliard, EllipticalSlice, GibbsSampler
from bayespoint.engines._start import starting_position
from bayespoint.grams import DensePoints
from bayespoint.grams.whitening import Whitened

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


SAMPLERS: dict[str, Sampler] = {
    "Billiard": billiard,
    "EllipticalSlice": elliptical_slice,
    "GibbsSampler": gibbs,
    "ClassicBilliard": classic_billiard,
    "BoTorch": botorch,
    "hopsy": hopsy,
    "hopsy-truncated": hopsy_truncated,
}


def conditions() -> str:
    """Processor, threads of BLAS, and versions of what is compared."""
    with threadpool_limits(1):
        blas = {pool.get("internal_api"): (pool.get("version"), pool.get("architecture")) for pool in threadpool_info()}
    names = {one for one in ("bayespoint", "numpy", "numba", "hopsy", "botorch", "torch") if _version(one)}
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


def rate(sample: Sampler, problem: Problem, cross: np.ndarray, seconds: float) -> dict[str, float]:
    """Effective draws a second, from a run as long as `seconds` allows (at most 50,000 draws)."""
    white = problem.whitened()
    draws, spent = 320, 0.0
    sample(problem, white, draws, 0)  # compilation
    while True:  # grow until a run takes a tenth of the budget, then fill it
        start = time.process_time()
        coordinates = sample(problem, white, draws, 1)
        spent = time.process_time() - start
        if spent > 0.4 * seconds or draws >= 50_000:
            break
        draws = int(min(50_000, draws * min(10.0, 0.8 * seconds / max(spent, 1e-9)) + 1))
    start = time.process_time()
    sample(problem, white, 1, 0)
    set_up = time.process_time() - start
    outputs = (
        coordinates
        @ white.features(DensePoints(cross, np.ones(len(cross)))).T
        / np.linalg.norm(coordinates, axis=-1, keepdims=True)
    )
    effective = float(np.median(ess(outputs)))
    return {"ess": effective, "seconds": max(spent - set_up, 0.2 * spent), "draws": draws}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="20,100,200,400,1000")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--only", default=",".join(SAMPLERS))
    parser.add_argument("--hinge", type=float, default=0.0, help="C of a hinge likelihood instead of hard walls")
    options = parser.parse_args()
    likelihood = Hinge(options.hinge) if options.hinge else Step()
    names = [name for name in SAMPLERS if name.lower() in options.only.lower().split(",")]
    if options.hinge:
        names = [name for name in names if name in ("Billiard", "EllipticalSlice")]
    results: dict[str, dict[str, dict[str, float]]] = {}
    print(conditions(), flush=True)
    print(f"{'m':>6s}" + "".join(f"{name:>22s}" for name in names) + "   effective draws a second", flush=True)
    for m in map(int, options.sizes.split(",")):
        problem, cross = make_problem(m, likelihood)
        row = results[str(m)] = {}
        line = f"{m:6d}"
        for name in names:
            try:
                with threadpool_limits(1):
                    row[name] = rate(SAMPLERS[name], problem, cross, options.seconds)
                figure = row[name]["ess"] / row[name]["seconds"]
                line += f"{figure:15.4g}{' capped' if row[name]['ess'] < 100 else '':>7s}"
            except ImportError:
                line += f"{'not installed':>22s}"
        print(line, flush=True)
        if "Billiard" in row:
            best = row["Billiard"]["ess"] / row["Billiard"]["seconds"]
            ratios = {name: best * r["seconds"] / r["ess"] for name, r in row.items() if name != "Billiard"}
            print(f"{'ratio':>6s}{'1':>15s}{'':7s}" + "".join(f"{r:15.4g}{'':7s}" for r in ratios.values()), flush=True)
    out = Path(__file__).parent / "results" / f"samplers{'_hinge' if options.hinge else ''}.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
