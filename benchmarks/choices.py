"""Exact draws of ten classes: effective draws a second of the billiard and of the kernel Gibbs sampler, in one run.

    python benchmarks/choices.py [--sizes 100,300,1000] [--data usps] [--softness 0] [--noise 0] [--seconds 30]

The first rows of USPS (or of scikit-learn's digits), RBF kernel with half the median distance as its length scale.
The figure is the median over 50 of the leads of the first 50 held-out rows (the latent of the likeliest class less that
of the second) of the effective sample size, by processor time of one core, set-up left out. At small sizes the Gibbs
sampler of hopsy (`TruncatedGaussianProposal`) runs beside them. A sampler with fewer than 100 effective draws
is marked "capped": short chains look better than they are.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from bayespoint import Choice, Problem
from bayespoint.diagnostics import ess
from bayespoint.engines import Billiard, GibbsSampler
from bayespoint.engines._start import start_of
from bayespoint.grams import DensePoints
from samplers import conditions

Draw = Callable[[Problem, int, int], np.ndarray]


def rows_of(data: str) -> tuple[np.ndarray, np.ndarray]:
    if data == "digits":
        return load_digits(return_X_y=True)
    held = np.load(Path(__file__).resolve().parents[2] / "shared" / "data" / "usps.npz")
    return held["X_train"].astype(np.float64), held["y_train"].astype(int)


def make_problem(n: int, data: str, likelihood: Choice) -> tuple[Problem, DensePoints]:
    X, y = rows_of(data)
    X, y = X[: n + 50], y[:n]
    squares = np.square(X).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0.0)
    values = np.exp(-2 * distances / np.median(distances))
    return Problem(values[:n, :n], y, likelihood, check=False, n_classes=10), DensePoints(values[n:, :n], np.ones(50))


def billiard(problem: Problem, draws: int, seed: int) -> np.ndarray:
    return Billiard(draws=draws, chains=1, warmup=20).infer(problem, seed).coordinates


def gibbs(problem: Problem, draws: int, seed: int) -> np.ndarray:
    return GibbsSampler(draws=draws, chains=1, warmup=20).infer(problem, seed).coordinates


def hopsy(problem: Problem, draws: int, seed: int) -> np.ndarray:
    import hopsy as hp

    white, start = start_of(problem)
    classes = 10
    row, other = np.nonzero(np.arange(classes) != problem.y[:, None])
    factor = white.white.whole_factor
    walls = np.zeros((len(row), classes, factor.shape[1]))
    walls[np.arange(len(row)), other] = factor[row]
    walls[np.arange(len(row)), problem.y[row]] -= factor[row]
    model = hp.Gaussian(mean=np.zeros(white.dimension), covariance=np.eye(white.dimension))
    polytope = hp.Problem(walls.reshape(len(row), -1), np.zeros(len(row)), model)
    chain = hp.MarkovChain(polytope, hp.TruncatedGaussianProposal, starting_point=start / np.linalg.norm(start))
    _, samples = hp.sample(chain, hp.RandomNumberGenerator(seed), n_samples=draws, thinning=1)
    return white.apart(np.asarray(samples))[..., : white.white.rank]


SAMPLERS: dict[str, Draw] = {"Billiard": billiard, "GibbsSampler": gibbs, "hopsy": hopsy}


def rate(draw: Draw, problem: Problem, new: DensePoints, seconds: float) -> tuple[float, float]:
    """Effective draws, and seconds that they took."""
    draw(problem, 2, 0)  # compilation
    draws, spent = 100, 0.0
    start = time.process_time()
    draw(problem, 1, 0)
    set_up = time.process_time() - start
    while True:
        start = time.process_time()
        coordinates = draw(problem, draws, 1)
        spent = time.process_time() - start - set_up
        if spent > 0.4 * seconds or draws >= 20_000:
            break
        draws = int(min(20_000, draws * np.clip(0.8 * seconds / max(spent, 1e-9), 1.5, 10.0)))
    features = problem.whitened().features(new)
    outputs = np.swapaxes(coordinates @ features.T, -1, -2)
    first, second = np.argsort(outputs.mean(axis=(0, 1)), axis=-1)[:, [-1, -2]].T
    points = np.arange(len(features))
    leads = outputs[:, :, points, first] - outputs[:, :, points, second]
    return float(np.median(ess(leads / np.linalg.norm(coordinates, axis=(-2, -1))[..., None]))), spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100,300,1000")
    parser.add_argument("--data", default="usps", choices=["usps", "digits"])
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--softness", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--largest-hopsy", type=int, default=30, help="rows beyond which hopsy is left out")
    options = parser.parse_args()
    likelihood = Choice(options.noise, options.softness)
    print(conditions(), flush=True)
    print(f"{options.data}, {likelihood}\n{'n':>6s}{'sampler':>16s}{'draws a second':>18s}{'the billiard has':>20s}")
    for n in map(int, options.sizes.split(",")):
        problem, new = make_problem(n, options.data, likelihood)
        best = np.nan
        for name, draw in SAMPLERS.items():
            if name == "hopsy" and (n > options.largest_hopsy or likelihood.noise > 0):
                continue
            try:
                with threadpool_limits(1):
                    effective, spent = rate(draw, problem, new, options.seconds)
            except ImportError:
                print(f"{n:6d}{name:>16s}{'not installed':>18s}")
                continue
            figure = effective / spent
            best = figure if name == "Billiard" else best
            mark = " capped" if effective < 100 else ""
            print(f"{n:6d}{name:>16s}{figure:18.4g}{best / figure:18.4g} x{mark}", flush=True)


if __name__ == "__main__":
    main()
