"""The Gaussian margin machine: against a conic solver and against the paper's sweeps, and against size, in one run.

    python benchmarks/margin.py [--quick] [--conic 8,16,32]

Ours and the sweeps stop on the same certified gap between primal and dual. The conic solver (Clarabel through cvxpy)
has its defaults, and its problem is compiled beforehand; d = 64, which takes it some minutes, is left out, and so is
a kernel of 2,000 rows (36 s a fit): they would show the same growth once more.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from bayespoint.engines.margin import DenseGeometry, FactorGeometry, gaussian_margin
from bayespoint.engines.margin.hildreth import hildreth


def timed(function, repeats=1):
    """The answer and the fastest of a few runs."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        answer = function()
        seconds.append(time.process_time() - start)
    return answer, min(seconds)


def data(n, d, decay=0.7, noise=0.1, seed=0):
    """Rows of unit norm with a decaying spectrum and a bias, labels of a plane with noise."""
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=(n, d - 1)) * np.arange(1.0, d) ** -decay, np.ones(n)]
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, np.where(X @ rng.normal(size=d) + noise * rng.normal(size=n) > 0, 1.0, -1.0)


def conic(X, y, phi, cap):
    """The root form (14) for a conic solver, compiled."""
    import cvxpy as cp

    d = X.shape[1]
    mean, root, slack = cp.Variable(d), cp.Variable((d, d), PSD=True), cp.Variable(len(y), nonneg=True)
    divergence = -cp.log_det(root) + 0.5 * cp.sum_squares(root) + 0.5 * cp.sum_squares(mean) - 0.5 * d
    kept = [cp.multiply(y, X @ mean) + slack >= phi * cp.norm(root @ X.T, 2, axis=0)]
    problem = cp.Problem(cp.Minimize(divergence + cap * cp.sum(slack)), kept)
    problem.get_problem_data(cp.CLARABEL)
    return lambda: problem.solve(solver=cp.CLARABEL)


def against_a_conic_solver(columns):
    print("n = 100, phi = 1, C = 1: seconds, and how many times longer than ours")
    print(f"{'d':>5s}{'ours':>10s}{'steps':>7s}{'Clarabel':>10s}{'ratio':>8s}{'objectives differ by':>22s}")
    for d in columns:
        X, y = data(100, d)
        found, ours = timed(lambda: gaussian_margin(FactorGeometry(X), y, 1.0, 1.0), 5)  # noqa: B023
        value, theirs = timed(conic(X, y, 1.0, 1.0))
        line = f"{d:5d}{ours:10.4f}{found.iterations:7d}{theirs:10.2f}{theirs / ours:7.0f}x"
        print(line + f"{value - found.primal:22.1e}", flush=True)


def against_sweeps():
    print("\nd = 64, n = 100: seconds (steps or sweeps), and how many times longer sweeps take than steps to that gap")
    print(
        f"{'phi':>5s}{'C':>6s}{'ours 1e-9':>15s}"
        + "".join(f"{f'sweeps {gap}':>24s}" for gap in ("1e-3", "1e-6", "1e-9"))
    )
    X, y = data(100, 64)
    gram = X @ X.T
    hildreth(gram, y, 1.0, 1.0, tolerance=0.1)  # compiles
    for phi in (0.3, 1.0, 2.0):
        for cap in (1.0, 10.0, np.inf):
            found, ours = timed(lambda: gaussian_margin(DenseGeometry(gram), y, phi, cap), 5)  # noqa: B023
            line = f"{phi:5.1f}{cap:6g}{ours:9.4f} ({found.iterations:3d})"
            for gap in (1e-3, 1e-6, 1e-9):
                sweeps, theirs = timed(lambda: hildreth(gram, y, phi, cap, tolerance=gap))  # noqa: B023
                _, ours = timed(lambda: gaussian_margin(DenseGeometry(gram), y, phi, cap, tolerance=gap), 5)  # noqa: B023
                line += f"{theirs:9.4f} ({sweeps.iterations:5d}){theirs / ours:6.1f}x"
            print(line, flush=True)


def against_size(rows, columns, tolerance):
    print(f"\nfactor, phi = 1, C = 1, about 2 % of the labels wrong, gap {tolerance:g}: seconds (steps)")
    print(f"{'n':>7s}" + "".join(f"{'d = ' + str(d):>16s}" for d in columns))
    for n in rows:
        line = f"{n:7d}"
        for d in columns:
            X, y = data(n, d)
            found, seconds = timed(lambda: gaussian_margin(FactorGeometry(X), y, 1.0, 1.0, tolerance=tolerance))  # noqa: B023
            line += f"{seconds:10.3f} ({found.iterations:3d})"
        print(line, flush=True)


def kernels(rows):
    print("\nRBF kernel, phi = 1: seconds (steps, rows with a multiplier)")
    for n in rows:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 5))
        y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
        gram = RBF(2.0)(X)
        for cap in (0.1, 1.0, 10.0):
            found, seconds = timed(lambda: gaussian_margin(DenseGeometry(gram), y, 1.0, cap))  # noqa: B023
            print(f"{n:7d}  C = {cap:4g}{seconds:10.2f} ({found.iterations}, {len(found.support)})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out what takes more than a few seconds")
    parser.add_argument("--conic", default="4,8,16,32")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    against_a_conic_solver([int(d) for d in options.conic.split(",")])
    against_sweeps()
    against_size([100, 1000] if options.quick else [100, 300, 1000, 3000, 12000], [8, 20, 51], 1e-9)
    if not options.quick:
        against_size([12000, 60000], [51], 1e-6)
    kernels([500] if options.quick else [500, 1000])


if __name__ == "__main__":
    main()
