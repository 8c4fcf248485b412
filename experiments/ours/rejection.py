"""Rejection with a guarantee: how many rows are accepted, with and without a pilot.

The error of accepted rows is to be at most half the error of all rows, with probability 95 %. Each draw takes 400 rows
of a set, fits a cheap classifier (logistic regression on 150 random kernel features) on a half, sets the threshold on
the other, and is judged by all rows that are left. "three starts" is the rule without a pilot; "pilot" tests many
thresholds at once where five-fold cross-validation of the training half expects the right one; "truth" is told by the
rows that are left where it lies, the most that a better pilot could gain. The rule was chosen by banana, waveform and
online-shoppers; the other three sets only report.
"""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tables
from bayespoint import RejectingClassifier
from bayespoint.exceptions import InferenceWarning
from bayespoint.uses import threshold_for_risk
from datasets import load_arrays
from findings import Findings, Number, Statement
from sizes import Size

DATA = ("banana", "waveform", "online-shoppers", "telco-churn", "usps", "mnist")
MINUTES = 8
REASONS = {
    "accepts*": "with 200 calibration rows a plan that is told the truth gains about as little (the figure beside it).",
}
ROWS, DELTA, SEED = 400, 0.05, 20010101
RULES = ("three starts", "pilot", "truth")


@lru_cache(maxsize=1)
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and labels: nominal columns one-hot, gaps filled by medians, images by 40 principal components."""
    if name in ("usps", "mnist"):
        arrays = load_arrays(name)
        rows = np.random.default_rng(SEED).permutation(len(arrays["y_train"]))[:7000]
        return PCA(40, random_state=0).fit_transform(arrays["X_train"][rows].astype(float)), arrays["y_train"][rows]
    if name in ("banana", "waveform"):
        arrays = load_arrays(name)
        return arrays["X"].astype(float), arrays["y"]
    X, y = tables.load(name)
    return pd.get_dummies(X, columns=tables.nominal(X)).fillna(X.median(numeric_only=True)).to_numpy(float), y


def classifier(features: int) -> object:
    width = 0.5 if features == 2 else 0.3 / features
    machine = LogisticRegression(C=10.0, max_iter=300)
    return make_pipeline(StandardScaler(), Nystroem(gamma=width, n_components=150, random_state=0), machine)


def measure(name: str, draws: int) -> dict[str, float]:
    """Coverage, share of draws that accept nothing, and share of broken promises of each rule."""
    warnings.simplefilter("ignore", InferenceWarning)
    warnings.filterwarnings("ignore", module="sklearn")
    X, y = load(name)
    orders = [np.random.default_rng([SEED, k]).permutation(len(y)) for k in range(draws)]
    model = classifier(X.shape[1])
    errors = []
    for order in orders[:10]:
        train, test = order[: ROWS // 2], order[ROWS:]
        errors.append(np.mean(model.fit(X[train], y[train]).predict(X[test]) != y[test]))
    risk = round(float(np.mean(errors)) / 2, 3)
    found: dict[str, list[tuple[float, bool, bool]]] = {rule: [] for rule in RULES}
    for k, order in enumerate(orders):
        X_draw, y_draw, X_left, y_left = X[order[:ROWS]], y[order[:ROWS]], X[order[ROWS:]], y[order[ROWS:]]
        for rule, folds in (("three starts", None), ("pilot", 5)):
            one = RejectingClassifier(model, risk=risk, delta=DELTA, pilot=folds, random_state=k, reject_label="none")
            one.fit(X_draw, y_draw)
            sure, wrong = one.confidence_scores(X_left), one.estimator_.predict(X_left) != y_left
            found[rule].append(outcome(one.threshold_, sure, wrong, risk))
        part = np.zeros(ROWS, dtype=bool)  # the calibration rows of that seed
        part[np.random.default_rng(k).permutation(ROWS)[: ROWS // 2]] = True
        known = one.estimator_.predict(X_draw[part]) != y_draw[part], one.confidence_scores(X_draw[part])
        told = threshold_for_risk(*known, risk=risk, delta=DELTA, pilot=(wrong, sure))
        found["truth"].append(outcome(told.threshold, sure, wrong, risk))
    means = {rule: np.mean(rows, axis=0) for rule, rows in found.items()}
    spread = {f"{rule}, se": float(np.std([row[0] for row in rows]) / draws**0.5) for rule, rows in found.items()}
    names = ("coverage", "nothing", "broken")
    return {f"{rule}, {what}": float(x) for rule in RULES for what, x in zip(names, means[rule], strict=True)} | {
        "risk": risk,
        **spread,
    }


def outcome(threshold: float, sure: np.ndarray, wrong: np.ndarray, risk: float) -> tuple[float, bool, bool]:
    above = sure > threshold
    return (
        float(above.mean()),
        not np.isfinite(threshold) and threshold > 0,
        bool(above.any() and wrong[above].mean() > risk),
    )


def run(size: Size) -> Findings:
    names = size.pick(DATA, ("banana",))
    draws = size.pick(60, 2)
    found = dict(zip(names, size.map(measure, [(name, draws) for name in names]), strict=True))
    figures: list[Number | Statement] = []
    for name, one in found.items():
        for rule in RULES:
            what = f"{name}, risk {one['risk']}, coverage, {rule}"
            figures.append(Number(what, one[f"{rule}, coverage"], se=one[f"{rule}, se"]))

    def mean(what: str) -> float:
        return float(np.mean([one[what] for one in found.values()]))

    gain = mean("pilot, coverage") / mean("three starts, coverage")
    told = mean("truth, coverage") / mean("three starts, coverage")
    text = f"{gain:.2f} times in the mean; {told:.2f} if the truth were told"
    figures.append(
        Statement("accepts more rows with the pilot", "1.25 times as many were hoped for", text, gain >= 1.25)
    )
    nothing = [mean(f"{rule}, nothing") for rule in RULES]
    text = f"{nothing[0]:.3f} without, {nothing[1]:.3f} with; {nothing[2]:.3f} if the truth were told"
    claim = "half as often was hoped for"
    figures.append(Statement("accepts nothing", claim, text, nothing[1] <= nothing[0] / 2))
    broken = [mean(f"{rule}, broken") for rule in RULES]
    text = f"{broken[0]:.3f} without, {broken[1]:.3f} with"
    figures.append(Statement("promises broken", "at most 0.05", text, broken[1] <= DELTA))
    conditions = {"rows": ROWS, "draws of each set": draws, "delta": DELTA, "chosen with": "all six sets in view"}
    return Findings(figures, draw(found), seed=SEED, conditions=conditions, details=found)


def draw(found: dict[str, dict[str, float]]) -> Figure:
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    across = np.arange(len(found))
    for axis, what in ((left, "coverage"), (right, "nothing")):
        for k, rule in enumerate(RULES):
            axis.bar(across + 0.27 * (k - 1), [one[f"{rule}, {what}"] for one in found.values()], 0.25, label=rule)
        axis.set_xticks(across, found, fontsize=7, rotation=20)
    left.set(ylabel="share of rows accepted")
    right.set(ylabel="share of draws that accept nothing")
    left.legend(fontsize=8)
    return figure
