"""Figure 3: what the number of rows does to the prior, by a sample for n = 0 and one for n = 50.

RBF kernel with K0 = 1.25 and l = 0.05, C = 2. The prior of the normalised model weights functions of the Gaussian
process by the chance that n rows in a row get a label. The paper shows one sample of either; here shares and widths
are averages over many functions with exactly these weights, and the library's sampler, which goes another way, is the
witness.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayespoint import Hinge
from bayespoint.evidence.svm import sample_svm_data, sample_svm_prior
from findings import Findings, Number, Statement
from sizes import Size
from sollich2002 import toy

MINUTES = 0.4
N = 50
X = np.linspace(0, 1, 101)
WHAT = ("Share of |theta| < 1", "Mean width of a gap", "Mean width of a decision region")


def features(functions: np.ndarray) -> np.ndarray:
    """Of each function: share of inputs in the gap, number of gaps, and number of decision regions."""
    gap, sign = np.abs(functions) < 1, functions > 0
    starts = gap[:, 0] + (np.diff(gap.astype(int), axis=1) > 0).sum(axis=1)
    regions = 1 + np.diff(sign, axis=1).sum(axis=1)
    return np.column_stack([gap.mean(axis=1), starts, regions]).astype(float)


def survival(functions: np.ndarray) -> np.ndarray:
    """Logarithm of N(theta)^n (7)."""
    hinge = Hinge(toy.C)
    v = sum(np.exp(hinge.log_likelihood(np.array(y), functions)) for y in (1.0, -1.0))
    return N * np.log(v.mean(axis=1))


def totals(batch: int, count: int) -> np.ndarray:
    """Sums of one and of all features over functions, by weights for n = 0 and for n = 50."""
    functions = sample_svm_prior(toy.kernel(X, X), [2002, batch], count)
    columns = np.column_stack([np.ones(count), features(functions)])
    return np.array([columns.sum(axis=0), np.exp(survival(functions)) @ columns])


def averages(sums: np.ndarray) -> np.ndarray:
    """Share in the gap, mean width of a gap and of a decision region, for either n."""
    share, gaps, regions = (sums[:, k] / sums[:, 0] for k in (1, 2, 3))
    return np.array([share, share / gaps, 1 / regions]).T


def survivor(seed: int) -> np.ndarray:
    """A function from the prior for n = 50, by the library's sampler."""
    return sample_svm_data(toy.kernel(X, X), N, toy.C, np.random.default_rng([50, seed])).latents


def run(size: Size) -> Findings:
    parts = np.array(size.map(totals, [(k, size.pick(20_000, 4_000)) for k in range(size.pick(40, 10))]))
    before, after = averages(parts.sum(axis=0))
    left_out = np.array([averages(parts.sum(axis=0) - part) for part in parts])  # jackknife over batches
    se_before, se_after = np.sqrt((len(parts) - 1) * left_out.var(axis=0))
    drawn = np.array(size.map(survivor, [(seed,) for seed in range(size.pick(24, 2))]))
    witness = features(drawn)[:, 0]
    claims = ("smaller for n = 50", "narrower for n = 50", "larger for n = 50")
    figures: list[Number | Statement] = []
    for k, (what, claim) in enumerate(zip(WHAT, claims, strict=True)):
        gain = (after[k] - before[k]) * (1 if k == 2 else -1)
        ours = f"{after[k]:.4f} ({se_after[k]:.4f}) for n = 50, {before[k]:.4f} ({se_before[k]:.4f}) for n = 0"
        figures.append(
            Statement(f"{what[0].upper()}{what[1:]}", claim, ours, bool(gain > 3 * np.hypot(se_after, se_before)[k]))
        )
    error = float(witness.std(ddof=1) / np.sqrt(len(witness)))
    figures.append(Number("Share of |theta| < 1 for n = 50 by the library's sampler", float(witness.mean()), se=error))
    largest = np.abs(sample_svm_prior(toy.kernel(X, X), 1, 500)).max(axis=1).mean(), np.abs(drawn).max(axis=1).mean()
    smooth = float(largest[1] / largest[0])
    figures.append(
        Statement(
            "Mean of the largest |theta| of a function",
            "samples for n = 50 are of the same kind as those for n = 0",
            f"{largest[1]:.2f} for n = 50, {largest[0]:.2f} for n = 0: a ratio of {smooth:.2f}",
            0.5 < smooth < 2,
        )
    )
    return Findings(
        figures,
        draw(sample_svm_prior(toy.kernel(X, X), 3)[0], drawn[0]),
        seed="batches [2002, k]; sampler [50, k]",
        conditions={"n": N, "C": toy.C, "K0": toy.AMPLITUDE, "l": toy.LENGTH, "functions": size.pick(800_000, 40_000)},
        details={"inputs": len(X), "draws of the sampler": len(drawn)},
    )


def draw(prior: np.ndarray, survivor: np.ndarray) -> Figure:
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axis = figure.subplots()
    axis.axhspan(-1, 1, color="0.92", zorder=0)
    axis.plot(X, prior, label="$n = 0$: from $Q(\\theta)$")
    axis.plot(X, survivor, "--", label="$n = 50$: from $P(\\theta)$")
    axis.set(xlabel="$x$", ylabel=r"$\theta(x)$ (grey: the gap)")
    axis.legend(fontsize=8)
    return figure
