"""Small tables: the defaults beside CatBoost and five other peers on 26 sets with text, gaps and numbers.

Two divisions of each set into at most 1,000 rows to learn from and at most 3,000 to be tested on (the customary ones
of the ten numeric sets, stratified ones of the 16 tables). All methods choose their settings by the training rows, the
peers by log loss there: SVC by a grid and CalibratedClassifierCV(ensemble=False), CatBoost depth, rate and number of
trees, HistGradientBoosting leaves and rounds, the forest leaves, features and calibration, logistic regression its C.
Those that want numbers get one-hot text, medians and standardised columns. GaussianProcessClassifier learns from 500
rows and is not asked where there are more than five classes, CatBoost not on the 19 of soybean, where a fit takes it
more than twenty minutes; they then have no rank there. Ranks and wins are of means over divisions. Every second set,
in the order of names, is there to choose settings of ours by, the others to report. The calibration error is that of
the most probable class, in ten bins of equal width. No paper: all figures are ours.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import wilcoxon
from sklearn.metrics import log_loss

import cells
from bayespoint.uses import expected_calibration_error
from catalogue import HERE
from findings import Findings, Number, Statement
from peers import METHODS, Method
from sizes import Size
from tables import CHOOSING, REPORTING, division

DATA = (
    "banana",
    "breast-cancer",
    "car",
    "crabs",
    "diabetis",
    "eucalyptus",
    "heart",
    "hepatitis",
    "horse-colic",
    "house-votes-84",
    "ilpd",
    "ionosphere",
    "mushroom",
    "oil-spill",
    "online-shoppers",
    "penguins",
    "pima-ripley",
    "sonar",
    "soybean",
    "telco-churn",
    "thyroid",
    "tic-tac-toe",
    "transfusion",
    "vehicle",
    "waveform",
    "yeast",
)
MINUTES = 60
REASONS = {
    "reporting sets: best mean rank in calibration error": "3.38 beside 3.23 of SVC is within what two divisions "
    "of 13 sets can tell apart; ours is first on all sets",
}
DIVISIONS = 2
OURS, RIVAL = "bayespoint", "catboost"
MEASURES = {"log_loss": "log loss", "calibration": "calibration error", "error": "error"}
HALVES = {"choosing": CHOOSING, "reporting": REPORTING}


# -- one cell: a set, a division, a method ----------------------------------------------------------------------------


def measure(name: str, index: int, method: Method) -> cells.Cell:
    """What a method reaches on one division, or why it was not asked."""
    rows = division(name, index)
    refusal = method.refusal(rows.y_train)
    if refusal:
        return {"skipped": refusal}
    start, worked = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = method.make(rows.X_train).fit(rows.X_train, rows.y_train)
        fitted, fitted_work = time.perf_counter(), time.process_time()
        p = np.asarray(model.predict_proba(rows.X_test), dtype=float)
    end, end_work = time.perf_counter(), time.process_time()
    return figures_of(rows.y_test, p, np.asarray(model.classes_)) | {
        "rows": len(rows.y_train),
        "fit_seconds": fitted - start,
        "predict_seconds": end - fitted,
        "fit_core_seconds": fitted_work - worked,
        "predict_core_seconds": end_work - fitted_work,
    }


def figures_of(y: np.ndarray, p: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    """Error, log loss, half the squared distance (Brier's score of two classes) and calibration of the top class."""
    p = p / p.sum(axis=1, keepdims=True)
    truth = y[:, None] == classes
    right = truth[np.arange(len(y)), p.argmax(axis=1)]
    top = {"classes": [False, True], "n_bins": 10, "strategy": "uniform"}
    found = {
        "error": np.mean(~right),
        "log_loss": log_loss(y, p, labels=classes),
        "brier": 0.5 * np.mean(np.sum((p - truth) ** 2, axis=1)),
        "calibration": expected_calibration_error(right, p.max(axis=1), **top),
    }
    return {what: float(value) for what, value in found.items()}


def version_of(method: str) -> str:
    package = METHODS[method].package
    return cells.version_of_ours() if package == "bayespoint" else f"{package} {version(package)}"


def origin_of(method: str) -> dict[str, str]:
    """The version of a method, and the fingerprint of all that its figures come from."""
    things, named = (METHODS[method].make, division, measure), version_of(method)
    code = [line for thing in things for line in cells.code_of(thing)]
    return {"version": named, "made": cells.fingerprint([named, str(METHODS[method].most_classes), *code])}


def cells_file() -> Path:
    return Path(os.environ.get("BAYESPOINT_CELLS") or HERE / ".cells" / "small_tables.jsonl")


def fill(name: str, index: int, method: str, origin: dict[str, str], file: Path | None) -> cells.Cell:
    """Find one cell, and keep it if there is a file."""
    cell = {"set": name, "split": index, "method": method, **origin, **measure(name, index, METHODS[method])}
    if file is not None:
        cells.append(file, cell)
    return cell


def tasks(names: Sequence[str], divisions: Sequence[int], methods: Sequence[str], file: Path | None) -> list[tuple]:
    """Those of `fill` that have no cell in the file yet, method by method and division by division."""
    known, origins = cells.read(file) if file else {}, {method: origin_of(method) for method in methods}
    return [
        (name, k, method, origins[method], file)
        for method in methods
        for k in divisions
        for name in names
        if (name, k, method, origins[method]["made"]) not in known
    ]


def at_hand(methods: Sequence[str], file: Path, text: str = "") -> list[cells.Cell]:
    """Cells of the code as it is; those of ours of the package whose version ends in `text`, if given."""
    made = {method: origin_of(method)["made"] for method in methods}

    def counts(cell: cells.Cell) -> bool:
        if text and cell["method"] == OURS:
            return cell["version"].endswith(text)
        return cell["made"] == made[cell["method"]]

    return [cell for cell in cells.read(file).values() if cell["method"] in made and counts(cell)]


# -- all cells: means, ranks, wins ------------------------------------------------------------------------------------


def means(found: Sequence[cells.Cell], methods: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Means by set and method over the divisions that all methods have, for each measure; gaps where not asked."""
    columns = (*MEASURES, "brier", "fit_core_seconds", "predict_core_seconds")
    frame = pd.DataFrame(found, columns=["set", "split", "method", *columns])
    count = frame.groupby(["set", "split"])["method"].transform("nunique")
    grouped = frame[count == len(methods)].groupby(["set", "method"])
    return {what: grouped[what].mean().unstack().reindex(columns=list(methods)) for what in columns}


def compare(table: pd.DataFrame, rival: str) -> pd.DataFrame:
    """Of every method: mean rank over sets, sets won against the rival, of how many, and Wilcoxon's p."""
    rows = {}
    for method in table.columns:
        gap = (table[method] - table[rival]).dropna()
        p = wilcoxon(gap).pvalue if gap.any() else 1.0
        rows[method] = {"won": int((gap < 0).sum()), "of": len(gap), "p": float(p)}
    return pd.DataFrame({"rank": table.rank(axis=1).mean()}).join(pd.DataFrame(rows).T)


def halves(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The sets to choose by, those to report, and all; halves without sets are left out."""
    parts = {half: table[table.index.isin(names)] for half, names in HALVES.items()} | {"all": table}
    return {half: part for half, part in parts.items() if len(part)}


def statements(half: str, what: str, figures: pd.DataFrame, rival: str) -> list[Statement]:
    """What is to be shown of ours on some sets."""
    mine, others = figures.loc[OURS], figures.drop(index=OURS)["rank"]
    next_best = f"{METHODS[others.idxmin()].label} {others.min():.2f}"
    best = Statement(
        f"{half} sets: best mean rank in {MEASURES[what]}",
        "(a goal of ours)",
        f"{mine['rank']:.2f}, best of the others {next_best}",
        bool(mine["rank"] < others.min()),
    )
    if what != "log_loss":
        return [best]
    won = f"{mine['won']:.0f} of {mine['of']:.0f}, Wilcoxon p = {mine['p']:.2g}"
    label = METHODS[rival].label
    more = bool(2 * mine["won"] > mine["of"])
    return [best, Statement(f"{half} sets: more than half won against {label}", "(a goal of ours)", won, more)]


def methods_for(size: Size) -> list[str]:
    """All that are installed; without CatBoost there is no full run."""
    here = [name for name, method in METHODS.items() if method.installed]
    if RIVAL not in here and not size.quick:
        raise ModuleNotFoundError("catboost, the peer to compare with, is missing: pip install 'bayespoint[bench]'.")
    return here


def run(size: Size) -> Findings:
    methods = methods_for(size)
    names, divisions = size.pick(list(DATA), ["crabs", "hepatitis"]), range(size.pick(DIVISIONS, 1))
    file = size.pick(cells_file(), None)  # quick figures are not kept
    found = size.map(fill, tasks(names, divisions, methods, file))
    return findings(at_hand(methods, file) if file else found, methods)


def findings(found: Sequence[cells.Cell], methods: Sequence[str]) -> Findings:
    rival = RIVAL if RIVAL in methods else methods[1]
    tables = means(found, methods)
    figures: list[Number | Statement] = []
    details: dict = {}
    for what, label in MEASURES.items():
        for half, part in halves(tables[what]).items():
            compared = compare(part, rival)
            details[f"{half}, {label}"] = compared.to_dict(orient="index")
            if half == "all":
                figures += [Number(f"{METHODS[m].label}, mean rank in {label}", r) for m, r in compared["rank"].items()]
            if half != "choosing" and what != "error":
                figures += statements(half, what, compared, rival)
    seconds = tables["fit_core_seconds"].median().items()
    figures += [Number(f"{METHODS[m].label}, median over sets of the core seconds of a fit", s) for m, s in seconds]
    plain = {what: table.astype(object).where(table.notna(), None) for what, table in tables.items()}
    details |= {f"by set, {what}": table.to_dict(orient="index") for what, table in plain.items()}
    absent = [method.label for name, method in METHODS.items() if name not in methods]
    conditions = {
        "sets": len(tables["error"]),
        "divisions": 1 + max(cell["split"] for cell in found),
        "versions": sorted({cell["version"] for cell in found}),
        **({"not installed": absent} if absent else {}),
    }
    seed = "divisions: customary, else 20010101 + division"
    return Findings(figures, draw(tables["log_loss"], rival), seed, conditions, details)


def draw(losses: pd.DataFrame, rival: str) -> Figure:
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    axis, names = figure.subplots(), [name for name in (*CHOOSING, *REPORTING) if name in losses.index]
    ratios = losses.loc[names].div(losses.loc[names, rival], axis=0)
    across, apart = np.arange(len(names)), np.linspace(-0.3, 0.3, len(losses.columns))
    for method, mark, shift in zip(losses.columns, "osv^D<>"[: len(apart)], apart, strict=True):
        axis.plot(across + shift, ratios[method], mark, ms=7 if method == OURS else 4, label=METHODS[method].label)
    axis.axhline(1.0, color="0.6", lw=1)
    axis.axvline(sum(name in CHOOSING for name in names) - 0.5, color="0.6", lw=1, ls=":")
    axis.set_yscale("log", subs=[])
    axis.set_yticks([0.125, 0.25, 0.5, 1, 2, 4, 8], ["1/8", "1/4", "1/2", "1", "2", "4", "8"], minor=False)
    axis.set_xticks(across, names, rotation=60)
    axis.set(ylabel=f"log loss / that of {METHODS[rival].label}", title="sets to choose by | sets to report")
    axis.legend(fontsize=8, ncols=2)
    return figure
