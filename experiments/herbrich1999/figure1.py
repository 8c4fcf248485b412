"""Figure 1: the bound on the Bayes classifier from the volume of version space.

(a) against the size of the training set, for a volume of 2^-l / omega; (b) against the effective dimension -ln volume;
dotted: the bound by exact inversion of the relative entropy, which is ours.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayespoint.bounds import bayes_bound, seeger_bound
from findings import Findings, Number, Statement
from sizes import Size

MINUTES = 0.1
REASONS = {
    "*volume 100*": "the text of the report would fit its formula (17) without the factor 2 and the terms 2 ln l + 1: "
    "that is 0.68"
}

DELTA = 0.05
OMEGAS = (1.0, 0.1, 0.01, 1e-6, 1e-12)
SIZES = (100, 500, 1000)


def run(size: Size) -> Findings:
    text = bayes_bound(np.log(100) - 100 * np.log(2), 100, DELTA).value
    without = (100 * np.log(2) - np.log(100) + np.log(1 / DELTA)) / 100
    curve = [bayes_bound(-d, 1000, DELTA).value for d in np.linspace(0, 100, 11)]
    bends = np.abs(np.diff(curve, 2)).max()
    figures = [
        Statement(
            "bound at l = 100, volume 100 x 2^-100",
            "below 0.70 (in the text)",
            f"{text:.3f}; without the factor 2 and 2 ln l + 1: {without:.3f}",
            bool(text < 0.70),
        ),
        Statement(
            "bound at l = 1000 for -ln volume up to 100",
            "below 0.5 throughout",
            f"at most {max(curve):.3f}",
            max(curve) < 0.5,
        ),
        Statement(
            "bound against -ln volume",
            "linear",
            f"largest second difference {bends:.1e} on ten steps",
            bool(bends < 1e-12),
        ),
        Number("exact inversion at l = 1000, -ln volume = 100", 2 * seeger_bound(0.0, 100.0, 1000, DELTA).value),
    ]
    return Findings(figures, draw(), seed="none", conditions={"delta": DELTA, "omega": OMEGAS, "l": SIZES})


def draw() -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    sizes = np.unique(np.geomspace(10, 1000, 80).astype(int))
    for omega in OMEGAS:
        log_volumes = [min(-np.log(omega) - n * np.log(2), 0.0) for n in sizes]
        values = [bayes_bound(v, int(n), DELTA).value for v, n in zip(log_volumes, sizes, strict=True)]
        left.semilogx(sizes, values, label=rf"$\omega$ = {omega:g}")
    left.set(xlabel="training set size $l$", ylabel="bound", ylim=(0, 4), title="volume of $2^{-l}/\\omega$")
    for n in SIZES:
        dimension = np.linspace(0, 100, 60)
        line = right.plot(dimension, [bayes_bound(-d, n, DELTA).value for d in dimension], label=f"$l$ = {n}")
        exact = [2 * seeger_bound(0.0, d, n, DELTA).value for d in dimension]
        right.plot(dimension, exact, ":", color=line[0].get_color(), label=f"$l$ = {n}, exact kl")
    right.set(xlabel=r"effective dimension $-\ln$ vol", ylim=(0, 1.5), title="the bound is linear in it")
    for axis in (left, right):
        axis.axhline(1, color="0.5", linestyle="--", linewidth=1)
        axis.legend(fontsize=8)
    return figure
