"""Figure 7 of the paper: a data set with one label visibly wrong, and its evidence as a function of K0.

    python experiments/sollich2002/figure7.py [--quick]

With C = 2 and l = 0.05 as they truly are, the normalised evidences now have a maximum at a finite K0. Dashed: the set
of figures 5 and 6, without such a label.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import toy

from report import save

COLOURS = {"naive": "C0", "joint": "C1", "conditional": "C2"}


def curves(data: toy.Data, amplitudes: np.ndarray, se: float) -> dict[str, np.ndarray]:
    rows = [toy.evidences(toy.problem(data, amplitude=a), se=se, max_draws=40_000) for a in amplitudes]
    naive, norm, proxy = (np.array([row[name] for row in rows]) for name in ("sampled", "N", "N-hat"))
    return {"naive": naive, "joint": naive - proxy, "conditional": naive - norm}


def main() -> None:
    quick = "--quick" in sys.argv
    start = time.perf_counter()
    amplitudes = np.geomspace(0.1, 100, 5 if quick else 13)
    sets = {"one label wrong": toy.corrupt_set(), "no label wrong": toy.clean_set()}
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    data = sets["one label wrong"]
    margins = data.y * np.interp(data.x, toy.GRID, data.target)
    left.plot(toy.GRID, data.target, color="black", label=r"target $\theta(x)$")
    left.plot(data.x, data.y, "o", mfc="none", label="labels")
    left.plot(data.x[margins.argmin()], data.y[margins.argmin()], "o", color="red", label="visibly wrong")
    left.axhspan(-1, 1, color="0.93", zorder=0)
    left.set(xlabel="$x$", title="data")
    left.legend(fontsize=8)
    found = {}
    for (name, rows), style in zip(sets.items(), ("-", "--"), strict=True):
        for kind, values in curves(rows, amplitudes, 0.5 if quick else 0.15).items():
            label = kind if style == "-" else None
            right.semilogx(amplitudes, values, style, color=COLOURS[kind], label=label, alpha=1 if label else 0.6)
            top = values.argmax()
            right.plot(amplitudes[top], values[top], "*", color=COLOURS[kind], markersize=12)
            found[f"{kind}, {name}"] = {"K0": float(amplitudes[top]), "evidence per row": float(values[top])}
            if name == "one label wrong":
                found[f"{kind}, {name}"]["paper"] = "not shown" if kind == "naive" else "finite"
            print(f"{kind:12s} {name:16s} largest at K0 = {amplitudes[top]:.2f}: {values[top]:.3f}", flush=True)
    right.axvline(toy.AMPLITUDE, color="0.5", linewidth=1, linestyle=":")
    right.set(xlabel="$K_0$ (dotted: truth)", title="evidence per row; dashed: the set without a wrong label")
    right.legend(fontsize=8)
    save(
        "sollich2002_figure7" + ("_quick" if quick else ""),
        found,
        figure,
        data="sets of 50 rows from the joint model, seeds (2002, 50, 10) and (2002, 50, 2)",
        C=toy.C,
        l=toy.LENGTH,
        standard_error="0.15 nat a part",
        seconds=round(time.perf_counter() - start),
    )


if __name__ == "__main__":
    main()
