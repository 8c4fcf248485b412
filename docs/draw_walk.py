"""The picture of the architecture page: the steps of a default fit and of a prediction, in order, by room.

tests/test_benchmarks.py compares the steps with what is really called.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOMS = ["estimators", "tuning", "engines", "posteriors", "problem", "likelihoods", "grams", "kernels"]
# How deep inside each other, module, function, and what it is to a reader.
FIT = [
    (0, "estimators._base", "KernelClassifier.fit", "fit(X, y)"),
    (1, "estimators._bayes_point", "BayesPointClassifier._recipe", "settings, checked: a Recipe"),
    (1, "estimators._validation", "check_training_set", "rows and labels, checked: a TrainingSet"),
    (1, "estimators._fit", "prepare", "prepare"),
    (2, "kernels.named", "make_kernel", "make_kernel: its name, scaled to the rows"),
    (1, "estimators._search", "search", "search = choose, then infer"),
    (2, "estimators._fit", "choose", "choose"),
    (3, "grams.views.choice", "choose_view", "choose_view: Exact, Linear, Landmarks or Rows"),
    (3, "tuning.climb", "maximise_evidence", "maximise_evidence: up the evidence"),
    (4, "tuning.climb", "infer_candidate", "infer_candidate: each model on the way"),
    (5, "grams.views.whole", "Exact.gram", "view.gram(kernel): a Gram"),
    (5, "problem", "Problem.__post_init__", "Problem(gram, y, likelihood)"),
    (5, "engines.ep.engine", "EP.infer", "engine.infer(problem, rng)"),
    (6, "grams.dense", "ByValues.conditioned", "gram.conditioned(tau, nu)"),
    (6, "likelihoods.step", "Step.site", "likelihood.site"),
    (6, "engines.ep.sites", "settle", "settle: sweeps until sites stand still"),
    (6, "engines.ep.engine", "posterior_of_state", "a GaussianPosterior with its evidence"),
    (4, "grams.views.whole", "Exact.slope", "view.slope: the evidence in the kernel's parameters"),
    (5, "kernels.gradients", "contract_gradient", "contract_gradient"),
    (1, "estimators._fit", "conclude", "conclude"),
    (2, "estimators._fitted", "Fitted.of", "Fitted: all that was found"),
]
PREDICTION = [
    (0, "estimators._bayes_point", "BayesPointClassifier.predict_proba", "predict_proba(X)"),
    (1, "estimators._validation", "check_inputs", "new rows, checked"),
    (1, "estimators._fitted", "Fitted.read", "fitted_.read: some rows at a time"),
    (2, "grams.views.whole", "Exact.new", "view.new(kernel): NewPoints"),
    (3, "kernels.values", "kernel_values", "kernel_values"),
    (2, "posteriors.gaussian", "GaussianPosterior.at", "posterior.at(new)"),
    (3, "grams._dense_gaussian", "DenseGaussian.at", "mean and variance of the latents"),
    (1, "likelihoods.step", "Step.log_probability", "likelihood.log_probability"),
]


def as_text(steps: list[tuple[int, str, str, str]]) -> str:
    """The same in words: files on the left, what is called inside what on the right."""
    files = [module.replace(".", "/") + ".py" for _, module, _, _ in steps]
    width = max(map(len, files)) + 2
    return "\n".join(f"{file:{width}s}{'  ' * step[0]}{step[3]}" for file, step in zip(files, steps, strict=True))


def draw(path: Path) -> None:
    """Every step a line, as far to the right as its room is below the estimators."""
    import matplotlib.pyplot as plt

    colours = dict(zip(ROOMS, plt.get_cmap("Dark2").colors, strict=True))
    figure, (left, right) = plt.subplots(1, 2, figsize=(15, 6.5), layout="constrained")
    _panel(left, FIT, "A default fit", colours)
    _panel(right, PREDICTION, "A prediction", colours)
    figure.savefig(path)
    plt.close(figure)


def _panel(ax: Any, steps: list[tuple[int, str, str, str]], title: str, colours: dict[str, Any]) -> None:
    columns = [ROOMS.index(module.split(".")[0]) for _, module, _, _ in steps]
    for x, room in enumerate(ROOMS):
        ax.axvline(x, ymax=len(FIT) / (len(FIT) + 4), color="0.93", lw=1, zorder=0)
        ax.text(x, 0.7, room, rotation=35, ha="left", va="bottom", color=colours[room], fontsize=10)
    for line, (depth, _, _, words) in enumerate(steps):
        x, y = columns[line], -line
        callers = [other for other in range(line) if steps[other][0] < depth]
        if callers:  # an elbow from who calls
            ax.plot([columns[callers[-1]], columns[callers[-1]], x], [-callers[-1], y, y], color="0.65", lw=1, zorder=1)
        ax.plot(x, y, "o", color=colours[ROOMS[x]], ms=7, zorder=2)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        ax.text(x + 0.25, y, words, va="center", fontsize=9.5, bbox=box, zorder=3)
    ax.set(xlim=(-0.3, 12.0), ylim=(-len(FIT), 3.5))
    ax.set_title(title, loc="left", fontsize=13)
    ax.axis("off")
