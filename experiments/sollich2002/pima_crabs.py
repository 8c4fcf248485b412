"""Pima and Crabs: kernels chosen by evidence, the benchmarks at the end of section 7.

Pima: Ripley's 200 training and 332 test rows. Crabs: ten random divisions into 80 and 120; the paper gives no figure
for it. Inputs are standardised on the training rows. "ARD" is a length scale for each input; "map" and "average" are
class probabilities at the support vector machine (37) and over the posterior (33). The paper chose C optimally
without saying how: we show C by evidence, and C with hindsight, the fewest test errors over several, each with the
kernel that the naive evidence chooses at it; and a search for the paper's figure over C and starts of the climb, since
the authors' own later abstract names several local optima. Both sides see the same 332 test rows of Pima, so what
counts is on how many of them two machines differ: the standard error is that of a paired comparison, with as many such
rows as two of our machines by evidence have at different C or starts. 18.9 % of 332 is no whole number of errors, and
what it is a mean of the paper does not say. Evidence is climbed by expectation propagation (the paper: by Monte Carlo
gradients).
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from bayespoint import BayesianSVC, BayesPointClassifier
from findings import Findings, Number, Statement
from sizes import Size
from sollich2002.pima_evidence import climb, kernel, optima, standardised

DATA = ("pima-ripley", "crabs")
MINUTES = 1.3
PAPER = 18.9  # % on Pima
ONE_ROW = 100 / 332  # a test row, in %
SENSIBLE = 25.0  # % of errors above which a machine is no rival
NAIVE = "ARD, naive evidence"
RIVAL = "SVC by grid + calibration"


class CalibratedGridSearch:
    """C and gamma on a grid by five-fold cross-validation, then sigmoid calibration of the best."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> CalibratedClassifierCV:
        grid = {"C": np.logspace(-2, 3, 10), "gamma": np.logspace(-3, 1, 10)}
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        best = GridSearchCV(SVC(), grid, cv=folds).fit(X, y).best_params_
        return CalibratedClassifierCV(SVC(**best), cv=folds).fit(X, y)


def by_evidence(n_features: int, ard: bool, evidence: str, factors: np.ndarray | float = 1.0) -> BayesianSVC:
    start = kernel(n_features, ard, factors)
    return BayesianSVC(kernel=start, optimizer="evidence", evidence=evidence, random_state=0)


def methods(n_features: int) -> dict[str, object]:
    return {
        NAIVE: by_evidence(n_features, True, "naive"),
        "ARD, conditional evidence": by_evidence(n_features, True, "conditional"),
        "one scale, conditional evidence": by_evidence(n_features, False, "conditional"),
        "Bayes point machine": BayesPointClassifier(random_state=0),
        "Gaussian process, ARD": GaussianProcessClassifier(kernel(n_features, True), random_state=0),
        RIVAL: CalibratedGridSearch(),
        "logistic regression": LogisticRegression(),
    }


def measure(name: str, index: int, only: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Error in percent and log loss of every method, or of some, on one division."""
    split, rows = standardised(name, index), {}
    for label, estimator in methods(split.X_train.shape[1]).items():
        if only and label not in only:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator.fit(split.X_train, split.y_train)
        for mode in ("average", "map") if isinstance(model, BayesianSVC) else ("",):
            if mode:
                model.set_params(probability=mode)
            p = model.predict_proba(split.X_test)[:, 1]
            wrong = 100 * float(np.mean((p > 0.5) != (split.y_test > 0)))
            rows[f"{label}, {mode}" if mode else label] = wrong, log_loss(split.y_test > 0, p, labels=[False, True])
    return rows


def run(size: Size) -> Findings:
    divisions = [("pima-ripley", 0)] + [("crabs", index) for index in range(size.pick(10, 1))]
    found = size.map(measure, [(*one, size.pick((), (NAIVE, "logistic regression"))) for one in divisions])
    choices = size.pick((0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0), (0.5,))
    starts = range(size.pick(6, 2))
    searched = size.map(climb, [(C, start) for C in choices for start in starts])
    every = {C: searched[k * len(starts) : (k + 1) * len(starts)] for k, C in enumerate(choices)}
    by_C = [every[C][0] for C in choices]
    climbs = {C: every[C] for C in size.pick((0.5, 1.0), (0.5,))}
    differing = paired(searched)
    peaks = np.array(size.map(optima, [(line, size.pick(61, 5)) for line in range(size.pick(12, 1))]))
    pima, crabs = found[0], {label: np.array([row[label] for row in found[1:]]) for label in found[0]}

    def on_pima(what: str, value: float) -> Number:
        return Number(f"Pima, error in %, {what}", value, PAPER, differing, goal="lower", rounding=0.05)

    figures: list[Number | Statement] = [
        on_pima(f"{NAIVE}, C with hindsight", min(error for _, error, _ in by_C)),
        nearest(every),
        *(on_pima(label, pima[label][0]) for label in pima if label.startswith("ARD")),
        *(robust(C, found) for C, found in climbs.items()),
        Statement(
            "Laplace evidence (32) as a function of several length scales, Pima",
            "rough, with many local maxima",
            f"{peaks[:, 0].mean():.1f} local maxima along a line, by EP {peaks[:, 1].mean():.1f}; {len(peaks)} lines",
            bool(peaks[:, 0].mean() > 2 * peaks[:, 1].mean() and peaks[:, 0].mean() > 2),
        ),
    ]
    for label, table in crabs.items():
        for k, what in enumerate(("error in %", "log loss")):
            se = float(table[:, k].std(ddof=1) / np.sqrt(len(table))) if len(table) > 1 else 0.0
            figures.append(Number(f"Crabs, {what}, {label}", float(table[:, k].mean()), se=se))
    return Findings(
        figures,
        draw(pima, crabs),
        seed="divisions [20010101, k]; methods 0; starts k; lines [2002, k]",
        conditions={"crabs": f"{len(found) - 1} divisions", "grid search": "10 x 10, five folds"},
        details={
            "pima": pima,
            "log-evidence and error by C and start": {str(C): [one[:2] for one in some] for C, some in every.items()},
            "standard error of a paired comparison, %": differing,
            "local maxima, Laplace and EP": peaks,
        },
    )


def paired(climbs: list[tuple[float, float, list[bool]]]) -> float:
    """Standard error in percent of a difference on the same rows: the root of the rows on which two machines differ."""
    wrong = np.array([one for _, error, one in climbs if error < SENSIBLE] or [climbs[0][2]])
    between = [float(np.mean(a != b)) for k, a in enumerate(wrong) for b in wrong[:k] if np.any(a != b)]
    return 100 * float(np.sqrt(np.median(between) / wrong.shape[1])) if between else 0.0


def nearest(every: dict[float, list[tuple[float, float, list[bool]]]]) -> Statement:
    """Is there a C, and a maximum of the evidence, at which the machine errs as the paper's does?"""
    flat = sorted(
        (abs(error - PAPER), error, C, k) for C, some in every.items() for k, (_, error, _) in enumerate(some)
    )
    off, error, C, start = flat[0]
    lowest = min(error for _, error, _, _ in flat)
    return Statement(
        "Pima, a C and a local maximum of the naive evidence with the paper's error",
        f"{PAPER} %, C chosen optimally",
        f"nearest: {error:.1f} % at C = {C:g}, start {start}; lowest {lowest:.1f} %; {len(flat)} climbs",
        off <= ONE_ROW,
        why="no C and start of ours has it; inputs, bias and the rule for C are not given in the paper",
    )


def robust(C: float, climbs: list[tuple[float, float, list[bool]]]) -> Statement:
    """Do climbs from several starts end at the same place?"""
    tops, errors = np.array([one[:2] for one in climbs]).T
    same = int(np.sum(tops > tops.max() - 0.5))
    return Statement(
        f"Climbing the naive evidence on Pima from several starts, C = {C:g}",
        "ends at the same hyper-parameters",
        f"{same} of {len(tops)} starts within 0.5 nat of the best, the others up to {np.ptp(tops):.1f} below; test "
        f"errors {errors.min():.1f} to {errors.max():.1f} %",
        same == len(tops),
        why="at this C there are several maxima, one of them with short length scales; the paper does not say its C",
    )


def draw(pima: dict[str, tuple[float, float]], crabs: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    down = np.arange(len(pima))
    left.plot([row[0] for row in pima.values()], down, "o")
    left.axvline(PAPER, color="0.4", linestyle="--", label="paper")
    left.set(xlabel="test error in %, Pima")
    left.set_yticks(down, pima)
    left.legend(fontsize=8)
    means = [table[:, 0].mean() for table in crabs.values()]
    right.errorbar(
        means, down, xerr=[table[:, 0].std() / np.sqrt(len(table)) for table in crabs.values()], fmt="o", capsize=2
    )
    right.set(xlabel="test error in %, Crabs")
    left.invert_yaxis()
    return figure
