"""How the billiard scales: cost of an event against m, m = 5000 in time and memory, two chains on two cores.

python benchmarks/billiard.py [--sizes 200,500,1000,2000,5000]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from bayespoint import Step
from bayespoint.engines import Billiard
from samplers import make_problem


def flights(
    m: int, draws: int, chains: int = 1, n_jobs: int = 1, clock: Callable[[], float] = time.process_time
) -> tuple[float, float]:
    """Seconds of sampling (set-up left out; of processor time unless told otherwise), and events a flight."""
    problem, _ = make_problem(m, Step())
    short = Billiard(draws=1, chains=chains, warmup=0, n_jobs=n_jobs)
    short.infer(problem, 0)
    start = clock()
    short.infer(problem, 0)
    set_up = clock() - start
    start = clock()
    posterior = Billiard(draws=draws, chains=chains, warmup=0, n_jobs=n_jobs).infer(problem, 0)
    return clock() - start - set_up, float(posterior.info["events_per_flight"].mean())


def slope(sizes: list[int]) -> None:
    print(f"{'m':>6s}{'us an event':>14s}{'events a flight':>18s}{'draws a second':>17s}")
    costs = []
    for m in sizes:
        draws = max(200, 200_000 // m)
        seconds, events = flights(m, draws)
        costs.append(1e6 * seconds / (draws * events))
        print(f"{m:6d}{costs[-1]:14.3f}{events:18.0f}{draws / seconds:17.1f}", flush=True)
    exponent = np.polyfit(np.log(sizes), np.log(costs), 1)[0]
    print(f"cost of an event ~ m^{exponent:.2f} (refreshes included)\n", flush=True)


def large(m: int, draws: int) -> None:
    """In a process of its own: time of a whole inference and peak memory above the Gram matrix's start."""
    with threadpool_limits(1):
        small, _ = make_problem(50, Step())
        Billiard(draws=2, chains=1).infer(small, 0)  # compilation
        problem, _ = make_problem(m, Step())
        gram = problem.dense.nbytes
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        before = _resident()
        start = time.process_time()
        Billiard(draws=draws, chains=1, warmup=20).infer(problem, 0)
        seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    above = max(peak, base) - before + gram
    note = "" if peak > base else " (at most: building the Gram matrix took more)"
    print(
        f"m = {m}: {draws} draws in {seconds:.1f} s on one core, peak memory {above / gram:.2f} Gram matrices of "
        f"{gram / 2**30:.2f} GB{note}"
    )


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="200,500,1000,2000,5000")
    parser.add_argument("--large", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--draws", type=int, default=300, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.large:
        large(options.large, options.draws)
        return
    with threadpool_limits(1):
        slope([int(m) for m in options.sizes.split(",")])
        one, _ = flights(1000, 2000, chains=1, clock=time.perf_counter)
        two, _ = flights(1000, 2000, chains=2, n_jobs=2, clock=time.perf_counter)
        print(
            f"two chains on two cores, by the clock: {2 * one / two:.2f} times the draws of one chain a second\n",
            flush=True,
        )
    for m, draws in ((5000, 300), (10_000, 100)):
        subprocess.run([sys.executable, __file__, "--large", str(m), "--draws", str(draws)], check=True)


if __name__ == "__main__":
    main()
