"""Table 1: hard boundaries without bias on seven data sets, support vector machine against Bayes point machine.

RBF kernel of the paper's width; 100 random divisions 60:40 (banana and waveform: the customary ones with 400 training
rows). The support vector machine has no bias either and sees the same Gram matrix. The Bayes point is found three
times: by the paper's own billiard, Algorithm 2 as printed (directions by random coefficients, from the support vector
machine, 1,000 bounces), by expectation propagation, and by the exact billiard. The p-value is written as in the paper:
that of a paired t-test over divisions, where 1 means that the Bayes point machine is better.
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import ttest_rel
from sklearn.gaussian_process.kernels import RBF

from bayespoint import BayesPointClassifier, Problem, Step, readouts
from bayespoint.engines import Billiard, ClassicBilliard
from bayespoint.engines.svm import hard_margin
from bayespoint.exceptions import InferenceWarning
from datasets import Split, random_split, splits
from findings import Findings, Number, Statement
from sizes import Size

DATA = ("heart", "thyroid", "diabetis", "waveform", "banana", "sonar", "ionosphere")
MINUTES = 18
PAPER = {  # sigma; SVM and BPM errors with their standard errors; p
    "heart": (10.0, 25.4, 0.40, 22.8, 0.34, 1.00),
    "thyroid": (3.0, 5.3, 0.24, 4.4, 0.21, 1.00),
    "diabetis": (5.0, 33.1, 0.24, 32.0, 0.25, 1.00),
    "waveform": (20.0, 13.0, 0.10, 12.1, 0.09, 1.00),
    "banana": (0.5, 16.2, 0.15, 15.1, 0.14, 1.00),
    "sonar": (1.0, 15.4, 0.37, 15.9, 0.38, 0.01),
    "ionosphere": (1.5, 11.9, 0.25, 11.5, 0.25, 0.99),
}
MACHINES = ("SVM", "BPM as printed", "BPM by EP", "BPM by billiard")
BOUNCES = 1000  # about, of the paper with 400 rows
DRAWS = {"banana": 40, "diabetis": 100, "waveform": 200}  # their version spaces take many bounces to cross
REASONS = {
    "waveform, BPM as printed*": "in part the rows, made anew by Breiman's rule: the SVM is higher by "
    "0.3, too. The lead over it is 0.7 points, the paper's 0.9; more bounces do not bring the rest "
    "(herbrich2001/bounces), and what does was not found.",
    "*, BPM by*": "ours is nearer to the Bayes point. The billiard as printed draws its directions by random "
    "coefficients, starts at the support vector machine and stops after about 1,000 bounces; its line above is of the "
    "same divisions, and herbrich2001/bounces shows how it goes on.",
}


def division(name: str, index: int) -> Split:
    return splits(name, index + 1)[index] if name in ("banana", "waveform") else random_split(name, 0.6, index)


def errors(name: str, index: int) -> list[float]:
    """Test errors in percent of the machines on one division."""
    split, kernel = division(name, index), RBF(PAPER[name][0], "fixed")
    cross = kernel(split.X_test, split.X_train)
    problem = Problem(kernel(split.X_train), split.y_train, Step(), check=False)
    signs = [np.sign(cross @ (split.y_train * hard_margin(problem).alpha)), np.sign(cross @ as_printed(problem, index))]
    for engine in ("ep", Billiard(draws=DRAWS.get(name, 400), chains=1, warmup=5)):
        model = BayesPointClassifier(kernel, engine=engine, softness=0.0, bias=0.0, optimizer=None, random_state=index)
        signs.append(model.fit(split.X_train, split.y_train).predict(split.X_test))
    return [100 * float(np.mean(sign != split.y_test)) for sign in signs]


def as_printed(problem: Problem, seed: int) -> np.ndarray:
    """Expansion coefficients of the Bayes point by Algorithm 2 of the paper."""
    engine = ClassicBilliard(1e-12, max_bounces=BOUNCES, start="svm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # that the ball was stopped early is the point
        return readouts.bayes_point(engine.infer(problem, seed))


def p_value(svm: np.ndarray, bpm: np.ndarray) -> float:
    return float(ttest_rel(svm, bpm, alternative="less").pvalue)


def conclusion(p: float) -> str:
    """At a level of 2.5 % on either side."""
    return "yes" if p >= 0.975 else "no, worse" if p <= 0.025 else "open"


def t_test(what: str, paper: float, ours: float) -> Statement:
    """The paper's conclusion beside ours."""
    said, seen = conclusion(paper), conclusion(ours)
    return Statement(what, f"p = {paper:.2f}, {said}", f"p = {ours:.4f}, {seen}", said == seen)


def run(size: Size) -> Findings:
    count = size.pick(100, 3)
    names = size.pick(DATA, ("thyroid", "sonar"))
    found = size.map(errors, [(name, index) for name in names for index in range(count)])
    table = dict(zip(names, np.reshape(found, (len(names), count, len(MACHINES))), strict=True))
    figures = []
    for name, rows in table.items():
        _, svm, svm_se, bpm, bpm_se, p = PAPER[name]
        mean, se = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(count)
        papers = ((svm, svm_se), *[(bpm, bpm_se)] * 3)
        for k, (machine, (paper, paper_se)) in enumerate(zip(MACHINES, papers, strict=True)):
            what = f"{name}, {machine}, error in %"
            figures.append(Number(what, mean[k], paper, se[k], paper_se, "lower", 0.05))
        for how, k in (("as printed", 1), ("by billiard", 3)):
            figures.append(t_test(f"{name}, t-test: is the BPM {how} better?", p, p_value(rows[:, 0], rows[:, k])))
    means = {
        machine: float(np.mean([rows[:, k].mean() for rows in table.values()])) for k, machine in enumerate(MACHINES)
    }
    return Findings(
        figures,
        draw(table),
        seed="division k: generator [20010101, k]; billiards: k",
        conditions={
            "divisions": count,
            "softness": 0,
            "bias": 0,
            "draws of the billiard": DRAWS | {"others": 400},
            "bounces as printed": BOUNCES,
        },
        details={"mean over sets": means, "errors": {name: rows.tolist() for name, rows in table.items()}},
    )


def draw(table: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axis, across = figure.subplots(), np.arange(len(table))
    for k, (machine, mark) in enumerate(zip(MACHINES, "^vos", strict=True)):
        mean = [rows[:, k].mean() for rows in table.values()]
        se = [rows[:, k].std(ddof=1) / np.sqrt(len(rows)) for rows in table.values()]
        axis.errorbar(across + 0.15 * (k - 1.5), mean, se, fmt=mark, ms=5, capsize=2, label=machine)
    for column, shift, label in ((1, -0.22, "SVM, paper"), (3, 0.08, "BPM, paper")):
        axis.plot(across + shift, [PAPER[name][column] for name in table], "k_", ms=14, label=label)
    axis.set_xticks(across, table)
    axis.set(ylabel="test error in %", ylim=(0, None))
    axis.legend(fontsize=8, ncols=2)
    return figure
