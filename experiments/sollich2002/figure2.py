"""Figure 2: samples from the priors of support vector machines with three families of kernels on the unit square.

Rows: Ornstein-Uhlenbeck (a-c), RBF (d-f) and polynomial kernels (g-i). First column: a function from the Gaussian
process prior; second: the probability of y = 1 it gives at C = 2, black for 0 and white for 1; third: the same for a
new function after one parameter is changed. What the paper shows by single samples is measured over many: boundaries
are as long as the number of neighbours on the grid with different signs says, and a rough one gets longer on a finer
grid.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit

from bayespoint import Hinge
from bayespoint.evidence.svm import sample_svm_prior
from findings import Findings, Number, Statement
from sizes import Size

MINUTES = 0.1
C = 2.0
CASES = {  # kernel, K0 or power, length scale
    "OU": ("OU", 10.0, 0.1),
    "OU, K0 = 1": ("OU", 1.0, 0.1),
    "RBF": ("RBF", 10.0, 0.1),
    "RBF, l = 0.05": ("RBF", 10.0, 0.05),
    "polynomial, p = 5": ("polynomial", 5, None),
    "polynomial, p = 10": ("polynomial", 10, None),
}


def gram(kind: str, parameter: float, length: float | None, X: np.ndarray) -> np.ndarray:
    if kind == "polynomial":
        return (1 + X @ X.T) ** parameter
    distance = np.linalg.norm(X[:, None] - X, axis=-1) / length
    return parameter * np.exp(-distance if kind == "OU" else -0.5 * distance**2)


def square(side: int) -> np.ndarray:
    across = np.linspace(0, 1, side)
    return np.stack(np.meshgrid(across, across, indexing="ij"), axis=-1).reshape(-1, 2)


def boundary(functions: np.ndarray, stride: int) -> np.ndarray:
    """Length of the decision boundary of each function, seen on every `stride`-th point of the grid."""
    signs = functions[:, ::stride, ::stride] > 0
    changes = [np.diff(signs, axis=axis).mean(axis=(1, 2)) for axis in (1, 2)]
    return sum(changes) * (functions.shape[1] - 1) / stride


def ratio(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """Of two means over as many samples, and its standard error by the delta method; samples may be paired or not."""
    value = above.mean() / below.mean()
    return value, float(np.std(above - value * below, ddof=1) / np.sqrt(len(above)) / below.mean())


def corner_ratio(power: int, count: int) -> tuple[float, float]:
    """Root mean square at (1, 1) over that at (0, 0), with its standard error."""
    squares = sample_svm_prior(gram("polynomial", power, None, np.array([[0.0, 0], [1, 1]])), power, count) ** 2
    value, error = ratio(squares[:, 1], squares[:, 0])
    return np.sqrt(value), error / (2 * np.sqrt(value))


def run(size: Size) -> Findings:
    side, count = size.pick(41, 17), size.pick(100, 20)
    X = square(side)
    functions = {
        name: sample_svm_prior(gram(*case, X), [2002, k], count).reshape(count, side, side)
        for k, (name, case) in enumerate(CASES.items())
    }
    lengths = {name: [boundary(values, stride) for stride in (1, 2)] for name, values in functions.items()}
    rough = {name: ratio(*lengths[name]) for name in ("OU", "RBF")}
    finer = ratio(lengths["RBF, l = 0.05"][0], lengths["RBF"][0])
    gaps = {name: (np.abs(functions[name]) < 1).mean(axis=(1, 2)) for name in ("OU", "OU, K0 = 1")}
    share = {name: (values.mean(), values.std(ddof=1) / np.sqrt(count)) for name, values in gaps.items()}
    wide, narrow = share["OU, K0 = 1"], share["OU"]
    figures = [
        Statement(
            "Roughness: growth of the boundary's length when the grid is twice as fine",
            "rough boundaries for the Ornstein-Uhlenbeck kernel, smooth ones for the RBF kernel",
            "; ".join(f"{name} {value:.3f} ({se:.3f})" for name, (value, se) in rough.items()),
            bool(rough["OU"][0] - rough["RBF"][0] > 3 * np.hypot(rough["OU"][1], rough["RBF"][1])),
        ),
        Statement(
            "Size of decision regions: length of the boundary when l is halved (RBF)",
            "l sets the scale of decision regions",
            f"{finer[0]:.2f} ({finer[1]:.2f}) times as long, where 2 is in proportion",
            bool(finer[0] - 1 > 3 * finer[1]),
        ),
        Statement(
            "Share of the square in the gap |theta| < 1 (Ornstein-Uhlenbeck)",
            "wider gaps with K0 = 1 than with K0 = 10",
            f"{wide[0]:.3f} ({wide[1]:.3f}) against {narrow[0]:.3f} ({narrow[1]:.3f})",
            bool(wide[0] - narrow[0] > 3 * np.hypot(wide[1], narrow[1])),
        ),
    ]
    for power, paper, digit in ((5, 15.6, 0.05), (10, 243.0, 0.5)):
        value, se = corner_ratio(power, size.pick(20_000, 2_000))
        figures.append(Number(f"Amplitude at (1, 1) over (0, 0), p = {power}", value, paper, se, rounding=digit))
    return Findings(
        figures,
        draw({name: values[0] for name, values in functions.items()}),
        seed="[2002, k] for kernel k; corners: p",
        conditions={"C": C, "grid": f"{side} x {side}", "functions of each kernel": count},
        details={"boundary length": {name: float(values[0].mean()) for name, values in lengths.items()}},
    )


def draw(functions: dict[str, np.ndarray]) -> Figure:
    figure, names = Figure(figsize=(9, 8.6), layout="constrained"), list(CASES)
    for row in range(3):
        first, second = functions[names[2 * row]], functions[names[2 * row + 1]]
        across = np.linspace(0, 1, len(first))
        axis = figure.add_subplot(3, 3, 3 * row + 1, projection="3d")
        axis.plot_surface(*np.meshgrid(across, across, indexing="ij"), first, cmap="viridis", linewidth=0)
        axis.set_title(f"({'adg'[row]}) {names[2 * row]}", fontsize=9)
        axis.tick_params(labelsize=6)
        for column, values, name in ((1, first, names[2 * row]), (2, second, names[2 * row + 1])):
            axis = figure.add_subplot(3, 3, 3 * row + 1 + column)
            p = expit(Hinge(C).log_odds(values.T))
            axis.imshow(p, cmap="gray", vmin=0, vmax=1, origin="lower", extent=(0, 1, 0, 1))
            axis.set_title(f"({'abcdefghi'[3 * row + column]}) {name}", fontsize=9)
            axis.tick_params(labelsize=6)
    return figure
