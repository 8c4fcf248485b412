"""Figure 1 of TR 99-11: the bound on the Bayes classifier from the volume of version space.

    python experiments/herbrich1999/figure1.py

(a) against the size of the training set, for a volume of 2^-l / omega; (b) against the effective dimension -ln volume.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from bayespoint.bounds import bayes_bound, seeger_bound
from report import save

DELTA = 0.05
OMEGAS = (1.0, 0.1, 0.01, 1e-6, 1e-12)
SIZES = (100, 500, 1000)


def main() -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
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
    text = bayes_bound(np.log(100) - 100 * np.log(2), 100, DELTA).value
    found = {
        "bound at l = 100, volume 100 * 2^-100": {
            "ours": text,
            "paper": "less than 0.70 (in the text)",
            "why": "0.70 leaves out the factor 2 and the terms 2 ln l + 1 of (17)",
        },
        "bound at l = 1000, -ln vol = 100": {"ours": bayes_bound(-100.0, 1000, DELTA).value, "paper": "below 0.5"},
    }
    save("herbrich1999_figure1", found, figure, delta=DELTA, omegas=OMEGAS, sizes=SIZES)


if __name__ == "__main__":
    main()
