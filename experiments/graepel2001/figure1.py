"""Figure 1: log posterior over longitude and latitude for label noise q = 0.20, with 10 and with 1,000 observations.

Points as in section 5 of the paper (longitude pi Beta(5, 5), latitude 2 pi Beta(0.1, 0.1)), labels of the classifier at
(pi/2, pi), a fifth of them flipped. Surfaces show the log-likelihood in nats per observation: the log posterior up to
scale and shift; how the paper scales its axis is not said. Below them the log posterior near its peak with draws of
the kernel Gibbs sampler. A mode at m = 10 is a cell between the great circles of the observations that has a hundredth
of the posterior or more and no cell with fewer errors across one circle. The posterior on a fine grid is a witness of
the samplers. Ours are the many data sets, of which the first with several modes is shown, and all numbers.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayespoint import Problem, Step
from bayespoint.diagnostics import mcse
from bayespoint.engines import Billiard, GibbsSampler
from findings import Findings, Number, Statement
from graepel2001.sphere import TRUTH, directions, in_chart, noisy_labels, on_sphere
from sizes import Size

MINUTES = 1
Q, FEW, MANY = 0.20, 10, 1000
NEAR = np.deg2rad(20)
LOG_ODDS = np.log((1 - Q) / Q)  # what an error costs


def data(m: int, k: int, flips: float = Q) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([2001, m, k])
    X = in_chart(m, rng)
    return X, noisy_labels(X, flips, rng)


def mode_count(k: int, flips: float, steps: int) -> int:
    """Cells of the piecewise constant posterior with a hundredth of its mass and no neighbour that has fewer errors."""
    X, y = data(FEW, k, flips)
    longitude, latitude = chart(steps)
    wrong = (on_sphere(longitude, latitude) @ X.T > 0) != (y > 0)
    cells, cell_of = np.unique(wrong @ (1 << np.arange(FEW)), return_inverse=True)  # a bit for each observation
    mass = np.bincount(cell_of.ravel(), (np.exp(-LOG_ODDS * wrong.sum(axis=-1)) * np.sin(longitude)).ravel())
    known = set(cells.tolist())
    return sum(
        not any((cell >> i) & 1 and (cell ^ (1 << i)) in known for i in range(FEW))
        for cell in cells[mass > 0.01 * mass.sum()].tolist()
    )


def error_counts(W: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Training errors of classifiers, in blocks to save memory."""
    blocks = np.array_split(W.reshape(-1, 3), 1 + W.size * len(y) // 30_000_000)
    return np.concatenate([((W_block @ X.T > 0) != (y > 0)).sum(axis=1) for W_block in blocks]).reshape(W.shape[:-1])


def chart(steps: int, half_width: float = np.pi) -> tuple[np.ndarray, np.ndarray]:
    """Midpoints of cells of the chart that are no further from the truth in longitude and latitude."""
    tall = min(half_width, np.pi / 2)
    middle = (np.arange(steps) + 0.5) / steps * 2 - 1
    return np.meshgrid(np.pi / 2 + tall * middle, np.pi + half_width * middle, indexing="ij")


def readings(W: np.ndarray, errors: np.ndarray) -> dict[str, np.ndarray]:
    """What samplers and grid are compared by."""
    return {
        "error": errors,
        "nearness": W @ TRUTH,
        "second": W[..., 1],
        "third": W[..., 2],
        "near": np.arccos(np.clip(W @ TRUTH, -1, 1)) < NEAR,
    }


def exact(X: np.ndarray, y: np.ndarray, steps: int) -> dict[str, float]:
    """Posterior means by summation over the chart, or over as much of it as holds all of the mass."""
    longitude, latitude = chart(steps, np.pi if len(y) == FEW else 1.2)
    W = on_sphere(longitude, latitude)
    errors = error_counts(W, X, y)
    mass = np.exp(-LOG_ODDS * (errors - errors.min())) * np.sin(longitude)
    return {name: float(np.sum(mass * value) / mass.sum()) for name, value in readings(W, errors).items()}


def agreement(engine: Billiard | GibbsSampler, X: np.ndarray, y: np.ndarray, truth: dict) -> tuple[np.ndarray, float]:
    """Draws, and their largest distance from the exact means in Monte Carlo standard errors."""
    W = directions(engine.infer(Problem(X @ X.T, y, Step(noise=Q), check=False), 0), X)
    found = readings(W, error_counts(W, X, y))
    gaps = [abs(found[name].mean() - truth[name]) / float(mcse(found[name].astype(float))) for name in truth]
    return W, float(max(gaps))


def run(size: Size) -> Findings:
    sets, draws, steps = size.pick(200, 20), size.pick(2000, 100), size.pick(1200, 300)
    tasks = [(k, flips, size.pick(360, 120)) for flips in (Q, 0.0) for k in range(sets)]
    modes, without_flips = np.reshape(size.map(mode_count, tasks), (2, sets))
    shown = int(np.argmax(modes > 1))
    chosen = {FEW: data(FEW, shown), MANY: data(MANY, 0)}
    truths = {m: exact(X, y, steps) for m, (X, y) in chosen.items()}
    engines = {"Gibbs sampler": GibbsSampler(draws, warmup=size.pick(500, 50)), "billiard": Billiard(draws)}
    checks, clouds = [], {}
    for m, (X, y) in chosen.items():
        gaps = {}
        for name, engine in engines.items():
            W, gaps[name] = agreement(engine, X, y, truths[m])
            clouds[m] = clouds.get(m, W)
        ours = ", ".join(f"{name}: {gap:.1f}" for name, gap in gaps.items()) + " standard errors at most"
        checks.append(
            Statement(f"draws against summation, m = {m}", "(ours) the same five means", ours, max(gaps.values()) < 3.5)
        )
    several, without = float(np.mean(modes > 1)), float(np.mean(without_flips > 1))
    near = {m: truth["near"] for m, truth in truths.items()}
    figures = [
        Statement(
            "the posterior of 10 observations",
            "several modes, because of label noise",
            f"{modes[shown]} modes in the set shown; several in {100 * several:.0f} % of {sets} sets ({max(modes)} at "
            f"most), and in {100 * without:.0f} % of the same sets without flips",
            bool(several - without > 2 * np.sqrt((several * (1 - several) + without * (1 - without)) / sets)),
        ),
        Statement(
            "the posterior of 1,000 observations",
            "concentrated at the true classifier",
            f"{100 * near[MANY]:.1f} % of it within 20 degrees of the truth ({100 * near[FEW]:.1f} % at m = {FEW})",
            bool(near[MANY] > 0.95 > near[FEW]),
        ),
        *checks,
        *(Number(f"m = {m}, mean training error of the posterior, %", 100 * truths[m]["error"] / m) for m in truths),
    ]
    conditions = {"q": Q, "data sets of 10": sets, "grid": f"{steps} x {steps}", "draws": f"4 chains of {draws}"}
    details = {"exact means": {str(m): truth for m, truth in truths.items()}, "modes": modes}
    return Findings(figures, draw(chosen, clouds), "[2001, m, data set]; draws 0", conditions, details)


def draw(chosen: dict[int, tuple[np.ndarray, np.ndarray]], clouds: dict[int, np.ndarray]) -> Figure:
    figure = Figure(figsize=(10, 7.4), layout="constrained")
    for column, (m, (X, y)) in enumerate(chosen.items()):
        longitude, latitude = chart(180)
        errors = error_counts(on_sphere(longitude, latitude), X, y)
        surface = figure.add_subplot(2, 2, column + 1, projection="3d")
        height = np.log(1 - Q) - LOG_ODDS * errors / m
        surface.plot_surface(latitude, longitude, height, cmap="viridis", rcount=90, ccount=90, linewidth=0)
        surface.set(xlabel="latitude", ylabel="longitude", title=f"log-likelihood per observation, m = {m}")
        axis = figure.add_subplot(2, 2, column + 3)
        longitude, latitude = chart(180, np.pi if m == FEW else 0.6)  # a closer look at the narrow peak
        errors = error_counts(on_sphere(longitude, latitude), X, y)
        fall = LOG_ODDS * (errors - errors.min())
        axis.pcolormesh(latitude, longitude, -fall, cmap="Greys", vmin=-8, vmax=4, rasterized=True)
        W = clouds[m].reshape(-1, 3)[:: max(1, clouds[m].size // 3 // 200)]
        axis.plot(np.arctan2(W[:, 1], W[:, 0]) % (2 * np.pi), np.arccos(W[:, 2]), "C0.", ms=3, label="draws")
        axis.plot(np.pi, np.pi / 2, "C3*", ms=10, label="truth")
        axis.set(xlabel="latitude", ylabel="longitude", title=f"log posterior, 8 nats from its peak down, m = {m}")
        axis.set(xlim=(latitude.min(), latitude.max()), ylim=(longitude.min(), longitude.max()))
    axis.legend(fontsize=8)
    return figure
