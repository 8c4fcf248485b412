"""Where the average log-evidence over many data sets from the model is largest: the argument of section 4, in figures.

    python experiments/sollich2002/evidence_maxima.py [--quick]

A normalised evidence is on average largest at the truth (17), a naive one need not be (18). Data come from the joint
model (6), for which the joint and the conditional evidence are both normalised; the inputs are those that survived.
Slopes of the log-evidence are averages over draws, without a path. C moves at fixed C K0 = 2.5, the length scale at the
true C and K0. The true normaliser N of the joint evidence, with inputs uniform on [0, 1], is that of even inputs.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import toy
from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).parents[1]))
from report import save

JOBS = 1
VALUES = {"C": np.geomspace(1.0, 3.2, 5), "l": toy.LENGTH * np.geomspace(0.6, 2.4, 5)}
TRUTH = {"C": toy.C, "l": toy.LENGTH}
KINDS = {"naive": "naive", "conditional": "conditional", "joint, proxy": "joint"}
PAPER = {  # one data set
    "C": {"naive": 1.2, "conditional": 1.9, "joint, proxy": 1.9},
    "l": {"naive": "close to 0.05", "conditional": "close to 0.05", "joint, proxy": "close to 0.05"},
}
EVEN = toy.Data((np.arange(50) + 0.5) / 50, np.ones(50), toy.GRID)


def slopes(data: toy.Data, kind: str, seed: int, draws: int) -> np.ndarray:
    """Rows: slopes in log C at each C, slopes in log l at each l."""
    by_C = [toy.slopes(data, kind, C, toy.PRODUCT / C, toy.LENGTH, seed=seed, draws=draws)[0] for C in VALUES["C"]]
    by_l = [toy.slopes(data, kind, toy.C, toy.AMPLITUDE, s, seed=seed, draws=draws)[1] for s in VALUES["l"]]
    return np.array([by_C, by_l])


def of_one_set(seed: int, draws: int) -> dict[str, np.ndarray]:
    data = toy.draw(50, 1000 + seed)
    return {name: slopes(data, kind, seed, draws) for name, kind in KINDS.items()}


def located(log_values: np.ndarray, rows: np.ndarray) -> dict[str, float | list[float]]:
    """Where the mean slope over data sets is zero, and the middle 90 % of it when data sets are drawn again."""
    rng = np.random.default_rng(0)
    again = [toy.root(log_values, rows[rng.integers(len(rows), size=len(rows))].mean(axis=0)) for _ in range(400)]
    return {"ours": toy.root(log_values, rows.mean(axis=0)), "90 %": np.quantile(again, [0.05, 0.95]).tolist()}


def main() -> None:
    quick = "--quick" in sys.argv
    start = time.perf_counter()
    sets, draws = (4, 200) if quick else (60, 400)
    parts = Parallel(n_jobs=JOBS)(delayed(of_one_set)(seed, draws) for seed in range(sets))
    rows = {name: np.array([part[name] for part in parts]) for name in KINDS}
    even = slopes(EVEN, "naive", 0, 20 * draws) - slopes(EVEN, "joint", 0, 20 * draws)  # of log N
    rows["joint, true N"] = rows["naive"] - even
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    found: dict[str, dict] = {}
    for k, (letter, axis) in enumerate(zip(VALUES, axes, strict=True)):
        values = VALUES[letter]
        found[f"{letter}, truth {TRUTH[letter]}"] = table = {}
        for name, figures in rows.items():
            where = located(np.log(values), figures[:, k])
            table[name] = where | {"paper, one set": PAPER[letter].get(name, "not in the paper")}
            mean, error = figures[:, k].mean(axis=0), figures[:, k].std(axis=0) / np.sqrt(sets)
            axis.errorbar(values, mean, error, label=f"{name}: {where['ours']:.3g}", capsize=2, linewidth=1)
            print(f"{letter} {name:14s} {where['ours']:.4g}   90 %: {np.round(where['90 %'], 4)}", flush=True)
        axis.axhline(0, color="0.5", linewidth=1)
        axis.axvline(TRUTH[letter], color="0.5", linestyle=":", linewidth=1)
        axis.set(
            xscale="log", xlabel=f"${letter}$ (dotted: truth)", ylabel=f"mean slope of the log-evidence in log {letter}"
        )
        axis.set_xticks(values, [f"{value:.2g}" for value in values])
        axis.set_xticks([], minor=True)
        axis.legend(fontsize=8, title="zero, so largest, at", title_fontsize=8)
    save(
        "sollich2002_evidence_maxima" + ("_quick" if quick else ""),
        found,
        figure,
        data=f"{sets} sets of 50 rows from the joint model, seeds (2002, 50, 1000..)",
        draws=draws,
        interval="bootstrap over data sets",
        seconds=round(time.perf_counter() - start),
    )


if __name__ == "__main__":
    main()
